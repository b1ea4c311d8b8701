package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/alias"
)

// exposeViews prepares a method for alias analysis: composite operators that
// may return a view of their operand (reshape) are decomposed, and in-place
// operators that only change sizes and strides (squeeze_) become views, to
// which every later use of their operand refers.
func exposeViews(t *ops.Table, m *ir.Method) error {
	err := decompose(t, m, func(c *ops.Call) bool {
		return c.Op.View == nil && returnsAlias(c.Op.ParsedSchema())
	})
	if err != nil {
		return err
	}
	rw := &ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
		w, ok := alias.Writes(t, n)
		if !ok || !w.Rebind {
			return nil, true, nil
		}
		view := e.Emit(w.Functional, n.Args, n.Outputs[0].Type).Outputs[0]
		// The tensor may have other names: an in-place operator returns the
		// tensor it wrote to.
		for v := w.Target; v != nil; {
			e.Substitute(v, view)
			if v.Def == nil {
				break
			}
			w, ok := alias.Writes(t, v.Def)
			if !ok {
				break
			}
			v = w.Target
		}
		return []*ir.Value{view}, false, nil
	}}
	return rw.Run(m)
}

// returnsAlias reports whether an operator may return its argument's memory
// without writing to it.
func returnsAlias(s *aten.Schema) bool {
	for _, r := range s.Returns {
		if a := r.Type.Base().Alias; a.Set != "" && !a.Write {
			return true
		}
	}
	return false
}
