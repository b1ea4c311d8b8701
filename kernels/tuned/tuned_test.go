package tuned

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

func TestBounds(t *testing.T) {
	acc := &expr.Var{Name: "acc", DType: ir.Float32}
	o, c := sym.NewVar("o", sym.Int(64)), sym.NewVar("c", sym.Int(8))
	v := &expr.Expr{Op: expr.OpLocal, DType: ir.Float32, Var: acc}
	at := func(buf int, s *sym.Symbol) *expr.Expr { return expr.At(buf, ir.Float32, s.Expr()) }
	num := func(x float64) *expr.Expr {
		return &expr.Expr{Op: expr.OpConst, DType: ir.Float32, Float: x}
	}
	inf := math.Inf(1)
	for _, k := range []struct {
		name string
		body *expr.Expr
		want Bounds
		ok   bool
	}{
		{"nothing", v, Bounds{-1, -inf, inf}, true},
		{"below", expr.Max(num(0), v), Bounds{-1, 0, inf}, true},
		{"above", expr.Min(num(6), v), Bounds{-1, -inf, 6}, true},
		{"both", expr.Min(num(6), expr.Max(num(0), v)), Bounds{-1, 0, 6}, true},
		{"both the other way round", expr.Max(num(0), expr.Min(num(6), v)), Bounds{}, false},
		{"sum", expr.Max(num(0), expr.Add(v, at(1, o))), Bounds{1, 0, inf}, true},
		{"sum the other way round", expr.Add(at(0, o), v), Bounds{0, -inf, inf}, true},
		{"by channel", expr.Add(v, at(0, c)), Bounds{}, false},
		{"sum of bounded", expr.Add(expr.Max(num(0), v), at(0, o)), Bounds{}, false},
		{"what is no number becomes one", expr.Max(v, num(0)), Bounds{}, false},
		{"crossed", expr.Min(num(-1), expr.Max(num(0), v)), Bounds{}, false},
		{"square", expr.Mul(v, v), Bounds{}, false},
	} {
		got, ok := (&Epilogue{Acc: acc, O: o, C: c, Body: k.body, DType: ir.Float32}).Bounds()
		if ok != k.ok || ok && got != k.want {
			t.Errorf("%s: %v %v, want %v %v", k.name, got, ok, k.want, k.ok)
		}
	}
}

func TestFloats(t *testing.T) {
	want := []float32{0, -1.5, 3e38}
	if got := floats(packed("w", want).Data); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// Blocks of weights are stored once if they are equal, whatever is behind the last channel.
func TestOneForAll(t *testing.T) {
	for _, c := range []struct {
		w        []byte
		channels int
		want     []byte // nil: they differ
	}{
		{[]byte{1, 2, 3, 4, 1, 2, 3, 4}, 4, []byte{1, 2, 3, 4}}, // of two channels, two taps
		{[]byte{1, 2, 3, 4, 1, 0, 3, 0}, 3, []byte{1, 2, 3, 4}},
		{[]byte{1, 2, 3, 4, 1, 0, 3, 0}, 4, nil},
		{[]byte{1, 2, 3, 4}, 2, nil}, // there is one block
	} {
		got, ok := oneForAll(c.w, 4, 2, c.channels)
		if ok != (c.want != nil) || ok && !bytes.Equal(got, c.want) {
			t.Errorf("%v of %d channels: %v", c.w, c.channels, got)
		}
	}
}
