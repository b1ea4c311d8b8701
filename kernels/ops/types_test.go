package ops

import (
	"testing"

	"github.com/etgen/etgen/ir"
)

func TestPromoteTypes(t *testing.T) {
	for _, tt := range []struct{ a, b, want ir.DType }{
		{ir.Uint8, ir.Int8, ir.Int16},
		{ir.Uint8, ir.Int16, ir.Int16},
		{ir.Uint8, ir.Int64, ir.Int64},
		{ir.Uint8, ir.Uint16, ir.Uint16},
		{ir.Bool, ir.Uint8, ir.Uint8},
		{ir.Bool, ir.BFloat16, ir.BFloat16},
		{ir.Int64, ir.Float16, ir.Float16},
		{ir.Float16, ir.BFloat16, ir.Float32},
		{ir.Float32, ir.Float64, ir.Float64},
		{ir.Float64, ir.Complex64, ir.Complex128},
		{ir.Float32, ir.Complex32, ir.Complex64},
		{ir.Float16, ir.Complex32, ir.Complex32},
		{ir.Int32, ir.Complex64, ir.Complex64},
		{ir.Float32, ir.InvalidDType, ir.Float32},
		{ir.Uint16, ir.Int32, ir.InvalidDType},
		{ir.Int8, ir.Uint16, ir.InvalidDType},
		{ir.Float8E4M3FN, ir.Float32, ir.InvalidDType},
		{ir.Float8E4M3FN, ir.Float8E4M3FN, ir.Float8E4M3FN},
	} {
		for _, p := range [][2]ir.DType{{tt.a, tt.b}, {tt.b, tt.a}} {
			got, ok := promoteTypes(p[0], p[1])
			if got != tt.want || ok != (tt.want != ir.InvalidDType) {
				t.Errorf("%v with %v is %v, want %v", p[0], p[1], got, tt.want)
			}
		}
	}
}

// TestPromotion checks that tensors with dimensions outweigh those without, and
// those numbers.
func TestPromotion(t *testing.T) {
	x := func(d ir.DType, shape ...int64) ir.Arg {
		return ir.Ref{Value: &ir.Value{Type: ir.StaticTensor(d, shape...)}}
	}
	for _, tt := range []struct {
		args []ir.Arg
		want ir.DType
	}{
		{[]ir.Arg{x(ir.Int32, 2), x(ir.Int64)}, ir.Int32},
		{[]ir.Arg{x(ir.Int32, 2), x(ir.Float64)}, ir.Float64},
		{[]ir.Arg{x(ir.Float16, 2), x(ir.Float64)}, ir.Float16},
		{[]ir.Arg{x(ir.Float16, 2), ir.Float(2)}, ir.Float16},
		{[]ir.Arg{x(ir.Int8, 2), ir.Int(300)}, ir.Int8},
		{[]ir.Arg{x(ir.Int8), ir.Int(300)}, ir.Int8},
		{[]ir.Arg{x(ir.Int64, 2), ir.Float(2)}, ir.Float32},
		{[]ir.Arg{x(ir.Bool, 2), ir.Int(2)}, ir.Int64},
		{[]ir.Arg{x(ir.Bool, 2), ir.BoolArg(true)}, ir.Bool},
		{[]ir.Arg{x(ir.Float64), x(ir.Float32, 1)}, ir.Float32},
		{[]ir.Arg{x(ir.Float64, 2), ir.Complex(1i)}, ir.Complex128},
		{[]ir.Arg{ir.Int(1), ir.Float(2)}, ir.Float32},
	} {
		var p promotion
		c := &Call{}
		for _, a := range tt.args {
			c.promoteArg(&p, a)
		}
		if got, ok := p.result(); !ok || got != tt.want {
			t.Errorf("%v: %v, want %v", tt.args, got, tt.want)
		}
	}
}
