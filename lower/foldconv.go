package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
)

// FoldBatchNorm makes a convolution (of any rank, grouped or not, transposed
// or not) or a linear layer that only a batch norm in evaluation mode reads
// into one with other weights and bias. Weights, statistics and scale must be
// constants of one floating-point dtype; float32 and float64 are folded,
// computed in float64 and rounded once.
var FoldBatchNorm = Pass{
	Name: "fold-batch-norm",
	Doc:  "fold batch norm into the weights of the convolution or linear layer before it",
	Run: perNode(func(ctx *Context, p *ir.Program, m *ir.Method) visitor {
		f := &normFolder{table: ctx.Table, constant: Constants(p, m), uses: ir.Uses(m.Graph),
			layers: map[*ir.Node]*layer{}, norms: map[*ir.Node]*ir.Node{}}
		for n := range m.Graph.All() {
			f.find(n)
		}
		return f.visit
	}),
}

type normFolder struct {
	table    *ops.Table
	constant map[*ir.Value]bool
	uses     map[*ir.Value]int
	layers   map[*ir.Node]*layer   // to change
	norms    map[*ir.Node]*ir.Node // to drop, with the layer that stands for each
}

// layer is a convolution or linear layer with the parameters it shall have.
type layer struct {
	weight, bias *ir.Constant
	typ          ir.Type // of its result from now on
}

func (f *normFolder) find(n *ir.Node) {
	if n.Op != "aten.batch_norm.default" &&
		n.Op != "aten._native_batch_norm_legit_no_training.default" {
		return
	}
	norm, err := f.table.Bind(n)
	if err != nil {
		return
	}
	x := norm.Value("input")
	if x == nil || x.Def == nil || f.uses[x] != 1 || n.Output(0) == nil {
		return
	}
	if l := f.fold(norm, x.Def); l != nil {
		l.typ = n.Outputs[0].Type
		f.layers[x.Def], f.norms[n] = l, x.Def
	}
}

// fold returns what n has to become to do what norm does with its result, nil if that is
// not known.
func (f *normFolder) fold(norm *ops.Call, n *ir.Node) *layer {
	c, err := f.table.Bind(n)
	training := norm.Op.ParsedSchema().Index("training") >= 0 && norm.Bool("training")
	if err != nil || training {
		return nil
	}
	form := weightForm(c)
	eps, err := norm.Float("eps")
	if form == nil || err != nil {
		return nil
	}
	w, bias := c.Value("weight"), c.Value("bias")
	d, channels := w.Type.DType, form[0]*form[2]
	gamma, beta := norm.Value("weight"), norm.Value("bias")
	mean, variance := norm.Value("running_mean"), norm.Value("running_var")
	if d != ir.Float32 && d != ir.Float64 || f.uses[w] != 1 || mean == nil || variance == nil {
		return nil
	}
	for _, v := range []*ir.Value{w, bias, gamma, beta, mean, variance} {
		if v != nil && (!f.constant[v] || v.Type.DType != d ||
			v != w && !v.Type.Numel().Is(channels)) {
			return nil
		}
	}
	made := computed(f.table, func(b *ops.Builder) []*ir.Value {
		to := func(d ir.DType, v *ir.Value) *ir.Value {
			return b.Op("aten._to_copy.default", v, ops.Kw("dtype", d),
				ops.Kw("memory_format", ir.ContiguousFormat))
		}
		wide := func(v *ir.Value, absent float64) *ir.Value {
			if v == nil {
				return b.Op("aten.full.default", []int64{channels}, absent,
					ops.Kw("dtype", ir.Float64))
			}
			return to(ir.Float64, v)
		}
		scale := b.Op("aten.div.Tensor", wide(gamma, 1), b.Op("aten.sqrt.default",
			b.Op("aten.add.Scalar", wide(variance, 1), eps)))
		shift := b.Op("aten.mul.Tensor", wide(mean, 0), scale)
		shift = b.Op("aten.sub.Tensor", wide(beta, 0), shift)
		shift = b.Op("aten.add.Tensor", b.Op("aten.mul.Tensor", wide(bias, 0), scale), shift)
		weight := b.Op("aten.mul.Tensor", b.Op("aten.view.default", wide(w, 0), form),
			b.Op("aten.view.default", scale, []int64{form[0], 1, form[2], 1}))
		return []*ir.Value{to(d, weight), to(d, shift)}
	})
	if made == nil {
		return nil
	}
	l := &layer{weight: made[0], bias: made[1]}
	l.weight.Name, l.weight.Type = w.Const.Name, w.Type.Dense()
	if bias != nil {
		l.bias.Name = bias.Const.Name
	}
	return l
}

