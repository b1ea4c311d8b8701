package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	fixed "github.com/etgen/etgen/kernels/math"
)

// cortexMConvolutions accumulate in int32 and rescale by output channel.
func cortexMConvolutions() []Op {
	const head, window = "(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, ", "int[] dilation, "
	const tail = "int input_offset, int output_offset, Tensor requantize_multipliers, Tensor requantize_shifts, int activation_min, int activation_max, Tensor? scratch=None"
	return []Op{
		int8Conv(cm+"quantized_conv2d"+head+window+tail+") -> Tensor", convDense),
		int8Conv(cm+"quantized_depthwise_conv2d"+head+window+"int depth_multiplier, "+tail+") -> Tensor", convDepthwise),
		int8Conv(cm+"quantized_transpose_conv2d"+head+"int[] output_padding, "+window+tail+", Tensor? output_scratch=None) -> Tensor", convTransposed),
	}
}

// convKind tells int8 convolutions apart.
type convKind int

const (
	convDense convKind = iota // weight [out, h, w, in/groups]
	// weight [1, h, w, out], channel c of the input makes channels c·m … c·m+m-1
	convDepthwise
	convTransposed // weight [out, h, w, in]
)

// int8Convolution is a call of one, checked.
type int8Convolution struct {
	kind                        convKind
	x, w                        ir.Type
	kern, stride, pad, dilation []sym.Expr
	out                         []sym.Expr // sizes of the result
	perIn, perOut               sym.Expr   // channels of a group
}

func int8ConvOf(c *Call, kind convKind) (*int8Convolution, error) {
	v := &int8Convolution{kind: kind}
	v.x = must(c.int8Input("input", 4))
	v.w = must(c.int8Input("weight", 4))
	outPad := zeros(2)
	lists := map[string]*[]sym.Expr{"stride": &v.stride, "padding": &v.pad, "dilation": &v.dilation}
	if kind == convTransposed {
		lists["output_padding"] = &outPad
	}
	for _, name := range []string{"stride", "padding", "dilation", "output_padding"} {
		if to := lists[name]; to != nil {
			*to = must(c.spatialArg(name, 2))
		}
	}
	v.kern = v.w.Sizes[1:3]
	channels := must(v.channels(c))
	v.out = []sym.Expr{v.x.Sizes[0], channels}
	one := sym.Int(1)
	for d := range 2 {
		if sym.Less(v.stride[d], one) || sym.Less(v.dilation[d], one) ||
			sym.Less(v.pad[d], sym.Int(0)) {
			return nil, c.Errorf("a stride of %s, a dilation of %s and padding of %s", v.stride[d],
				v.dilation[d], v.pad[d])
		}
		l, reach := v.x.Sizes[2+d], sym.Mul(v.dilation[d], sym.Sub(v.kern[d], one))
		span := sym.Sub(sym.Add(l, sym.Mul(sym.Int(2), v.pad[d])), sym.Add(reach, one))
		o := sym.Add(sym.FloorDiv(span, v.stride[d]), one)
		if kind == convTransposed {
			o = sym.Add(sym.Mul(sym.Sub(l, one), v.stride[d]), sym.Mul(sym.Int(-2), v.pad[d]),
				reach, outPad[d], one)
			if !v.dilation[d].Is(1) {
				return nil, c.Errorf("a dilation of %s, which CMSIS-NN does not have transposed",
					v.dilation[d])
			}
		}
		if sym.Less(o, one) {
			return nil, c.Errorf("a kernel of %s does not fit the padded input of %s", v.kern[d], l)
		}
		c.need(o)
		v.out = append(v.out, o)
	}
	return v, v.checkParams(c, channels)
}

