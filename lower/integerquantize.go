package lower

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
)

// limits are those of floats.
type limits struct{ lo, hi float64 }

var unlimited = limits{math.Inf(-1), math.Inf(1)}

// of returns the limits of what l limits and then r.
func (l limits) of(r limits) limits {
	return limits{min(max(l.lo, r.lo), r.hi), max(min(l.hi, r.hi), r.lo)}
}

// limitsOf returns the limits of a relu, hardtanh or clamp; ok is false if c is none, or they are
// not known.
func limitsOf(c *ops.Call) (r limits, ok bool) {
	switch c.Op.Name() {
	case "aten.relu.default":
		return limits{0, math.Inf(1)}, true
	case "aten.relu6.default":
		return limits{0, 6}, true
	case "aten.hardtanh.default", "aten.clamp.default", "aten.clamp_min.default",
		"aten.clamp_max.default":
	default:
		return unlimited, false
	}
	r = unlimited
	for name, to := range map[string]*float64{"min": &r.lo, "max": &r.hi, "min_val": &r.lo,
		"max_val": &r.hi} {
		if c.Op.ParsedSchema().Index(name) < 0 || !c.Has(name) {
			continue
		}
		x, err := c.Float(name)
		if err != nil || math.IsNaN(x) {
			return r, false
		}
		*to = x
	}
	r.lo = min(r.lo, r.hi) // as clamp limits to lo first
	return r, true
}

// quantization is what a quantize node does.
type quantization struct {
	scale  float64
	zero   int64
	lo, hi int64
	dtype  ir.DType
	// less is what the integers are less than those of the node: 128 where they are int8 for uint8
	less int64
	// other are the integers for what is near to the middle of two, in steps; of sums in fixed
	// point
	other *ir.Value
	near  float64
}

// quantizer makes what node n does of floats; nil if it cannot.
type quantizer func(b *ops.Builder, n *ir.Node, to *quantization) *ir.Value

// noteRows notes a node that normalises rows of integers.
func (a *integerArithmetic) noteRows(n *ir.Node, c *ops.Call) {
	var fixed, floats quantizer
	if f := a.normOf(c); f != nil {
		fixed, floats = f.fixed, f.quantized
	} else if f := a.softmaxOf(c); f != nil {
		fixed, floats = f.fixed, f.quantized
	} else {
		return
	}
	a.forms[n.Output(0)] = &form{unlimited, func(b *ops.Builder, q *ir.Node,
		to *quantization) (made *ir.Value) {
		if a.fixedPoint {
			made = fixed(b, q, to)
		}
		if made == nil {
			made = floats(b, q, to)
		}
		return made
	}}
}

// limited returns the integers that limits are quantized to, which are those of what lies beyond
// them.
func (r *quantization) limited(l limits) (lo, hi int64) {
	at := func(x float64) int64 {
		y := math.RoundToEven(float64(float32(x)*float32(1/r.scale))) + float64(r.zero)
		return int64(min(max(y, float64(r.lo)), float64(r.hi)))
	}
	return at(l.lo), at(l.hi)
}

// quantizationOf returns what a quantize node does, nil if only the run knows.
func (a *integerArithmetic) quantizationOf(c *ops.Call) *quantization {
	scale, ok1 := a.numbers(c, "scale")
	zero, ok2 := a.numbers(c, "zero_point")
	lo, err1 := c.Int("quant_min")
	hi, err2 := c.Int("quant_max")
	if !ok1 || !ok2 || err1 != nil || err2 != nil || len(scale) != 1 || len(zero) != 1 ||
		!(float32(scale[0]) > 0) {
		return nil
	}
	return &quantization{float64(float32(scale[0])), int64(zero[0]), lo, hi, c.Outs[0].DType, 0, nil,
		0}
}

// quantize is the integers that the input stands for already, or what is made of integers in
// fewer steps than by floats.
func (a *integerArithmetic) quantize(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	to := a.quantizationOf(c)
	if to == nil {
		return nil
	}
	given := to
	if to.dtype == ir.Uint8 {
		to = to.signed()
	}
	v := c.Value("input")
	x, within := a.quantized(b, n, v, to)
	if x == nil {
		for i := range within {
			within[i] += to.less
		}
		a.within[n.Output(0)] = within
		return nil
	}
	if a.within[x] == [2]int64{} {
		a.within[x] = within
	}
	if to != given {
		y := b.Op(ops.IntegerLinear, []*ir.Value{x}, []int64{1}, uint8Zero, 0, given.lo, given.hi,
			ir.Uint8)
		a.int8[y], x = x, y
	}
	return []*ir.Value{x}
}

// float quantizes v by floats.
func (r *quantization) float(b *ops.Builder, v *ir.Value) *ir.Value {
	return b.Op(quantizeOp+".default", v, r.scale, r.zero, r.lo, r.hi, r.dtype)
}

