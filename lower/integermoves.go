package lower

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// move moves the integers instead of the floats, where each element of the result is one of
// the operands', and where the largest one is taken.
func (a *integerArithmetic) move(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	var q *quantity
	for _, v := range c.Operands() {
		r := a.of[v]
		switch {
		case r == nil && v.Type.DType.IsFloat(), q != nil && r != nil && !r.same(q):
			return nil
		case r != nil && !r.uniform() && (len(c.Operands()) > 1 || r.dynamic[0] != nil):
			return nil
		case r != nil:
			q = r
		}
	}
	if q == nil {
		return nil
	}
	ts, axis := a.tensors(c), q.axis
	if !consists(ts, c, func(*expr.Expr) bool { return pads(c) }) {
		return nil
	}
	if !q.uniform() {
		if axis = movedAxis(ts, q); axis < 0 {
			return nil
		}
	}
	constant := !slices.ContainsFunc(c.Operands(), func(v *ir.Value) bool {
		return a.of[v] == nil || !a.constant[a.of[v].ints]
	})
	pools := a.floats && !constant && strings.Contains(n.Op, "max_pool")
	op, args := n.Op, withRefs(n, func(v *ir.Value) *ir.Value {
		r := a.of[v]
		if r == nil {
			return nil
		}
		if pools {
			return a.asFloats(b, r.ints)
		}
		return r.ints
	})
	if pads(c) {
		if v, err := c.Float("value"); c.Has("value") && (err != nil || v != 0) {
			return nil
		}
		op, args = padOp, []any{q.ints, c.Arg("pad"), q.zero[0]}
	}
	var outs []*ir.Value
	build := func(b *ops.Builder) []*ir.Value { return b.Ops(op, args...) }
	if constant {
		for _, k := range computed(b.Table, build) {
			v := b.Constant(n.Name, k)
			a.constant[v] = true
			outs = append(outs, v)
		}
	}
	if outs == nil {
		outs = build(b)
	}
	for i, v := range outs {
		if !n.Output(i).Type.DType.IsFloat() { // where the largest was
			continue
		}
		if v.Type = v.Type.Dense(); pools {
			floats := v
			v = b.Op("aten._to_copy.default", v, ops.Kw("dtype", q.ints.Type.DType))
			once := len(n.Outputs) == 1 && a.readers[n.Output(i)] == 1
			a.pooled[v] = maxPooled{floats, once}
		}
		moved := *q
		moved.ints, moved.inner = v, nil
		moved.axis = axis
		if pads(c) {
			moved.inner, moved.pad = q.ints, padding(c)
		}
		outs[i] = a.float(b, &moved)
	}
	return outs
}

// whole is the integers less their zero point as floats.
func (a *integerArithmetic) whole(b *ops.Builder, q *quantity) *ir.Value {
	build := func(b *ops.Builder) []*ir.Value {
		return []*ir.Value{a.beforeViews(b, q.ints, func(ints *ir.Value) *ir.Value {
			less := func(v *ir.Value) *ir.Value { return b.Op("aten.sub.Scalar", v, q.zero[0]) }
			pool := a.pooled[ints]
			switch {
			case q.zero[0] == 0:
				return a.asFloats(b, ints)
			case pool.once:
				// Before the pool, the subtraction is a part of what makes the pool's operand.
				by := pool.floats.Def
				return b.Op(by.Op, withRefs(by, less)...)
			}
			return less(a.asFloats(b, ints))
		})}
	}
	if a.constant[q.ints] {
		if made := computed(b.Table, build); made != nil {
			return b.Constant(q.ints.Name+"_float", made[0])
		}
	}
	return build(b)[0]
}

// asFloats is what a pool made integers of, or these as floats.
func (a *integerArithmetic) asFloats(b *ops.Builder, ints *ir.Value) *ir.Value {
	if v := a.pooled[ints].floats; v != nil {
		return v
	}
	return b.Op("aten._to_copy.default", ints, ops.Kw("dtype", ir.Float32))
}

// beforeViews is the views that v is seen through of what build makes of the tensor behind them:
// there the node that computes the tensor may do it too.
func (a *integerArithmetic) beforeViews(b *ops.Builder, v *ir.Value,
	build func(*ir.Value) *ir.Value) *ir.Value {
	if v.Type.Kind != ir.TensorKind { // a size
		return v
	}
	if v.Def == nil || !reshapes[v.Def.Op] {
		return build(v)
	}
	args := withRefs(v.Def, func(of *ir.Value) *ir.Value { return a.beforeViews(b, of, build) })
	return b.Op(v.Def.Op, args...)
}

const (
	padOp     = "aten.constant_pad_nd.default"
	permuteOp = "aten.permute.default"
)

// pads reports whether c adds a number to the borders of a tensor.
func pads(c *ops.Call) bool {
	return c.Op.Name() == padOp || c.Op.Name() == "aten.pad.default" && c.Str("mode") == "constant"
}

// ofElements are operators whose results are elements of operands, found by comparing: scales
// are positive, so that the largest integer stands for the largest float.
var ofElements = map[string]bool{
	"aten.cat.default":        true,
	"aten.max_pool1d.default": true, "aten.max_pool2d.default": true,
	"aten.max_pool3d.default": true, "aten.max_pool2d_with_indices.default": true,
	"aten.amax.default": true, "aten.amin.default": true, "aten.maximum.default": true,
	"aten.minimum.default": true,
}

