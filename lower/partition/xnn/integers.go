package xnn

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/partition"
)

const (
	quantizeOp   = "quantized_decomposed.quantize_per_tensor.default"
	dequantizeOp = "quantized_decomposed.dequantize_per_tensor.default"
	channelsOp   = "quantized_decomposed.dequantize_per_channel.default"
	groupsOp     = "quantized_decomposed.dequantize_per_channel_group.default"
	affineOp     = "torchao.dequantize_affine.default"
)

// quantOf returns the scale and the zero point of a node that quantizes or dequantizes int8.
func quantOf(c *ops.Call) (q xnnpack.PerTensor, ok bool) {
	s, err1 := c.Float("scale")
	z, err2 := c.Int("zero_point")
	d := c.DType("dtype", ir.InvalidDType)
	q = xnnpack.PerTensor{Scale: float32(s), ZeroPoint: int32(z)}
	return q, err1 == nil && err2 == nil && d == ir.Int8 && z >= math.MinInt8 &&
		z <= math.MaxInt8 && q.Scale > 0 && !math.IsInf(float64(q.Scale), 0)
}

// quantizes says why a node that quantizes or dequantizes is not taken, "" if it is.
func quantizes(g *partition.Graph, n *ir.Node, c *ops.Call) string {
	q, ok := quantOf(c)
	x := c.Value("input")
	ints := x
	if n.Op == quantizeOp {
		ints = n.Outputs[0]
		if lo, err := c.Int("quant_min"); err != nil || lo != math.MinInt8 {
			return "it does not use all integers"
		}
		if hi, err := c.Int("quant_max"); err != nil || hi != math.MaxInt8 {
			return "it does not use all integers"
		}
		if why := unfit(x.Type); why != "" {
			return x.Name + " " + why
		}
	} else if why := unfit(n.Outputs[0].Type); why != "" {
		return "its result " + why
	}
	if !ok || ints.Type.DType != ir.Int8 || ints.Type.Rank() == 0 {
		return "it is not of int8"
	}
	// All that read or make these integers must have one scale.
	nodes, _ := g.Readers(ints)
	if ints.Def != nil {
		nodes = append(slices.Clone(nodes), ints.Def)
	}
	for _, other := range nodes {
		if other.Op != quantizeOp && other.Op != dequantizeOp {
			continue
		}
		if o, err := g.Bind(other); err == nil {
			if r, ok := quantOf(o); !ok || r != q {
				return "its integers have several scales"
			}
		}
	}
	return ""
}

// bias returns the id of a bias: in integers of the sum where the weight has integers, and in
// float32 where float16 has no kernel.
func (w *writer) bias(v *ir.Value, k *weight, x *ir.Value, wide bool) uint32 {
	if v == nil {
		return xnnpack.None
	}
	b := w.weight(v, false)
	if w.stand[x] == nil {
		if k.scales != nil || wide {
			b.widen()
		}
		return w.constantOf(b)
	}
	b.widen()
	in := w.quant[w.stands(x)]
	ints := &weight{dims: b.dims, axis: -1}
	if k.axis >= 0 {
		ints.axis = 0
	}
	for _, s := range k.scales {
		ints.scales = append(ints.scales, s*in.Scale)
	}
	for i := range len(b.data) / 4 {
		s := ints.scales[0]
		if ints.axis >= 0 {
			s = ints.scales[i]
		}
		f := math.Float32frombits(binary.LittleEndian.Uint32(b.data[4*i:]))
		q := math.RoundToEven(float64(f) / float64(s))
		q = min(max(q, math.MinInt32), math.MaxInt32)
		ints.data = binary.LittleEndian.AppendUint32(ints.data, uint32(int32(q)))
	}
	out := xnnpack.Value{Dims: ints.dims, Constant: w.blob(ints.data, ""), External: xnnpack.None}
	w.scaled(&out, ints, xnnpack.QInt32, xnnpack.QCInt32)
	return w.add(out)
}

// integerOp is an operator that XNNPACK computes in int8.
type integerOp struct {
	weight   string // the operand that is one, "" for none
	channels int    // the weight's dimension of channels
	limits   bool   // a relu, hardtanh or clamp behind it is part of it
	// What an integer of the operands is to one of the result lies from 2 to the power of least
	// on, and below 256; copies have one scale and one zero point.
	least int
	copy  bool
}

// inIntegers are the operators that XNNPACK computes in int8. Others are computed in floats,
// between conversions.
var inIntegers = map[string]integerOp{
	"aten.convolution.default":    {weight: "weight", limits: true, least: -126},
	"aten.linear.default":         {weight: "weight", limits: true, least: -126},
	"aten.addmm.default":          {weight: "mat2", channels: 1, limits: true, least: -126},
	"aten.mm.default":             {weight: "mat2", channels: 1, limits: true, least: -126},
	"aten.add.Tensor":             {limits: true, least: -10},
	"aten.sub.Tensor":             {limits: true, least: -10},
	"aten.mul.Tensor":             {limits: true, least: -16},
	"aten.mean.dim":               {least: -8},
	"aten.max_pool2d.default":     {limits: true, copy: true},
	"aten.cat.default":            {copy: true},
	"aten.relu.default":           {copy: true},
	"aten.hardtanh.default":       {copy: true},
	"aten.clamp.default":          {copy: true},
	"aten.slice.Tensor":           {copy: true},
	"aten.slice_copy.Tensor":      {copy: true},
	"aten.permute.default":        {copy: true},
	"aten.permute_copy.default":   {copy: true},
	"aten.view.default":           {copy: true},
	"aten.view_copy.default":      {copy: true},
	"aten.unsqueeze.default":      {copy: true},
	"aten.unsqueeze_copy.default": {copy: true},
	"aten.squeeze.dims":           {copy: true},
	"aten.squeeze_copy.dims":      {copy: true},
}

