package native

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
)

// facts is what the builder knows of a node before it emits anything.
type facts struct {
	node     *ir.Node
	graph    *ir.Graph // of the node, where joins asks
	place    int       // among the nodes of its graph
	call     *ops.Call // nil for control flow
	tensors  []expr.Tensor
	view     bool // tensors are views of operands
	instance *tuned.Instance
	operands []*ir.Value // tensor values the chosen form reads, epilogue included
	epilogue *chain      // of a tuned node
	absorbed bool        // part of another node's epilogue
	ends     *facts      // of the last absorbed node: the tuned node it belongs to
	depth    int         // nesting of the graph it stands in
}

// What may be computed more than once for want of a buffer: a view or constant
// any number of times, one operation a few times.
const (
	free        = 1 // price of a load
	cheap       = 2
	cheapRepeat = 4
)

// repeatable reports whether evaluating t so many times per element is better
// than memory.
func (b *builder) repeatable(t expr.Tensor, evals float64) bool {
	price := b.price(t)
	return evals <= 1 || price <= free || price <= cheap && evals <= cheapRepeat
}

// decide chooses, for every value of g and its regions, whether it gets a
// buffer of its own or is inlined into what reads it.
//
// The rule: a value is inlined if that evaluates each of its elements at most
// once in all, or if evaluating it again is next to free. evals counts evaluations
// per element; it is known when a node is met, because nodes are met backwards.
func (b *builder) decide(g *ir.Graph) {
	for _, out := range g.Outputs {
		ir.EachRef(out, b.demand)
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		f := b.facts[n]
		if f.call == nil {
			for _, r := range n.Regions {
				b.decide(r)
			}
			for _, a := range n.Args {
				ir.EachRef(a.Value, b.demand)
			}
			continue
		}
		b.decideNode(f)
	}
}

// markRows finds the values whose elements have reductions in common, in their
// own expressions or in what may be inlined into these.
func (b *builder) markRows(g *ir.Graph) {
	for _, n := range g.Nodes {
		for _, r := range n.Regions {
			b.markRows(r)
		}
		f := b.facts[n]
		if f.instance != nil || f.absorbed {
			continue
		}
		for i, t := range f.tensors {
			v := n.Output(i)
			if v == nil {
				continue
			}
			b.rows[v] = sharesReductions(t)
			for _, k := range expr.Loads(t.Body) {
				b.rows[v] = b.rows[v] || b.rows[f.call.Operands()[k]]
			}
		}
	}
}

// demand gives v a buffer.
func (b *builder) demand(v *ir.Value) {
	if v.Type.Kind == ir.TensorKind {
		b.want[v] = true
	}
}

func (b *builder) decideNode(f *facts) {
	switch {
	case f.ends != nil:
		for _, v := range f.ends.operands {
			b.demand(v)
		}
		return
	case f.absorbed || f.epilogue != nil:
		return
	case f.instance != nil || f.call.Op.Loops != nil:
		for _, v := range f.operands {
			b.demand(v)
		}
		return
	case f.tensors == nil: // a scalar
		for _, v := range f.call.Operands() {
			b.demand(v)
		}
		return
	}
	for i, t := range f.tensors {
		v := f.node.Output(i)
		if v == nil || (!b.want[v] && !b.read[v]) {
			continue // nobody reads it
		}
		evals := b.evals[v]
		if !b.repeatable(t, evals) || !b.want[v] && !b.join(v, t) {
			b.demand(v)
		}
		if b.want[v] {
			b.kernels[v] = map[*fusion]int{{}: 1}
			if f.view && b.isRun(f, t, v) {
				b.demand(f.call.Operands()[loadOf(t).Buf])
				continue
			}
			evals = 1
		}
		b.charge(f, t, v, evals)
	}
}

