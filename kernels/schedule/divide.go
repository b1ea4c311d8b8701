package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// Divide returns f with the loops marked whose iterations so many threads may
// share, nil if it cannot be or that is not worth it. Each thread runs all of f but
// for the marked loops, of which it runs a range of iterations, all threads at the
// same time. It has scratch memory of its own.
//
// A marked loop is the outermost of its nest, or one that only loops are around: the
// first that comes out even. It sets no local from outside of it. What a thread
// stores to a result, and reads of it, are elements from which the iteration
// follows, so that no other touches them. Of scratch memory it reads what it has
// stored itself: before, in the same iteration or outside of marked loops; or, if
// all that stores is in marked loops, elements from which the iteration follows.
// Outside of marked loops nothing is stored but to scratch memory, and little is
// computed.
func Divide(f *loop.Func, threads int) *loop.Func {
	for _, all := range []bool{false, true} {
		d := divider{f: f, threads: threads, all: all, owned: map[int]digit{}}
		if g := d.divide(); g != nil {
			return g
		}
	}
	return nil
}

type divider struct {
	f       *loop.Func
	threads int
	all     bool          // of scratch memory, too, an iteration follows from an element
	owned   map[int]digit // by buffer: how it follows
}

func (d *divider) divide() *loop.Func {
	g := *d.f
	g.Body = nil
	once, shared := 0.0, 0.0
	for _, st := range d.f.Body {
		if !d.stores(st) {
			once += work([]loop.Stmt{st}, asIs)
		} else if st = d.mark(st); st == nil {
			return nil
		} else {
			shared += work([]loop.Stmt{st}, asIs)
		}
		g.Body = append(g.Body, st)
	}
	if shared == 0 || once > maxRepeated*shared || !owns(&g, d.owned) ||
		!d.all && !keepsScratch(&g) {
		return nil
	}
	return &g
}

// maxRepeated is how much of what threads share each may do besides.
const maxRepeated = 1 / 16.0

// Work estimates the operations of f.
func Work(f *loop.Func) float64 { return work(f.Body, asIs) }

func asIs(x sym.Expr) sym.Expr { return x }

// WorkWith is Work of a call that gives f's symbols values.
func WorkWith(f *loop.Func, values map[*sym.Symbol]sym.Expr) float64 {
	return work(f.Body, func(x sym.Expr) sym.Expr {
		return x.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
			e, ok := values[s]
			return e, ok
		})
	})
}

// Moved counts the elements that a call of f, which gives its symbols values, loads and
// stores of each buffer.
func Moved(f *loop.Func, values map[*sym.Symbol]sym.Expr) []float64 {
	list := make([]float64, len(f.Bufs))
	var count func(body []loop.Stmt, times float64)
	count = func(body []loop.Stmt, times float64) {
		for _, st := range body {
			loop.Exprs(st, func(e *expr.Expr) {
				expr.Walk(e, func(e *expr.Expr) {
					if e.Op == expr.OpLoad {
						list[e.Buf] += times
					}
				})
			})
			inner := times
			switch st := st.(type) {
			case *loop.For:
				inner *= expr.Count(st.Extent.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
					e, ok := values[s]
					return e, ok
				}))
			case *loop.Store:
				list[st.Buf] += times
			}
			for _, b := range loop.Blocks(st) {
				count(b, inner)
			}
		}
	}
	count(f.Body, 1)
	return list
}

func work(body []loop.Stmt, at func(sym.Expr) sym.Expr) float64 {
	sum := 0.0
	for _, st := range body {
		loop.Exprs(st, func(e *expr.Expr) { sum += expr.Cost(e) })
		times := 1.0
		switch st := st.(type) {
		case *loop.For:
			times = expr.Count(at(st.Extent))
		case *loop.Store:
			sum++
		}
		for i, b := range loop.Blocks(st) {
			if c, ok := st.(*loop.If); ok && c.Likely && i == 1 {
				times = expr.Unlikely
			}
			sum += times * work(b, at)
		}
	}
	return sum
}

// wants reports whether an iteration of a marked loop has to follow from an element
// of a buffer that it stores to.
func (d *divider) wants(buf int) bool { return d.all || d.f.Bufs[buf].Role != loop.Scratch }

// stores reports whether st stores to such a buffer.
func (d *divider) stores(st loop.Stmt) bool {
	return stores(st, d.wants)
}

