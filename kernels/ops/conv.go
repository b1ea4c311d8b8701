package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// convolution is one call of aten::convolution, checked, or of the one that has
// other padding before the input than after it.
type convolution struct {
	x, w                                          ir.Type
	stride, before, after, dilation, outPad, kern []sym.Expr // by spatial dimension
	groups                                        sym.Expr
	transposed                                    bool
}

// spatialArg returns a list argument with one element per spatial dimension;
// a single one stands for all.
func (c *Call) spatialArg(name string, n int) ([]sym.Expr, error) {
	es, err := c.SymInts(name)
	if err != nil {
		return nil, err
	}
	if len(es) == 1 && n != 1 {
		es = slices.Repeat(es, n)
	}
	if len(es) != n {
		return nil, c.Errorf("%s has %d elements for %d spatial dimensions", name, len(es), n)
	}
	return es, nil
}

// convOf reads the arguments of a convolution: batch, channels and n spatial
// dimensions.
func convOf(c *Call) (*convolution, error) {
	cv := &convolution{x: c.Tensor("input"), w: c.Tensor("weight")}
	n := cv.w.Rank() - 2
	if n < 1 || cv.x.Rank() != n+2 {
		return nil, c.Errorf("an input with %d dimensions and a weight with %d", cv.x.Rank(),
			cv.w.Rank())
	}
	if cv.x.DType != cv.w.DType {
		return nil, c.Errorf("an input of %s and a weight of %s", cv.x.DType, cv.w.DType)
	}
	cv.kern = cv.w.Sizes[2:]
	type list struct {
		name string
		to   *[]sym.Expr
	}
	lists := [4]list{{"stride", &cv.stride}, {"dilation", &cv.dilation}, {"before", &cv.before},
		{"after", &cv.after}}
	both := c.Op.sch.Index("padding") >= 0
	if both {
		cv.transposed = c.Bool("transposed")
		lists[2], lists[3] = list{"padding", &cv.before}, list{"output_padding", &cv.outPad}
	}
	for _, l := range lists {
		*l.to = must(c.spatialArg(l.name, n))
	}
	for d := range cv.outPad {
		if sym.Less(cv.before[d], sym.Int(0)) || sym.Less(cv.outPad[d], sym.Int(0)) {
			return nil, c.Errorf("a padding of %s, of the output %s", cv.before[d], cv.outPad[d])
		}
	}
	if both {
		cv.after = cv.before
	}
	for d := range n {
		if !sym.Less(sym.Int(0), cv.stride[d]) || !sym.Less(sym.Int(0), cv.dilation[d]) {
			return nil, c.Errorf("a stride of %s and a dilation of %s", cv.stride[d],
				cv.dilation[d])
		}
	}
	cv.groups = must(c.SymInt("groups"))
	if !sym.Less(sym.Int(0), cv.groups) {
		return nil, c.Errorf("%s groups", cv.groups)
	}
	want := sym.Mul(cv.w.Sizes[1], cv.groups)
	if cv.transposed {
		want = cv.w.Sizes[0]
	}
	if differ(cv.x.Sizes[1], want) {
		return nil, c.Errorf("an input of %s channels, the weight is for %s", cv.x.Sizes[1], want)
	}
	if g, ok := cv.groups.Const(); ok && differ(sym.Mod(cv.w.Sizes[0], sym.Int(g)), sym.Int(0)) {
		return nil, c.Errorf("%s channels do not make %d groups", cv.w.Sizes[0], g)
	}
	if c.Op.sch.Index("bias") < 0 {
		return cv, nil
	}
	return cv, c.param("bias", cv.outChannels())
}

func (cv *convolution) outChannels() sym.Expr {
	if cv.transposed {
		return sym.Mul(cv.w.Sizes[1], cv.groups)
	}
	return cv.w.Sizes[0]
}

