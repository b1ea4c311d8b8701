package lower

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// CortexMLayout gives the operators for microcontrollers what ExecuTorch's kernels of them ask
// for, which are CMSIS-NN's:
//
//   - images that convolutions and poolings take and give are channels last, as is what is
//     computed of their elements; all else is row-major, with a copy between;
//   - operands that broadcast are expanded;
//   - convolutions, poolings and products have memory to work in, enough for any core;
//   - linear layers have what cores with vectors read instead of the bias.
//
// If the context asks for them, other operators on int8 are those of cortex_m where it
// has them. Tensors must be dense.
var CortexMLayout = Pass{
	Name: "cortex-m-layout",
	Doc:  "give cortex_m operators tensors in the order that CMSIS-NN wants, and memory to work in",
	Run: perMethod(func(ctx *Context, p *ir.Program, m *ir.Method) {
		l := &cortexMLayout{constant: Constants(p, m), used: ir.Uses(m.Graph),
			copies: map[*ir.Value]*ir.Value{}}
		if ctx.CortexM {
			rewrite(ctx.Table, m, onCalls(l.cortexM))
		}
		rewrite(ctx.Table, m, l.visit)
		names := ir.NewNames(m)
		written := map[ir.OutputSpec]bool{} // inputs that are channels last
		for _, v := range m.Graph.Inputs {
			written[ir.OutputSpec{Kind: ir.UserInputMutation, Target: v.Name}] = isLast(v)
		}
		m.Graph.Walk(func(g *ir.Graph) {
			for i, a := range g.Outputs {
				keep := g == m.Graph && written[m.Outputs[i]]
				if ref, ok := a.(ir.Ref); ok && ref.Value.Def != nil && isLast(ref.Value) && !keep {
					n := toOrder(names, ref.Value, ref.Value.Type.Dense())
					g.Nodes = append(g.Nodes, n)
					g.Outputs[i] = ir.Ref{Value: n.Outputs[0]}
				}
			}
		})
	}),
}

type cortexMLayout struct {
	constant map[*ir.Value]bool
	used     map[*ir.Value]int
	copies   map[*ir.Value]*ir.Value // in the other order
}

// cortexM is the operator of cortex_m that does what n does, in tensors in any order, nil if
// there is none.
func (l *cortexMLayout) cortexM(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	all := c.Operands()
	if len(all) == 0 || n.Output(0) == nil || n.Output(0).Type.Kind != ir.TensorKind {
		return nil
	}
	from, to := all[0].Type, n.Output(0).Type
	floats := func(f, q ir.Type) bool {
		return f.DType == ir.Float32 && (q.DType == ir.Int8 || q.DType == ir.Int16)
	}
	var v *ir.Value
	switch bytes := from.DType == ir.Int8 && to.DType == ir.Int8; {
	case n.Op == quantizeOp+".default" && floats(from, to),
		n.Op == dequantizeOp+".default" && floats(to, from):
		v = b.Op(cm+ir.OpBase(n.Op)+".default", all[0], c.Arg("scale"), c.Arg("zero_point"),
			c.Arg("quant_min"), c.Arg("quant_max"), c.Arg("dtype"))
	case !bytes:
		return nil
	case n.Op == cm+"quantized_depthwise_conv2d.default" && !from.Sizes[0].Is(1):
		return l.grouped(b, n, c)
	case n.Op == "aten.maximum.default", n.Op == "aten.minimum.default":
		v = b.Op(cm+ir.OpBase(n.Op)+".default", all[0], all[1])
	case n.Op == "aten.permute_copy.default" && from.Rank() > 0 && from.Rank() <= 4:
		order := must.Get(c.Ints("dims"))
		for i, d := range order {
			order[i] = (d + int64(len(order))) % int64(len(order))
		}
		v = b.Op(cm+"transpose.default", all[0], order)
	case n.Op == "aten.max_pool2d_with_indices.default":
		dilation, err := spatialInts(c, "dilation", 2)
		if err != nil || slices.Max(dilation) > 1 || c.Bool("ceil_mode") || from.Rank() != 4 ||
			n.Output(1) != nil && l.used[n.Output(1)] > 0 {
			return nil
		}
		kernel := must.Get(spatialInts(c, "kernel_size", 2))
		stride := kernel
		if list, ok := c.Arg("stride").(ir.List); !ok || len(list) > 0 {
			stride = must.Get(spatialInts(c, "stride", 2))
		}
		v = b.Op(cm+"quantized_max_pool2d.default", all[0], kernel, stride,
			must.Get(spatialInts(c, "padding", 2)), dilation, false, 0, 0, -128, 127)
		v.Type = to
		return []*ir.Value{v, nil}
	default:
		return nil
	}
	v.Type = to
	return []*ir.Value{v}
}

