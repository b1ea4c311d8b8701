package lower

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
	"github.com/etgen/etgen/kernels/ops"
)

// IntegerArithmetic makes a quantized network compute with integers. It follows the floats
// that stand for integers, (q - zero point)·scale, from dequantize nodes on:
//
//   - what moves elements, takes the largest or limits them does so with the integers; what
//     multiplies by a number multiplies the scale;
//   - a convolution or product of two such tensors is an integer sum of products, plus a bias,
//     times a scale: a bias of integers is part of the sum, any other is added as float32 of
//     the sum's unit, (sum + bias)·scale, which no compiler contracts;
//   - a scale and a zero point of the input that only the run knows come behind the sum;
//   - groups of weights with scales have a sum each, which are scaled and added;
//   - a product of half floats with weights of integers is one of float32;
//   - what quantizes with the same scale and zero point is the integers themselves;
//   - what quantizes an elementwise function of int8 is a table, where space counts;
//   - what quantizes a scaled sum does so in one step, with limits that stand for an
//     activation in between.
//
// Where time counts more than space, no kernel multiplies the bytes, and float32 holds every sum
// of products, they are products of floats that are whole numbers: see [ExactProducts].
//
// Other operators read dequantized tensors as before. What nobody reads any more, the weights
// as floats above all, is dead code.
var IntegerArithmetic = Pass{
	Name: "integer-arithmetic",
	Doc:  "make quantized networks compute with integers",
	Run: perNode(func(ctx *Context, p *ir.Program, m *ir.Method) visitor {
		a := newIntegerArithmetic(ctx, Constants(p, m))
		a.readers = readersBehind(m.Graph)
		return onCalls(a.visit)
	}),
}

type integerArithmetic struct {
	speed bool
	// vectors of floats take no longer than tables of parabolas
	vectors    bool
	floats     bool                                                // Context.Floats
	fixedPoint bool                                                // Context.Fixed
	keeps      func(m sym.Expr, n, k int64) bool                   // see Context.KeepsIntegers
	bytes      func(c *ops.Call, constant map[*ir.Value]bool) bool // Context.Bytes
	constant   map[*ir.Value]bool
	of         map[*ir.Value]*quantity // floats that stand for integers
	padded     map[*ir.Value]*quantity // integers that are others with zero points around them
	within     map[*ir.Value][2]int64  // limits of integers that were quantized
	linear     map[*ir.Value]*linear   // floats that are linear functions of integers
	int8       map[*ir.Value]*ir.Value // of uint8, what they are less 128
	groups     map[*ir.Value]*quantity // floats that stand for integers with scales for groups
	wide       map[*ir.Value]*quantity // int32 that are made of int8
	// products with bytes that have no scale, made again with one for each row
	unscaled map[*ir.Value]func(b *ops.Builder, scales *ir.Value) *ir.Value
	int4     map[*ir.Value]*ir.Value // constants unpacked, nil if they take more bits
	// floats that are functions of integers, and others with what quantizes them
	functions map[*ir.Value]*function
	forms     map[*ir.Value]*form
	sums      map[*ir.Value]*scaledSum // floats that are such
	fixedSums map[*ir.Value]*fixedSum  // floats that are such
	parts     map[movedPart]integers
	pooled    map[*ir.Value]maxPooled // of integers that a pool made
	readers   map[*ir.Value]int       // see readersBehind
	chosen    map[*ir.Value]bool      // scales, and zero points in the range of the integers
}

func newIntegerArithmetic(ctx *Context, constant map[*ir.Value]bool) *integerArithmetic {
	return &integerArithmetic{speed: ctx.Speed, floats: ctx.Floats,
		vectors: ctx.Vectors && !ctx.Fixed, fixedPoint: ctx.Fixed, keeps: ctx.KeepsIntegers,
		bytes: ctx.Bytes, constant: constant, of: map[*ir.Value]*quantity{},
		padded: map[*ir.Value]*quantity{}, within: map[*ir.Value][2]int64{},
		linear: map[*ir.Value]*linear{}, int8: map[*ir.Value]*ir.Value{},
		groups: map[*ir.Value]*quantity{}, int4: map[*ir.Value]*ir.Value{},
		wide:      map[*ir.Value]*quantity{},
		unscaled:  map[*ir.Value]func(*ops.Builder, *ir.Value) *ir.Value{},
		functions: map[*ir.Value]*function{}, forms: map[*ir.Value]*form{},
		sums: map[*ir.Value]*scaledSum{}, fixedSums: map[*ir.Value]*fixedSum{},
		parts: map[movedPart]integers{}, pooled: map[*ir.Value]maxPooled{}, chosen: map[*ir.Value]bool{}}
}