// outType is the type of the result: channels last if the input or the weight
// is.
func (cv *convolution) outType(c *Call) (ir.Type, error) {
	sizes := []sym.Expr{cv.x.Sizes[0], cv.outChannels()}
	for d, k := range cv.kern {
		l := cv.x.Sizes[2+d]
		reach := sym.Mul(cv.dilation[d], sym.Sub(k, sym.Int(1)))
		var o sym.Expr
		if cv.transposed {
			o = sym.Add(sym.Mul(sym.Sub(l, sym.Int(1)), cv.stride[d]),
				sym.Neg(sym.Add(cv.before[d], cv.after[d])), reach, cv.outPad[d], sym.Int(1))
		} else {
			o = sym.Add(sym.FloorDiv(sym.Sub(sym.Add(l, cv.before[d], cv.after[d]),
				sym.Add(reach, sym.Int(1))), cv.stride[d]), sym.Int(1))
		}
		if sym.Less(o, sym.Int(0)) {
			return ir.Type{}, c.Errorf("a kernel of %s is larger than the padded input of %s", k, l)
		}
		c.need(sym.Add(o, sym.Int(1)))
		sizes = append(sizes, o)
	}
	t := ir.TensorOf(cv.x.DType, sizes...)
	if suggestsChannelsLast(cv.x) || suggestsChannelsLast(cv.w) {
		t.Strides = channelsLastStrides(sizes)
	}
	return t, nil
}

// compute returns element at of the result.
func (cv *convolution) compute(c *Call, at []sym.Expr) *expr.Expr {
	m := opmath(cv.x.DType)
	var over []*sym.Symbol
	each := func(name string, n sym.Expr) sym.Expr {
		if n.Is(1) {
			return sym.Expr{}
		}
		v := sym.NewVar(name, n)
		over = append(over, v)
		return v.Expr()
	}
	// A group takes perIn channels of the input to perOut of the output.
	perIn, perOut := cv.w.Sizes[1], sym.FloorDiv(cv.w.Sizes[0], cv.groups)
	if cv.transposed {
		perIn, perOut = perOut, perIn
	}
	ci := each("c", perIn)
	group := sym.Expr{}
	if !cv.groups.Is(1) {
		group = sym.FloorDiv(at[1], perOut)
	}
	in := sym.Add(sym.Mul(group, perIn), ci)
	xs, ws := []sym.Expr{at[0], in}, []sym.Expr{at[1], ci}
	if cv.transposed {
		ws = []sym.Expr{in, sym.Sub(at[1], sym.Mul(group, perOut))}
	}
	guard := expr.Bool(true)
	for d, n := range cv.kern {
		k := each("k"+itoa(d), n)
		ws = append(ws, k)
		i := sym.Sub(sym.Add(sym.Mul(at[2+d], cv.stride[d]), sym.Mul(k, cv.dilation[d])),
			cv.before[d])
		if cv.transposed {
			i = sym.Sub(sym.Add(at[2+d], cv.before[d]), sym.Mul(k, cv.dilation[d]))
			guard = expr.And(guard, expr.IdxLe(sym.Mod(i, cv.stride[d]), sym.Int(0)))
			i = sym.FloorDiv(i, cv.stride[d])
		}
		guard = expr.And(guard, expr.InRange(i, sym.Int(0), cv.x.Sizes[2+d]))
		xs = append(xs, i)
	}
	x := expr.Select(guard, expr.Cast(m, c.Load("input", xs...)), expr.Num(m, 0))
	y := expr.Sum(over, expr.Mul(x, expr.Cast(m, c.Load("weight", ws...))))
	return affine(y, nil, c.paramAt("bias", m, at[1]))
}

// PaddedConvolution is the convolution that is not transposed with padding of
// its own before and after the input, of which aten::convolution has the one
// where both are the same. Exact says that input and weight are integers, whose
// sums of products are exact in any order: they are not to be computed another way.
const PaddedConvolution = "etgen.padded_convolution.default"

const paddedSchema = "etgen::padded_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] before, SymInt[] after, SymInt[] dilation, SymInt groups, bool exact=False) -> Tensor"

const convolutionSchema = "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor"

// convOps are the convolutions.
func convOps() []Op {
	ops := []Op{
		convEntry(convolutionSchema),
		convEntry("aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor").core(convolutionCore),
		convEntry("aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, int[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor").core(
			convolutionCore),
	}
	return append(append(ops, convEntry(paddedSchema)), convComposites()...)
}

func convEntry(schema string) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			cv := must(convOf(c))
			return one(cv.outType(c))
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			cv := must(convOf(c))
			vars, at := indexVars(c.Outs[0].Sizes)
			return []expr.Tensor{{DType: cv.x.DType, Vars: vars, Body: expr.Cast(cv.x.DType,
				cv.compute(c, at))}}, nil
		},
	}
}

// convolutionCore leaves out what does not change the result.
func convolutionCore(b *Builder, c *Call) *ir.Value {
	args := make([]any, 9)
	for i := range args {
		args[i] = c.Args[i]
	}
	return b.Op("aten.convolution.default", args...)
}
