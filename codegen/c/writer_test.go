package c

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

func TestIntLiteral(t *testing.T) {
	for _, tc := range []struct {
		n    int64
		t    ctype
		want string
	}{
		{-5, tI32, "-5"}, {-1 << 31, tI32, "INT32_MIN"}, {-1 << 63, tI64, "INT64_MIN"},
		{-1, tU64, "18446744073709551615u"}, {7, tU64, "(uint64_t)7"},
		{1 << 40, tI64, "1099511627776"}, {1, tBool, "true"}, {4294967295, tU32, "4294967295u"},
	} {
		if got := intLiteral(tc.n, tc.t).s; got != tc.want {
			t.Errorf("%d as %v: %s, want %s", tc.n, tc.t, got, tc.want)
		}
	}
}

func TestFloatText(t *testing.T) {
	for _, tc := range []struct {
		x    float64
		t    ctype
		want string
	}{
		{1, tF32, "1.0f"}, {0.1, tF64, "0.1"}, {float64(float32(0.1)), tF32, "0.1f"},
		{1e-20, tF64, "1e-20"},
		{16777216, tF32, "1.6777216e+07f"}, {-0.0625, tF32, "-0.0625f"}, {123456, tF64, "123456.0"},
	} {
		if got := floatText(tc.x, tc.t); got != tc.want {
			t.Errorf("%g: %s, want %s", tc.x, got, tc.want)
		}
	}
}

// TestIndexType: 32 bits unless the numbers of some call need more.
func TestIndexType(t *testing.T) {
	program := func(rows, stride int64) *native.Program {
		n, s := sym.NewSymbol("n", 0, 1<<20), sym.NewSymbol("s", 0, 1<<20) // over all calls
		i := sym.NewVar("i", n.Expr())
		fn := &loop.Func{Name: "k", Syms: []*sym.Symbol{n, s},
			Bufs: []loop.Buf{{Name: "out", DType: ir.Float32, Role: loop.Out, Len: sym.Inf()}},
			Body: []loop.Stmt{&loop.For{Var: i, Extent: n.Expr(),
				Body: []loop.Stmt{&loop.Store{At: sym.Mul(i.Expr(), s.Expr()),
					Value: expr.Float(ir.Float32, 0)}}}}}
		out := &native.Buffer{Name: "out", DType: ir.Float32, Len: sym.Int(1), MaxLen: 1,
			Storage: native.Output}
		k := &native.Kernel{Name: "k", Params: fn.Syms, Loop: fn}
		return &native.Program{Methods: []*native.Method{{Body: []native.Stmt{
			&native.Call{Kernel: k, Args: []*native.Buffer{out}, Ints: []sym.Expr{sym.Int(rows),
				sym.Int(stride)}}}}}}
	}
	if got := indexType(program(1<<20, 1000)); got != tI32 {
		t.Errorf("2^20 rows of 1000: %v", got)
	}
	if got := indexType(program(1<<20, 1<<12)); got != tI64 {
		t.Errorf("2^20 rows of 2^12: %v", got)
	}
}
