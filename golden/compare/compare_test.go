package compare

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
)

func f32(xs ...float64) tensor.Value {
	t := &tensor.Tensor{DType: ir.Float32, Shape: []int64{int64(len(xs))}}
	for _, x := range xs {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(float32(x)))
	}
	return tensor.Value{Tensor: t}
}

func TestFloats(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	exact, class := Tolerance{Exact: true}, Tolerance{Class: true}
	for _, c := range []struct {
		got, want tensor.Value
		tol       Tolerance
		miss      string // "" if it passes
	}{
		{f32(1, 2), f32(1, 2), Tolerance{}, ""},
		{f32(1, 2.00001), f32(1, 2), Tolerance{}, ""},
		{f32(1, 2.0001), f32(1, 2), Tolerance{}, "element 1 at [1] is 2.000"},
		{f32(0, 1000.03), f32(0, 1000), Tolerance{Terms: 1}, "1 of 2"},
		{f32(0, 1000.03), f32(0, 1000), Tolerance{Terms: 10000}, ""},
		{f32(1, 2.1), f32(1, 2), Tolerance{Slack: 0.025}, ""},
		{f32(1, 2.2), f32(1, 2), Tolerance{Slack: 0.025}, "(limit 0.1)"},
		{f32(nan, inf, -inf), f32(nan, inf, -inf), Tolerance{}, ""},
		{f32(nan, inf, -inf), f32(nan, inf, -inf), exact, ""},
		{f32(0), f32(nan), Tolerance{}, "is 0, want NaN"},
		{f32(nan), f32(0), Tolerance{}, "is NaN, want 0"},
		{f32(3e38), f32(inf), Tolerance{Slack: 1e300}, "want +Inf"},
		{f32(3e38, inf), f32(inf, 3e38), Tolerance{Overflow: true}, ""},
		{f32(2e37), f32(inf), Tolerance{Overflow: true}, "want +Inf"},
		{f32(-3e38), f32(inf), Tolerance{Overflow: true}, "want +Inf"},
		{f32(-inf), f32(inf), Tolerance{Overflow: true}, "is -Inf"},
		{f32(-inf), f32(inf), Tolerance{}, "is -Inf"},
		{f32(math.Copysign(0, -1)), f32(0), Tolerance{}, ""},
		{f32(math.Copysign(0, -1)), f32(0), exact, "is -0"},
		{f32(1.0000001), f32(1), exact, "want 1"},
		{f32(1), f32(1, 2), Tolerance{}, "float32 [1], want float32 [2]"},
		{f32(1), f32(1, 2), class, "float32 [1], want float32 [2]"},
		{f32(3, 9, nan), f32(1, 2, -4), class, ""},
		{f32(3, 2, 1), f32(1, 2, -4), class, "the largest element is at [0], want it at [1]"},
		{f32(nan, nan), f32(1, 2), class, "is nowhere"},
		{f32(-inf, -inf), f32(-2, -3), class, ""},
		{f32(1), tensor.Value{Scalar: ir.Float(1)}, Tolerance{}, "want float 1"},
		{tensor.Value{Scalar: ir.Float(1.00000001)}, tensor.Value{Scalar: ir.Float(1)},
			Tolerance{}, ""},
		{tensor.Value{Scalar: ir.Float(1.1)}, tensor.Value{Scalar: ir.Float(1)},
			Tolerance{}, "is 1.1"},
		{tensor.Value{Scalar: ir.Int(1)}, tensor.Value{Scalar: ir.Float(1)}, Tolerance{},
			"it is int 1"},
		{tensor.Value{Scalar: ir.Int(1)}, tensor.Value{Scalar: ir.Int(1)}, Tolerance{}, ""},
		{tensor.Value{Scalar: ir.None{}}, tensor.Value{Scalar: ir.None{}}, Tolerance{}, ""},
	} {
		miss := Values(c.got, c.want, c.tol)
		switch {
		case miss == nil && c.miss != "":
			t.Errorf("%v passes, want %q", c, c.miss)
		case miss != nil && (c.miss == "" || !strings.Contains(miss.Error(), c.miss)):
			t.Errorf("%v: %v, want %q", c, miss, c.miss)
		}
	}
}

// A float8 has one byte.
func TestFloat8(t *testing.T) {
	got := Floats(&tensor.Tensor{DType: ir.Float8E4M3FN, Shape: []int64{2}, Data: []byte{0x38, 0xc0}})
	if len(got) != 2 || got[0] != 1 || got[1] != -2 {
		t.Error(got)
	}
}

func TestDTypes(t *testing.T) {
	value := func(d ir.DType, data ...byte) tensor.Value {
		return tensor.Value{Tensor: &tensor.Tensor{DType: d,
			Shape: []int64{1, int64(len(data) / d.Size())}, Data: data}}
	}
	for _, c := range []struct {
		got, want tensor.Value
		miss      string
	}{
		{value(ir.Int16, 1, 0, 0xff, 0xff), value(ir.Int16, 1, 0, 0xfe, 0xff),
			"element 1 at [0 1] is -1, want -2; 1 of 2"},
		{value(ir.Uint8, 255), value(ir.Uint8, 254), "is 255"},
		{value(ir.Bool, 1), value(ir.Bool, 0), "is true, want false"},
		{value(ir.Bool, 2), value(ir.Bool, 1), "is 2, want true"}, // no bool holds 2
		{value(ir.BFloat16, 0x80, 0x3f), value(ir.BFloat16, 0x81, 0x3f), ""},
		{value(ir.BFloat16, 0x80, 0x3f), value(ir.BFloat16, 0x90, 0x3f), "is 1, want 1.125"},
		{value(ir.Float16, 0, 0x3c), value(ir.Float16, 0, 0x40), "is 1, want 2"},
		{value(ir.Complex64, 0, 0, 0, 0, 0, 0, 0x80, 0x3f), value(ir.Complex64, 0, 0, 0, 0, 0, 0, 0,
			0x40), "element 0 at [0 0] is 1, want 2"},
	} {
		miss := Values(c.got, c.want, Tolerance{})
		if miss == nil && c.miss != "" || miss != nil && (c.miss == "" ||
			!strings.Contains(miss.Error(), c.miss)) {
			t.Errorf("%v: %v, want %q", c, miss, c.miss)
		}
	}
}
