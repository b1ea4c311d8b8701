package loop_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"testing"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/strip"
)

// A call has as many arguments as the function of that name in package strip has parameters, but
// for the one it sets or changes. No other number is taken.
func TestCall(t *testing.T) {
	called := func(prim string, n int) (err error) {
		defer must.Catch(&err)
		loop.Call(prim, loop.Operand{}, make([]loop.Operand, n)...)
		return nil
	}
	names, err := fs.Glob(strip.Source, "*.go")
	if err != nil {
		t.Fatal(err)
	}
	left := maps.Clone(loop.Arguments)
	for _, name := range names {
		src, err := fs.ReadFile(strip.Source, name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() || fn.Name.Name == "Transpose" { // a statement of its own
				continue
			}
			if first := fn.Type.Params.List[0].Names[0].Name; first != "dst" && first != "acc" {
				continue
			}
			delete(left, fn.Name.Name)
			n := fn.Type.Params.NumFields() - 1
			if err := called(fn.Name.Name, n); err != nil {
				t.Error(err)
			}
			for _, other := range []int{n - 1, n + 1} {
				if called(fn.Name.Name, other) == nil {
					t.Errorf("%s is called with %d arguments, not %d", fn.Name.Name, other, n)
				}
			}
		}
	}
	delete(left, "Apply") // printers write a function of one number, and Go's copy
	delete(left, "Copy")
	for name := range left {
		t.Errorf("package strip has no primitive %s", name)
	}
	if called("Unknown", 1) == nil {
		t.Error("a primitive that there is not is called")
	}
}
