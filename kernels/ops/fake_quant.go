package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
)

// fakeQuantOps round to what integers of a range stand for. In training they
// also tell which elements lay inside of it.
func fakeQuantOps() []Op {
	const bounds = "int quant_min, int quant_max"
	return []Op{
		fakeQuant("aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, " + bounds + ") -> Tensor"),
		fakeQuant("aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, " + bounds + ") -> Tensor"),
		fakeQuant("aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, " + bounds + ") -> (Tensor output, Tensor mask)"),
		fakeQuant("aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, Tensor fake_quant_enabled, " + bounds + ") -> (Tensor output, Tensor mask)"),
		fakeQuant("aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, " + bounds + ") -> Tensor"),
		fakeQuant("aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, " + bounds + ") -> (Tensor output, Tensor mask)"),
	}
}

// fakeQuant computes in float32, by the reciprocal of the scale.
func fakeQuant(schema string) Op {
	return Op{Schema: schema, Decompose: func(b *Builder,
		c *Call) ([]*ir.Value, error) {
		x := c.Value("self")
		d := x.Type.DType
		lo := must(c.Int("quant_min"))
		hi, err := c.Int("quant_max")
		if err == nil && (lo > hi || !d.IsFloat()) {
			err = c.Errorf("%s, quantised to [%d, %d]", d, lo, hi)
		}
		if err != nil {
			return nil, err
		}
		shape := must(c.qparamShape(x.Type))
		param := func(name string) *ir.Value {
			if c.Operand(name) < 0 {
				n, e := c.Float(name)
				check(e)
				return b.scalar(n, ir.Float32)
			}
			return b.Op("aten.reshape.default", b.cast(c.Value(name), ir.Float32), shape)
		}
		scale, zero := param("scale"), param("zero_point")
		scaled := b.Op("aten.round.default", b.mul(b.cast(x, ir.Float32),
			b.Op("aten.reciprocal.default", scale)))
		q := b.add(scaled, zero)
		y := b.cast(b.mul(b.sub(b.Op("aten.clamp.default", q, lo, hi), zero), scale), d)
		inside := b.Op("aten.logical_and.default", b.Op("aten.ge.Scalar", q, lo),
			b.Op("aten.le.Scalar", q, hi))
		if k := c.Op.sch.Index("fake_quant_enabled"); k >= 0 {
			on := b.Op("aten.reshape.default", b.Op("aten.ne.Scalar", c.Value("fake_quant_enabled"),
				0), []int{})
			y = b.where(on, y, x, d)
			inside = b.Op("aten.logical_or.default", inside, b.Op("aten.logical_not.default", on))
		}
		return []*ir.Value{y, inside}[:len(c.Op.sch.Returns)], nil
	}}
}

// qparamShape is the shape in which scales and zero points are broadcast over t.
func (c *Call) qparamShape(t ir.Type) ([]int, error) {
	if c.Op.sch.Index("axis") < 0 {
		return []int{}, nil
	}
	if t.Rank() == 0 {
		return nil, c.Errorf("a tensor without dimensions has no channels")
	}
	axis := must(c.dim("axis", t.Rank()))
	shape := slices.Repeat([]int{1}, t.Rank())
	shape[axis] = -1
	return shape, nil
}