// fits reports whether XNNPACK has kernels for the scales of operands, of a weight, nil for
// none, and of the result.
func (k integerOp) fits(op string, in []xnnpack.PerTensor, weight *weight,
	out xnnpack.PerTensor) bool {
	if k.copy {
		return !slices.ContainsFunc(in, func(q xnnpack.PerTensor) bool { return q != out })
	}
	ratios := []float64{1}
	switch {
	case weight != nil:
		ratios = ratios[:0]
		for _, s := range weight.scales {
			ratios = append(ratios, float64(s*in[0].Scale/out.Scale))
		}
	case op == "aten.mul.Tensor":
		ratios[0] = float64(in[0].Scale * in[1].Scale / out.Scale)
	default:
		ratios = ratios[:0]
		for _, q := range in {
			ratios = append(ratios, float64(q.Scale/out.Scale))
		}
	}
	return slices.Min(ratios) >= math.Ldexp(1, k.least) && slices.Max(ratios) < 256
}

// weighs returns the weight of integers that v is, nil if a call cannot have it.
func (w *writer) weighs(c *ops.Call, v *ir.Value) *weight {
	if v.Def == nil {
		return nil
	}
	k := w.weight(v, true)
	if k == nil || k.axis >= 0 && k.axis != channelsOf(c) {
		return nil
	}
	return k
}

// channelsOf returns the dimension of a layer's weight that may have several scales, -1 for none.
func channelsOf(c *ops.Call) int {
	if c.Op.Name() != "aten.convolution.default" || !c.Bool("transposed") {
		return inIntegers[c.Op.Name()].channels
	}
	if must.Get(c.Int("groups")) > 1 {
		return -1
	}
	return 1 // [ic, oc, kh, kw]
}

// integers lets node n, whose operands were dequantized and whose result alone is quantized, be
// one of integers, if it can: then they stand for the floats.
func (w *writer) integers(n *ir.Node, c *ops.Call) {
	clear(w.stand)
	x, _ := runQuantizes(w.table, operand(c))
	if w.exact = x != nil; w.exact {
		return
	}
	known, ok := inIntegers[n.Op]
	name := known.weight
	y, q := n.Outputs[0], (*ir.Node)(nil)
	if next := w.only[y]; known.limits && w.readers[y] == 1 && next != nil && isLimit(next) {
		y = next.Outputs[0]
	}
	if q = w.only[y]; !ok || w.readers[y] != 1 || q == nil || q.Op != quantizeOp {
		return
	}
	stand := map[*ir.Value]*ir.Value{y: q.Outputs[0]}
	var in []xnnpack.PerTensor
	var k *weight
	for _, v := range c.Operands() {
		switch {
		case name != "" && v == c.Value(name):
			if k = w.weighs(c, v); k == nil {
				return
			}
		case v.Def != nil && v.Def.Op == dequantizeOp && must.Get(
			w.table.Bind(v.Def)).Value("input").Const == nil:
			stand[v] = must.Get(w.table.Bind(v.Def)).Value("input")
			in = append(in, w.quant[stand[v]])
		case name == "" || v.Const == nil && !w.isWeight(v):
			return
		}
	}
	two := c.Op.ParsedSchema().Index("other") >= 0 // one may be a number
	if len(in) == 0 || two && len(in) < 2 || !known.fits(n.Op, in, k, w.quant[q.Outputs[0]]) {
		return
	}
	w.take(q)
	w.stand, w.exact = stand, true
}

func isLimit(n *ir.Node) bool {
	switch n.Op {
	case "aten.relu.default", "aten.hardtanh.default", "aten.clamp.default":
		return true
	}
	return false
}

// stands returns what stands for a value in the node that is written.
func (w *writer) stands(v *ir.Value) *ir.Value {
	if s := w.stand[v]; s != nil {
		return s
	}
	return v
}

// noteQuants notes the scales of integers.
func (w *writer) noteQuants(g *ir.Graph) {
	for _, n := range g.Nodes {
		if n.Op != quantizeOp && n.Op != dequantizeOp {
			continue
		}
		c := must.Get(w.table.Bind(n))
		if q, ok := quantOf(c); ok && n.Op == quantizeOp {
			w.quant[n.Outputs[0]] = q
		} else if ok {
			w.quant[c.Value("input")] = q
		}
	}
}

// tensorOf returns a value of the payload for v, without an id.
func (w *writer) tensorOf(v *ir.Value, last bool) xnnpack.Value {
	x := xnnpack.Value{Type: floats[v.Type.DType], Dims: dimsOf(v.Type, last),
		External: xnnpack.None}
	if v.Type.DType == ir.Int8 {
		q, ok := w.quant[v]
		if !ok {
			must.Fail("the scale of %s is not known", v.Name)
		}
		x.Type, x.Quant = xnnpack.QInt8, q
	}
	return x
}

// quantize writes a node that quantizes.
func quantize(w *writer, c *ops.Call) {
	x := c.Value("input")
	last := w.isLast(x)
	w.node("XNNConvert", []uint32{w.value(x, last)}, w.result(w.out(), last))
}

// dequantize writes a node that dequantizes, if its result is one of the part. Where the part
// itself wants floats, they are made then.
func dequantize(w *writer, c *ops.Call) {
	if _, ok := w.outputs[w.out()]; ok && c.Value("input").Const == nil {
		w.node("XNNConvert", []uint32{w.value(c.Value("input"), false)}, w.result(w.out(), false))
	}
}
