package way

import (
	"errors"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
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
				terms, err := nodeMACs(t, n)
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

var errDepends = errors.New("the number depends on data")

func graphMACs(t *ops.Table, g *ir.Graph) (sym.Expr, error) {
	sum := sym.Int(0)
	for _, n := range g.Nodes {
		if len(n.Regions) > 0 { // how often it runs is not known
			return sum, errDepends
		}
		terms, err := nodeMACs(t, n)
		if err != nil {
			return sum, err
		}
		sum = sym.Add(sum, terms)
	}
	return sum, nil
}

func nodeMACs(t *ops.Table, n *ir.Node) (sym.Expr, error) {
	zero := sym.Int(0)
	c, err := t.Bind(n)
	if err != nil || c.Op.Loops != nil {
		return zero, nil // no product of matrices
	}
	if c.Op.Decompose != nil {
		g, err := ir.BuildGraph(ir.NewNames(&ir.Method{Graph: &ir.Graph{}}), nil,
			func(e *ir.Emitter) (_ []ir.Arg, err error) {
				_, err = ops.NewBuilder(t, e).Decompose(c)
				return nil, err
			})
		if err != nil {
			return zero, err
		}
		return graphMACs(t, g)
	}
	if c.Op.Compute == nil {
		return zero, nil
	}
	tensors, err := c.Op.Compute(c)
	if err != nil {
		return zero, err
	}
	sum := zero
	for _, x := range tensors {
		if terms := sumTerms(x.Body, map[*expr.Expr]bool{}); !terms.IsZero() {
			sum = sym.Add(sum, sym.Mul(terms, extents(x.Vars)))
		}
	}
	return sum, nil
}

// sumTerms counts the terms of the sums of products in e.
func sumTerms(e *expr.Expr, seen map[*expr.Expr]bool) sym.Expr {
	sum := sym.Int(0)
	if e == nil || seen[e] {
		return sum
	}
	seen[e] = true
	if e.Op == expr.OpReduce && e.Kind == expr.ReduceSum && multiplies(e.Args[0]) {
		return extents(e.Vars)
	}
	for _, a := range e.Args {
		sum = sym.Add(sum, sumTerms(a, seen))
	}
	return sum
}

// multiplies reports whether e is a product, converted or chosen perhaps.
func multiplies(e *expr.Expr) bool {
	switch e.Op {
	case expr.OpMul:
		return true
	case expr.OpCast:
		return multiplies(e.Args[0])
	case expr.OpSelect:
		return multiplies(e.Args[1]) || multiplies(e.Args[2])
	}
	return false
}

// extents is the number of values that loop variables take together.
func extents(vars []*sym.Symbol) sym.Expr {
	n := sym.Int(1)
	for _, v := range vars {
		n = sym.Mul(n, expr.Extent(v))
	}
	return n
}
