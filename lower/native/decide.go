package native

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
)

// facts is what the builder knows of a node before it emits anything.
type facts struct {
	node  *ir.Node
	place int // among the nodes of its graph
	binding
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
	// of (x - zero)·scale, whose operand is smaller
	wideRepeat = 16
)

// repeatable reports whether evaluating t so many times per element is better
// than memory.
func (b *builder) repeatable(t expr.Tensor, evals float64) bool {
	price := expr.Cost(t.Body)
	return evals <= 1 || price <= free || price <= cheap && evals <= cheapRepeat
}

// rewidened reports whether v is better made of bytes, as what dequantizes or unpacks does, as
// often as it is read than kept, because it takes more memory than they.
func (b *builder) rewidened(v *ir.Value, evals float64) bool {
	def := b.facts[v.Def]
	if def == nil || def.call == nil || len(def.call.Operands()) == 0 || len(def.tensors) != 1 ||
		len(def.call.Scalars()) > 0 || !singleValued(def.tensors[0].Body) {
		return false
	}
	constant, bytes := true, 0.0
	for _, u := range def.call.Operands() {
		constant = constant && u.Const != nil
		bytes += b.number(numel(u)) * float64(u.Type.DType.Size())
	}
	src := def.call.Operands()[0].Type.DType
	return src.IsInt() && src.Size() == 1 &&
		bytes < b.number(numel(v))*float64(v.Type.DType.Size()) && (evals <= wideRepeat || constant ||
		b.opt.Target.Scarce() && len(def.call.Operands()) == 1)
}

