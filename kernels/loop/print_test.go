package loop_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/math"
)

// everything has a statement of each kind but those on vectors.
const everything = `func f(n in [1, 8], out y: f32[8*n], inout z: f32[?] from x, x: f32[8*n], idx: i64[n], scratch t: u8[64], c0: f32) {
  for i < n vectorizable {
    index p in [0, 7] = idx[i]
    var m: f32 = -inf
    var part: f32[4]
    for j < 4 {
      part[j] = x[8*i + j]*c0
      m = max(m, part[j])
    }
    for k < 2*n in [0, 15] {
      if x[k] > m {
        break
      } else {
        z[p] = exp_f32(x[k] - m)
      }
    }
    let late: f32
    while t[0] < 3 {
      t[0] = t[0] + 1
    }
    y[i] = m + 0.5
  }
}
`

func TestString(t *testing.T) {
	f32, u8, at0 := ir.Float32, ir.Uint8, sym.Int(0)
	n := sym.NewSymbol("n", 1, 8)
	i, j := sym.NewVar("i", n.Expr()), sym.NewVar("j", sym.Int(4))
	k, p := sym.NewSymbol("k", 0, 15), sym.NewVar("p", sym.Int(8))
	m, part := &expr.Var{Name: "m", DType: f32}, &expr.Var{Name: "part", DType: f32, Len: 4}
	late := &expr.Var{Name: "late", DType: f32}
	eight := sym.Mul(sym.Int(8), n.Expr())
	x := func(at sym.Expr) *expr.Expr { return expr.At(2, f32, at) }
	t0 := expr.At(4, u8, at0)
	f := &loop.Func{Name: "f", Syms: []*sym.Symbol{n}, Bufs: []loop.Buf{
		{Name: "y", DType: f32, Role: loop.Out, Len: eight},
		{Name: "z", DType: f32, Role: loop.InOut, Len: sym.Inf(), Init: 2},
		{Name: "x", DType: f32, Len: eight}, {Name: "idx", DType: ir.Int64, Len: n.Expr()},
		{Name: "t", DType: u8, Role: loop.Scratch, Len: sym.Int(64)},
	}, Scalars: []*expr.Var{{Name: "c0", DType: f32}}, Body: []loop.Stmt{
		&loop.For{Var: i, Extent: n.Expr(), Vectorizable: true, Body: []loop.Stmt{
			&loop.LetIndex{Sym: p, Value: expr.At(3, ir.Int64, i.Expr())},
			&loop.Let{Var: m, Value: expr.Neutral(expr.ReduceMax, f32), Mutable: true},
			&loop.Let{Var: part, Mutable: true},
			&loop.For{Var: j, Extent: sym.Int(4), Body: []loop.Stmt{
				&loop.Assign{Var: part, At: j.Expr(), Value: expr.Mul(x(sym.Add(sym.Mul(sym.Int(8),
					i.Expr()), j.Expr())), expr.ScalarRef(0, f32))},
				&loop.Assign{Var: m, Value: expr.Max(expr.Get(m), expr.GetAt(part, j.Expr()))},
			}},
			&loop.For{Var: k, Extent: sym.Mul(sym.Int(2), n.Expr()), Body: []loop.Stmt{
				&loop.If{Cond: expr.Gt(x(k.Expr()), expr.Get(m)), Then: []loop.Stmt{&loop.Break{}},
					Else: []loop.Stmt{&loop.Store{Buf: 1, At: p.Expr(),
						Value: expr.CallFn(math.Func("exp", f32), expr.Sub(x(k.Expr()), expr.Get(m)))}}},
			}},
			&loop.Let{Var: late},
			&loop.While{Cond: expr.Lt(t0, expr.Int(u8, 3)), Body: []loop.Stmt{
				&loop.Store{Buf: 4, At: at0, Value: expr.Add(t0, expr.Int(u8, 1))},
			}},
			&loop.Store{Buf: 0, At: i.Expr(), Value: expr.Add(expr.Get(m), expr.Float(f32, 0.5))},
		}},
	}}
	if diff := cmp.Diff(everything, f.String()); diff != "" {
		t.Error(diff)
	}
	if r := reference.Verify(f); len(r.Errors) > 0 {
		t.Error(r.Errors)
	}
}

// Names that meet in one place are told apart.
func TestNames(t *testing.T) {
	f32, four := ir.Float32, sym.Int(4)
	i, j := sym.NewVar("i", four), sym.NewVar("i", four)
	a, b := &expr.Var{Name: "x", DType: f32}, &expr.Var{Name: "x", DType: f32}
	at := sym.Add(sym.Mul(four, i.Expr()), j.Expr())
	load := expr.At(1, f32, at)
	f := &loop.Func{Name: "f", Bufs: []loop.Buf{{Name: "x", DType: f32, Role: loop.Out,
		Len: sym.Int(16)}, {Name: "x", DType: f32, Len: sym.Int(16)}}, Body: []loop.Stmt{
		&loop.For{Var: i, Extent: four, Body: []loop.Stmt{
			&loop.Let{Var: a, Value: expr.At(1, f32, i.Expr())},
			&loop.For{Var: j, Extent: four, Body: []loop.Stmt{
				&loop.Let{Var: b, Value: load},
				&loop.Store{Buf: 0, At: at, Value: expr.Add(expr.Get(a), expr.Get(b))},
			}},
		}},
	}}
	want := `func f(out x: f32[16], x_2: f32[16]) {
  for i < 4 {
    let x: f32 = x_2[i]
    for i_2 < 4 {
      let x_2: f32 = x_2[4*i + i_2]
      x[4*i + i_2] = x + x_2
    }
  }
}
`
	if diff := cmp.Diff(want, f.String()); diff != "" {
		t.Error(diff)
	}
}