// grouped is the depthwise convolution of several images, which CMSIS-NN's kernel does not have,
// as one in groups.
func (l *cortexMLayout) grouped(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	w := c.Value("weight")
	given, ok := numbersOf(w.Const)
	sizes, static := w.Type.StaticSizes()
	if !l.constant[w] || !ok || !static {
		return nil
	}
	ws := seq.Map(given, func(v float64) int64 { return int64(v) })
	ws, sizes = transposed(ws, sizes, 3, 1, 2, 0)
	v := b.Op(cm+"quantized_conv2d.default", c.Value("input"),
		intConstant(b, n.Name+"_weight", ir.Int8, ws,
			sizes...), c.Arg("bias"), c.Arg("stride"), c.Arg("padding"), c.Arg("dilation"),
		c.Arg("input_offset"), c.Arg("output_offset"), c.Arg("requantize_multipliers"),
		c.Arg("requantize_shifts"), c.Arg("activation_min"), c.Arg("activation_max"))
	v.Type = n.Output(0).Type
	return []*ir.Value{v}
}

// inImages are operators whose images are channels last.
var inImages = map[string]bool{
	cm + "quantized_conv2d.default": true, cm + "quantized_depthwise_conv2d.default": true,
	cm + "quantized_transpose_conv2d.default": true, cm + "quantized_avg_pool2d.default": true,
	cm + "quantized_max_pool2d.default": true,
}

// inAnyOrder are operators that go through the elements of tensors as they lie in memory.
var inAnyOrder = map[string]bool{
	cm + "quantized_add.default": true, cm + "quantized_mul.default": true,
	cm + "quantized_div.default": true, cm + "minimum.default": true, cm + "maximum.default": true,
	cm + "quantized_activation.default": true, cm + "quantize_per_tensor.default": true,
	cm + "dequantize_per_tensor.default": true, "aten.clamp.default": true, padOp: true,
}

// visit brings the operands of a node into the order that it asks for.
func (l *cortexMLayout) visit(b *ops.Builder, n *ir.Node) []*ir.Value {
	var all []*ir.Value
	for _, a := range n.Args {
		ir.EachRef(a.Value, func(v *ir.Value) {
			if v.Type.Kind == ir.TensorKind {
				all = append(all, v)
			}
		})
	}
	images := slices.ContainsFunc(all, isLast)
	if !images && !strings.HasPrefix(n.Op, cm) && n.Op != padOp {
		return nil
	}
	last := inImages[n.Op] || images && inAnyOrder[n.Op]
	var sizes []sym.Expr
	if inAnyOrder[n.Op] && len(all) == 2 && n.Op != cm+"quantized_activation.default" {
		sizes = n.Output(0).Type.Sizes // what is shorter is expanded to it
	}
	first := true
	ordered := func(v *ir.Value) ir.Arg {
		// A delegate was made for inputs in their order, and for all else row-major.
		if v.Type.Kind != ir.TensorKind || n.Op == ir.CallDelegate && v.Def == nil {
			return ir.Ref{Value: v}
		}
		image := first || sizes != nil
		first = false
		if sizes != nil && !sym.AllEqual(v.Type.Sizes, sizes) {
			v = b.Op("aten.expand_copy.default", l.inOrder(b, v, false), sizes)
		}
		return ir.Ref{Value: l.inOrder(b, v, last && image)}
	}
	for i := range n.Args {
		n.Args[i].Value = ir.MapRefs(n.Args[i].Value, ordered)
	}
	if n.Op == padOp {
		if v := cortexMPad(b, n); v != nil {
			return []*ir.Value{v}
		}
	}
	if len(n.Regions) > 0 || n.Output(0) == nil {
		return put(b, n)
	}
	if out := n.Output(0); last && !ambiguous(out.Type) && out.Type.Rank() == 4 {
		out.Type.Strides = lastStrides(out.Type.Sizes)
	}
	if strings.HasPrefix(n.Op, cm) {
		l.complete(b, n, must.Get(b.Table.Bind(n)))
	}
	return put(b, n)
}

