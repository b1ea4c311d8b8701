package lower

import (
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
)

// CortexM makes a quantized network compute with ExecuTorch's operators for microcontrollers, in
// CMSIS-NN's fixed-point arithmetic. What computes floats of quantities of int8, and is quantized
// to int8, is one of them:
//
//   - a convolution, a product with constants or of two tensors, a mean: sums of products, with a
//     bias of int32, times a multiplier for each channel;
//   - add, sub, mul, div and softmax;
//   - an elementwise function of one tensor, also one that gives it another scale: a table.
//
// A relu or clamp in between is the operator's limits. What moves elements moves integers, as in
// [IntegerArithmetic], which the rest is left to. The pass does nothing unless the context asks
// for CMSIS-NN's fixed point.
//
// Multipliers are those of ExecuTorch's exporter. Operators are on dense tensors in any order:
// what the runtime asks of their order, [CortexMLayout] sees to.
var CortexM = Pass{
	Name: "cortex-m",
	Doc: "make quantized networks compute with cortex_m operators, where CMSIS-NN's fixed point is " +
		"asked for",
	Run: perMethod(func(ctx *Context, p *ir.Program, m *ir.Method) {
		if ctx.CortexM {
			// Portable operators would be less of what the pass knows.
			decompose(ctx.Table, m, ctx.decomposes)
			x := &cortexM{integerArithmetic: newIntegerArithmetic(&Context{}, Constants(p, m)),
				derived: map[*ir.Value]bool{}, sides: ctx.Sides}
			rewrite(ctx.Table, m, onCalls(x.visit))
		}
	}),
}

// IsQuantized reports whether a node of p has quantized operands or results.
func IsQuantized(p *ir.Program) bool {
	for _, m := range p.Methods {
		for n := range m.Graph.All() {
			if strings.HasPrefix(n.Op, "quantized_decomposed.") || strings.HasPrefix(n.Op, cm) {
				return true
			}
		}
	}
	return false
}

type cortexM struct {
	*integerArithmetic
	derived map[*ir.Value]bool // floats that are made of quantities
	sides   bool               // Context.Sides
}

const cm = "cortex_m."

func (m *cortexM) visit(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	switch n.Op {
	case dequantizeOp + ".default", dequantizeOp + ".tensor", perChannelOp:
		if q := m.quantity(c); q != nil {
			m.of[n.Output(0)] = q
		}
		return nil
	case quantizeOp + ".default", quantizeOp + ".tensor":
		return m.quantize(b, n, c)
	}
	for _, v := range c.Operands() {
		if m.of[v] != nil || m.derived[v] {
			for _, v := range n.Outputs {
				m.derived[v] = true
			}
		}
	}
	if _, ok := limitsOf(c); ok {
		if made := m.limit(b, n, c); made != nil || m.forms[n.Output(0)] != nil {
			return made
		}
	}
	if build := m.form(n, c); build != nil {
		m.forms[n.Output(0)] = &form{unlimited, build}
		return nil
	}
	if made := m.move(b, n, c); made != nil {
		return made
	}
	if floats := seq.Filter(c.Operands(), func(v *ir.Value) bool {
		return v.Type.DType.IsFloat()
	}); len(floats) > 0 && !slices.ContainsFunc(floats, func(v *ir.Value) bool {
		return m.forms[v] == nil && m.functions[v] == nil && m.ofBytes(v) == nil
	}) {
		m.noteMoved(n, c, m.quantized)
	}
	m.noteFunction(n, c)
	return nil
}

// ofBytes is the quantity of int8 with one scale that v stands for, nil if it stands for none.
func (m *cortexM) ofBytes(v *ir.Value) *quantity {
	q := m.of[v]
	if q == nil || !q.uniform() || q.ints.Type.DType != ir.Int8 {
		return nil
	}
	return q
}

// quantize is the integers that a float input is quantized to: what of it is computed of
// integers by a fixed form, the rest by the conversion of the runtime for microcontrollers.
func (m *cortexM) quantize(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	v, to := c.Value("input"), m.quantizationOf(c)
	if to == nil {
		return nil
	}
	made, within := m.quantized(b, n, v, to)
	if made == nil && m.of[v] == nil && !m.derived[v] && v.Type.DType == ir.Float32 &&
		(to.dtype == ir.Int8 || to.dtype == ir.Int16) {
		made = denseOp(b, cm+"quantize_per_tensor.default", v, to.scale, to.zero, to.lo, to.hi, to.dtype)
	}
	if made == nil {
		m.within[n.Output(0)] = [2]int64{to.lo, to.hi}
		return nil
	}
	if m.within[made] == [2]int64{} {
		m.within[made] = within
	}
	return []*ir.Value{made}
}

// quantized is what node n makes of v by a fixed form, and between which integers it lies; nil
// if there is none.
func (m *cortexM) quantized(b *ops.Builder, n *ir.Node, v *ir.Value,
	to *quantization) (made *ir.Value, within [2]int64) {
	if q := m.of[v]; q != nil && q.gives(to) {
		if q.inner != nil {
			m.padded[q.ints] = q
		}
		return q.ints, [2]int64{q.least, q.most}
	}
	if to.dtype != ir.Int8 {
		return nil, within
	}
	if m.forms[v] != nil {
		return m.formed(b, n, v, to)
	}
	f := m.functions[v]
	if q := m.ofBytes(v); q != nil {
		f = &function{of: q}
	}
	// ExecuTorch has tables of 256 results alone.
	if f == nil || f.of.ints.Type.DType == ir.Int16 || n.Op != quantizeOp+".default" {
		return nil, within
	}
	return m.table(b, n, v, f, to), [2]int64{to.lo, to.hi}
}