// Shares reports whether the results of c consist of elements of its operands, so that they
// have the operands' scale and zero point: c moves elements, takes the largest of them, or
// puts zeros beside them.
func Shares(c *ops.Call) bool {
	return consists((&integerArithmetic{}).tensors(c), c, expr.IsZero)
}

// consists reports whether ts, the results of c, consist of elements of c's float operands, found
// by moving or comparing them, and of constants that may be some.
func consists(ts []expr.Tensor, c *ops.Call, may func(constant *expr.Expr) bool) bool {
	if !ofElements[c.Op.Name()] {
		return moves(ts, c, may)
	}
	return !slices.ContainsFunc(c.Operands(), func(v *ir.Value) bool {
		return !v.Type.DType.IsFloat()
	})
}

func (a *integerArithmetic) tensors(c *ops.Call) []expr.Tensor {
	ts, _, err := c.Results()
	if err != nil {
		return nil
	}
	return ts
}

// moves reports whether each element of ts is one of a float operand's, or a constant that may
// be one.
func moves(ts []expr.Tensor, c *ops.Call, may func(constant *expr.Expr) bool) bool {
	var moved func(e *expr.Expr) bool
	moved = func(e *expr.Expr) bool {
		switch e.Op {
		case expr.OpLoad:
			return c.Operands()[e.Buf].Type.DType.IsFloat()
		case expr.OpSelect:
			return moved(e.Args[1]) && moved(e.Args[2])
		case expr.OpConst:
			return may(e)
		}
		return false
	}
	for _, t := range ts {
		if !moved(t.Body) {
			return false
		}
	}
	return len(ts) > 0
}

// movedAxis returns the dimension of the only result that has the scales of q, -1 if there is
// none.
func movedAxis(ts []expr.Tensor, q *quantity) int {
	if len(ts) != 1 || ts[0].Body.Op != expr.OpLoad {
		return -1
	}
	at, size := ts[0].Body.Coords[q.axis], q.ints.Type.Sizes[q.axis]
	return slices.IndexFunc(ts[0].Vars, func(v *sym.Symbol) bool {
		return at.Equal(v.Expr()) && expr.Extent(v).Equal(size)
	})
}

// movedPart is what a quantize node asks of floats that are moved, with limits that may be closer
// than its own.
type movedPart struct {
	node *ir.Node
	of   *ir.Value
	to   quantization
}

// integers are a value, nil if there is none, and between which integers it lies.
type integers struct {
	value  *ir.Value
	within [2]int64
}

// noteMoved notes a node whose results consist of elements of floats: once they are quantized it
// moves integers, which part makes of the floats, once for all that are moved.
func (a *integerArithmetic) noteMoved(n *ir.Node, c *ops.Call, part func(b *ops.Builder,
	q *ir.Node, v *ir.Value, to *quantization) (*ir.Value, [2]int64)) {
	if !consists(a.tensors(c), c, func(*expr.Expr) bool { return false }) {
		return
	}
	for i, out := range n.Outputs {
		if !out.Type.DType.IsFloat() { // where the largest was
			continue
		}
		build := func(b *ops.Builder, q *ir.Node, to *quantization) *ir.Value {
			known, within := map[*ir.Value]*ir.Value{}, [2]int64{to.hi, to.lo}
			for _, v := range c.Operands() {
				if !v.Type.DType.IsFloat() {
					continue
				}
				p := movedPart{q, v, *to}
				x, ok := a.parts[p]
				if !ok {
					x.value, x.within = part(b, q, v, to)
					a.parts[p] = x
				}
				if x.value == nil {
					return nil
				}
				known[v] = x.value
				within = [2]int64{min(within[0], x.within[0]), max(within[1], x.within[1])}
			}
			v := b.Ops(n.Op, withRefs(n, func(v *ir.Value) *ir.Value { return known[v] })...)[i]
			v.Type, a.within[v] = v.Type.Dense(), within
			return v
		}
		a.forms[out] = &form{unlimited, build}
	}
}

// noteMovedSum notes a node that moves the elements of a sum with one scale and no bias.
func (a *integerArithmetic) noteMovedSum(n *ir.Node, c *ops.Call) {
	if len(c.Operands()) != 1 || len(n.Outputs) != 1 {
		return
	}
	s := a.sums[c.Operands()[0]]
	if s == nil || s.as == nil ||
		!moves(a.tensors(c), c, func(*expr.Expr) bool { return false }) {
		return
	}
	other := *s
	other.move = func(b *ops.Builder, sum *ir.Value) *ir.Value {
		return denseOp(b, n.Op, withRefs(n, func(v *ir.Value) *ir.Value {
			if v == c.Operands()[0] {
				return s.moved(b, sum)
			}
			return nil
		})...)
	}
	a.sums[n.Output(0)] = &other
}

// withRefs returns the arguments of a node, with other values for those that other gives.
func withRefs(n *ir.Node, other func(v *ir.Value) *ir.Value) []any {
	return seq.Map(n.Args, func(arg ir.NamedArg) any {
		return ops.Kw(arg.Name, ir.MapRefs(arg.Value, func(v *ir.Value) ir.Arg {
			if o := other(v); o != nil {
				v = o
			}
			return ir.Ref{Value: v}
		}))
	})
}
