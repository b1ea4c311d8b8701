package lower

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/ops"
)

// softmax returns the softmax over the last dimension that p shows and that
// nothing else reads; rests tells what a row of -infinity gives.
func (f *attentionFinder) softmax(p *ir.Value) (c *ops.Call, rests bool) {
	if f.uses[p] != 1 {
		return nil, false
	}
	v := f.shown(p)
	if v == nil {
		return nil, false
	}
	c = f.definition(v)
	reads := 1 // of the scores
	if inner := f.rested(c); inner != nil {
		c, rests, reads = inner, true, 2
	}
	switch {
	case c == nil:
		return nil, false
	case c.Op.Name() == "aten._safe_softmax.default" && !rests:
		rests = true
	case c.Op.Name() != "aten._softmax.default" || c.Bool("half_to_float"):
		return nil, false
	}
	scores := c.Value("self")
	dim, err := c.Int("dim")
	if rank := int64(scores.Type.Rank()); err != nil || rank < 2 || dim != -1 && dim != rank-1 ||
		f.uses[scores] != reads {
		return nil, false
	}
	return c, rests
}

// rested returns the softmax of a choice between it and zeros for the rows whose
// scores are all -infinity, nil if c is none.
func (f *attentionFinder) rested(c *ops.Call) *ops.Call {
	if c == nil {
		return nil
	}
	var p, zeros, rows *ir.Value
	negated := false
	switch c.Op.Name() {
	case "aten.where.self":
		rows, p, zeros = c.Value("condition"), c.Value("other"), c.Value("self")
		if x, ok := f.number(zeros); !ok || x != 0 {
			p, zeros, negated = zeros, p, true
		}
		if x, ok := f.number(zeros); !ok || x != 0 {
			return nil
		}
	case "aten.masked_fill.Scalar", "aten.masked_fill.Tensor":
		x, ok := f.numberArg(c, "value")
		if p, rows = c.Value("self"), c.Value("mask"); !ok || x != 0 {
			return nil
		}
	default:
		return nil
	}
	softmax := f.definition(p)
	if softmax == nil || softmax.Op.Name() != "aten._softmax.default" {
		return nil
	}
	reads := 1
	if d := f.definition(zeros); d != nil && d.Op.Name() == "aten.full_like.default" &&
		d.Value("self") == p {
		reads++ // of its sizes
	}
	if f.uses[p] != reads || f.nothing(rows, negated) != softmax.Value("self") {
		return nil
	}
	return softmax
}

// nothing returns the scores of which v tells, or denies if it is negated, for
// each row whether all are -infinity, nil if it tells something else or something
// else reads it.
func (f *attentionFinder) nothing(v *ir.Value, negated bool) *ir.Value {
	// asked is the call that v is but for negations, if it is of one of two
	// operators: the second one if what is asked for is negated.
	asked := func(plain, opposite string) *ops.Call {
		for f.uses[v] == 1 {
			c := f.definition(v)
			if c == nil {
				return nil
			}
			switch name := c.Op.Name(); {
			case name == "aten.logical_not.default" || name == "aten.bitwise_not.default":
				v, negated = c.Value("self"), !negated
			case name == plain && !negated || name == opposite && negated:
				v = c.Value("self")
				return c
			default:
				return nil
			}
		}
		return nil
	}
	rows := asked("aten.all.dim", "aten.any.dim")
	if rows == nil || !rows.Bool("keepdim") {
		return nil
	}
	if dim, err := rows.Int("dim"); err != nil || dim != -1 && dim != int64(v.Type.Rank())-1 {
		return nil
	}
	each := asked("aten.eq.Scalar", "aten.ne.Scalar")
	if each == nil {
		return nil
	}
	if x, err := each.Float("other"); err != nil || !math.IsInf(x, -1) {
		return nil
	}
	return v
}

// shown returns what v shows, all of it in another shape, nil if something else
// reads it.
func (f *attentionFinder) shown(v *ir.Value) *ir.Value {
	for {
		x, p := view(f.definition(v))
		if p == nil || !p.whole() {
			return v
		}
		if v = x; f.uses[v] != 1 {
			return nil
		}
	}
}

// number returns the one number that all elements of v, floats, are.
func (f *attentionFinder) number(v *ir.Value) (float64, bool) {
	if v == nil || !v.Type.DType.IsFloat() {
		return 0, false
	}
	if f.constant[v] && v.Type.Kind == ir.TensorKind && v.Type.Numel().Is(1) {
		raw, err := ir.Tensor(v.Const)
		if err != nil {
			return 0, false
		}
		return eval.Get(v.Type.DType, raw, 0).F, true
	}
	c := f.definition(v)
	if c == nil {
		return 0, false
	}
	name := ""
	switch c.Op.Name() {
	case "aten.full.default", "aten.full_like.default":
		name = "fill_value"
	case "aten.scalar_tensor.default":
		name = "s"
	default:
		return 0, false
	}
	x, err := c.Float(name)
	return x, err == nil
}

// numberArg returns the one number that an argument is.
func (f *attentionFinder) numberArg(c *ops.Call, name string) (float64, bool) {
	if v := c.Value(name); v != nil && v.Type.Kind == ir.TensorKind {
		return f.number(v)
	}
	x, err := c.Float(name)
	return x, err == nil
}

// scoreMask is what scores are combined with before softmax.
type scoreMask struct {
	*ir.Value           // nil: nothing
	scores    *ir.Value // before
	inverted  bool      // the mask is true where a score does not stay
	none      float64   // what is there instead
}

// masks returns the ways in which v may be scores under a mask: one or two, or
// that it has none.
func (f *attentionFinder) masks(v *ir.Value) []scoreMask {
	c := f.definition(v)
	if c == nil {
		return nil
	}
	var out []scoreMask
	add := func(m scoreMask) {
		if m.scores != nil && m.Value != nil && m.Type.Kind == ir.TensorKind &&
			sym.AllEqual(m.scores.Type.Sizes, v.Type.Sizes) {
			out = append(out, m)
		}
	}
	switch c.Op.Name() {
	case "aten.add.Tensor":
		if alpha, err := c.Float("alpha"); err == nil && alpha == 1 {
			for _, m := range []scoreMask{{Value: c.Value("other"), scores: c.Value("self")},
				{Value: c.Value("self"), scores: c.Value("other")}} {
				if m.Value != nil && m.Type.DType.IsFloat() { // booleans count as numbers here
					add(m)
				}
			}
		}
	case "aten.where.self":
		if none, ok := f.number(c.Value("other")); ok {
			add(scoreMask{Value: c.Value("condition"), scores: c.Value("self"), none: none})
		}
		if none, ok := f.number(c.Value("self")); ok {
			add(scoreMask{Value: c.Value("condition"), scores: c.Value("other"), none: none,
				inverted: true})
		}
	case "aten.masked_fill.Scalar", "aten.masked_fill.Tensor":
		if none, ok := f.numberArg(c, "value"); ok {
			add(scoreMask{Value: c.Value("mask"), scores: c.Value("self"), none: none,
				inverted: true})
		}
	default:
		out = append(out, scoreMask{scores: v})
	}
	return out
}