// uint8Zero is what uint8 are more than the int8 that stand for the same: the kernels are those
// of int8.
const uint8Zero = 128

// signed is what gives int8 for the uint8 of r.
func (r *quantization) signed() *quantization {
	return &quantization{r.scale, r.zero - uint8Zero, r.lo - uint8Zero, r.hi - uint8Zero, ir.Int8,
		uint8Zero, nil, 0}
}

// signed is q of int8 if it is of uint8.
func (a *integerArithmetic) signed(b *ops.Builder, q *quantity) *quantity {
	if q.ints.Type.DType != ir.Uint8 || q.dynamic[0] != nil {
		return q
	}
	s := *q
	s.least, s.most, s.zero = q.least-uint8Zero, q.most-uint8Zero, slices.Clone(q.zero)
	var zeros []byte
	for i := range s.zero {
		s.zero[i] -= uint8Zero
		zeros = binary.LittleEndian.AppendUint64(zeros, uint64(s.zero[i]))
	}
	if q.zeros != nil {
		s.zeros = ir.Ref{Value: b.Constant(q.ints.Name+"_zeros", &ir.Constant{Data: ir.Bytes(zeros),
			Type: ir.StaticTensor(ir.Int64, int64(len(s.zero)))})}
	}
	if s.ints = a.lessHalf(b, q.ints); s.ints == nil {
		return q
	}
	return &s
}

// lessHalf is v of uint8, less 128, as int8; nil if v is a constant that cannot be computed.
func (a *integerArithmetic) lessHalf(b *ops.Builder, v *ir.Value) *ir.Value {
	if a.int8[v] != nil {
		return a.int8[v]
	}
	build := func(b *ops.Builder) []*ir.Value {
		return b.Ops(ops.IntegerLinear, []*ir.Value{v}, []int64{1}, -uint8Zero, 0, math.MinInt8,
			math.MaxInt8, ir.Int8)
	}
	if !a.constant[v] {
		a.int8[v] = build(b)[0]
	} else if made := computed(b.Table, build); made != nil {
		a.int8[v] = b.Constant(v.Name, made[0])
		a.constant[a.int8[v]] = true
	}
	return a.int8[v]
}

// gives reports whether the integers of q are what it is quantized to.
func (q *quantity) gives(to *quantization) bool {
	return q.uniform() && q.scale[0] == to.scale && q.zero[0] == to.zero &&
		q.ints.Type.DType == to.dtype && q.least >= to.lo && q.most <= to.hi
}

// quantized is what node n makes of v, and between which integers it lies; nil if no fewer steps
// than by floats give it.
func (a *integerArithmetic) quantized(b *ops.Builder, n *ir.Node, v *ir.Value,
	to *quantization) (made *ir.Value, within [2]int64) {
	within = [2]int64{to.lo, to.hi}
	if q := a.of[v]; q != nil && q.gives(to) {
		if q.inner != nil {
			a.padded[q.ints] = q
		}
		return q.ints, [2]int64{q.least, q.most}
	}
	if x, in := a.formed(b, n, v, to); x != nil {
		return x, in
	}
	if l := a.linearOf(v); l != nil && len(l.terms) > 0 {
		if s := a.stepsOf(b.Table, n, v, l, to); s != nil {
			return s.emit(b, v, to), [2]int64{s.lo, s.hi}
		}
	}
	if f := a.functions[v]; f != nil && n.Op == quantizeOp+".default" {
		return a.table(b, n, v, f, to), within
	}
	return nil, within
}

// formed is what node n makes of v by a form, and between which integers it lies; nil if there is
// none.
func (a *integerArithmetic) formed(b *ops.Builder, n *ir.Node, v *ir.Value,
	to *quantization) (made *ir.Value, within [2]int64) {
	f := a.forms[v]
	if f == nil {
		return nil, within
	}
	limited := *to
	limited.lo, limited.hi = to.limited(f.limits)
	return f.build(b, n, &limited), [2]int64{limited.lo, limited.hi}
}

// quantized is the sum scaled and rounded in one step.
func (s *scaledSum) quantized(b *ops.Builder, n *ir.Node, to *quantization) *ir.Value {
	if y := s.rescaled(b, n, to); y != nil {
		return y
	}
	y := s.times(b, n, seq.Map(s.scale, func(k float64) float64 { return k / to.scale }))
	made := b.Op(quantizeOp+".default", y, 1.0, to.zero, to.lo, to.hi, to.dtype)
	if s.exact || s.floats { // a kernel of floats may store floats in any language
		made = b.Op("aten._to_copy.default", made, ops.Kw("dtype", ir.Float32))
		made = b.Op("aten._to_copy.default", made, ops.Kw("dtype", to.dtype))
	}
	return made
}
