package golang

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/strip"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gokernels"
)

const twoFunctions = `// a head

#include "textflag.h"

// func first(t *tile)
// Requires: AVX
TEXT ·first(SB), NOSPLIT, $0-8
	JMP first
first:
	RET

// func second()
TEXT ·second(SB), NOSPLIT, $0-0
	RET
`

func TestAssembly(t *testing.T) {
	rename := func(s string) string { return "my" + s }
	got := assembly(twoFunctions, []string{"first"}, nil, rename)
	want := `#include "textflag.h"

// func myfirst(t *tile)
// Requires: AVX
TEXT ·myfirst(SB), NOSPLIT, $0-8
	JMP first
first:
	RET
`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, source := range []string{twoFunctions, ""} {
		if err := func() (err error) {
			defer must.Catch(&err)
			assembly(source, []string{"third"}, nil, rename)
			return nil
		}(); err == nil {
			t.Errorf("a function is copied that is not in %q", source)
		}
	}
}

// The functions of every assembly file that is copied stand by themselves: they
// refer to nothing but the tables behind them.
func TestAssemblyStandsAlone(t *testing.T) {
	found := 0
	for _, source := range []fs.FS{gokernels.FS, strip.Source} {
		err := fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".s") {
				return err
			}
			found++
			src, err := fs.ReadFile(source, path)
			if err != nil {
				return err
			}
			if a, b := strings.Count(string(src), "(SB)")-tables(string(src)),
				strings.Count(string(src), "TEXT ·"); a != b {
				t.Errorf("%s has %d symbols and %d functions", path, a, b)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found < 4 {
		t.Errorf("%d files", found)
	}
}

// tables counts what refers to a table, each of which must lie behind the
// function of its name.
func tables(src string) int {
	n := 0
	for _, text := range strings.Split(src, "\n// func ")[1:] {
		name, _, _ := strings.Cut(text, "(")
		n += strings.Count(text, name+"Table<>")
	}
	return n
}

// A library with alternatives is itself with each of them.
func TestVariants(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"x/all.go": "package x\n\nfunc F() int { return g() + both() }\n\nfunc both() int { return " +
			"1 }\n\nfunc unused() {}\n",
		"x/g_amd64.go": "//go:build !purego\n\npackage x\n\nfunc g() int { return fast() }\n\nfunc fast() int\n",
		"x/g_amd64.s":  "// func fast() int\nTEXT ·fast(SB), 4, $0-8\n\tRET\n",
		"x/g_other.go": "//go:build !amd64 || purego\n\npackage x\n\nfunc g() int { return both() }\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	lib := openLibrary(files, "x")
	if len(lib.variants) != 2 || lib.variants[0].constraint != "//go:build !purego" ||
		lib.variants[0].assembly == nil || lib.variants[1].assembly != nil {
		t.Fatalf("variants %+v", lib.variants)
	}
	for i, want := range []string{"F both g fast", "F both g"} {
		var names []string
		for _, d := range lib.variants[i].closure([]string{"F"}, nil) {
			names = append(names, d.objs[0].Name())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("variant %d has %s, want %s", i, got, want)
		}
	}
}

// What one variant needs of the files of all of them, all have, with what it needs in each.
func TestClosures(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"x/all.go": "package x\n\nfunc F() int { return g() }\n\nfunc both() int { return h() }\n",
		"x/g_amd64.go": "//go:build !purego\n\npackage x\n\nfunc g() int { return both() }\n\nfunc h() " +
			"int { return 1 }\n",
		"x/g_other.go": "//go:build !amd64 || purego\n\npackage x\n\nfunc g() int { return 2 }\n\nfunc " +
			"h() int { return 3 }\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	lib := openLibrary(files, "x")
	libs := []*library{lib.variants[0].library, lib.variants[1].library}
	for i, decls := range closures(libs, []string{"F"}) {
		var names []string
		for _, d := range decls {
			names = append(names, d.objs[0].Name())
		}
		if got := strings.Join(names, " "); got != "F both g h" {
			t.Errorf("variant %d has %s", i, got)
		}
	}
}

// Of what a function has for single cases there is what calls come to. Who comes to
// another is stopped; a function all of whose cases are left out stops at once.
func TestReached(t *testing.T) {
	text := `f()
TEXT ·f(SB), $0-0
	// branch two
	CMPQ AX, $2
	JEQ  two

	// end
	// case one
	ADDQ AX, AX
	ADDQ AX, AX
	RET

	// end
	// case two
two:
	// branch inner
	JEQ  inner

	// end
	NOP
	// case inner
inner:
	INCQ AX
	// end
	RET

	// end`
	for cases, want := range map[string]string{
		"":                  "\tUNDEF",
		"g one":             "\tUNDEF",
		"f one":             "\tADDQ AX, AX\n\tADDQ AX, AX\n\tRET\n\n\tUNDEF",
		"f two":             "\tCMPQ AX, $2\n\tJEQ  two\n\n\tUNDEF\ntwo:\n\tNOP\n\tUNDEF\n\tRET\n",
		"f two,f inner":     "\tCMPQ AX, $2\n\tJEQ  two\n\n\tUNDEF\ntwo:\n\tJEQ  inner\n\n\tNOP\ninner:\n\tINCQ AX\n\tRET\n",
		"f one,f two,f two": "\tCMPQ AX, $2\n\tJEQ  two\n\n\tADDQ AX, AX\n\tADDQ AX, AX\n\tRET\n\ntwo:\n\tNOP\n\tUNDEF\n\tRET\n",
	} {
		want = "f()\nTEXT ·f(SB), $0-0\n" + want
		if got := reached("f", text, strings.Split(cases, ",")); got != want {
			t.Errorf("%s: got %q, want %q", cases, got, want)
		}
	}
}

func TestVariantsOf(t *testing.T) {
	lib := openLibrary(strip.Source, ".")
	for target, want := range map[string]string{
		"generic": "vector_amd64.go //go:build !purego, vector_arm64.go //go:build !purego, " +
			"vector_other.go //go:build (!amd64 && !arm64) || purego",
		"x86-64-v3": "vector_amd64.go //go:build !purego, vector_other.go //go:build !amd64 || purego",
		"neon":      "vector_arm64.go //go:build !purego, vector_other.go //go:build !arm64 || purego",
		"scalar":    "vector_other.go ",
		"cortex-m4": "vector_other.go ",
	} {
		var got []string
		m, err := tuned.MachineNamed(target)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range variantsOf(lib, (&unit{machine: m}).assembly()) {
			got = append(got, v.file+" "+v.constraint)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s, want %s", target, s, want)
		}
	}
}
