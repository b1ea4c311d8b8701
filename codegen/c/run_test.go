package c_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/c"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/lower/native"
)

// step is a call of a generated method by a test program. Arguments are C
// expressions; in[K] and out[K] are buffers.
type step struct {
	method string   // C name
	args   []string // in the order of the declaration
	in     [][]byte
	out    []int // bytes of each output, printed after the call
	before string
	after  string // C code
}

// mainText is a program that makes the steps and prints, for each, the status as
// a byte and the outputs. Every buffer is of exactly the size given, in memory
// of its own, so that AddressSanitizer sees what goes beyond.
func mainText(name string, steps []step, globals string) (text string, stdin []byte) {
	var b strings.Builder
	fmt.Fprintf(&b, `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "%s.h"

static void *load(size_t n)
{
    char *q = (char *)malloc(n > 0 ? n : 1);
    if (q == NULL || fread(q, 1, n, stdin) != n) {
        exit(3);
    }
    return q;
}

static void *junk(size_t n)
{
    void *p = malloc(n > 0 ? n : 1);
    if (p == NULL) {
        exit(3);
    }
    memset(p, 0xa5, n);
    return p;
}

static void put(const void *p, size_t n)
{
    if (n > 0 && fwrite(p, 1, n, stdout) != n) {
        exit(4);
    }
}

%s
int main(void)
{
    void *arena = NULL;
    if (posix_memalign(&arena, 64, %s_ARENA_SIZE + 64) != 0) {
        return 2;
    }
    memset(arena, 0xa5, %[3]s_ARENA_SIZE);
`, name, globals, strings.ToUpper(name))
	for _, s := range steps {
		b.WriteString("    {\n        unsigned char status;\n")
		if len(s.in) > 0 {
			fmt.Fprintf(&b, "        void *in[%d];\n", len(s.in))
		}
		if len(s.out) > 0 {
			fmt.Fprintf(&b, "        void *out[%d];\n", len(s.out))
		}
		for i, data := range s.in {
			fmt.Fprintf(&b, "        in[%d] = load(%d);\n", i, len(data))
			stdin = append(stdin, data...)
		}
		for i, n := range s.out {
			fmt.Fprintf(&b, "        out[%d] = junk(%d);\n", i, n)
		}
		b.WriteString(s.before)
		fmt.Fprintf(&b, "        status = (unsigned char)%s(%s);\n        put(&status, 1);\n",
			s.method, strings.Join(s.args, ", "))
		for i, n := range s.out {
			fmt.Fprintf(&b, "        put(out[%d], %d);\n        free(out[%d]);\n", i, n, i)
		}
		b.WriteString(s.after)
		for i := range s.in {
			fmt.Fprintf(&b, "        free(in[%d]);\n", i)
		}
		b.WriteString("    }\n")
	}
	b.WriteString("    free(arena);\n    return 0;\n}\n")
	return b.String(), stdin
}

// generate prints p and writes the package into a new directory.
func generate(t *testing.T, p *native.Program, name string) (dir string, pkg *codegen.Package) {
	t.Helper()
	return generateFor(t, p, c.Options{Name: name})
}

// generateFor writes the package of p to a folder of its own.
func generateFor(t *testing.T, p *native.Program, opt c.Options) (dir string,
	pkg *codegen.Package) {
	t.Helper()
	pkg, err := c.Generate(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir, pkg
}

// sources returns the package's files to compile.
func sources(dir string, pkg *codegen.Package) []string {
	var out []string
	for _, f := range pkg.Files {
		if ext := filepath.Ext(f.Name); ext == ".c" || ext == ".S" {
			out = append(out, filepath.Join(dir, f.Name))
		}
	}
	return out
}

// strict compiles the package with every compiler and all warnings as errors,
// but for what flags switch off. Most warnings come before the optimiser; gcc and one
// small machine have theirs in every tier.
func strict(t *testing.T, dir string, pkg *codegen.Package, flags ...string) {
	t.Helper()
	targets := []toolchain.Target{toolchain.GCC(), toolchain.CortexM0()}
	for _, target := range []toolchain.Target{toolchain.Clang(), toolchain.CortexM4(),
		toolchain.RISCV32(), toolchain.GXX().With("-Wconversion"),
		toolchain.ClangXX().With("-Wconversion")} {
		if tier.Now() < tier.All {
			target = target.With("-fsyntax-only")
		}
		targets = append(targets, target)
	}
	for _, target := range tier.Some(targets, 1, -1) {
		files := sources(dir, pkg)
		target = target.With(flags...)
		if strings.HasSuffix(target.Compiler, "++") {
			files = files[:1] // assembler stays assembler
			target = target.With("-x", "c++")
		}
		if _, err := target.Compile(t.Context(), t.TempDir(), files...); err != nil {
			t.Errorf("%v", err)
		}
	}
}

// run compiles the package and a main program for the host with sanitizers and
// returns what it prints.
func run(t *testing.T, dir string, pkg *codegen.Package, mainC string, stdin []byte,
	target toolchain.Target) []byte {
	t.Helper()
	bin := t.TempDir()
	objects, err := target.Compile(t.Context(), bin, sources(dir, pkg)...)
	if err != nil {
		t.Fatal(err)
	}
	mainFile := filepath.Join(bin, "main.c")
	if err := os.WriteFile(mainFile, []byte(mainC), 0o666); err != nil {
		t.Fatal(err)
	}
	host := toolchain.Target{Name: "main", Compiler: target.Compiler, Flags: []string{"-std=gnu99",
		"-I" + dir}}
	main, err := host.Compile(t.Context(), bin, mainFile)
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(bin, "test")
	if err := target.Link(t.Context(), exe, append(objects, main...)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	return out
}

// sanitized is gcc with AddressSanitizer and UndefinedBehaviorSanitizer.
func sanitized() toolchain.Target { return toolchain.GCC().With(toolchain.Sanitizers()...) }
