package lower

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
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
	Run: func(ctx *Context, p *ir.Program) error {
		written := p.Written()
		return perMethod(func(ctx *Context, m *ir.Method) error {
			f := &normFolder{table: ctx.Table, constant: constants(m, written),
				uses: ir.Uses(m.Graph), layers: map[*ir.Node]*layer{},
				norms: map[*ir.Node]*ir.Node{}}
			m.Graph.Walk(f.find)
			if len(f.norms) == 0 {
				return nil
			}
			return (&ir.Rewriter{Visit: f.visit}).Run(m)
		})(ctx, p)
	},
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

func (f *normFolder) find(g *ir.Graph) {
	for _, n := range g.Nodes {
		if n.Op != "aten.batch_norm.default" &&
			n.Op != "aten._native_batch_norm_legit_no_training.default" {
			continue
		}
		norm, err := f.table.Bind(n)
		if err != nil {
			continue
		}
		x := norm.Value("input")
		if x == nil || x.Def == nil || f.uses[x] != 1 || n.Output(0) == nil {
			continue
		}
		if l, ok := f.fold(norm, x.Def); ok {
			l.typ = n.Outputs[0].Type
			f.layers[x.Def], f.norms[n] = l, x.Def
		}
	}
}

// fold returns what n has to become to do what norm does with its result.
func (f *normFolder) fold(norm *ops.Call, n *ir.Node) (*layer, bool) {
	if i := norm.Op.ParsedSchema().Index("training"); i >= 0 && norm.Bool("training") {
		return nil, false
	}
	c, err := f.table.Bind(n)
	if err != nil {
		return nil, false
	}
	form, ok := weightForm(c)
	if !ok {
		return nil, false
	}
	w := c.Value("weight")
	d := w.Type.DType
	if d != ir.Float32 && d != ir.Float64 || f.uses[w] != 1 {
		return nil, false
	}
	eps, err := norm.Float("eps")
	if err != nil {
		return nil, false
	}
	channels := form.channels
	scale, shift, ok := f.affine(norm, d, channels, eps)
	if !ok {
		return nil, false
	}
	bias, biasName := make([]float64, channels), ""
	if c.Has("bias") {
		if bias, ok = f.data(c.Value("bias"), d); !ok {
			return nil, false
		}
		biasName = c.Value("bias").Const.Name
	}
	if len(bias) != channels || len(scale) != channels {
		return nil, false
	}
	weight, ok := f.scaled(w, form, scale)
	if !ok {
		return nil, false
	}
	for k := range bias {
		bias[k] = bias[k]*scale[k] + shift[k]
	}
	return &layer{
		weight: &ir.Constant{Name: w.Const.Name, Type: w.Type.Dense(), Data: ir.Bytes(weight)},
		bias:   constantOf(biasName, ir.StaticTensor(d, int64(channels)), bias),
	}, true
}

// affine returns the factor and summand that norm comes down to for each
// channel.
func (f *normFolder) affine(norm *ops.Call, d ir.DType, channels int,
	eps float64) (scale, shift []float64, ok bool) {
	get := func(name string, absent float64) []float64 {
		if !norm.Has(name) {
			out := make([]float64, channels)
			for i := range out {
				out[i] = absent
			}
			return out
		}
		data, _ := f.data(norm.Value(name), d)
		return data
	}
	if !norm.Has("running_mean") || !norm.Has("running_var") {
		return nil, nil, false
	}
	gamma, beta := get("weight", 1), get("bias", 0)
	mean, variance := get("running_mean", 0), get("running_var", 1)
	for _, x := range [][]float64{gamma, beta, mean, variance} {
		if len(x) != channels {
			return nil, nil, false
		}
	}
	scale, shift = make([]float64, channels), make([]float64, channels)
	for k := range channels {
		scale[k] = gamma[k] / math.Sqrt(variance[k]+eps)
		shift[k] = beta[k] - mean[k]*scale[k]
	}
	return scale, shift, true
}