// form is the fixed form of a call, nil if it has none.
func (m *cortexM) form(n *ir.Node, c *ops.Call) quantizer {
	switch n.Op {
	case "aten.convolution.default":
		return m.convolution(n, c)
	case "aten.linear.default":
		return m.product(n, c, "input", "weight", "bias", true)
	case "aten.mm.default", "aten.bmm.default":
		return m.product(n, c, "self", "mat2", "", false)
	case "aten.addmm.default":
		if isOne(c.Arg("alpha")) && isOne(c.Arg("beta")) {
			return m.product(n, c, "mat1", "mat2", "self", false)
		}
	case "aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.div.Tensor":
		return m.pairwise(n, c)
	case "aten._softmax.default", "aten.softmax.int":
		return m.softmax(c)
	case "aten._native_batch_norm_legit_no_training.default":
		return m.batchNorm(n, c)
	case "aten.mean.dim":
		return m.mean(c)
	case "aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.adaptive_avg_pool1d.default",
		"aten.adaptive_avg_pool2d.default", "aten._adaptive_avg_pool2d.default":
		return m.pool(n, c)
	}
	return nil
}

// denseOp is a call of an operator, whose result is row-major.
func denseOp(b *ops.Builder, op string, args ...any) *ir.Value {
	v := b.Op(op, args...)
	v.Type = v.Type.Dense()
	return v
}

// limitedTo is v limited as to says, for operators that have no limits of their own.
func limitedTo(b *ops.Builder, v *ir.Value, to *quantization) *ir.Value {
	if to.lo <= math.MinInt8 && to.hi >= math.MaxInt8 {
		return v
	}
	return denseOp(b, "aten.clamp.default", v, to.lo, to.hi)
}

// addBits is how far operands of quantized_add are shifted up.
const addBits = 20

// pairwise is an operator of the elements of two tensors.
func (m *cortexM) pairwise(n *ir.Node, c *ops.Call) quantizer {
	x, y := m.ofBytes(c.Value("self")), m.ofBytes(c.Value("other"))
	if x == nil || y == nil {
		return nil
	}
	sx, sy := x.scale[0], y.scale[0]
	switch base := ir.OpBase(n.Op); base {
	case "mul":
		return func(b *ops.Builder, _ *ir.Node, to *quantization) *ir.Value {
			multiplier, shift, ok := multiplierOf(sx*sy/to.scale, x.far()*y.far())
			if !ok {
				return nil
			}
			return limitedTo(b, denseOp(b, cm+"quantized_mul.default", x.ints, x.zero[0], y.ints,
				y.zero[0], to.zero, multiplier, shift), to)
		}
	case "div":
		return func(b *ops.Builder, _ *ir.Node, to *quantization) *ir.Value {
			return limitedTo(b, denseOp(b, cm+"quantized_div.default", x.ints, x.zero[0], y.ints,
				y.zero[0], to.zero, sx/(sy*to.scale)), to)
		}
	default:
		alpha, err := c.Float("alpha")
		if err != nil || alpha == 0 {
			return nil
		}
		sign := int64(1)
		if (alpha < 0) != (base == "sub") {
			sign = -1
		}
		sy *= math.Abs(alpha)
		return func(b *ops.Builder, _ *ir.Node, to *quantization) *ir.Value {
			twice := 2 * max(sx, sy)
			m1, s1, ok1 := multiplierOf(sx/twice, 0)
			m2, s2, ok2 := multiplierOf(sy/twice, 0)
			out, shift, ok3 := multiplierOf(twice/(to.scale*(1<<addBits)),
				(x.far()+y.far())<<(addBits-1))
			if !ok1 || !ok2 || !ok3 {
				return nil
			}
			return denseOp(b, cm+"quantized_add.default", x.ints, x.zero[0], m1, s1, y.ints, y.zero[0],
				sign*m2, s2, to.zero, out, shift, to.lo, to.hi)
		}
	}
}

// softmaxQuantity is what cortex_m::softmax gives.
var softmaxQuantity = quantity{scale: []float64{1.0 / 256}, zero: []int64{-128}}

// softmaxBits are the integer bits of its input.
const softmaxBits = 5

func (m *cortexM) softmax(c *ops.Call) quantizer {
	x := m.ofBytes(c.Value("self"))
	dim, err := c.Int("dim")
	if x == nil || err != nil || x.ints.Type.Rank() == 0 {
		return nil
	}
	rank := x.ints.Type.Rank()
	multiplier, shift, ok := multiplierOf(min(math.Ldexp(x.scale[0], 31-softmaxBits), math.MaxInt32),
		0)
	if !ok || shift < 0 {
		return nil
	}
	least := -int64(math.Floor(math.Ldexp((1<<softmaxBits)-1, 31-softmaxBits-int(shift))))
	order := seq.Of(rank, func(d int) int { return d })
	at := int(dim+int64(rank)) % rank
	order[at], order[rank-1] = order[rank-1], order[at]
	return func(b *ops.Builder, n *ir.Node, to *quantization) *ir.Value {
		// A smaller scale would show steps that the operator does not make.
		if to.scale < softmaxQuantity.scale[0]*(1-1.0/1024) {
			return nil
		}
		v := x.ints
		if at != rank-1 {
			v = denseOp(b, "aten.permute.default", v, order)
		}
		v = denseOp(b, cm+"softmax.default", v, -1, x.zero[0], softmaxQuantity.zero[0], multiplier,
			shift, least)
		if at != rank-1 {
			v = denseOp(b, "aten.permute.default", v, order)
		}
		q := softmaxQuantity
		if q.ints = v; q.scale[0] != to.scale || q.zero[0] != to.zero {
			v = m.table(b, n, nil, &function{of: &q}, to)
		}
		if v == nil {
			return nil
		}
		return limitedTo(b, v, to)
	}
}
