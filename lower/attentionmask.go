package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

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
	case "aten.masked_fill.Scalar":
		if none, err := c.Float("value"); err == nil {
			add(scoreMask{Value: c.Value("mask"), scores: c.Value("self"), none: none,
				inverted: true})
		}
	case "aten.masked_fill.Tensor":
		if none, ok := f.number(c.Value("value")); ok {
			add(scoreMask{Value: c.Value("mask"), scores: c.Value("self"), none: none,
				inverted: true})
		}
	default:
		out = append(out, scoreMask{scores: v})
	}
	return out
}