// mark returns the nest st with a loop marked, nil if none can be.
func (d *divider) mark(st loop.Stmt) loop.Stmt {
	var best *loop.For
	var digits map[int]digit
	least := 1.0 // of the loops that are faster done so
	outermost := true
	for l, ok := st.(*loop.For); ok && !breaks(l.Body) && !assigns(l.Body); l, ok = only(l.Body) {
		if gain := d.faster(l); gain > least && d.known(l.Extent) {
			if found := d.digits(l); found != nil && (outermost || d.long(found)) {
				best, digits, least = l, found, gain
			}
		}
		if least >= evenEnough*float64(d.threads) {
			break
		}
		outermost = false
	}
	if best == nil {
		return nil
	}
	for buf, g := range digits {
		if had, ok := d.owned[buf]; ok && (!had.unit.Equal(g.unit) || !had.count.Equal(g.count)) {
			return nil
		}
		d.owned[buf] = g
	}
	return marked(st, best)
}

// evenEnough is what part of the threads must be at work for a loop to be divided
// and not one in it, and shortest how many elements side by side a thread has at
// least of one in it: a line of the cache or two, which only one core can write to.
const (
	evenEnough = 0.9
	shortest   = 32
)

// long reports whether a thread's elements side by side are enough.
func (d *divider) long(digits map[int]digit) bool {
	for _, g := range digits {
		if expr.Count(sym.Mul(g.unit, g.count)) < float64(shortest*d.threads) {
			return false
		}
	}
	return true
}

// known reports whether a number does not change within f.
func (d *divider) known(n sym.Expr) bool {
	return !slices.ContainsFunc(n.Symbols(), func(s *sym.Symbol) bool {
		return !slices.Contains(d.f.Syms, s)
	})
}

// faster is how many times as fast threads that share the iterations of l are at
// most.
func (d *divider) faster(l *loop.For) float64 {
	n, threads := int64(expr.Count(l.Extent)), int64(d.threads)
	return float64(n) / float64(max(1, (n+threads-1)/threads))
}

// only returns the one loop of a block that has nothing else but definitions.
func only(body []loop.Stmt) (l *loop.For, ok bool) {
	for _, st := range body {
		switch st := st.(type) {
		case *loop.Let:
			if st.Mutable || st.Value == nil {
				return nil, false
			}
		case *loop.LetIndex:
		case *loop.For:
			if l != nil {
				return nil, false
			}
			l = st
		default:
			return nil, false
		}
	}
	return l, l != nil
}

// marked returns the nest st with l in it marked.
func marked(st loop.Stmt, l *loop.For) loop.Stmt {
	f, ok := st.(*loop.For)
	if !ok {
		return st
	}
	c := *f
	if f == l {
		c.Divided = true
		return &c
	}
	c.Body = slices.Clone(f.Body)
	for i, st := range c.Body {
		c.Body[i] = marked(st, l)
	}
	return &c
}

// breaks reports whether body leaves the loop it is the body of.
func breaks(body []loop.Stmt) bool {
	return slices.ContainsFunc(body, func(st loop.Stmt) bool {
		switch st := st.(type) {
		case *loop.Break:
			return true
		case *loop.If:
			return breaks(st.Then) || breaks(st.Else)
		}
		return false
	})
}

// assigns reports whether body sets locals that are not its own.
func assigns(body []loop.Stmt) bool {
	own := map[*expr.Var]bool{}
	return loop.Any(body, func(st loop.Stmt) bool {
		switch st := st.(type) {
		case *loop.Let:
			own[st.Var] = true
		case *loop.Assign:
			return !own[st.Var]
		}
		return false
	})
}

// digits returns how an iteration of l follows from the elements that it stores to,
// by buffer; nil if it does not from those of one.
func (d *divider) digits(l *loop.For) map[int]digit {
	out := map[int]digit{}
	ok := true
	loop.Each(l.Body, func(s *loop.Store) {
		if !d.wants(s.Buf) {
			return
		}
		unit, _, linear := s.At.Coef(l.Var)
		g := digit{unit, l.Extent}
		ok = ok && linear && g.names(s.At, l.Var)
		out[s.Buf] = g
	})
	if !ok {
		return nil
	}
	return out
}

// keepsScratch reports whether each thread that shares the marked loops of f, with
// scratch memory of its own, reads of it what one that runs all iterations does.
// Then what is loaded has been stored before in the same iteration, or outside of
// the marked loops if these do not store to the buffer.
func keepsScratch(f *loop.Func) bool {
	k := keeper{f: f}
	k.block(f.Body, nil)
	return !k.failed
}

// filled is a run of a scratch buffer that has been stored to.
type filled struct {
	buf       int
	from, len sym.Expr
}