// singleValued reports whether e is a small expression without a sum.
func singleValued(e *expr.Expr) bool {
	ok := true
	expr.Walk(e, func(e *expr.Expr) { ok = ok && e.Op != expr.OpReduce })
	return ok && sizeOf(e) <= 2*maxWidened
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
	for _, f := range b.nodes(g) {
		if f.instance != nil || f.absorbed {
			continue
		}
		for i, t := range f.tensors {
			v := f.node.Output(i)
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
		if !b.repeatable(t, evals) && !b.rewidened(v, evals) || !b.want[v] && !b.join(v, t) {
			b.demand(v)
		}
		if b.want[v] {
			b.kernels[v] = map[*bulk]int{{}: 1}
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
	loads, under := reads(t, b.number), underReduction(t)
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
		if def.depth != f.depth && expr.Cost(def.tensors[u.Index].Body) > free {
			b.demand(u) // do not repeat it in every iteration of a loop
		}
		if u == f.call.InDoubt() {
			times = 0 // nearly never computed
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

// bulk is how large an expression is that values are inlined into.
type bulk struct{ size int }

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
		b.kernels[u] = map[*bulk]int{}
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
	start := unitVars(sym.Sub(src, b.flat(v, expr.Coords(t.Vars))), t.Vars)
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

// whole reports whether a call of an operator that has no form but what it
// decomposes into was left whole for a tuned kernel.
func (b *builder) whole(c *ops.Call) bool {
	return tuned.Legal(b.opt.Kernels, b.opt.Target)(c)
}

// wholeOrders lets calls that were left whole read, and write, permuted views
// where they are: the kernel does not mind the order of dimensions, and a copy
// into another is saved.
func (b *builder) wholeOrders(g *ir.Graph) {
	for _, f := range b.nodes(g) {
		if f.call == nil {
			continue
		}
		for k, v := range f.call.Operands() {
			if def := b.facts[v.Def]; def != nil && def.call != nil && def.view &&
				len(b.users[v]) == 1 && tuned.AnyOrder(f.call, k) {
				x := def.call.Operands()[loadOf(def.tensors[v.Index]).Buf]
				b.permuted(v, def.tensors[v.Index], x, false)
			}
		}
		if k := tuned.AnyStrides(f.call); k >= 0 {
			b.readThere(f.call.Operands()[k])
		}
		if !tuned.AnyOrder(f.call, -1) {
			continue
		}
		v := f.node.Output(0)
		if to := b.soleReader(v); to != nil && to.call != nil && to.view && len(to.tensors) == 1 {
			b.permuted(v, to.tensors[0], v, true)
		}
	}
}

// permuted gives v the order of dimensions that makes a view of x, which has t's
// coordinates, the elements of a row-major value as they lie, if it is a
// permutation that leaves the last dimension the last: v is the view, or x itself.
func (b *builder) permuted(v *ir.Value, t expr.Tensor, x *ir.Value, ofOperand bool) {
	coords := loadOf(t).Coords
	if b.orders[v] != nil || !ofOperand && b.orders[x] != nil || len(coords) != len(t.Vars) {
		return
	}
	order := make([]int, 0, len(coords))
	if ofOperand { // dimension d of x is that of the result whose coordinate it has
		for _, s := range t.Vars {
			order = append(order, slices.IndexFunc(coords, s.Expr().Equal))
		}
	} else {
		for _, c := range coords {
			order = append(order, slices.IndexFunc(expr.Coords(t.Vars), c.Equal))
		}
	}
	if last := len(order) - 1; slices.Contains(order, -1) || order[last] != last ||
		slices.IsSorted(order) {
		return
	}
	b.orders[v] = order
}

// readThere gives v, if it is a view of another value's elements in an order that is
// not v's, the order in which they lie, so that it needs no copy of them.
func (b *builder) readThere(v *ir.Value) {
	def := b.facts[v.Def]
	if def == nil || def.call == nil || !def.view || len(b.users[v]) != 1 || b.orders[v] != nil ||
		len(def.tensors) != 1 {
		return
	}
	t := def.tensors[0]
	b.readThere(def.call.Operands()[loadOf(t).Buf])
	order := seq.Of(len(t.Vars), func(d int) int { return d })
	rowMajor := slices.Clone(order)
	if len(order) > maxPermuted || b.isRun(def, t, v) || !permutations(order, 0, func() bool {
		b.orders[v] = order
		return b.isRun(def, t, v)
	}) || slices.Equal(order, rowMajor) {
		delete(b.orders, v)
	}
}

// maxPermuted is the most dimensions whose orders are tried.
const maxPermuted = 4

// permutations permutes the items of list from i on until found holds, and reports
// whether it did.
func permutations(list []int, i int, found func() bool) bool {
	if i == len(list) {
		return found()
	}
	for j := i; j < len(list); j++ {
		list[i], list[j] = list[j], list[i]
		if permutations(list, i+1, found) {
			return true
		}
		list[i], list[j] = list[j], list[i]
	}
	return false
}

// Divided reports whether threads share the kernel.
func (k *Kernel) Divided() bool {
	if k.Tuned != nil {
		return k.Tuned.Divided
	}
	return Shared(k.Loop.Body) != nil
}

// divide has threads share the loop kernels of m that are worth it.
func divide(m *Method, t tuned.Target) {
	if t.Threads < 2 {
		return
	}
	EachCall(m.Body, func(c *Call) {
		if c.Kernel.Loop == nil || c.Kernel.Copy ||
			loopTime*schedule.Work(c.Kernel.Loop) < t.DividedFrom || !ownable(c.Kernel.Loop) {
			return
		}
		f := schedule.Divide(c.Kernel.Loop, t.Threads)
		if f == nil || !staysDisjoint(c, f) {
			return
		}
		k := *c.Kernel
		k.Loop, c.Kernel = f, &k
		for i, b := range f.Bufs {
			if b.Role == loop.Scratch {
				n := sym.Int(OwnScratch(b) * int64(t.Threads))
				c.Args[i] = dense(c.Args[i].Name, b.DType, n)
			}
		}
	})
}

// loopTime is how long an operation of a loop kernel takes, in multiply-accumulates
// of the best tuned kernels.
const loopTime = 20

// ownable reports whether the scratch memory of f is of known size.
func ownable(f *loop.Func) bool {
	return !slices.ContainsFunc(f.Bufs, func(b loop.Buf) bool {
		_, known := b.Len.Const()
		return b.Role == loop.Scratch && !known
	})
}

// line is the bytes of a line of the cache.
const line = 64

// OwnScratch returns how many elements after the scratch memory of a thread that of
// the next begins: so many that they have no line of the cache in common.
func OwnScratch(b loop.Buf) int64 {
	n, _ := b.Len.Const()
	size := int64(b.DType.Size())
	return ((n*size+line-1)/line + 1) * line / size
}

// Shared returns the numbers of iterations of the loops in body that threads share.
func Shared(body []loop.Stmt) (all []sym.Expr) {
	loop.Each(body, func(l *loop.For) {
		if l.Divided && !slices.ContainsFunc(all, l.Extent.Equal) {
			all = append(all, l.Extent)
		}
	})
	return all
}

// staysDisjoint reports whether threads may share f where results of c already lie
// over its operands.
func staysDisjoint(c *Call, f *loop.Func) bool {
	for i, out := range f.Bufs {
		for j := range f.Bufs {
			if i != j && out.Role != loop.In && overlap(c.Args[i], c.Args[j]) &&
				!schedule.InPlace(f, i, j) {
				return false
			}
		}
	}
	return true
}

// reads returns how often each operand is read per element of t. A reduction
// is computed once for every combination of the result's variables it depends
// on, for the scheduler puts their loops outside; one that depends on another
// reduction's variable stands in that one's loop.
func reads(t expr.Tensor, number func(sym.Expr) float64) map[int]float64 {
	w := &reader{free: &expr.Free{}, number: number, times: map[int]float64{},
		seen: map[*expr.Expr]bool{}}
	w.walk(t.Body, t.Vars, len(t.Vars))
	total := w.size(t.Vars)
	for k := range w.times {
		w.times[k] /= max(total, 1)
	}
	return w.times
}

type reader struct {
	free   *expr.Free
	number func(sym.Expr) float64
	times  map[int]float64
	seen   map[*expr.Expr]bool
}

func (w *reader) size(vars []*sym.Symbol) float64 {
	n := 1.0
	for _, v := range vars {
		n *= max(w.number(expr.Extent(v)), 0)
	}
	return n
}

// walk counts the loads of e, which is evaluated for all values of vars. The
// first results of them are variables of the result, the rest of reductions,
// outer ones first.
func (w *reader) walk(e *expr.Expr, vars []*sym.Symbol, results int) {
	if w.seen[e] {
		return // shared: computed once
	}
	w.seen[e] = true
	switch e.Op {
	case expr.OpLoad:
		w.times[e.Buf] += w.size(vars)
	case expr.OpReduce:
		vars, results = w.home(e, vars, results)
		vars = append(vars, e.Vars...)
	}
	for _, d := range e.Defs() {
		w.walk(d, vars, results)
	}
	for _, a := range e.Args {
		w.walk(a, vars, results)
	}
}

// home returns the loops in which reduction e is computed.
func (w *reader) home(e *expr.Expr, vars []*sym.Symbol, results int) ([]*sym.Symbol, int) {
	free := w.free.Of(e)
	for i := len(vars) - 1; i >= results; i-- {
		if slices.Contains(free, vars[i]) {
			return slices.Clone(vars[:i+1]), results
		}
	}
	home := seq.Filter(vars[:results], func(v *sym.Symbol) bool { return slices.Contains(free, v) })
	return home, len(home)
}

// underReduction reports for every operand whether a reduction of t reads it.
func underReduction(t expr.Tensor) map[int]bool {
	under := map[int]bool{}
	expr.Walk(t.Body, func(e *expr.Expr) {
		if e.Op == expr.OpReduce {
			for _, k := range expr.Loads(e) {
				under[k] = true
			}
		}
	})
	return under
}

// sharesReductions reports whether elements of t have reductions in common, as
// the elements of a row do in a softmax: one loop nest for t computes each once.
func sharesReductions(t expr.Tensor) bool {
	var free expr.Free
	found := false
	expr.Walk(t.Body, func(e *expr.Expr) {
		if e.Op != expr.OpReduce {
			return
		}
		for _, v := range t.Vars {
			found = found || !expr.Extent(v).Is(1) && !slices.Contains(free.Of(e), v)
		}
	})
	return found
}