// charge adds to the operands of t what evaluating v costs them.
func (b *builder) charge(f *facts, t expr.Tensor, v *ir.Value, evals float64) {
	loads, under := b.reads(t), underReduction(t)
	for k, u := range f.call.Operands() {
		times, ok := loads[k]
		if !ok {
			continue
		}
		def := b.facts[u.Def]
		if def == nil || def.call == nil || def.tensors == nil || def.instance != nil ||
			def.absorbed {
			b.demand(u) // an input, a constant or something only a call can make
			continue
		}
		if under[k] && b.rows[u] {
			b.demand(u) // in another order of loops what its elements share would be lost
		}
		if def.depth != f.depth && b.price(def.tensors[u.Index]) > free {
			b.demand(u) // do not repeat it in every iteration of a loop
		}
		b.read[u] = true
		b.readIn(u, v, countLoads(t.Body, k))
		b.evals[u] += evals * times * b.number(v.Type.Numel()) / max(b.number(u.Type.Numel()), 1)
	}
}

// maxFused is how large an expression may grow by fusion, in nodes of it. What one
// more store and load cost is nothing to what so many operations do, and a
// compiler's time for a loop grows faster than the loop.
const maxFused = 512

// fusion is an expression that values are inlined into.
type fusion struct{ size int }

// join adds t, the expression of v, to those that v is inlined into. It reports
// false, and adds nothing, if one of these would grow too large.
func (b *builder) join(v *ir.Value, t expr.Tensor) bool {
	own := sizeOf(t.Body)
	for k, times := range b.kernels[v] {
		if k.size+times*own > maxFused {
			return false
		}
	}
	for k, times := range b.kernels[v] {
		k.size += times * own
	}
	return true
}

// sizeOf counts the nodes of e.
func sizeOf(e *expr.Expr) (n int) {
	expr.Walk(e, func(*expr.Expr) { n++ })
	return n
}

// readIn notes that v reads u so many times, where it is inlined.
func (b *builder) readIn(u, v *ir.Value, times int) {
	if b.kernels[u] == nil {
		b.kernels[u] = map[*fusion]int{}
	}
	for k, n := range b.kernels[v] {
		b.kernels[u][k] = min(b.kernels[u][k]+n*times, maxFused+1)
	}
}

// countLoads counts the elements of operand k that e reads.
func countLoads(e *expr.Expr, k int) int {
	n := 0
	expr.Walk(e, func(e *expr.Expr) {
		if e.Op == expr.OpLoad && e.Buf == k {
			n++
		}
	})
	return n
}

// price counts the operations per element of t's own expression.
func (b *builder) price(t expr.Tensor) float64 {
	return expr.Cost(t.Body)
}

// reads returns for every operand how often it is read per element of t.
func (b *builder) reads(t expr.Tensor) map[int]float64 {
	return reads(t, b.number)
}

// number estimates a symbolic quantity: dynamic sizes count as a middling
// value of their range.
func (b *builder) number(e sym.Expr) float64 {
	n, err := e.Eval(func(s *sym.Symbol) (int64, bool) {
		lo, hi := s.Expr().Bounds()
		return min(max(lo, 16), hi), true
	})
	if err != nil {
		return 1
	}
	return float64(n)
}

// isRun reports whether view v is a dense run of its operand's elements, so
// that it needs no copy.
func (b *builder) isRun(f *facts, t expr.Tensor, v *ir.Value) bool {
	_, ok := b.runStart(t, f.call.Operands(), v)
	return ok
}

// runStart returns where in the operand's elements a view starts if it is a
// dense run.
func (b *builder) runStart(t expr.Tensor, operands []*ir.Value, v *ir.Value) (sym.Expr, bool) {
	load := loadOf(t)
	if load == nil {
		return sym.Expr{}, false
	}
	src := b.flat(operands[load.Buf], load.Coords)
	start := unitVars(sym.Sub(src, b.flat(v, symExprs(t.Vars))), t.Vars)
	for _, s := range t.Vars {
		if start.Uses(s) {
			return sym.Expr{}, false
		}
	}
	return start, true
}

// unitVars sets loop variables that have only one value to it.
func unitVars(e sym.Expr, vars []*sym.Symbol) sym.Expr {
	return e.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
		return sym.Expr{}, expr.Extent(s).Is(1) && slices.Contains(vars, s)
	})
}

// loadOf returns the single load that makes up a view's body.
func loadOf(t expr.Tensor) *expr.Expr {
	if t.Body.Op == expr.OpLoad {
		return t.Body
	}
	return nil
}
