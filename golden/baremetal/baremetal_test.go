package baremetal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

// build makes a program of one harness text and no package.
func build(t *testing.T, target toolchain.Target, main string) string {
	t.Helper()
	elf, err := Build(t.Context(), target, t.TempDir(), nil,
		"#include \"harness_support.h\"\n"+main)
	if err != nil {
		t.Fatal(err)
	}
	return elf
}

func TestRun(t *testing.T) {
	const recurse = `
		int deep(volatile int *p);
		int deep(volatile int *p) { volatile int a[64]; a[0] = *p; return deep(a) + a[0]; }
		int harness_main(void) { volatile int a = 0; return deep(&a); }`
	for _, test := range []struct {
		name, main string
		exit       int
		stdout     []string
	}{
		{"text", `int harness_main(void) { harness_print("a\n"); harness_print_int(-2147483647 - 1); harness_print(" ");
			harness_print_int(0); harness_print(" "); harness_print_hex(0x0fe1u); return 0; }`, 0, []string{"a\n-2147483648 0 00000fe1"}},
		{"exit code", `int harness_main(void) { return 3; }`, 3, nil},
		{"bytes", `int harness_main(void) { harness_print_bytes("0123456789abcdef0123456789ABCDEF!", 33); return 0; }`, 0,
			[]string{"3031323334353637383961626364656630313233343536373839414243444546\n21\n"}},
		{"bus fault", `int harness_main(void) { return *(volatile int *)0x90000000u; }`, FaultExit,
			[]string{"fault pc 0", "fault bfar 90000000"}},
		{"division by zero",
			`int harness_main(void) { volatile int zero = 0; return 1000 / zero; }`, FaultExit,
			[]string{"fault cfsr 02000000"}},
		{"null pointer",
			`int harness_main(void) { const int *volatile null = NULL; return *null; }`, FaultExit,
			[]string{"fault mmfar 00000000"}},
		{"write to constant",
			`static const int c[2] = {1, 2}; int harness_main(void) { *(volatile int *)(uintptr_t)c = 3; return 0; }`, FaultExit,
			[]string{"fault pc 0", "fault cfsr 00000082"}},
		{"stack overflow", recurse, FaultExit, []string{"fault stack overflow"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			elf := build(t, toolchain.CortexM4().With("-fno-optimize-sibling-calls", "-Wno-error"),
				test.main)
			stdout, exit, err := Run(t.Context(), elf, limit)
			if err != nil || exit != test.exit {
				t.Errorf("exit %d, error %v, want exit %d\n%s", exit, err, test.exit, stdout)
			}
			for _, want := range test.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("stdout %q, want %q in it", stdout, want)
				}
			}
		})
	}
}

// Instructions are counted exactly on each board, and faults are found there.
func TestBoards(t *testing.T) {
	for _, test := range tier.Some([]struct {
		name   string
		board  Board
		target toolchain.Target
	}{
		{"cortex-m4", CortexM4, toolchain.CortexM4()},
		{"cortex-m7", CortexM7, toolchain.CortexM7()},
		{"cortex-m33", CortexM33, toolchain.CortexM33()},
		{"cortex-m55", CortexM55, toolchain.CortexM55()},
		{"cortex-m0plus", CortexM4, toolchain.CortexM0Plus()},
		{"riscv32", RISCV32, toolchain.RISCV32()},
	}, 2, -1) {
		t.Run(test.name, func(t *testing.T) {
			if _, err := toolchain.Find(test.board.Emulator); err != nil {
				t.Skip(err)
			}
			counts := map[int]int64{}
			for _, n := range []int{10, 310} {
				dir := t.TempDir()
				source := filepath.Join(dir, "work.c")
				text := fmt.Sprintf("int work(void);\nint work(void) { __asm__ volatile(\".rept %d\\n"+
					"nop\\n.endr\"); return 5; }\n", n)
				if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				elf, err := test.board.Build(t.Context(), test.target, dir, []string{source},
					"#include \"harness_support.h\"\nint work(void);\n"+
						"int harness_main(void) { harness_paint_stack(); int n = work(); "+
						"(void)harness_stack_used(); harness_print_int(n); return 0; }")
				if err != nil {
					t.Fatal(err)
				}
				var stdout string
				if counts[n], stdout, err = test.board.Count(t.Context(), elf, limit); err != nil ||
					stdout != "5" {
					t.Fatalf("stdout %q, error %v", stdout, err)
				}
			}
			if counts[310]-counts[10] != 300 || counts[10] < 12 || counts[10] > 16 {
				t.Errorf("counted %v", counts)
			}
			elf, err := test.board.Build(t.Context(), test.target, t.TempDir(), nil,
				"#include \"harness_support.h\"\nint harness_main(void) { __builtin_trap(); }")
			if err != nil {
				t.Fatal(err)
			}
			stdout, exit, err := test.board.Run(t.Context(), elf, limit)
			if err != nil || exit != FaultExit || !strings.Contains(stdout, "fault pc ") {
				t.Errorf("exit %d, error %v, stdout %q", exit, err, stdout)
			}
		})
	}
}

