package native

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/tuned"
)

// takeNumbers takes the numbers out of the epilogue. Where a result is its own channel, it reads
// what it reads as that of its channel.
func (in *instance) takeNumbers() {
	ep := *in.epilogue
	if c := in.call; c.Args[0].Len.Equal(c.Kernel.Tuned.Channels.Count) {
		ep.Body = expr.SubstIndex(ep.Body, map[*sym.Symbol]sym.Expr{ep.O: ep.C.Expr()})
	}
	ep.Body = expr.Rewrite(ep.Body, func(e *expr.Expr) *expr.Expr {
		if e.Op != expr.OpConst || !e.DType.IsInt() && !e.DType.IsFloat() {
			return e
		}
		n := *e
		whole := e.DType == ir.Float32 && e.Float == math.Trunc(e.Float) &&
			math.Abs(e.Float) <= mostWhole && (e.Float != 0 || !math.Signbit(e.Float))
		if whole { // that is added to what is rounded, or limits it
			n = *expr.Int(ir.Int32, int64(e.Float))
		}
		in.skel.consts = append(in.skel.consts, &n)
		return expr.Cast(e.DType, expr.ScalarRef(len(in.skel.consts)-1, n.DType))
	})
	in.epilogue = &ep
}

// mostWhole is the largest whole float32 number that calls give as an integer.
const mostWhole = 1 << 16

// giveNumbers puts numbers back into the epilogue: constants, or what calls give.
func giveNumbers(group []*instance) *tuned.Epilogue {
	given := group[0].epilogue
	if given == nil {
		return given
	}
	ep := *given
	ep.Largest = slices.Clone(ep.Largest)
	for _, in := range group {
		for i, most := range in.epilogue.Largest {
			ep.Largest[i] = max(ep.Largest[i], most)
		}
	}
	if len(group[0].skel.consts) == 0 {
		return &ep
	}
	consts, added := mergeConsts(group, 0)
	ep.Numbers = make([]tuned.Number, len(added))
	ep.Body = expr.Simplify(expr.Rewrite(ep.Body, func(e *expr.Expr) *expr.Expr {
		if e.Op != expr.OpScalar {
			return e
		}
		x := consts[e.Buf]
		if x.Op == expr.OpScalar {
			n := tuned.Number{DType: x.DType, Low: math.Inf(1), High: math.Inf(-1)}
			for _, in := range group {
				c := in.skel.consts[e.Buf]
				v := c.Float
				if c.DType.IsInt() {
					v = float64(c.Int)
				}
				n.Low, n.High = min(n.Low, v), max(n.High, v)
			}
			ep.Numbers[x.Buf] = n
		}
		return x
	}))
	return &ep
}