// inOrder is v channels last, or row-major; what is both, or has not four dimensions, is v.
func (l *cortexMLayout) inOrder(b *ops.Builder, v *ir.Value, last bool) *ir.Value {
	t := v.Type
	if t.Kind != ir.TensorKind || t.Rank() != 4 || isLast(v) == last || last && ambiguous(t) {
		return v
	}
	if w := l.copies[v]; w != nil {
		return w
	}
	order := []int64{0, 1, 2, 3}
	if t = t.Dense(); last {
		t.Strides, order = lastStrides(t.Sizes), []int64{0, 2, 3, 1}
	}
	w := b.Op(ToDimOrderOp, v, ops.Kw("dtype", t.DType), ops.Kw("dim_order", order))
	w.Type = t
	l.copies[v], l.copies[w] = w, v
	return w
}

// isLast reports whether v is channels last and not row-major.
func isLast(v *ir.Value) bool {
	t := v.Type
	return t.Kind == ir.TensorKind && t.Rank() == 4 && !t.IsContiguous() &&
		sym.AllEqual(t.Strides, lastStrides(t.Sizes))
}

// ambiguous reports whether an image lies in memory channels last as it does row-major.
func ambiguous(t ir.Type) bool {
	return t.Rank() == 4 && (t.Sizes[1].Is(1) || t.Sizes[2].Is(1) && t.Sizes[3].Is(1))
}

func lastStrides(s []sym.Expr) []sym.Expr {
	row := sym.Mul(s[1], s[3])
	return []sym.Expr{sym.Mul(row, s[2]), sym.Int(1), row, s[1]}
}

// cortexMPad is the padding of int8 by cortex_m, whose sizes are in the order of memory, nil if
// it has none.
func cortexMPad(b *ops.Builder, n *ir.Node) *ir.Value {
	c := must.Get(b.Table.Bind(n))
	x, pad := c.Value("self"), must.Get(c.SymInts("pad"))
	value, err := c.Int("value")
	if x.Type.DType != ir.Int8 || x.Type.Rank() == 0 || x.Type.Rank() > 4 || err != nil {
		return nil
	}
	sides := [2][]int64{make([]int64, 4), make([]int64, 4)}
	for i, p := range pad {
		by, ok := p.Const()
		if !ok || by < 0 {
			return nil
		}
		sides[i%2][3-i/2] = by
	}
	if isLast(x) || ambiguous(x.Type) {
		for i, s := range sides {
			sides[i] = []int64{s[0], s[2], s[3], s[1]}
		}
	}
	v := b.Op(cm+"pad.default", x, sides[0], sides[1], value)
	if ambiguous(v.Type) {
		v.Type = v.Type.Dense()
	}
	return v
}

// complete adds to n what the runtime's kernel takes besides: memory to work in, and what cores
// with vectors read of a linear layer.
func (l *cortexMLayout) complete(b *ops.Builder, n *ir.Node, c *ops.Call) {
	if n.Op == cm+"quantized_linear.default" {
		l.kernelSum(b, n, c)
	}
	for i, name := range []string{"scratch", "output_scratch"} {
		if c.Op.ParsedSchema().Index(name) < 0 {
			return
		}
		size := ops.CMSISScratch(c)[i]
		t := ir.StaticTensor(ir.Uint8, size)
		n.SetArg(name, ir.Ref{Value: b.Emit(allocOp, nil, t).Outputs[0]})
	}
}

// kernelSum gives a linear layer the sums of its weights times the offset of the input, plus the
// bias, beside the bias.
func (l *cortexMLayout) kernelSum(b *ops.Builder, n *ir.Node, c *ops.Call) {
	w := c.Value("weights")
	if c.Has("kernel_sum") || !l.constant[w] || c.Has("bias") && !l.constant[c.Value("bias")] {
		return
	}
	ws, _ := numbersOf(w.Const)
	sizes, _ := w.Type.StaticSizes()
	sums := make([]float64, sizes[0])
	if c.Has("bias") {
		sums, _ = numbersOf(c.Value("bias").Const)
	}
	in, filter := must.Get(c.Int("input_offset")), must.Get(c.Int("filter_offset"))
	for i, v := range ws {
		sums[int64(i)/sizes[1]] += (v + float64(filter)) * float64(in)
	}
	raw := make(ir.Bytes, 0, 4*len(sums))
	for _, v := range sums {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(int32(v)))
	}
	v := b.Constant(n.Name+"_kernel_sum", &ir.Constant{Data: raw,
		Type: ir.StaticTensor(ir.Int32, 1, sizes[0])})
	n.SetArg("kernel_sum", ir.Ref{Value: v})
}
