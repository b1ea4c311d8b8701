package native

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
)

// chain is the pointwise nodes computed where a tuned kernel stores its results,
// in the order of the graph.
type chain struct {
	nodes []*ir.Node
	out   *ir.Value // what the kernel stores in the end
	extra []*ir.Value
}

// findEpilogue extends tuned node f by pointwise nodes that read its result, or
// one another's, as long as each reads these at the position it writes, and its
// other operands at that position or at the result's channel. A value of theirs
// may have several readers, if these are among them too: what leaves them is one
// value. The kernel then stands where the last of them stood, so that all their
// operands are there. No more of them join than an expression may grow by fusion.
//
// Taking readers in the graph's order misses nothing: when one of them cannot
// join, a value is read outside that only an earlier node could have given.
// Nor does an operand depend on what is stored: that way would have begun at a
// reader that could not join.
func (b *builder) findEpilogue(f *facts) {
	in := f.instance
	v := f.node.Output(0)
	o := sym.NewVar("o", v.Type.Numel())
	c := sym.NewVar("c", in.Channels.Count)
	acc := &expr.Var{Name: "acc", DType: v.Type.DType}
	var sum *expr.Expr
	if in.Rest {
		if sum = sumIn(f.tensors[0].Body, in.Begun); sum == nil {
			f.instance, f.operands = nil, f.call.Operands()
			return
		}
		acc.DType = sum.DType
	}
	ep := &tuned.Epilogue{Acc: acc, O: o, C: c, DType: v.Type.DType,
		Body: &expr.Expr{Op: expr.OpLocal, DType: acc.DType, Var: acc}}
	if f.call.Op.Name() == ops.PaddedConvolution && f.call.Bool("exact") || in.Exact {
		ep.Sum = ops.ExactSum
	}
	ch := &chain{out: v}
	for _, k := range in.Added {
		u := f.call.Operands()[k]
		var at sym.Expr
		switch {
		case numel(u).Is(1):
		case numel(u).Equal(numel(v)):
			at = o.Expr()
		default:
			at = c.Expr()
		}
		ep.Body = expr.Add(ep.Body, expr.At(add(&ch.extra, u), u.Type.DType, at))
	}
	if in.Rest && !b.rest(f, sum, ep, ch) {
		f.instance, f.operands = nil, f.call.Operands()
		return
	}
	done, kept := ep.Body, ch.extra
	var tail []*facts // nodes that join only if a later one gives a result the kernel can store
	inner := map[*ir.Value]*expr.Expr{v: ep.Body}
	outside := &readers{b: b, of: map[*ir.Node]int{}}
	outside.add(v, f)
	lazy := false
	size := sizeOf(ep.Body)
	for next := outside.next(); next != nil; next = outside.next() {
		if next.call == nil || next.absorbed || len(next.tensors) != 1 || next.instance != nil {
			break
		}
		if size += sizeOf(next.tensors[0].Body); size > maxFused {
			break
		}
		if lazy = b.keepsDoubt(next, inner); lazy {
			break
		}
		body, extra, ok := b.epilogueStep(next, v, inner, ch.extra, ep, in.Channels)
		if !ok {
			break
		}
		out := next.node.Output(0)
		tail = append(tail, next)
		inner[out], ch.extra = body, extra
		outside.joined(next.node)
		leaves := outside.count == 0 // nothing else reads any of the values besides out
		outside.add(out, f)
		if !b.storable(acc.DType, out.Type.DType) || !leaves || b.readNarrow(out) {
			continue
		}
		for _, x := range tail {
			x.absorbed = true
			ch.nodes = append(ch.nodes, x.node)
		}
		tail, ch.out, ep.DType = nil, out, out.Type.DType
		done, kept = body, extra
	}
	ep.Body, ch.extra = done, kept
	if lazy && ch.nodes == nil { // a loop makes the sums and integers of them
		f.instance, f.operands = nil, f.call.Operands()
		return
	}
	if ch.nodes == nil && in.Added == nil && !in.Rest {
		return
	}
	ep.Body = expr.Simplify(ep.Body)
	for _, x := range ch.extra {
		ep.Extra = append(ep.Extra, x.Type.DType)
		ep.Largest = append(ep.Largest, b.largest(x))
	}
	in.Epilogue = ep
	f.operands = append(f.operands, ch.extra...)
	for _, x := range ch.extra {
		b.extras[x] = true
	}
	if ch.nodes != nil {
		f.epilogue = ch
		b.facts[ch.nodes[len(ch.nodes)-1]].ends = f
	}
}

