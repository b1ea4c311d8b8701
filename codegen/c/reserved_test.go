package c

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/toolchain"
)

var updateReserved = flag.Bool("update-reserved", false,
	"add to reserved.txt what the installed headers have")

// reservedHeaders are the headers whose names generated C leaves alone.
var reservedHeaders = []string{
	"math.h", "complex.h", "stdio.h", "stdlib.h", "string.h", "errno.h", "limits.h", "float.h",
	"stddef.h", "stdint.h", "stdbool.h", "ctype.h", "assert.h", "time.h", "inttypes.h", "fenv.h",
	"signal.h", "unistd.h",
}

// Every name that the installed headers give to a macro, function, type or
// enumerator is a word that no name of ours is.
func TestReserved(t *testing.T) {
	if _, err := toolchain.Find("gcc"); err != nil {
		t.Skip(err)
	}
	words := reserved()
	missing := map[string]bool{}
	all := headerNames(t)
	for name := range all {
		if !words[name] {
			missing[name] = true
		}
	}
	for _, name := range []string{"NAN", "EOF", "I", "INFINITY", "errno", "stdin", "signbit",
		"printf", "gamma", "FILE", "complex", "y1", "PATH_MAX", "FP_NAN"} {
		if !all[name] && name != "PATH_MAX" { // not all systems have it
			t.Errorf("the headers are said not to have %s", name)
		}
	}
	if *updateReserved {
		for w := range strings.FieldsSeq(reservedText) {
			missing[w] = true
		}
		text := strings.Join(slices.Sorted(maps.Keys(missing)), "\n") + "\n"
		if err := os.WriteFile("reserved.txt", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s is a name of the installed headers: run this test with -update-reserved", name)
	}
}

func headerNames(t *testing.T) map[string]bool {
	t.Helper()
	dir := t.TempDir()
	names := map[string]bool{}
	add := func(name string) {
		if !strings.HasPrefix(name, "_") {
			names[name] = true
		}
	}
	c, cxx := "", "#include <cmath>\n#include <cstdio>\n#include <cstdlib>\n"
	for _, h := range reservedHeaders {
		c += "#include <" + h + ">\n"
	}
	for file, text := range map[string]string{"all.c": c, "all.cpp": cxx} {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		run := func(args ...string) string {
			out, err := exec.Command("gcc", append(args, path)...).Output()
			if err != nil {
				if file == "all.cpp" {
					return "" // no C++ compiler
				}
				t.Fatalf("gcc %s: %v", args, err)
			}
			return string(out)
		}
		for _, standard := range []string{"-D_GNU_SOURCE", "-U_GNU_SOURCE"} {
			for _, m := range regexp.MustCompile(`(?m)^#define (\w+)`).FindAllStringSubmatch(
				run("-dM", "-E", standard), -1) {
				add(m[1])
			}
			aux := filepath.Join(dir, "functions")
			if file == "all.cpp" {
				continue // the functions are those of C
			}
			run("-fsyntax-only", standard, "-aux-info", aux)
			functions, err := os.ReadFile(aux)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(
				`(?m)^/\*.*?\*/ extern [^(]*?\b(\w+) \(`).FindAllStringSubmatch(string(functions),
				-1) {
				add(m[1])
			}
			text := run("-E", "-P", standard)
			for _, m := range regexp.MustCompile(
				`(?m)\btypedef\b[^;{}]*?\b(\w+)\s*(?:\[[^]]*\])?;`).FindAllStringSubmatch(text,
				-1) {
				add(m[1])
			}
			for _, m := range regexp.MustCompile(`(?m)^}\s*(\w+);`).FindAllStringSubmatch(text,
				-1) {
				add(m[1])
			}
			for _, body := range regexp.MustCompile(
				`\benum\b[^;{]*{([^}]*)}`).FindAllStringSubmatch(text, -1) {
				for _, m := range regexp.MustCompile(`(?:^|,)\s*(\w+)`).FindAllStringSubmatch(
					body[1], -1) {
					add(m[1])
				}
			}
			for _, m := range regexp.MustCompile(
				`(?m)^extern [^(;]*?\b(\w+)(?:\[[^]]*\])?;`).FindAllStringSubmatch(text, -1) {
				add(m[1]) // variables
			}
		}
	}
	if len(names) < 1000 {
		t.Fatalf("only %d names in the headers", len(names))
	}
	return names
}