// maxPooled is a max pool of floats that are whole numbers.
type maxPooled struct {
	floats *ir.Value // what it made
	once   bool      // one node reads that, behind what quantizes and dequantizes it
}

// readersBehind counts who reads each value, behind nodes that quantize and dequantize it.
func readersBehind(g *ir.Graph) map[*ir.Value]int {
	readers := map[*ir.Value]int{}
	g.Walk(func(g *ir.Graph) {
		for _, out := range g.Outputs {
			ir.EachRef(out, func(v *ir.Value) { readers[v]++ })
		}
		for _, n := range slices.Backward(g.Nodes) {
			by := 1
			if base := ir.OpBase(n.Op); strings.HasPrefix(base, "quantize_per_") ||
				strings.HasPrefix(base, "dequantize_per_") {
				by = readers[n.Output(0)]
			}
			for _, a := range n.Args {
				ir.EachRef(a.Value, func(v *ir.Value) { readers[v] += by })
			}
		}
	})
	return readers
}

// quantity is what a float32 tensor stands for: (ints - zero)·scale, with a scale and a zero
// point for all elements or for each index of a dimension.
type quantity struct {
	ints  *ir.Value
	scale []float64
	zero  []int64
	axis  int // of several scales
	// the arguments with several scales and zero points
	scales, zeros ir.Arg
	least, most   int64 // no integer lies outside
	// The scale and zero point that only the run knows, of all elements or of each row: then
	// scale and zero are empty.
	dynamic [2]*ir.Value
	// If inner is not nil, ints are inner with zero points before and after each dimension
	// behind the second.
	inner *ir.Value
	pad   [2][]int64
}

// form is how floats become integers once a node quantizes them. What build gives is limited to
// the quantization's limits; it is nil if the integers have no such form.
type form struct {
	limits
	build quantizer
}

// scaledSum is (sum + bias)·scale, for each channel or for all.
type scaledSum struct {
	sum         *ir.Value
	bias, scale []float64 // bias may be nil
	inner       int       // dimensions behind the channels
	exact       bool      // float32 holds what the sum is made of
	floats      bool      // it is made of bytes that are floats
	// as is the sum as int32, which is at most 2^30; nil if it may not be, or has a bias
	as func(b *ops.Builder) *ir.Value
	// move, if not nil, moves the elements of the sum to where they are in the floats.
	move func(b *ops.Builder, sum *ir.Value) *ir.Value
	// In fixed point: the sums as int32, nil if it does not hold them, without a bias; what they
	// are at most, and the bias as floats.
	ints  *ir.Value
	most  int64
	added []float64
	graph *graphSum // nil if the graph never decides
}

const (
	quantizeOp   = "quantized_decomposed.quantize_per_tensor"
	dequantizeOp = "quantized_decomposed.dequantize_per_tensor"
	chooseOp     = "quantized_decomposed.choose_qparams"
	perTokenOp   = "quantized_decomposed.dequantize_per_token.default"
	perChannelOp = "quantized_decomposed.dequantize_per_channel.default"
)