// keepsDoubt reports whether what f reads only where integers are not sure would be kept for all of
// them, as nothing inside the epilogue makes it.
func (b *builder) keepsDoubt(f *facts, inner map[*ir.Value]*expr.Expr) bool {
	u := f.call.InDoubt()
	if u == nil || inner[u] != nil {
		return false
	}
	def := b.facts[u.Def]
	return def != nil && def.instance == nil && !def.absorbed && b.soleReader(u) == f
}

// largest returns a power of two that no element of a constant of float32 exceeds in size,
// infinite for all else.
func (b *builder) largest(v *ir.Value) float64 {
	data, ok := constBytes(v)
	if !ok || b.mutable[v] || v.Type.DType != ir.Float32 {
		return math.Inf(1)
	}
	most := 0.0
	for i := 0; i+4 <= len(data); i += 4 {
		x := math.Abs(float64(math.Float32frombits(binary.LittleEndian.Uint32(data[i:]))))
		if math.IsNaN(x) {
			return math.Inf(1)
		}
		most = max(most, x)
	}
	if _, exp := math.Frexp(most); most > 0 {
		return math.Ldexp(1, exp)
	}
	return 0
}

// readers are the readers outside an epilogue of values inside it.
type readers struct {
	b     *builder
	of    map[*ir.Node]int // how many of the values a node reads
	count int              // of all that
	queue []*facts         // of those of the graph that next has not returned, in its order
}

// add adds the readers of v, a value of the graph that f stands in.
func (r *readers) add(v *ir.Value, f *facts) {
	if r.b.extras[v] {
		r.count++
	}
	for _, n := range r.b.users[v] {
		r.count++
		if r.of[n]++; r.of[n] > 1 || n == nil || r.b.facts[n].depth != f.depth {
			continue
		}
		next := r.b.facts[n]
		i := len(r.queue)
		for ; i > 0 && r.queue[i-1].place > next.place; i-- {
		}
		r.queue = slices.Insert(r.queue, i, next)
	}
}

// next returns the first reader in the graph's order that it has not returned
// yet, or nil.
func (r *readers) next() *facts {
	if len(r.queue) == 0 {
		return nil
	}
	f := r.queue[0]
	r.queue = r.queue[1:]
	return f
}

// joined says that n is inside now.
func (r *readers) joined(n *ir.Node) {
	r.count -= r.of[n]
	delete(r.of, n)
}

// epilogueStep rewrites the expression of node next in terms of the epilogue's
// symbols and of the values inside it, or reports that it cannot.
func (b *builder) epilogueStep(next *facts, result *ir.Value, inner map[*ir.Value]*expr.Expr,
	extra []*ir.Value, ep *tuned.Epilogue, channels tuned.Channels) (*expr.Expr,
	[]*ir.Value, bool) {
	out := next.node.Output(0)
	if !sameSizes(out, result) && !numel(out).Equal(numel(result)) {
		return nil, nil, false // a part of the result, which the kernel would store whole
	}
	t := next.tensors[0]
	extra = slices.Clone(extra)
	vars := expr.Coords(t.Vars)
	pos := sync.OnceValue(func() sym.Expr { return unitVars(b.flat(out, vars), t.Vars) })
	// here reports whether an element of u lies where that of the node's result does.
	here := func(u *ir.Value, coords []sym.Expr) bool {
		return sameSizes(u, out) && slices.Equal(b.orders[u], b.orders[out]) &&
			slices.EqualFunc(coords, vars, sym.Expr.Equal) ||
			unitVars(b.flat(u, coords), t.Vars).Equal(pos())
	}
	ok := true
	body := expr.Rewrite(t.Body, func(e *expr.Expr) *expr.Expr {
		switch e.Op {
		case expr.OpReduce, expr.OpIndex, expr.OpScalar:
			ok = false
		case expr.OpLoad:
			u := next.call.Operands()[e.Buf]
			if value := inner[u]; value != nil {
				ok = ok && here(u, e.Coords)
				return value
			}
			if t, uniform := b.uniform(u); uniform {
				return t.Body
			}
			at := ep.O.Expr()
			if t, src := b.widened(u); src != nil && here(u, e.Coords) {
				k := add(&extra, src)
				return expr.Rewrite(t.Body, func(e *expr.Expr) *expr.Expr {
					if e.Op != expr.OpLoad {
						return e
					}
					return &expr.Expr{Op: expr.OpLoad, DType: e.DType, Buf: k,
						Coords: []sym.Expr{at}}
				})
			}
			if !here(u, e.Coords) {
				channel := sym.Mod(sym.FloorDiv(pos(), channels.Inner), channels.Count)
				ok = ok && unitVars(b.flat(u, e.Coords), t.Vars).Equal(channel)
				at = ep.C.Expr()
			}
			return &expr.Expr{Op: expr.OpLoad, DType: e.DType, Buf: add(&extra, u),
				Coords: []sym.Expr{at}}
		}
		return e
	})
	return body, extra, ok
}

