package lower_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/math"
	. "github.com/etgen/etgen/kernels/strip/lower"
)

func function(name string) *expr.Func {
	return math.Func(strings.TrimSuffix(name, "_f32"), ir.Float32)
}

// lengths gives the lengths of f's buffers.
func lengths(f *loop.Func) func(int) (sym.Expr, bool) {
	return func(k int) (sym.Expr, bool) { return f.Bufs[k].Len, true }
}

// innermost returns the first loop without one inside.
func innermost(body []loop.Stmt) *loop.For {
	var found *loop.For
	loop.Walk(body, func(s loop.Stmt) {
		if l, ok := s.(*loop.For); ok {
			inner := false
			loop.Walk(l.Body, func(s loop.Stmt) { _, is := s.(*loop.For); inner = inner || is })
			if !inner && found == nil {
				found = l
			}
		}
	})
	return found
}

// format writes code as text: calls as assignments, temporaries as t0, t1, ….
func format(f *loop.Func, c *Code) string {
	if c == nil {
		return "element by element\n"
	}
	operand := func(o Operand) string {
		switch o.Kind {
		case Temp:
			return fmt.Sprintf("t%d", o.Temp)
		case Run:
			return fmt.Sprintf("%s[%s..]", f.Bufs[o.Buf].Name, o.At)
		case Whole:
			return f.Bufs[o.Buf].Name
		case Scalar:
			return o.Value.String()
		case Index:
			return o.At.String()
		}
		return "?"
	}
	var b strings.Builder
	if c.Whole {
		b.WriteString("whole")
	} else {
		b.WriteString("strips")
	}
	for k, d := range c.Temps {
		fmt.Fprintf(&b, " t%d:%s[%d]", k, d.Short(), c.TempLen)
	}
	b.WriteString("\n")
	for _, call := range c.Calls {
		if call.Let != nil {
			fmt.Fprintf(&b, "let %s = %s\n", call.Let.Var.Name, call.Let.Value)
			continue
		}
		dst := ""
		if call.Acc != nil {
			dst = call.Acc.Name
		} else {
			dst = operand(call.Dst)
		}
		var args []string
		for _, a := range call.Args {
			args = append(args, operand(a))
		}
		name := call.Prim
		if call.Fn != nil {
			name += " " + call.Fn.Name
		}
		fmt.Fprintf(&b, "%s = %s(%s)\n", dst, name, strings.Join(args, ", "))
	}
	return b.String()
}

// TestLower holds each file of testdata: a loop function, and its innermost
// loop as calls. UPDATE=1 writes the files anew.
func TestLower(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := loop.Parse(path, string(ar.Files[0].Data), function)
			if err != nil {
				t.Fatal(err)
			}
			if r := reference.Verify(f); len(r.Errors) > 0 {
				t.Fatal(r.Errors)
			}
			for i, file := range ar.Files[1:] {
				got := format(f, Loop(innermost(f.Body), Options{Length: lengths(f),
					Interpreted: file.Name == "inline"}))
				if os.Getenv("UPDATE") != "" {
					ar.Files[1+i].Data = []byte(got)
				} else if diff := cmp.Diff(string(file.Data), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", file.Name, diff)
				}
			}
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(path, txtar.Format(ar), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestInline lowers every scalar function without a call of it.
func TestInline(t *testing.T) {
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, name := range math.Names {
			fn := math.Func(name, d)
			n := sym.Int(100)
			i := sym.NewVar("i", n)
			var args []*expr.Expr
			for k := range fn.Params {
				args = append(args, expr.At(1+k, d, i.Expr()))
			}
			s := &loop.For{Var: i, Extent: n, Strip: true,
				Body: []loop.Stmt{&loop.Store{At: i.Expr(), Value: expr.CallFn(fn, args...)}}}
			c := Loop(s, Options{Interpreted: true, Length: func(int) (sym.Expr, bool) {
				return n, true
			}})
			if c == nil {
				t.Errorf("%s runs element by element", fn.Name)
				continue
			}
			for _, call := range c.Calls {
				if call.Prim == "Apply" {
					t.Errorf("%s calls %s", fn.Name, call.Fn.Name)
				}
			}
			if len(c.Temps) > 24 {
				t.Errorf("%s has %d temporaries", fn.Name, len(c.Temps))
			}
		}
	}
}
