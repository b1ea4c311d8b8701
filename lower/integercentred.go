package lower

import (
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// centred is constant integers less their zero points, if these are and int8 holds the
// differences; else it is q.
func (a *integerArithmetic) centred(b *ops.Builder, q *quantity) *quantity {
	if q.dynamic[0] != nil || !a.constant[q.ints] || q.ints.Type.DType != ir.Int8 || allZero(q.zero) {
		return q
	}
	xs, ok := a.elements(q.ints)
	sizes, static := q.ints.Type.StaticSizes()
	if !ok || !static || !q.uniform() && q.axis >= len(sizes) {
		return q
	}
	inner := 1
	for _, n := range sizes[min(q.axis+1, len(sizes)):] {
		inner *= int(n)
	}
	made := *q
	made.zero = make([]int64, len(q.zero))
	made.least, made.most = expr.IntRange(ir.Int8)
	ints := make([]int64, len(xs))
	for i, x := range xs {
		ints[i] = int64(x) - q.zero[i/inner%len(q.zero)]
		if ints[i] < made.least || ints[i] > made.most {
			return q
		}
	}
	made.ints = intConstant(b, q.ints.Name+"_centred", ir.Int8, ints, sizes...)
	a.constant[made.ints] = true
	if q.zeros != nil {
		made.zeros = ir.Ref{Value: b.Constant(q.ints.Name+"_zeros", &ir.Constant{
			Data: make(ir.Bytes, 8*len(q.zero)),
			Type: ir.StaticTensor(ir.Int64, int64(len(q.zero)))})}
	}
	return &made
}

// floatWeights is layer n with constants for the weights of argument name, if these are dequantized
// and nothing else: no weight is dequantized at run time. It is nil for others.
func (a *integerArithmetic) floatWeights(b *ops.Builder, n *ir.Node, c *ops.Call,
	name string) []*ir.Value {
	v := c.Value(name)
	bytes, ok := denseBytes(v.Type)
	if !ok || bytes > foldLimit || !dequantizes(v) {
		return nil
	}
	made := computed(b.Table, func(b *ops.Builder) []*ir.Value {
		return []*ir.Value{a.again(b, v)}
	})
	if made == nil {
		return nil
	}
	w := b.Constant(v.Name+"_float", made[0])
	a.constant[w] = true
	args := make([]any, 0, len(n.Args))
	for _, arg := range n.Args {
		if ref, ok := arg.Value.(ir.Ref); ok && ref.Value == v {
			arg.Value = ir.Ref{Value: w}
		}
		args = append(args, ops.Kw(arg.Name, arg.Value))
	}
	return b.Ops(n.Op, args...)
}

// dequantizes reports whether v is what a node dequantizes, moved at most.
func dequantizes(v *ir.Value) bool {
	for v.Def != nil && len(v.Def.Regions) == 0 {
		if strings.HasPrefix(ir.OpBase(v.Def.Op), "dequantize_per_") {
			return true
		}
		from, ok := v.Def.Arg("self").(ir.Ref)
		if !ok {
			return false
		}
		v = from.Value
	}
	return false
}

// again makes v once more of constants. It fails if something else is needed.
func (a *integerArithmetic) again(b *ops.Builder, v *ir.Value) *ir.Value {
	if v.Const != nil {
		return b.Constant(v.Name, v.Const)
	}
	if v.Def == nil || len(v.Def.Outputs) != 1 || len(v.Def.Regions) > 0 {
		must.Fail("%s is no constant", v.Name)
	}
	args := make([]any, len(v.Def.Args))
	for i, arg := range v.Def.Args {
		if ref, ok := arg.Value.(ir.Ref); ok {
			arg.Value = ir.Ref{Value: a.again(b, ref.Value)}
		}
		args[i] = ops.Kw(arg.Name, arg.Value)
	}
	return b.Op(v.Def.Op, args...)
}