// widened returns the definition of u if that makes each element of one element of src, which
// is smaller, as what dequantizes does, and src is not inside an epilogue: then src is read
// instead, and u needs no memory.
func (b *builder) widened(u *ir.Value) (expr.Tensor, *ir.Value) {
	t, src := b.widens(u)
	if src == nil {
		return t, nil
	}
	if made := b.facts[src.Def]; made != nil && (made.absorbed && made.ends == nil ||
		made.epilogue != nil && made.epilogue.out != src) {
		return t, nil
	}
	return t, src
}

func (b *builder) widens(u *ir.Value) (t expr.Tensor, src *ir.Value) {
	def := b.facts[u.Def]
	if def == nil || def.call == nil || def.instance != nil || def.absorbed ||
		len(def.tensors) != 1 || len(def.call.Operands()) != 1 || len(def.call.Scalars()) > 0 {
		return t, nil
	}
	t, src = def.tensors[0], def.call.Operands()[0]
	if src.Type.DType.Size() >= u.Type.DType.Size() || !sameSizes(src, u) ||
		!slices.Equal(b.orders[src], b.orders[u]) || !pointwise(t, 0) || sizeOf(t.Body) > maxWidened {
		return t, nil
	}
	return t, src
}

// readNarrow reports whether loops read v, and nothing else does, of which they compute each
// element from one that is narrower: see widened.
func (b *builder) readNarrow(v *ir.Value) bool {
	if _, src := b.widens(v); src == nil {
		return false
	}
	return !slices.ContainsFunc(b.users[v], func(n *ir.Node) bool {
		f := b.facts[n]
		return f == nil || f.call == nil || f.instance != nil || f.tensors == nil
	})
}

// maxWidened is how large an expression may be that is computed where its value is read: as
// large as (x - zero)·scale.
const maxWidened = 8

// sameSizes reports whether the dimensions of two values are equal.
func sameSizes(a, b *ir.Value) bool {
	return slices.EqualFunc(a.Type.Sizes, b.Type.Sizes, sym.Expr.Equal)
}

// storable reports whether a tuned kernel whose sums are of dtype acc can store
// results of dtype d.
func (b *builder) storable(acc, d ir.DType) bool {
	return acc == d || !b.opt.Target.Language.EpilogueOnRuns
}

// soleReader returns the node that alone reads v, nil if there are several, or
// v leaves the graph.
func (b *builder) soleReader(v *ir.Value) *facts {
	us := b.users[v]
	if len(us) != 1 || us[0] == nil {
		return nil
	}
	return b.facts[us[0]]
}

// sumIn returns the sum in a definition, with operands that are added to it, that a
// kernel computes without the rest of it. It returns nil if there is not one.
func sumIn(body *expr.Expr, added []int) (sum *expr.Expr) {
	n := 0
	expr.Walk(body, func(e *expr.Expr) {
		if e.Op == expr.OpReduce {
			sum = e
			n++
		}
	})
	for _, k := range added {
		var with *expr.Expr
		expr.Walk(body, func(e *expr.Expr) {
			if e.Op == expr.OpAdd && e.Args[0] == sum && e.Args[1].Op == expr.OpLoad &&
				e.Args[1].Buf == k {
				with = e
			}
		})
		sum = with
	}
	if n != 1 {
		return nil
	}
	return sum
}

// rest lets the epilogue of f begin with what the definition makes of its sum. It
// reports false if that reads what no epilogue can.
func (b *builder) rest(f *facts, sum *expr.Expr, ep *tuned.Epilogue, ch *chain) bool {
	t := f.tensors[0]
	t.Body = expr.Rewrite(t.Body, func(e *expr.Expr) *expr.Expr {
		if e == sum {
			return ep.Body
		}
		return e
	})
	alone := *f
	alone.tensors = []expr.Tensor{t}
	body, extra, ok := b.epilogueStep(&alone, f.node.Output(0), nil, ch.extra, ep,
		f.instance.Channels)
	ep.Body, ch.extra = body, extra
	return ok
}