func (a *integerArithmetic) visit(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	if len(n.Outputs) != len(c.Outs) || slices.Contains(n.Outputs, nil) {
		return nil
	}
	switch n.Op {
	case dequantizeOp + ".default", dequantizeOp + ".tensor", perChannelOp, perTokenOp:
		q := a.quantity(c)
		if q == nil {
			return nil
		}
		signed := a.signed(b, q)
		if a.of[n.Output(0)] = signed; signed != q && q.ints.Def != nil {
			return []*ir.Value{a.float(b, signed)}
		}
		if a.constant[signed.ints] && a.packed(b, signed.ints) != nil {
			stored := *signed
			stored.ints = a.packed(b, signed.ints)
			v := a.float(b, &stored)
			a.of[v] = signed
			return []*ir.Value{v}
		}
		return nil
	case perGroupOp:
		q := a.group(c)
		if q == nil {
			return nil
		}
		if a.groups[n.Output(0)] = q; !a.constant[q.ints] || a.packed(b, q.ints) == nil {
			return nil
		}
		v := b.Op(perGroupOp, a.packed(b, q.ints), q.scales, c.Arg("zero_points"), c.Arg("quant_min"),
			c.Arg("quant_max"), c.Arg("dtype"), c.Arg("group_size"), c.Arg("output_dtype"))
		a.groups[v] = q
		return []*ir.Value{v}
	case chooseOp + ".tensor", chooseOp + "_per_token_asymmetric.default":
		a.chosen[n.Output(0)], a.chosen[n.Output(1)] = true, true
		return nil
	case quantizeOp + ".default", quantizeOp + ".tensor":
		return a.quantize(b, n, c)
	case "aten.convolution.default":
		if made := a.ofHalves(b, n, c, "weight"); made != nil {
			return made
		}
		if made := a.convolution(b, n, c); made != nil {
			return made
		}
		if made := a.mixedConvolution(b, n, c); made != nil {
			return made
		}
		return a.floatWeights(b, n, c, "weight")
	case "aten.linear.default":
		if made := a.ofHalves(b, n, c, "weight"); made != nil {
			return made
		}
		return a.product(b, n, c, "input", "weight", "bias", true)
	case "aten.mm.default", "aten.bmm.default":
		if made := a.wideProduct(b, c); made != nil {
			return made
		}
		if made := a.ofHalves(b, n, c, "mat2"); made != nil {
			return made
		}
		return a.product(b, n, c, "self", "mat2", "", false)
	case "aten.addmm.default":
		if !isOne(c.Arg("alpha")) || !isOne(c.Arg("beta")) {
			return nil
		}
		if made := a.ofHalves(b, n, c, "mat2"); made != nil {
			return made
		}
		if c.Tensor("self").Rank() == 1 {
			return a.product(b, n, c, "mat1", "mat2", "self", false)
		}
		if y := a.product(b, n, c, "mat1", "mat2", "", false); y != nil {
			return b.Ops("aten.add.Tensor", y[0], c.Value("self"))
		}
		return nil
	}
	if made := a.limit(b, n, c); made != nil {
		return made
	}
	if made := a.mean(b, n, c); made != nil {
		return made
	}
	if made := a.move(b, n, c); made != nil {
		return made
	}
	if made := a.transposed(b, n, c); made != nil {
		return made
	}
	a.ofGroups(n, c)
	a.widen(n, c)
	if made := a.scaleRows(b, n, c); made != nil {
		return made
	}
	if made := a.rescale(b, n, c); made != nil {
		return made
	}
	if made := a.times(b, n, c); made != nil {
		return made
	}
	a.note(n, c)
	a.noteFixedSum(b, n, c)
	return nil
}

// note notes a node whose result is a function of integers that quantize gives otherwise.
func (a *integerArithmetic) note(n *ir.Node, c *ops.Call) {
	a.noteLinear(n, c)
	a.noteFunction(n, c)
	a.noteRows(n, c)
	a.noteBatchNorm(n, c)
	a.notePReLU(n, c)
	a.noteMovedSum(n, c)
	known := func(v *ir.Value) bool {
		return a.of[v] != nil || a.forms[v] != nil || a.linear[v] != nil || a.functions[v] != nil
	}
	if len(n.Outputs) == 1 && slices.ContainsFunc(c.Operands(), known) {
		a.noteMoved(n, c, func(b *ops.Builder, q *ir.Node, v *ir.Value, to *quantization) (*ir.Value,
			[2]int64) {
			x, within := a.quantized(b, q, v, to)
			if x == nil {
				x = to.float(b, v)
			}
			return x, within
		})
	}
}

// quantity reads what a call dequantizes. It is nil if its scales are neither constant nor chosen
// by the run.
func (a *integerArithmetic) quantity(c *ops.Call) *quantity {
	q := &quantity{ints: c.Value("input")}
	if known := a.padded[q.ints]; known != nil {
		q.inner, q.pad = known.inner, known.pad
	}
	if c.Outs[0].DType != ir.Float32 || q.ints == nil {
		return nil
	}
	least, most := expr.IntRange(q.ints.Type.DType)
	if q.least, q.most = least, most; a.within[q.ints] != [2]int64{} {
		q.least, q.most = a.within[q.ints][0], a.within[q.ints][1]
	}
	scale, zero := "scale", "zero_point"
	if c.Op.Name() == perTokenOp {
		scale, zero = "scales", "zero_points"
	}
	if c.Op.Name() == perChannelOp {
		scale, zero = "scales", "zero_points"
		axis, err := c.Int("axis")
		if err != nil {
			return nil
		}
		if q.axis = int(axis); q.axis < 0 {
			q.axis += c.Outs[0].Rank()
		}
		q.scales, q.zeros = c.Arg(scale), c.Arg(zero)
	}
	scales, ok := a.numbers(c, scale)
	if s, z := c.Value(scale), c.Value(zero); s != nil && z != nil && !a.constant[s] &&
		a.between(z, least, most) {
		q.dynamic = [2]*ir.Value{s, z}
		return q
	}
	if !ok || c.Op.Name() == perTokenOp {
		return nil
	}
	for _, s := range scales {
		if s = float64(float32(s)); !(s > 0) || math.IsInf(s, 0) {
			return nil
		}
		q.scale = append(q.scale, s)
	}
	q.zero = make([]int64, len(scales))
	if c.Has(zero) {
		zeros, ok := a.numbers(c, zero)
		if !ok || len(zeros) != len(scales) {
			return nil
		}
		for i, z := range zeros {
			q.zero[i] = int64(z)
		}
	}
	if slices.Min(q.zero) < least || slices.Max(q.zero) > most {
		return nil
	}
	return q
}

