package way

import (
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// work is the multiply-accumulates of a method: the terms of all sums of
// products in its operators' definitions.
type work struct {
	inputs []*ir.Value         // what a caller passes
	nodes  map[string]sym.Expr // of one execution; nodes without any are absent
	// known is unset if the number for a call depends on data: operators in
	// regions have some, or their definition does not tell.
	known bool
	order []string // all nodes
}

// macs counts for each method of a lowered program.
func macs(t *ops.Table, p *ir.Program) []*work {
	var all []*work
	for _, m := range p.Methods {
		w := &work{nodes: map[string]sym.Expr{}, known: true}
		for i, v := range m.Graph.Inputs {
			if k := m.Inputs[i].Kind; k == ir.UserInput || k == ir.ConstantInput {
				w.inputs = append(w.inputs, v)
			}
		}
		m.Graph.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				w.order = append(w.order, n.Name)
				if len(n.Regions) > 0 {
					continue
				}
				terms, err := ops.MACs(t, n)
				if err != nil {
					w.known = false
				} else if !terms.IsZero() {
					w.nodes[n.Name] = terms
					w.known = w.known && g == m.Graph
				}
			}
		})
		all = append(all, w)
	}
	return all
}

// renamed tells the work of a method by the names that its nodes have now: those
// that keep allows are the nodes it had, in order.
func (w *work) renamed(m *ir.Method, keep func(*ir.Node) bool) {
	was := w.order
	nodes := map[string]sym.Expr{}
	m.Graph.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			if !keep(n) || len(was) == 0 {
				continue
			}
			if terms, ok := w.nodes[was[0]]; ok {
				nodes[n.Name] = terms
			}
			was = was[1:]
		}
	})
	w.nodes = nodes
}

// env returns the dynamic sizes that follow from a call's inputs.
func (w *work) env(inputs []tensor.Value) func(*sym.Symbol) (int64, bool) {
	known := map[*sym.Symbol]int64{}
	solve := func(e sym.Expr, n int64) {
		s := e.Symbols()
		if len(s) != 1 {
			return
		}
		coef, rest, linear := e.Coef(s[0])
		c, fixed := coef.Const()
		r, whole := rest.Const()
		if linear && fixed && whole && c != 0 {
			known[s[0]] = (n - r) / c
		}
	}
	for i, v := range w.inputs {
		switch {
		case i >= len(inputs):
		case inputs[i].Tensor != nil:
			for axis, e := range v.Type.Sizes {
				if axis < len(inputs[i].Tensor.Shape) {
					solve(e, inputs[i].Tensor.Shape[axis])
				}
			}
		case v.Type.HasExpr:
			if n, ok := inputs[i].Scalar.(ir.Int); ok {
				solve(v.Type.Expr, int64(n))
			}
		}
	}
	return func(s *sym.Symbol) (int64, bool) {
		n, ok := known[s]
		return n, ok
	}
}

// total is the number for a whole call, 0 if it is not known.
func (w *work) total(inputs []tensor.Value) int64 {
	if !w.known {
		return 0
	}
	env, sum := w.env(inputs), int64(0)
	for _, e := range w.nodes {
		n, err := e.Eval(env)
		if err != nil {
			return 0
		}
		sum += n
	}
	return sum
}
