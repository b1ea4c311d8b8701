package schedule_test

import (
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
	"github.com/etgen/etgen/kernels/schedule"
)

func function(name string) *expr.Func {
	return math.Func(strings.TrimSuffix(name, "_f32"), ir.Float32)
}

// TestVectorize holds each file of testdata: a loop function, and its innermost
// loop as calls. UPDATE=1 writes the files anew.
func TestVectorize(t *testing.T) {
	paths, err := filepath.Glob("testdata/vectorize/*.txtar")
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
				g := *f
				g.Body = schedule.Vectorize(f, schedule.VectorReader{
					Interpreted: file.Name == "inline"})
				got := g.String()
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
			f := &loop.Func{Body: []loop.Stmt{s}}
			for range 1 + len(args) {
				f.Bufs = append(f.Bufs, loop.Buf{Name: "x", DType: d, Len: n})
			}
			c, ok := schedule.Vectorize(f, schedule.VectorReader{Interpreted: true})[0].(*loop.Chunks)
			if !ok {
				t.Errorf("%s runs element by element", fn.Name)
				continue
			}
			for _, s := range c.Body {
				if call := s.(*loop.Vector); call.Prim == "Apply" {
					t.Errorf("%s calls %s", fn.Name, call.Fn.Name)
				}
			}
			if len(c.Temps) > 24 {
				t.Errorf("%s has %d temporaries", fn.Name, len(c.Temps))
			}
		}
	}
}