// computed returns what build makes of constants, nil if it cannot be computed.
func computed(t *ops.Table, build func(b *ops.Builder) []*ir.Value) (made []*ir.Constant) {
	err := must.Try(func() {
		machine := interp.New(t)
		g := must.Get(ir.BuildGraph(ir.NewNames(&ir.Method{Graph: &ir.Graph{}}), nil,
			func(e *ir.Emitter) (outs []ir.Arg, _ error) {
				for _, v := range build(ops.NewBuilder(t, e)) {
					outs = append(outs, ir.Ref{Value: v})
				}
				return outs, nil
			}))
		for _, x := range must.Get(machine.Graph(g, nil)) {
			made = append(made, &ir.Constant{Data: ir.Bytes(x.Tensor.Data),
				Type: ir.StaticTensor(x.Tensor.DType, x.Tensor.Sizes...)})
		}
	})
	if err != nil {
		return nil
	}
	return made
}

// weightForm returns sizes that the weight of a layer can be seen as, [groups, rows, channels
// of a group, inner], nil if the result has its channels not in dimension 1, where batch norm
// expects them (it has no batch), or c is no such layer.
func weightForm(c *ops.Call) []int64 {
	if c.Op.ParsedSchema().Index("weight") < 0 || c.Value("weight") == nil || len(c.Outs) != 1 {
		return nil
	}
	sizes, ok := c.Value("weight").Type.StaticSizes()
	if !ok || len(sizes) < 2 || slices.Contains(sizes, 0) || c.Outs[0].Rank() != len(sizes) {
		return nil
	}
	inner := int64(1)
	for _, s := range sizes[2:] {
		inner *= s
	}
	transposed := false
	switch ir.OpBase(c.Op.Name()) {
	case "linear", "conv1d", "conv2d", "conv3d":
	case "conv_transpose1d", "conv_transpose2d", "conv_transpose3d":
		transposed = true
	case "convolution":
		transposed = c.Bool("transposed")
	default:
		return nil
	}
	if !transposed {
		return []int64{1, 1, sizes[0], sizes[1] * inner}
	}
	groups, err := c.Int("groups")
	if err != nil || groups <= 0 || sizes[0]%groups != 0 {
		return nil
	}
	return []int64{groups, sizes[0] / groups, sizes[1], inner}
}

func (f *normFolder) visit(b *ops.Builder, n *ir.Node) []*ir.Value {
	if l := f.layers[n]; l != nil {
		n.SetArg("weight", ir.Ref{Value: b.Constant(n.Name+"_weight", l.weight)})
		n.SetArg("bias", ir.Ref{Value: b.Constant(n.Name+"_bias", l.bias)})
		n.Outputs[0].Type = l.typ
		return nil
	}
	l := f.norms[n]
	if l == nil {
		return nil
	}
	for _, v := range n.Outputs[1:] {
		if v != nil && f.uses[v] > 0 {
			must.Fail("the statistics of a batch norm in evaluation mode are used, which are empty")
		}
	}
	return []*ir.Value{l.Outputs[0]}
}

// FoldPadding makes zeros that were put unevenly around the spatial dimensions
// of an image part of the convolution that reads them, which becomes one with
// padding of its own on each side. Simplify does so for even ones, for which
// PyTorch has an operator.
var FoldPadding = Pass{
	Name: "fold-padding",
	Doc:  "make uneven zero padding part of the convolution that reads it",
	Run:  byRules(func(s *simplifier) []rule { return []rule{s.unevenPadding} }),
}

// unevenPadding gives the padded convolution that does what c and the padding of its input do.
func (s *simplifier) unevenPadding(b *ops.Builder, n *ir.Node, c *ops.Call) *ir.Value {
	mixed := n.Op == ops.MixedConvolution
	if !mixed && (n.Op != "aten.convolution.default" || c.Bool("transposed")) ||
		!c.Outs[0].DType.IsFloat() {
		return nil
	}
	spatial := c.Outs[0].Rank() - 2
	pad := s.definition(c.Value("input"))
	if pad == nil {
		return nil
	}
	before, after, ok := zeroPadding(pad, spatial)
	names := [2]string{"padding", "padding"}
	if mixed {
		names = [2]string{"before", "after"}
	}
	for i, to := range [2][]int64{before, after} {
		own, err := spatialInts(c, names[i], spatial)
		if !ok || err != nil {
			return nil // or sizes are not known
		}
		for d := range own {
			to[d] += own[d]
		}
	}
	if mixed {
		return b.Op(n.Op, pad.Value("self"), c.Arg("weight"), c.Arg("stride"), before, after,
			c.Arg("dilation"), c.Arg("groups"))
	}
	return b.Op(ops.PaddedConvolution, pad.Value("self"), c.Arg("weight"), c.Arg("bias"),
		c.Arg("stride"), before, after, c.Arg("dilation"), c.Arg("groups"))
}

// spatialInts returns integers for each spatial dimension; one stands for all.
func spatialInts(c *ops.Call, name string, spatial int) ([]int64, error) {
	list, err := c.Ints(name)
	if len(list) == 1 {
		list = slices.Repeat(list, spatial)
	}
	if err == nil && len(list) != spatial {
		err = c.Errorf("%s has %d numbers for %d dimensions", name, len(list), spatial)
	}
	return list, err
}
