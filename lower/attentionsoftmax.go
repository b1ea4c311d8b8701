package lower

import (
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
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
	if rank := int64(scores.Type.Rank()); err != nil || rank < 2 || dim != -1 && dim != rank-1 || f.uses[scores] != reads {
		return nil, false
	}
	return c, rests
}

// rested returns the softmax of a choice between it and zeros for the rows whose
// scores are all -infinity, nil if c is none.
func (f *attentionFinder) rested(c *ops.Call) *ops.Call {
	if c == nil || c.Op.Name() != "aten.where.self" {
		return nil
	}
	softmax := f.definition(c.Value("other"))
	if x, ok := f.number(c.Value("self")); !ok || x != 0 || softmax == nil || softmax.Op.Name() != "aten._softmax.default" {
		return nil
	}
	if zeros := f.definition(c.Value("self")); f.uses[c.Value("other")] != 1 &&
		!(f.uses[c.Value("other")] == 2 && zeros != nil && zeros.Op.Name() == "aten.full_like.default" && zeros.Value("self") == c.Value("other")) {
		return nil
	}
	// not(any(not(scores == -infinity)))
	v := c.Value("condition")
	var compared *ops.Call
	for _, op := range []string{"aten.logical_not.default", "aten.any.dim", "aten.logical_not.default", "aten.eq.Scalar"} {
		compared = f.definition(v)
		if compared == nil || compared.Op.Name() != op || f.uses[v] != 1 {
			return nil
		}
		if op == "aten.any.dim" {
			dim, err := compared.Int("dim")
			if rank := int64(softmax.Outs[0].Rank()); err != nil || dim != -1 && dim != rank-1 || !compared.Bool("keepdim") {
				return nil
			}
		}
		v = compared.Value("self")
	}
	if x, err := compared.Float("other"); err != nil || !math.IsInf(x, -1) || v != softmax.Value("self") {
		return nil
	}
	return softmax
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

// number returns the one number that all elements of v are.
func (f *attentionFinder) number(v *ir.Value) (float64, bool) {
	if f.constant[v] && v.Type.Kind == ir.TensorKind && v.Type.Numel().Is(1) {
		raw, err := ir.Tensor(v.Const)
		switch d := v.Type.DType; {
		case err != nil:
		case d == ir.Float32:
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))), true
		case d == ir.Float64:
			return math.Float64frombits(binary.LittleEndian.Uint64(raw)), true
		}
		return 0, false
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
