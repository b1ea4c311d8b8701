package way

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// cPrototype is the declaration of a custom operator's kernel in NAME_ops.h, cWritten a parameter
// of it that the kernel writes to.
var (
	cPrototype = regexp.MustCompile(`(?m)^bool (\w+)\(([^;]*)\);`)
	cWritten   = regexp.MustCompile(`const etgen_out \*(\w+)`)
	cLast      = regexp.MustCompile(`(\w+)(?:,|$)`)
)

// guardHead is what guarded kernels share: what they write to is a copy with fields around it.
const guardHead = `%s
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD = 256 };

static const char *volatile running; /* a kernel, NULL for none */

static void crashed(int number)
{
    if (running) {
        fprintf(stderr, "ERROR: the kernel %%s crashes\n", running);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void enter(const char *kernel)
{
    running = kernel;
    signal(SIGSEGV, crashed);
    signal(SIGFPE, crashed);
    signal(SIGILL, crashed);
    signal(SIGABRT, crashed);
}

static size_t bytes(const etgen_out *t)
{
    static const unsigned char widths[] = {1, 1, 2, 4, 8, 2, 4, 8};
    size_t n = t->dtype <= ETGEN_FLOAT64 ? widths[t->dtype] : t->dtype == ETGEN_BOOL ? 1
        : t->dtype == ETGEN_UINT32 ? 4 : t->dtype == ETGEN_UINT64 ? 8 : 2;
    for (int32_t i = 0; i < t->rank; i++) {
        n *= (size_t)t->sizes[i];
    }
    return n;
}

static etgen_out *guard(const etgen_out *t, etgen_out *copy)
{
    unsigned char *memory;
    if (!t) {
        return NULL;
    }
    *copy = *t;
    memory = (unsigned char *)malloc(bytes(t) + 2 * FIELD);
    if (!memory) {
        abort();
    }
    memset(memory, 0xA5, bytes(t) + 2 * FIELD);
    copy->data = memory + FIELD;
    memcpy(copy->data, t->data, bytes(t));
    return copy;
}

static void unguard(const char *kernel, const char *name, const etgen_out *t, const etgen_out *copy)
{
    const unsigned char *field;
    if (!t) {
        return;
    }
    field = (const unsigned char *)copy->data - FIELD;
    for (size_t i = 0; i < FIELD; i++) {
        if (field[i] != 0xA5 || field[FIELD + bytes(t) + i] != 0xA5) {
            fprintf(stderr, "ERROR: the kernel %%s writes outside of %%s\n", kernel, name);
            abort();
        }
    }
    memcpy(t->data, copy->data, bytes(t));
    free((void *)(size_t)field);
}
`

// guardPrefix begins the names by which packages call kernels that are guarded.
const guardPrefix = "guarded_"

// guardFlags give the unit's package other names for the kernels that are guarded: those that
// write.
func (u *unit) guardFlags() (flags []string) {
	for _, m := range cPrototype.FindAllStringSubmatch(string(u.pkg.File(u.name+"_ops.h")), -1) {
		if cWritten.MatchString(m[2]) {
			flags = append(flags, fmt.Sprintf("-D%s=%s%[1]s", m[1], guardPrefix))
		}
	}
	return flags
}

// guarded writes a file of functions that packages call instead of the kernels which the headers
// declare. They end the program if a kernel writes outside of what it is given, and tell which one
// crashes. Without kernels to guard there is no file.
func guarded(dir string, units []*unit) (file string, err error) {
	var b strings.Builder
	headers, seen := "", map[string]bool{}
	for _, u := range units {
		text := u.pkg.File(u.name + "_ops.h")
		if len(u.guardFlags()) > 0 {
			headers += fmt.Sprintf("#include \"%s/%[1]s_ops.h\"\n", u.name)
		}
		for _, m := range cPrototype.FindAllStringSubmatch(string(text), -1) {
			name, params := m[1], strings.Join(strings.Fields(m[2]), " ")
			written := cWritten.FindAllStringSubmatch(params, -1)
			if seen[name] || len(written) == 0 {
				continue
			}
			seen[name] = true
			var args []string
			for _, p := range cLast.FindAllStringSubmatch(params, -1) {
				args = append(args, p[1])
			}
			call, after := strings.Join(args, ", "), ""
			for i, w := range written {
				call = regexp.MustCompile(`\b`+w[1]+`\b`).ReplaceAllLiteralString(call,
					fmt.Sprintf("guard(%s, &copies_[%d])", w[1], i))
				after += fmt.Sprintf("    unguard(\"%s\", \"%s\", %[2]s, &copies_[%d]);\n", name, w[1], i)
			}
			fmt.Fprintf(&b,
				"\nbool %[6]s%[1]s(%[2]s);\nbool %[6]s%[1]s(%[2]s)\n{\n    etgen_out copies_[%[3]d];\n"+
					"    bool ok_;\n    enter(\"%[1]s\");\n    ok_ = %[1]s(%[4]s);\n    running = NULL;\n%[5]s"+
					"    return ok_;\n}\n", name, params, len(written), call, after, guardPrefix)
		}
	}
	if len(seen) == 0 {
		return "", nil
	}
	file = filepath.Join(dir, "guards.c")
	return file, os.WriteFile(file, []byte(fmt.Sprintf(guardHead, headers)+b.String()), 0o666)
}