func TestRunTimeout(t *testing.T) {
	elf := build(t, toolchain.CortexM4(),
		`int harness_main(void) { harness_print("on\n"); for (;;) {} }`)
	stdout, _, err := Run(t.Context(), elf, time.Second)
	if err == nil || !strings.Contains(err.Error(), "still running after 1s") || stdout != "on\n" {
		t.Errorf("stdout %q, error %v", stdout, err)
	}
}

func TestRunRefusesNoProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent.elf")
	if _, _, err := Run(t.Context(), path, limit); err == nil ||
		!strings.Contains(err.Error(), "absent.elf") {
		t.Errorf("got error %v", err)
	}
}

// The library functions that gcc calls by itself have tests against the obvious
// form, for every alignment and overlap.
func TestMemoryFunctions(t *testing.T) {
	for _, target := range []toolchain.Target{toolchain.CortexM4(), toolchain.CortexM0()} {
		main, err := os.ReadFile("testdata/memory.c")
		if err != nil {
			t.Fatal(err)
		}
		stdout, exit, err := Run(t.Context(), build(t, target.With("-fno-builtin"), string(main)),
			limit)
		if err != nil || exit != 0 || stdout != "checked 3600\n" {
			t.Errorf("%s: exit %d, error %v, stdout %q", target.Name, exit, err, stdout)
		}
	}
}

func TestStackMeasure(t *testing.T) {
	elf := build(t, toolchain.CortexM4(), `
		__attribute__((noinline)) static void use(void) { volatile char a[1000]; a[0] = 1; a[999] = 1; (void)a[0]; }
		int harness_main(void) {
			harness_paint_stack(); harness_print_int((int32_t)harness_stack_used()); harness_print(" ");
			harness_paint_stack(); use(); harness_print_int((int32_t)harness_stack_used()); return 0; }`)
	stdout, _, err := Run(t.Context(), elf, limit)
	if err != nil || stdout != "0 1000" {
		t.Errorf("stdout %q, error %v, want \"0 1000\"", stdout, err)
	}
}

func TestDoubleHelpers(t *testing.T) {
	for _, test := range []struct {
		name, source string
		want         string // one of the helpers, "" for none
	}{
		{"single precision",
			"float entry(float a, float b); float entry(float a, float b) { return a * b / (a - b) < 1.0f " +
				"? (float)(int)a : b; }", ""},
		{"integers", "long long entry(long long a, long long b); long long entry(long long a, " +
			"long long b) { return a / b + a % b; }", ""},
		{"double", "double entry(double a, double b); double entry(double a, " +
			"double b) { return a + b; }", "add"},
		{"promotion",
			"float entry(float a); float entry(float a) { return (float)((double)a * 0.1); }",
			"mul"},
	} {
		for _, target := range []toolchain.Target{toolchain.CortexM4(), toolchain.CortexM0(),
			toolchain.RISCV32()} {
			t.Run(test.name+"/"+target.Name, func(t *testing.T) {
				dir := t.TempDir()
				source := filepath.Join(dir, "source.c")
				if err := os.WriteFile(source, []byte(test.source), 0o644); err != nil {
					t.Fatal(err)
				}
				elf, err := Link(t.Context(), target, dir, []string{source}, "entry")
				if err != nil {
					t.Fatal(err)
				}
				helpers, err := DoubleHelpers(elf)
				if err != nil {
					t.Fatal(err)
				}
				t.Log(helpers)
				found := slices.ContainsFunc(helpers, func(h string) bool {
					return strings.Contains(h, test.want)
				})
				if test.want != "" && !found || test.want == "" && len(helpers) > 0 {
					t.Errorf("got %v, want %q", helpers, test.want)
				}
			})
		}
	}
}