// weights tells which output channel an element of a layer's weight is for:
// the weight is [outer, per, inner] and an element's channel is
// (outer index / rows)·per + its index in per.
type weights struct {
	channels, per, inner, rows int
}

func (w weights) channel(i int) int {
	return i/(w.per*w.inner)/w.rows*w.per + i/w.inner%w.per
}

// weightForm recognises a layer whose result has its channels in dimension 1,
// where batch norm expects them: not one without a batch.
func weightForm(c *ops.Call) (form weights, ok bool) {
	if c.Op.ParsedSchema().Index("weight") < 0 || c.Value("weight") == nil || len(c.Outs) != 1 {
		return form, false
	}
	sizes, ok := c.Value("weight").Type.StaticSizes()
	if !ok || len(sizes) < 2 {
		return form, false
	}
	inner := 1
	for _, s := range sizes[2:] {
		inner *= int(s)
	}
	transposed := false
	switch ir.OpBase(c.Op.Name()) {
	case "linear":
		ok = c.Outs[0].Rank() == 2
	case "conv1d", "conv2d", "conv3d":
		ok = c.Outs[0].Rank() == len(sizes)
	case "conv_transpose1d", "conv_transpose2d", "conv_transpose3d":
		transposed, ok = true, c.Outs[0].Rank() == len(sizes)
	case "convolution":
		transposed, ok = c.Bool("transposed"), c.Outs[0].Rank() == len(sizes)
	default:
		ok = false
	}
	if !ok {
		return form, false
	}
	if !transposed {
		n := int(sizes[0])
		return weights{channels: n, per: n, inner: int(sizes[1]) * inner, rows: 1}, n > 0
	}
	groups, err := c.Int("groups")
	if err != nil || groups <= 0 || sizes[0]%groups != 0 || sizes[0] == 0 {
		return form, false
	}
	return weights{channels: int(sizes[1] * groups), per: int(sizes[1]), inner: inner,
		rows: int(sizes[0] / groups)}, sizes[1] > 0 && inner > 0
}

// scaled returns the storage of a constant weight whose elements are
// multiplied by the scale of their channel.
func (f *normFolder) scaled(w *ir.Value, form weights, scale []float64) ([]byte, bool) {
	d := w.Type.DType
	raw, ok := f.raw(w, d)
	run := form.inner * d.Size() // bytes that have one channel
	if !ok || run == 0 || len(raw)%(run*form.per) != 0 {
		return nil, false
	}
	for at := 0; at < len(raw); at += run {
		scaleRun(d, raw[at:at+run], scale[form.channel(at/d.Size())])
	}
	return raw, true
}

// scaleRun multiplies xs, elements of dtype d, by s.
func scaleRun(d ir.DType, xs []byte, s float64) {
	le := binary.LittleEndian
	if d == ir.Float64 {
		for i := 0; i < len(xs); i += 8 {
			le.PutUint64(xs[i:], math.Float64bits(math.Float64frombits(le.Uint64(xs[i:]))*s))
		}
		return
	}
	for i := 0; i < len(xs); i += 4 {
		le.PutUint32(xs[i:],
			math.Float32bits(float32(float64(math.Float32frombits(le.Uint32(xs[i:])))*s)))
	}
}

// raw returns the elements of a constant of dtype d in memory of their own.
func (f *normFolder) raw(v *ir.Value, d ir.DType) ([]byte, bool) {
	if v == nil || !f.constant[v] || v.Type.DType != d {
		return nil, false
	}
	raw, err := ir.Tensor(v.Const)
	return raw, err == nil
}

// data returns the elements of a constant of dtype d.
func (f *normFolder) data(v *ir.Value, d ir.DType) ([]float64, bool) {
	raw, ok := f.raw(v, d)
	if !ok {
		return nil, false
	}
	out := make([]float64, len(raw)/d.Size())
	for i := range out {
		if d == ir.Float64 {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
		} else {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		}
	}
	return out, true
}