// between reports whether v is a zero point that the run chooses of the integers from least to
// most.
func (a *integerArithmetic) between(v *ir.Value, least, most int64) bool {
	for v.Def != nil && !a.chosen[v] {
		from, ok := v.Def.Arg("self").(ir.Ref)
		switch op := v.Def.Op; {
		case ok && (op == "aten.view.default" || op == "aten._to_copy.default"):
			v = from.Value
		case op == "aten.clamp.default":
			lo, ok1 := number(v.Def.Arg("min"))
			hi, ok2 := number(v.Def.Arg("max"))
			// A clamp with min above max gives max.
			return ok1 && ok2 && min(lo, hi) >= float64(least) && hi <= float64(most)
		default:
			return false
		}
	}
	return a.chosen[v]
}

// number is a number of the graph's text.
func number(arg ir.Arg) (float64, bool) {
	switch x := arg.(type) {
	case ir.Int:
		return float64(x), true
	case ir.Float:
		return float64(x), true
	}
	return 0, false
}

// numbers returns a number, or the elements of a constant tensor.
func (a *integerArithmetic) numbers(c *ops.Call, name string) ([]float64, bool) {
	v := c.Value(name)
	if v == nil {
		x, err := c.Float(name)
		return []float64{x}, err == nil
	}
	return a.elements(v)
}

// reshapes are views with the elements in the order they had.
var reshapes = map[string]bool{"aten.view.default": true, "aten.reshape.default": true,
	"aten.flatten.using_ints": true, "aten.unsqueeze.default": true, "aten.squeeze.default": true,
	"aten.squeeze.dim": true, "aten.squeeze.dims": true}

// elements returns those of a constant tensor, or of a view or floats that are made of one.
func (a *integerArithmetic) elements(v *ir.Value) ([]float64, bool) {
	for v.Def != nil && (reshapes[v.Def.Op] || widens(v)) {
		from, ok := v.Def.Arg("self").(ir.Ref)
		if !ok {
			return nil, false
		}
		v = from.Value
	}
	if v.Type.Kind != ir.TensorKind || !a.constant[v] {
		return nil, false
	}
	return numbersOf(v.Const)
}

// numbersOf returns the elements of a constant; ok is false for the types that quantized
// networks do not have.
func numbersOf(c *ir.Constant) (xs []float64, ok bool) {
	raw, err := ir.Tensor(c)
	if err != nil {
		return nil, false
	}
	size := c.Type.DType.Size()
	xs = make([]float64, len(raw)/max(size, 1))
	for i := range xs {
		at := raw[i*size:]
		switch c.Type.DType {
		case ir.Int8:
			xs[i] = float64(int8(at[0]))
		case ir.Uint8:
			xs[i] = float64(at[0])
		case ir.Int16:
			xs[i] = float64(int16(binary.LittleEndian.Uint16(at)))
		case ir.Int32:
			xs[i] = float64(int32(binary.LittleEndian.Uint32(at)))
		case ir.Int64:
			xs[i] = float64(int64(binary.LittleEndian.Uint64(at)))
		case ir.Float32:
			xs[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(at)))
		case ir.Float64:
			xs[i] = math.Float64frombits(binary.LittleEndian.Uint64(at))
		case ir.Float16, ir.BFloat16:
			xs[i] = float64(half.ToFloat32(c.Type.DType, binary.LittleEndian.Uint16(at)))
		default:
			return nil, false
		}
	}
	return xs, true
}

// uniform reports whether q has one scale for all elements.
func (q *quantity) uniform() bool { return len(q.scale) == 1 }

// small reports whether q is one whose products int32 holds.
func (q *quantity) small() bool {
	return q != nil && q.ints.Type.DType.IsInt() && q.ints.Type.DType.Size() <= 2
}

