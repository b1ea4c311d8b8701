package toolchain

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write puts sources into a fresh folder and returns their paths.
func write(t *testing.T, files ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

const pair = `
int twice(int x);
extern const int table[3];
const int table[3] = {1, 2, 3};
int counter = 7;
static int zero[10];
int twice(int x) { volatile char local[200]; local[x] = (char)counter; zero[x]++; return local[x] * table[1] + zero[x]; }
`

func TestCompileAndRead(t *testing.T) {
	sources := write(t, "pair.c", pair)
	for _, target := range []Target{GCC(), Clang(), CortexM4(), CortexM0(), RISCV32()} {
		t.Run(target.Name, func(t *testing.T) {
			objects, err := target.Compile(t.Context(), t.TempDir(), sources...)
			if err != nil {
				t.Fatal(err)
			}
			image, err := ReadELF(objects[0])
			if err != nil {
				t.Fatal(err)
			}
			sizes := image.Sizes(".eh_frame")
			if sizes.Text == 0 || sizes.ROData < 12 || sizes.Data != 4 || sizes.BSS != 40 {
				t.Errorf("sizes %+v", sizes)
			}
			if sizes.Flash() != sizes.Text+sizes.ROData+4 || sizes.RAM() != 44 {
				t.Errorf("flash %d, RAM %d", sizes.Flash(), sizes.RAM())
			}
			at := slices.IndexFunc(image.Symbols, func(s Symbol) bool { return s.Name == "table" })
			if at < 0 || image.Symbols[at].Size != 12 || !image.Symbols[at].Global {
				t.Errorf("symbols %v", image.Symbols)
			}
			frames, err := StackFrames(objects...)
			if err != nil || len(frames) != 1 || frames[0].Function != "twice" ||
				frames[0].Bytes < 64 || !frames[0].Bounded {
				t.Errorf("frames %v, error %v", frames, err)
			}
		})
	}
}

// As C++ the same source has to compile as well; a void pointer that C converts
// silently does not.
func TestCompileAsCXX(t *testing.T) {
	for _, target := range []Target{GXX(), ClangXX()} {
		if _, err := target.Compile(t.Context(), t.TempDir(), write(t, "pair.c", pair)...); err !=
			nil {
			t.Error(err)
		}
		bad := write(t, "bad.c",
			"extern int *p; int *p; void f(void *q); void f(void *q) { p = q; }")
		if _, err := target.Compile(t.Context(), t.TempDir(), bad...); err == nil {
			t.Errorf("%s accepted C that is not C++", target.Name)
		}
	}
}

func TestStrictFlags(t *testing.T) {
	for name, source := range map[string]string{
		"unused parameter":    "int f(int x); int f(int x) { return 1; }",
		"implicit conversion": "signed char f(int x); signed char f(int x) { return x; }",
		"extension":           "int f(void); int f(void) { return ({ 1; }); }",
	} {
		paths := write(t, "source.c", source)
		for _, target := range []Target{GCC(), Clang(), CortexM4(), RISCV32()} {
			_, err := target.Compile(t.Context(), t.TempDir(), paths...)
			if err == nil || !strings.Contains(err.Error(), "error:") {
				t.Errorf("%s, %s: error %v", target.Name, name, err)
			}
		}
	}
	promotion := write(t, "source.c",
		"float f(float x); float f(float x) { return x > 0.1 ? x : 0; }")
	if _, err := CortexM4().Compile(t.Context(), t.TempDir(), promotion...); err == nil {
		t.Error("a double on a Cortex-M4 is no error")
	}
}

func TestCompileRefusesSameName(t *testing.T) {
	sources := write(t, "a/x.c", "int a;", "b/x.c", "int b;")
	_, err := GCC().Compile(t.Context(), t.TempDir(), sources...)
	if err == nil || !strings.Contains(err.Error(), "two sources are named x.c") {
		t.Errorf("got error %v", err)
	}
}

func TestLinkRelocatable(t *testing.T) {
	sources := write(t, "a.c", "int b(void); int a(void); int a(void) { return b(); }",
		"b.c", "int c(void); int b(void); int b(void) { return c(); }")
	dir := t.TempDir()
	for _, target := range []Target{GCC(), CortexM4()} {
		objects, err := target.Compile(t.Context(), dir, sources...)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "ab.o")
		if err := target.Link(t.Context(), out, objects, "-r", "-nostdlib"); err != nil {
			t.Fatal(err)
		}
		image, err := ReadELF(out)
		if err != nil {
			t.Fatal(err)
		}
		if !image.Linked("a") || !image.Linked("b") || !slices.Equal(image.Undef, []string{"c"}) {
			t.Errorf("%s: symbols %v, undefined %v", target.Name, image.Symbols, image.Undef)
		}
	}
}

func TestSanitizers(t *testing.T) {
	for name, body := range map[string]string{
		"heap":     "int *p = malloc(8); p[c + 1] = 1; return p[0];",
		"overflow": "int x = 2147483647; return x + c;",
		"fine":     "int *p = malloc(8); p[c] = c; c = p[1] - 1; free(p); return c;",
	} {
		sources := write(t, "main.c",
			"#include <stdlib.h>\nint main(int c, char **v) { (void)v; "+body+" }")
		out := filepath.Join(t.TempDir(), "program")
		if err := GCC().With(Sanitizers()...).Build(t.Context(), t.TempDir(), out,
			sources...); err != nil {
			t.Fatal(err)
		}
		output, err := exec.CommandContext(t.Context(), out).CombinedOutput()
		if (err == nil) != (name == "fine") {
			t.Errorf("%s: error %v\n%s", name, err, output)
		}
	}
}

func TestReadELFRefusesOtherFiles(t *testing.T) {
	path := write(t, "text", "no ELF")[0]
	if _, err := ReadELF(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got error %v", err)
	}
}

func TestParseFrame(t *testing.T) {
	frame, err := parseFrame("a.c:3:5:f\t48\tdynamic")
	if err != nil || frame != (Frame{"f", 48, false}) {
		t.Errorf("got %+v, %v", frame, err)
	}
	for _, bad := range []string{"", "a\tb", "a.c:1:1:f\tx\tstatic"} {
		if _, err := parseFrame(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