// channels checks the channels of input and weight, splits them into groups and
// returns the number of the result's.
func (v *int8Convolution) channels(c *Call) (sym.Expr, error) {
	in, w := v.x.Sizes[1], v.w.Sizes
	switch v.kind {
	case convDepthwise:
		m := must(c.Int("depth_multiplier"))
		if m < 1 || !w[0].Is(1) || differ(w[3], sym.Mul(in, sym.Int(m))) {
			return sym.Expr{}, c.Errorf("%s with a depth multiplier of %d",
				describeSizes([]ir.Type{v.x, v.w}), m)
		}
		v.perIn, v.perOut = sym.Int(1), sym.Int(m)
		return w[3], nil
	case convTransposed:
		if differ(w[3], in) {
			return sym.Expr{}, c.Errorf("%s: groups are not defined",
				describeSizes([]ir.Type{v.x, v.w}))
		}
	}
	v.perIn, v.perOut = w[3], w[0]
	if differ(w[3], in) {
		total, ok1 := in.Const()
		per, ok2 := w[3].Const()
		outs, ok3 := w[0].Const()
		if !ok1 || !ok2 || !ok3 || per < 1 || total < 1 || total%per != 0 || outs%(total/per) != 0 {
			return sym.Expr{}, c.Errorf("%s do not make groups", describeSizes([]ir.Type{v.x, v.w}))
		}
		v.perOut = sym.Int(outs / (total / per))
	}
	return w[0], nil
}

// checkParams checks the tensors that have an int32 for each channel.
func (v *int8Convolution) checkParams(c *Call, channels sym.Expr) error {
	for _, name := range []string{"bias", "requantize_multipliers", "requantize_shifts"} {
		check(c.param(name, channels))
		if k := c.Operand(name); k >= 0 && c.operands[k].Type.DType != ir.Int32 {
			return c.Errorf("%s is %s, not int32", name, c.operands[k].Type.DType)
		}
	}
	return nil
}

// sum returns what element at of the result is made of, without bias: the sum
// of products of weights and of input elements plus off. Elements outside of
// the input are 0 then.
func (v *int8Convolution) sum(c *Call, at []sym.Expr, off *expr.Expr) *expr.Expr {
	var over []*sym.Symbol
	each := func(name string, n sym.Expr) sym.Expr {
		if n.Is(1) {
			return sym.Expr{}
		}
		s := sym.NewVar(name, n)
		over = append(over, s)
		return s.Expr()
	}
	group := sym.Expr{}
	if differ(v.perIn, v.x.Sizes[1]) {
		group = sym.FloorDiv(at[1], v.perOut)
	}
	k := []sym.Expr{each("y", v.kern[0]), each("x", v.kern[1])}
	ci := each("c", v.perIn)
	xs := []sym.Expr{at[0], sym.Add(sym.Mul(group, v.perIn), ci)}
	ws := []sym.Expr{at[1], k[0], k[1], ci}
	if v.kind == convDepthwise {
		ws = []sym.Expr{{}, k[0], k[1], at[1]}
	}
	inside := expr.Bool(true)
	for d := range 2 {
		i := sym.Sub(sym.Add(sym.Mul(at[2+d], v.stride[d]), sym.Mul(k[d], v.dilation[d])), v.pad[d])
		if v.kind == convTransposed {
			i = sym.Sub(sym.Add(at[2+d], v.pad[d]), k[d])
			inside = expr.And(inside, expr.IdxLe(sym.Mod(i, v.stride[d]), sym.Int(0)))
			i = sym.FloorDiv(i, v.stride[d])
		}
		inside = expr.And(inside, expr.InRange(i, sym.Int(0), v.x.Sizes[2+d]))
		xs = append(xs, i)
	}
	x := expr.Select(inside, offset(c.Load("input", xs...), off), expr.Int(ir.Int32, 0))
	return expr.Sum(over, expr.Mul(x, expr.Cast(ir.Int32, c.Load("weight", ws...))))
}

func int8Conv(schema string, kind convKind) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			v := must(int8ConvOf(c, kind))
			t := ir.TensorOf(ir.Int8, v.out...)
			t.Strides = channelsLastStrides(v.out)
			return []ir.Type{t}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			v := must(int8ConvOf(c, kind))
			n := must(c.int32Args("input_offset", "output_offset", "activation_min",
				"activation_max"))
			vars, at := indexVars(c.Outs[0].Sizes)
			y := affine(v.sum(c, at, n[0]), nil, c.paramAt("bias", ir.Int32, at[1]))
			y = fixed.Requantize(y, c.Load("requantize_multipliers", at[1]),
				c.Load("requantize_shifts", at[1]))
			return []expr.Tensor{{DType: ir.Int8, Vars: vars, Body: finish(y, n[1], n[2], n[3])}},
				nil
		},
	}
}
