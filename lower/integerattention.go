package lower

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// attendsIntegers reports whether c is attention of which query, key and value are dequantized, or
// views of what is.
func attendsIntegers(c *ops.Call) bool {
	if _, ok := ops.AttentionOf(c); !ok {
		return false
	}
	for _, name := range []string{"query", "key", "value"} {
		v := viewed(c.Value(name))
		if v.Def == nil || v.Def.Op != dequantizeOp+".default" {
			return false
		}
	}
	return true
}

// viewed is what v is a view of, in any order of its dimensions.
func viewed(v *ir.Value) *ir.Value {
	for v.Def != nil {
		switch ir.OpBase(v.Def.Op) {
		case "view", "reshape", "permute", "transpose", "expand", "unsqueeze", "squeeze", "clone",
			"contiguous", "unflatten", "flatten":
		default:
			return v
		}
		from, ok := v.Def.Args[0].Value.(ir.Ref)
		if !ok {
			return v
		}
		v = from.Value
	}
	return v
}

// rowsOf is what v is a view of that has the same last dimension.
func rowsOf(v *ir.Value) *ir.Value {
	for v.Def != nil && (v.Def.Op == "aten.view.default" || v.Def.Op == "aten.reshape.default") {
		from, ok := v.Def.Arg("self").(ir.Ref)
		if !ok || from.Value.Type.Rank() == 0 || !lastOf(from.Value).Equal(lastOf(v)) {
			break
		}
		v = from.Value
	}
	return v
}

func lastOf(v *ir.Value) sym.Expr { return v.Type.Sizes[v.Type.Rank()-1] }

// attended is the product of a softmax along rows, which nothing quantizes, and of integers: their
// average with exponentials as weights.
func (a *integerArithmetic) attended(b *ops.Builder, n *ir.Node, p *ir.Value,
	w *quantity) []*ir.Value {
	if a.speed || !w.small() || !w.uniform() || p.Type.Rank() != w.ints.Type.Rank() ||
		rowsOf(p).Def == nil {
		return nil
	}
	c, err := b.Table.Bind(rowsOf(p).Def)
	if err != nil || c.Op.Name() != "aten._softmax.default" &&
		c.Op.Name() != "aten._safe_softmax.default" {
		return nil
	}
	scores := c.Value("self")
	if scores.Type.DType != ir.Float32 || c.Outs[0].DType != ir.Float32 {
		return nil
	}
	if dim, err := c.Int("dim"); err != nil || dim != -1 && dim != int64(scores.Type.Rank())-1 {
		return nil
	}
	_, keys := lastOf(p).Bounds()
	if keys > mostSum/ops.MostExponential/w.far() {
		return nil
	}
	e := a.exponentials(b, scores)
	if sizes := p.Type.Sizes; !sym.AllEqual(e.Type.Sizes, sizes) {
		e = denseOp(b, "aten.view.default", e, sizes)
	}
	s := &scaledSum{sum: b.Op(ops.IntegerAverage, e, w.ints, w.zero[0]), scale: w.scale}
	return a.scaled(b, n, s)
}

// exponentials are those of the scores of a softmax along rows. Scores that are integers times a
// scale are these integers; a mask of scores that are -infinity is one of the exponentials.
func (a *integerArithmetic) exponentials(b *ops.Builder, scores *ir.Value) *ir.Value {
	var mask any
	v, sizes := scores, scores.Type.Sizes
	if v.Def != nil && v.Def.Op == "aten.where.self" {
		c, err := b.Table.Bind(v.Def)
		if err == nil && a.isNone(c.Value("other")) &&
			sym.AllEqual(c.Value("self").Type.Sizes, sizes) {
			mask, v = c.Value("condition"), c.Value("self")
		}
	}
	scale := 1.0
	if s := a.sums[v]; s != nil && s.as != nil {
		scale, v = s.scale[0], s.moved(b, s.as(b))
	}
	return denseOp(b, ops.IntegerExponentials, v, mask, scale)
}

// isNone reports whether all elements of v are -infinity.
func (a *integerArithmetic) isNone(v *ir.Value) bool {
	if xs, ok := a.elements(v); ok {
		return len(xs) == 1 && math.IsInf(xs[0], -1)
	}
	if v.Def == nil || v.Def.Op != "aten.full.default" {
		return false
	}
	x, ok := number(v.Def.Arg("fill_value"))
	return ok && math.IsInf(x, -1)
}