// same reports whether two quantities of one scale stand for the same numbers.
func (q *quantity) same(r *quantity) bool {
	return q.uniform() && r.uniform() && q.scale[0] == r.scale[0] && q.zero[0] == r.zero[0] &&
		q.ints.Type.DType == r.ints.Type.DType
}

// float returns the floats that q stands for, and notes it.
func (a *integerArithmetic) float(b *ops.Builder, q *quantity) *ir.Value {
	if !q.uniform() {
		v := b.Op(perChannelOp, q.ints, q.scales, q.zeros, q.axis, q.least, q.most,
			q.ints.Type.DType)
		a.of[v] = q
		return v
	}
	v := b.Op(dequantizeOp+".default", q.ints, q.scale[0], q.zero[0], q.least, q.most,
		q.ints.Type.DType)
	a.of[v] = q
	return v
}

// rescale multiplies the scale of a sum instead of its floats by a number, and notes what integers
// stand for with another scale.
func (a *integerArithmetic) rescale(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	if n.Op != "aten.mul.Scalar" && n.Op != "aten.mul.Tensor" && n.Op != "aten.div.Scalar" &&
		n.Op != "aten.div.Tensor" {
		return nil
	}
	v, other := c.Value("self"), a.otherOf(c)
	if other == nil || len(other.terms) > 0 || c.Outs[0].DType != ir.Float32 ||
		!sym.AllEqual(c.Outs[0].Sizes, v.Type.Sizes) {
		return nil
	}
	by := other.add
	if ir.OpBase(n.Op) == "div" {
		by = 1 / by
	}
	positive := func(scale float64) bool {
		s := float32(scale * by)
		return s > math.SmallestNonzeroFloat32 && !math.IsInf(float64(s), 0)
	}
	if s := a.sums[v]; s != nil && positive(slices.Min(s.scale)) && positive(slices.Max(s.scale)) {
		scaled := *s
		scaled.sum, scaled.scale = s.moved(b, s.sum), multiplied(s.scale, by)
		if scaled.added = multiplied(s.added, by); s.ints != nil {
			scaled.ints = s.moved(b, s.ints)
		}
		if s.as != nil {
			scaled.as = func(b *ops.Builder) *ir.Value { return s.moved(b, s.as(b)) }
		}
		scaled.move = nil
		if s.graph != nil {
			g := *s.graph
			g.floats = func(b *ops.Builder) *ir.Value {
				return b.Op(n.Op, withRefs(n, func(u *ir.Value) *ir.Value {
					if u == v {
						return s.graph.floats(b)
					}
					return nil
				})...)
			}
			g.roundings++
			scaled.graph = &g
		}
		return a.scaled(b, n, &scaled)
	}
	q := a.of[v]
	if q == nil || q.dynamic[0] != nil || !q.uniform() || !positive(q.scale[0]) {
		return nil
	}
	scaled := *q
	scaled.scale = multiplied(q.scale, by)
	a.of[n.Output(0)] = &scaled
	return nil
}

// limit limits the integers, and what is known of a scaled sum.
func (a *integerArithmetic) limit(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	r, ok := limitsOf(c)
	if !ok {
		return nil
	}
	q, f := a.of[c.Value("self")], a.forms[c.Value("self")]
	if f != nil {
		a.forms[n.Output(0)] = &form{f.limits.of(r), f.build}
		return nil
	}
	if q == nil || !q.uniform() {
		return nil
	}
	// A limit between two integers would be none of the integers.
	least, most := expr.IntRange(q.ints.Type.DType)
	from, ok1 := q.integer(r.lo, least)
	to, ok2 := q.integer(r.hi, most)
	if !ok1 || !ok2 || from > to {
		return nil
	}
	limited := *q
	limited.inner = nil
	limited.least, limited.most = from, to
	limited.ints = b.Op("aten.clamp.default", q.ints, from, to)
	return []*ir.Value{a.float(b, &limited)}
}

// integer returns the integer that stands for limit x, or end if x is beyond all; ok is false
// if none stands for x.
func (q *quantity) integer(x float64, end int64) (i int64, ok bool) {
	least, most := expr.IntRange(q.ints.Type.DType)
	y := x/q.scale[0] + float64(q.zero[0])
	switch {
	case end == least && y <= float64(least), end == most && y >= float64(most):
		return end, true
	case y < float64(least) || y > float64(most) || y != math.Round(y):
		return 0, false
	}
	return int64(y), true
}
