package toolchain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const callsText = `
int library(int x);
extern const int table[3];
__attribute__((noinline)) static int leaf(int x) { volatile int a[8]; a[x & 7] = x; return a[0]; }
__attribute__((noinline)) static int middle(int x) { return leaf(x + table[0]) + leaf(x); }
int shallow(int x) { return leaf(x) + 1; }
int deep(int x) { volatile int a[16]; a[0] = middle(x); return a[0] + library(x); }
int again(int x) { volatile int a = x; return a > 0 ? again(x - 1) + a : 0; }
__attribute__((noinline)) static int twin(int x) { volatile int a[30]; a[x & 7] = x; return a[0] + x; }
__attribute__((noinline)) static int other_twin(int x) { volatile int a[30]; a[x & 7] = x; return a[0] + x; }
__attribute__((noinline)) int late(int x) { volatile int a[30]; a[x & 3] = x; return a[0] - x; }
__attribute__((noinline)) static int early(int x) { volatile int a[30]; a[x & 3] = x; return a[0] - x; }
int twins(int x) { return twin(x) + other_twin(x + 1) * 3; }
int others(int x) { return late(x) + early(x + 1) * 3; }
int open_ended(int n) { volatile char a[n]; a[0] = 1; return a[0]; }
`

// The deepest chain of calls is found in objects of every machine, with what has no bound and
// what is not known.
func TestCallGraph(t *testing.T) {
	for _, target := range []Target{CortexM4(), CortexM0(), RISCV32(),
		GCC().With("-ffunction-sections", "-mno-red-zone"),
		Clang().With("-ffunction-sections", "-mno-red-zone")} {
		if _, err := Find(target.Compiler); err != nil {
			t.Log(err)
			continue
		}
		t.Run(target.Name, func(t *testing.T) {
			dir := t.TempDir()
			calls, table := filepath.Join(dir, "calls.c"), filepath.Join(dir, "table.c")
			for path, text := range map[string]string{calls: callsText,
				table: "extern const int table[3];\nconst int table[3] = {1, 2, 3};\n"} {
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			target.Flags = slices.DeleteFunc(slices.Clone(target.Flags), func(f string) bool {
				return strings.HasPrefix(f, "-W") || f == "-pedantic"
			})
			objects, err := target.Compile(t.Context(), dir, calls, table)
			if err != nil {
				t.Fatal(err)
			}
			frames, err := StackFrames(objects...)
			if err != nil {
				t.Fatal(err)
			}
			g, err := ReadCallGraph(frames, objects...)
			if err != nil {
				t.Fatal(err)
			}
			of := map[string]int{}
			for _, f := range frames {
				of[f.Function] = f.Bytes
			}
			s := g.Stack(frames, "shallow", "deep")
			want := of["deep"] + of["middle"] + of["leaf"]
			if s.Bytes != want || strings.Join(s.Chain, " ") != "deep middle leaf" || of["leaf"] < 32 {
				t.Errorf("%+v, want %d bytes, of %v", s, want, of)
			}
			if !slices.Equal(s.Unknown, []string{"library"}) || len(s.Unbounded) > 0 {
				t.Errorf("unknown %v, unbounded %v", s.Unknown, s.Unbounded)
			}
			for _, f := range []string{"open_ended", "again"} {
				// compilers may make a loop of a function that calls itself
				if s := g.Stack(frames, f); !slices.Equal(s.Unbounded, []string{f}) && f != "again" {
					t.Errorf("%s: %+v", f, s)
				}
			}
			// Compilers may make one function of equal ones. The symbol of early, which has no frame
			// then, comes before that of late: static functions are first.
			for _, f := range []string{"twins", "others"} {
				if s := g.Stack(frames, f); s.Bytes < of[f]+30*4 || len(s.Unknown) > 0 ||
					len(s.Unbounded) > 0 {
					t.Errorf("%s: %+v", f, s)
				}
			}
			recursive := CallGraph{"a": {"b"}, "b": {"a"}}
			if s := recursive.Stack([]Frame{{"a", 8, true}, {"b", 8, true}}, "a"); len(s.Unbounded) == 0 {
				t.Errorf("recursion has a bound: %+v", s)
			}
		})
	}
}