// constantOf returns a float32 or float64 constant of type t. Its name tells
// what it was made of.
func constantOf(name string, t ir.Type, xs []float64) *ir.Constant {
	raw := make([]byte, 0, len(xs)*t.DType.Size())
	for _, x := range xs {
		if t.DType == ir.Float64 {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
		} else {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)))
		}
	}
	return &ir.Constant{Name: name, Type: t.Dense(), Data: ir.Bytes(raw)}
}

func (f *normFolder) visit(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
	if l := f.layers[n]; l != nil {
		n.SetArg("weight", ir.Ref{Value: e.Constant(n.Name+"_weight", l.weight)})
		n.SetArg("bias", ir.Ref{Value: e.Constant(n.Name+"_bias", l.bias)})
		n.Outputs[0].Type = l.typ
		return nil, true, nil
	}
	if l := f.norms[n]; l != nil {
		for _, v := range n.Outputs[1:] {
			if v != nil && f.uses[v] > 0 {
				return nil, false,
					fmt.Errorf(
						"the statistics of a batch norm in evaluation mode are used, which are empty")
			}
		}
		return []*ir.Value{l.Outputs[0]}, false, nil
	}
	return nil, true, nil
}

// FoldPadding makes zeros that were put unevenly around the spatial dimensions
// of an image part of the convolution that reads them, which becomes one with
// padding of its own on each side. Simplify does so for even ones, for which
// PyTorch has an operator.
var FoldPadding = Pass{
	Name: "fold-padding",
	Doc:  "make uneven zero padding part of the convolution that reads it",
	Run: perNode(func(ctx *Context, m *ir.Method) visitor {
		s := &simplifier{table: ctx.Table}
		return func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			if n.Op != "aten.convolution.default" || n.Output(0) == nil {
				return nil, true, nil
			}
			c, err := ctx.Table.Bind(n)
			if err != nil || c.Bool("transposed") || !c.Outs[0].DType.IsFloat() {
				return nil, true, nil
			}
			args, err := s.padded(c)
			if err != nil || args == nil {
				return nil, true, err
			}
			v := ops.NewBuilder(ctx.Table, e).Emit(ops.PaddedConvolution, args,
				n.Outputs[0].Type).Outputs[0]
			return []*ir.Value{v}, false, nil
		}
	}),
}

// padded returns the arguments of the padded convolution that does what c and
// the padding of its input do, nil if its input is not padded.
func (s *simplifier) padded(c *ops.Call) ([]ir.NamedArg, error) {
	spatial := c.Outs[0].Rank() - 2
	pad := s.definition(c.Value("input"))
	if pad == nil {
		return nil, nil
	}
	before, after, ok := zeroPadding(pad, spatial)
	own, err := c.Ints("padding")
	if !ok || err != nil {
		return nil, nil // or sizes are not known
	}
	if len(own) == 1 {
		own = slices.Repeat(own, spatial)
	}
	for d := range own {
		before[d] += own[d]
		after[d] += own[d]
	}
	args := []ir.NamedArg{{Name: "input", Value: ir.Ref{Value: pad.Value("self")}}}
	for _, name := range []string{"weight", "bias", "stride"} {
		args = append(args, ir.NamedArg{Name: name, Value: c.Arg(name)})
	}
	first, err := ops.ToArg(before)
	if err != nil {
		return nil, err
	}
	last, err := ops.ToArg(after)
	if err != nil {
		return nil, err
	}
	return append(args, ir.NamedArg{Name: "before", Value: first}, ir.NamedArg{Name: "after",
		Value: last},
		ir.NamedArg{Name: "dilation", Value: c.Arg("dilation")}, ir.NamedArg{Name: "groups",
			Value: c.Arg("groups")}), nil
}