// The traps without a double in the source: libgcc for Arm converts between
// float and 64-bit integers by way of double.
func TestDoubleHelpersOf64BitConversion(t *testing.T) {
	for _, test := range []struct {
		target       toolchain.Target
		source, want string
	}{
		{toolchain.CortexM4(),
			"long long entry(float a); long long entry(float a) { return (long long)a; }",
			"__aeabi_dmul"},
		{toolchain.CortexM0(),
			"float entry(long long a); float entry(long long a) { return (float)a; }",
			"__aeabi_dadd"},
	} {
		dir := t.TempDir()
		source := filepath.Join(dir, "source.c")
		if err := os.WriteFile(source, []byte(test.source), 0o644); err != nil {
			t.Fatal(err)
		}
		elf, err := Link(t.Context(), test.target, dir, []string{source}, "entry")
		if err != nil {
			t.Fatal(err)
		}
		helpers, err := DoubleHelpers(elf)
		if err != nil || !slices.Contains(helpers, test.want) {
			t.Errorf("%s: got %v, error %v, want %s in it", test.target.Name, helpers,
				err, test.want)
		}
	}
}

func TestLink(t *testing.T) {
	for _, target := range []toolchain.Target{toolchain.CortexM4(), toolchain.CortexM0(),
		toolchain.RISCV32()} {
		elf, err := Link(t.Context(), target, t.TempDir(), tinySources, "tiny_forward",
			"tiny_reset")
		if err != nil {
			t.Fatal(err)
		}
		image, err := toolchain.ReadELF(elf)
		if err != nil {
			t.Fatal(err)
		}
		if !image.Linked("tiny_reset") || !image.Linked("tiny_weights") || image.Linked("memcpy") ||
			len(image.Undef) != 0 {
			t.Errorf("%s: symbols %v, undefined %v", target.Name, image.Symbols, image.Undef)
		}
	}
}

// What Link and Build say of a package's size is the same, because both leave
// out all that is not the package's.
func TestLinkAndBuildAgreeOnSizes(t *testing.T) {
	main, err := tinyModel().Harness(tinyRuns(t)[:1])
	if err != nil {
		t.Fatal(err)
	}
	built, err := Build(t.Context(), toolchain.CortexM4(), t.TempDir(), tinySources, main)
	if err != nil {
		t.Fatal(err)
	}
	linked, err := Link(t.Context(), toolchain.CortexM4(), t.TempDir(), tinySources, "tiny_forward",
		"tiny_reset")
	if err != nil {
		t.Fatal(err)
	}
	a, err := Sizes(built)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Sizes(linked)
	if err != nil {
		t.Fatal(err)
	}
	if a != b || a.Flash() == 0 || a.RAM() == 0 {
		t.Errorf("built %+v, linked %+v", a, b)
	}
}

func TestLinkRefusesMissingLibrary(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source.c")
	text := "float sinf(float); float entry(float a); float entry(float a) { return sinf(a); }"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Link(t.Context(), toolchain.CortexM4(), dir, []string{source}, "entry")
	if err == nil || !strings.Contains(err.Error(), "undefined reference to `sinf'") {
		t.Errorf("got error %v", err)
	}
}
