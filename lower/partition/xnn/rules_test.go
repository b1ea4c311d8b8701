package xnn

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/kernels/ops"
)

// Rules are of operators that there are, and so are the operands that they name.
func TestRules(t *testing.T) {
	table := ops.Standard()
	for name, r := range rules {
		op, ok := table.Lookup(name)
		if !ok {
			t.Errorf("there is no operator %s", name)
			continue
		}
		for _, operand := range r.static {
			if op.ParsedSchema().Index(operand) < 0 {
				t.Errorf("%s has no operand %s", name, operand)
			}
		}
		if r.write == nil {
			t.Errorf("nothing writes %s", name)
		}
	}
	for name, known := range inIntegers {
		if op, ok := table.Lookup(name); !ok || rules[name].write == nil ||
			known.weight != "" && op.ParsedSchema().Index(known.weight) < 0 {
			t.Errorf("%s is no operator with the weight %s", name, known.weight)
		}
	}
}

// Types that XNNPACK has no tensors of are refused.
func TestUnfit(t *testing.T) {
	for _, c := range []struct {
		t  ir.Type
		ok bool
	}{
		{ir.StaticTensor(ir.Float32, 1, 2, 3), true},
		{ir.StaticTensor(ir.Float32), true},
		{ir.StaticTensor(ir.Float16, 1), true},
		{ir.StaticTensor(ir.Float64, 1), false},
		{ir.StaticTensor(ir.Float32, 1, 0), false},
		{ir.StaticTensor(ir.Float32, 1, 1, 1, 1, 1, 1, 1), false},
		{ir.StaticTensor(ir.Float32, 1<<31), false},
		{ir.Type{Kind: ir.IntKind}, false},
	} {
		if why := unfit(c.t); (why == "") != c.ok {
			t.Errorf("%v: %q", c.t, why)
		}
	}
}

// Integers for whose scales XNNPACK has no kernels stay floats.
func TestFits(t *testing.T) {
	q := func(s float32) xnnpack.PerTensor { return xnnpack.PerTensor{Scale: s} }
	for _, c := range []struct {
		op   string
		in   []xnnpack.PerTensor
		w    *weight
		out  float32
		want bool
	}{
		{"aten.add.Tensor", []xnnpack.PerTensor{q(1), q(2)}, nil, 1, true},
		{"aten.add.Tensor", []xnnpack.PerTensor{q(1), q(256)}, nil, 1, false},
		{"aten.add.Tensor", []xnnpack.PerTensor{q(1), q(1)}, nil, 1025, false},
		{"aten.mul.Tensor", []xnnpack.PerTensor{q(16), q(16)}, nil, 1, false},
		{"aten.mul.Tensor", []xnnpack.PerTensor{q(16), q(15)}, nil, 1, true},
		{"aten.linear.default", []xnnpack.PerTensor{q(2)}, &weight{scales: []float32{1, 128}}, 1, false},
		{"aten.cat.default", []xnnpack.PerTensor{q(2), q(2)}, nil, 2, true},
		{"aten.cat.default", []xnnpack.PerTensor{q(2), q(1)}, nil, 2, false},
	} {
		if got := inIntegers[c.op].fits(c.op, c.in, c.w, q(c.out)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Elements in another order of dimensions, and the dimension that has scales.
func TestPermute(t *testing.T) {
	k := &weight{data: []byte{0, 1, 2, 3, 4, 5}, dims: []uint32{2, 3}, scales: []float32{1, 2}}
	k.permute([]uint32{1, 0})
	if string(k.data) != "\x00\x03\x01\x04\x02\x05" || k.dims[0] != 3 || k.dims[1] != 2 ||
		k.axis != 1 {
		t.Errorf("%+v", k)
	}
}

// What torchao's blocks are: a scale for all, which are no weights here, for each index of a
// dimension, or for groups of a row.
func TestStored(t *testing.T) {
	for _, c := range []struct {
		block, sizes, scale string
		axis, group         int // axis -1: none
	}{
		{"[1, 64]", "[3, 64]", "[3, 1]", 0, 0},
		{"[3, 1]", "[3, 64]", "[1, 64]", 1, 0},
		{"[1, 32]", "[3, 64]", "[3, 2]", 0, 32},
		{"[1, 32]", "[1, 64]", "[1, 2]", 0, 32},
		{"[1, 3, 2, 2]", "[4, 3, 2, 2]", "[4]", 0, 0},
		{"[3, 64]", "[3, 64]", "[1]", -1, 0},
		{"[3, 32]", "[3, 64]", "[2]", -1, 0},
		{"[1, 1, 2, 2]", "[4, 3, 2, 2]", "[12]", -1, 0},
	} {
		p, err := ir.Parse("test", "program \"p\"\ndialect functional\n\nmethod forward {\n"+
			"  takes builtins.tuple(builtins.tuple(*, *), builtins.dict())\n  returns *\n"+
			"  input %w: i8"+c.sizes+"\n  input %s: f32"+c.scale+"\n\n"+
			"  %y: f32"+c.sizes+" = torchao.dequantize_affine.default(input=%w, block_size="+
			c.block+", scale=%s, zero_point=none, input_dtype=i8, quant_min=-8, quant_max=7)\n"+
			"  return (%y)\n}\n")
		if err != nil {
			t.Fatal(err)
		}
		call, err := ops.Standard().Bind(p.Methods[0].Graph.Nodes[0])
		if err != nil {
			t.Fatal(err)
		}
		got := stored{axis: -1}
		if s := storedOf(call); s != nil {
			got = *s
		}
		if got.axis != c.axis || got.group != c.group || got.axis >= 0 && !got.four {
			t.Errorf("blocks %s of %s: %+v", c.block, c.sizes, got)
		}
	}
}

// An elu with factors that XNNPACK does not have is refused.
func TestElu(t *testing.T) {
	for _, c := range []struct {
		alpha, scale, input float64
		ok                  bool
	}{
		{1, 1, 1, true}, {0.5, 1, 1, true}, {0, 1, 1, false}, {-1, 1, 1, false}, {1e-42, 1, 1, false},
		{1e39, 1, 1, false}, {1, 2, 1, false}, {1, 1, 0.5, false},
	} {
		x := &ir.Value{Name: "x", Type: ir.StaticTensor(ir.Float32, 3)}
		n := &ir.Node{Op: "aten.elu.default", Args: []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: x}},
			{Name: "alpha", Value: ir.Float(c.alpha)}, {Name: "scale", Value: ir.Float(c.scale)},
			{Name: "input_scale", Value: ir.Float(c.input)}}}
		call, err := ops.Standard().Bind(n)
		if err != nil {
			t.Fatal(err)
		}
		if why := scalesOnce(call); (why == "") != c.ok {
			t.Errorf("%+v: %q", c, why)
		}
	}
}