type keeper struct {
	f      *loop.Func
	failed bool
}

// block checks a block before which known has been filled. It returns that and what
// the block has filled.
func (k *keeper) block(body []loop.Stmt, known []filled) []filled {
	for _, st := range body {
		k.failed = k.failed || loop.AnyNode(st, func(e *expr.Expr) bool {
			return e.Op == expr.OpLoad && k.f.Bufs[e.Buf].Role == loop.Scratch &&
				!slices.ContainsFunc(known, func(x filled) bool { return x.has(e) })
		})
		switch st := st.(type) {
		case *loop.Store:
			if k.f.Bufs[st.Buf].Role == loop.Scratch {
				known = append(slices.Clip(known), filled{st.Buf, st.At, sym.Int(1)})
			}
		case *loop.For:
			before := known
			if st.Divided {
				before = slices.DeleteFunc(slices.Clone(known), func(x filled) bool {
					return stores(st, func(buf int) bool { return buf == x.buf })
				})
			}
			for _, x := range k.block(st.Body, before)[len(before):] {
				if x, ok := x.over(st); ok && !st.Divided && !breaks(st.Body) {
					known = append(slices.Clip(known), x)
				}
			}
		default:
			for _, b := range loop.Blocks(st) {
				k.block(b, known) // which need not run
			}
		}
	}
	return known
}

// has reports whether x has the element that e loads.
func (x filled) has(e *expr.Expr) bool {
	at := sym.Sub(e.Coords[0], x.from)
	return e.Buf == x.buf && sym.NonNegative(at) && sym.Less(at, x.len)
}

// over returns what all iterations of l together have filled if each has x.
func (x filled) over(l *loop.For) (filled, bool) {
	if x.len.Uses(l.Var) {
		return x, false
	}
	step, from, linear := x.from.Coef(l.Var)
	switch {
	case !linear || from.Uses(l.Var):
		return x, false
	case step.IsZero():
		return x, sym.Less(sym.Int(0), l.Extent)
	}
	return filled{x.buf, from, sym.Mul(x.len, l.Extent)}, step.Equal(x.len)
}

// stores reports whether st stores to a buffer for which f holds.
func stores(st loop.Stmt, f func(buf int) bool) bool {
	return loop.Any([]loop.Stmt{st}, func(st loop.Stmt) bool {
		s, ok := st.(*loop.Store)
		return ok && f(s.Buf)
	})
}

// digit says that the iteration of a loop of count iterations follows from the
// element x that it touches: it is x/unit mod count.
type digit struct{ unit, count sym.Expr }

// names reports whether v is x/unit mod count, v being less than count: x is a
// multiple of unit·count, and v·unit, and what is less than unit.
func (g digit) names(x sym.Expr, v *sym.Symbol) bool {
	unit, rest, linear := x.Coef(v)
	if !linear || !unit.Equal(g.unit) || rest.Uses(v) || !sym.Less(sym.Int(0), unit) {
		return false
	}
	whole := sym.Mul(g.unit, g.count)
	for _, s := range rest.Symbols() {
		if c, less, ok := rest.Coef(s); ok && !whole.IsZero() && sym.Mod(c, whole).IsZero() {
			rest = less
		}
	}
	return sym.NonNegative(rest) && sym.Less(rest, unit)
}

// owns reports whether the marked loops of f touch no element of owned buffers that
// another iteration of these touches, and nothing else touches them at all.
func owns(f *loop.Func, owned map[int]digit) bool {
	results := accesses(f, func(buf int, _ bool) bool { _, ok := owned[buf]; return ok })
	return !slices.ContainsFunc(results, func(a access) bool {
		g, in := owned[a.buf], a.part()
		return in == nil || !in.Extent.Equal(g.count) || !g.names(a.at, in.Var)
	})
}

// disjointInParts reports whether no thread reads from buffer in, which may lie where
// out does, what another stores to out.
func disjointInParts(f *loop.Func, out, in int) bool {
	if !loop.Any(f.Body, func(s loop.Stmt) bool {
		l, ok := s.(*loop.For)
		return ok && l.Divided
	}) {
		return true
	}
	owned := map[int]digit{}
	for _, a := range accesses(f, func(buf int, _ bool) bool { return buf == out }) {
		if l := a.part(); l != nil {
			unit, _, _ := a.at.Coef(l.Var)
			owned[out], owned[in] = digit{unit, l.Extent}, digit{unit, l.Extent}
		}
	}
	return f.Bufs[out].DType.Size() == f.Bufs[in].DType.Size() && owns(f, owned)
}
