package schedule

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// lanes gives the sums and extrema of floats that innermost loops along memory
// accumulate as many independent accumulators as it is told, in arrays: each
// for every so manieth iteration. A compiler that keeps the order of additions can
// then hold them in vectors. It changes that order.
func lanes(f *loop.Func, count int) {
	if count < 2 {
		return
	}
	var laned func(st *loop.For) []loop.Stmt
	laned = func(st *loop.For) []loop.Stmt {
		if l := newLaner(st, int64(count)); l != nil {
			return l.run()
		}
		st.Body = loop.Replace(st.Body, laned)
		return nil
	}
	f.Body = loop.Replace(f.Body, laned)
}

// laner divides one loop.
type laner struct {
	over  *loop.For
	count int64
	parts map[*expr.Var]*parts
	order []*parts
}

// parts are the accumulators that stand for the local acc.
type parts struct {
	acc   *expr.Var
	kind  expr.ReduceKind
	term  *expr.Expr // what an iteration adds or compares
	array *expr.Var
	// bits is for extrema of Float32: the largest bit pattern of a value without its
	// sign. Vectors compare the values as if there were no NaN; bits tells whether
	// there was one.
	bits *expr.Var
}

// infinite is the bit pattern of an infinite Float32; that of a NaN is larger.
const infinite = 0x7f800000

// newLaner returns nil if st is to stay as it is: it is short, or one of its
// statements is not understood, or what it loads does not lie side by side.
func newLaner(st *loop.For, count int64) *laner {
	n, known := st.Extent.Const()
	_, most := st.Extent.Bounds()
	if !st.Vectorizable || st.InOrder || known && n < count || !known && most < 4*count {
		return nil
	}
	l := &laner{over: st, count: count, parts: map[*expr.Var]*parts{}}
	inside := map[*expr.Var]bool{}
	for _, s := range st.Body {
		switch s := s.(type) {
		case *loop.Let:
			if s.Mutable || s.Value == nil {
				return nil
			}
			inside[s.Var] = true
		case *loop.Store:
		case *loop.Assign:
			p := accumulation(s)
			if p == nil || inside[s.Var] || l.parts[s.Var] != nil {
				return nil
			}
			l.parts[s.Var] = p
			l.order = append(l.order, p)
		default:
			return nil
		}
	}
	if len(l.order) == 0 || l.readsParts() || !l.along() {
		return nil
	}
	return l
}

// accumulation reads s as one step of a sum or of an extremum of floats, nil if
// it is none.
func accumulation(s *loop.Assign) *parts {
	if s.Var.Len > 0 || s.Var.DType != ir.Float32 && s.Var.DType != ir.Float64 {
		return nil
	}
	kinds := map[string]expr.ReduceKind{"Sum": expr.ReduceSum, "Largest": expr.ReduceMax,
		"Smallest": expr.ReduceMin}
	prim, term := reduction(s.Var, s.Value)
	if prim == "" {
		return nil
	}
	return &parts{acc: s.Var, kind: kinds[prim], term: term}
}

// readsParts reports whether an accumulator is read but to accumulate.
func (l *laner) readsParts() bool {
	reads := func(e *expr.Expr) bool { return e.Op == expr.OpLocal && l.parts[e.Var] != nil }
	return slices.ContainsFunc(l.over.Body, func(s loop.Stmt) bool {
		if a, ok := s.(*loop.Assign); ok {
			return expr.Any(l.parts[a.Var].term, reads)
		}
		return loop.AnyNode(s, reads)
	})
}

// along reports whether successive iterations load successive elements, or the
// same ones.
func (l *laner) along() bool {
	side, apart := false, false
	index := func(x sym.Expr, load bool) {
		coef, _, linear := x.Coef(l.over.Var)
		switch {
		case !linear || !coef.IsZero() && !(load && coef.Is(1)):
			apart = true
		case !coef.IsZero():
			side = true
		}
	}
	for _, s := range l.over.Body {
		if st, ok := s.(*loop.Store); ok {
			index(st.At, true)
		}
		loop.Nodes(s, func(e *expr.Expr) {
			e.Indices(func(x sym.Expr) { index(x, e.Op == expr.OpLoad) })
		})
	}
	return side && !apart
}

// run returns what stands for the loop.
func (l *laner) run() []loop.Stmt {
	n := sym.Int(l.count)
	whole := sym.FloorDiv(l.over.Extent, n)
	each := func(body func(lane sym.Expr) []loop.Stmt) *loop.For {
		v := sym.NewVar("lane", n)
		return &loop.For{Var: v, Extent: n, Body: body(v.Expr()), Vectorizable: true}
	}
	var out []loop.Stmt
	for _, p := range l.order {
		p.array = &expr.Var{Name: "part", DType: p.acc.DType, Len: int(l.count)}
		out = append(out, &loop.Let{Var: p.array})
		if p.kind != expr.ReduceSum && p.acc.DType == ir.Float32 {
			p.bits = &expr.Var{Name: "bits", DType: ir.Int32, Len: int(l.count)}
			out = append(out, &loop.Let{Var: p.bits})
		}
	}
	out = append(out, each(func(lane sym.Expr) (body []loop.Stmt) {
		for _, p := range l.order {
			body = append(body, &loop.Assign{Var: p.array, At: lane, Value: expr.Neutral(p.kind,
				p.acc.DType)})
			if p.bits != nil {
				body = append(body, &loop.Assign{Var: p.bits, At: lane,
					Value: expr.Int(ir.Int32, 0)})
			}
		}
		return body
	}))
	chunk := sym.NewVar("r", whole)
	out = append(out, &loop.For{Var: chunk, Extent: whole,
		Body: []loop.Stmt{each(func(lane sym.Expr) []loop.Stmt {
			return l.step(sym.Add(sym.Mul(chunk.Expr(), n), lane), lane)
		})}})
	if left := sym.Mod(l.over.Extent, n); !left.IsZero() {
		rest := sym.NewVar("rest", left)
		out = append(out, &loop.For{Var: rest, Extent: left,
			Body: l.step(sym.Add(sym.Mul(whole, n), rest.Expr()), rest.Expr())})
	}
	return append(out, l.finish()...)
}

// step is iteration at of the loop, accumulated in a lane.
func (l *laner) step(at, lane sym.Expr) []loop.Stmt {
	m := expr.Subst{l.over.Var: at}
	locals := map[*expr.Var]*expr.Expr{}
	value := func(e *expr.Expr) *expr.Expr {
		return relocated(expr.SubstIndex(e, m), func(v *expr.Var) *expr.Expr { return locals[v] })
	}
	var out []loop.Stmt
	for _, s := range l.over.Body {
		switch s := s.(type) {
		case *loop.Let:
			v := *s.Var
			out = append(out, &loop.Let{Var: &v, Value: value(s.Value)})
			locals[s.Var] = expr.Get(&v)
		case *loop.Store:
			out = append(out, &loop.Store{Buf: s.Buf, At: subst(s.At, m), Value: value(s.Value)})
		case *loop.Assign:
			p := l.parts[s.Var]
			x := value(p.term)
			if p.bits != nil {
				size := expr.And(expr.Bitcast(ir.Int32, x), expr.Int(ir.Int32, math.MaxInt32))
				v := &expr.Var{Name: "size", DType: ir.Int32}
				out = append(out, &loop.Let{Var: v, Value: size})
				out = append(out, &loop.Assign{Var: p.bits, At: lane, Value: larger(expr.Get(v),
					expr.GetAt(p.bits, lane))})
			}
			out = append(out, &loop.Assign{Var: p.array, At: lane,
				Value: p.combine(x, expr.GetAt(p.array, lane))})
		}
	}
	return out
}

// combine combines x with what was accumulated.
func (p *parts) combine(x, acc *expr.Expr) *expr.Expr {
	switch {
	case p.kind == expr.ReduceSum:
		return expr.Add(acc, x)
	case p.bits != nil:
		return p.better(x, acc)
	}
	return expr.Select(expr.IsNaN(acc), acc, expr.Select(expr.IsNaN(x), x, p.better(x, acc)))
}

// better is the extremum of two numbers.
func (p *parts) better(x, acc *expr.Expr) *expr.Expr {
	if p.kind == expr.ReduceMin {
		return expr.Select(expr.Lt(x, acc), x, acc)
	}
	return larger(x, acc)
}

func larger(x, acc *expr.Expr) *expr.Expr { return expr.Select(expr.Gt(x, acc), x, acc) }

// finish combines the lanes: the upper half with the lower one, and so on.
func (l *laner) finish() []loop.Stmt {
	var out []loop.Stmt
	for have := l.count; have > 1; {
		half := (have + 1) / 2
		v := sym.NewVar("lane", sym.Int(have-half))
		lane, other := v.Expr(), sym.Add(v.Expr(), sym.Int(half))
		var body []loop.Stmt
		for _, p := range l.order {
			body = append(body, &loop.Assign{Var: p.array, At: lane,
				Value: p.combine(expr.GetAt(p.array, other), expr.GetAt(p.array, lane))})
			if p.bits != nil {
				body = append(body, &loop.Assign{Var: p.bits, At: lane,
					Value: larger(expr.GetAt(p.bits, other), expr.GetAt(p.bits, lane))})
			}
		}
		out = append(out, &loop.For{Var: v, Extent: sym.Int(have - half), Body: body,
			Vectorizable: true})
		have = half
	}
	first := sym.Int(0)
	for _, p := range l.order {
		acc := expr.Get(p.acc)
		value := p.combine(expr.GetAt(p.array, first), acc)
		if p.bits != nil {
			none := expr.Gt(expr.GetAt(p.bits, first), expr.Int(ir.Int32, infinite))
			value = expr.Select(none, expr.Float(ir.Float32, math.NaN()), value)
		}
		out = append(out, &loop.Assign{Var: p.acc, Value: value})
	}
	return out
}

// keepRolled marks the innermost loops of at most count independent iterations:
// compilers unroll them early and find no vectors in what that gives.
func keepRolled(f *loop.Func, count int) {
	loop.Each(f.Body, func(l *loop.For) {
		if !l.Vectorizable {
			return
		}
		n, known := l.Extent.Const()
		l.Rolled = known && n > 1 && n <= int64(count)
		for _, st := range l.Body {
			switch st := st.(type) {
			case *loop.Let:
				l.Rolled = l.Rolled && !st.Mutable && st.Value != nil
			case *loop.Assign:
				l.Rolled = l.Rolled && st.Var.Len > 0
			case *loop.Store:
			default:
				l.Rolled = false
			}
		}
	})
}

// What is added to one accumulator at most, and how long blocks of a longer sum are.
// An accumulator rounds with each addition. After n additions it may be off by n/2 units
// in its last place, and is where all terms have the same sign. PyTorch sums in a
// cascade, which is off by much less.
const (
	longSum  = 1 << 15
	sumBlock = 1 << 12
)

// longSums adds the terms of long sums of floats up in blocks, and then the blocks.
func longSums(f *loop.Func) {
	f.Body = (&summer{turns: map[*expr.Var]float64{}}).block(f.Body)
}

// summer knows of each accumulator how many times the loops around the present place run
// for each time that it is declared.
type summer struct{ turns map[*expr.Var]float64 }

func (s *summer) block(body []loop.Stmt) []loop.Stmt {
	var out []loop.Stmt
	for _, st := range body {
		switch st := st.(type) {
		case *loop.Let:
			if st.Mutable && st.Var.Len == 0 && st.Var.DType == ir.Float32 {
				s.turns[st.Var] = 1
			}
		case *loop.For:
			if made := s.loop(st); made != nil {
				out = append(out, made...)
				continue
			}
			_, most := st.Extent.Bounds()
			outside := s.turns
			s.turns = map[*expr.Var]float64{}
			for v, n := range outside {
				s.turns[v] = n * float64(most)
			}
			st.Body = s.block(st.Body)
			s.turns = outside
		case *loop.While:
			st.Body = s.block(st.Body)
		case *loop.If:
			st.Then, st.Else = s.block(st.Then), s.block(st.Else)
		}
		out = append(out, st)
	}
	return out
}

// loop returns the blocks of an innermost loop that adds up long sums, nil for another.
// A loop that is short itself, within others, is one block.
func (s *summer) loop(st *loop.For) []loop.Stmt {
	if !st.Vectorizable {
		return nil
	}
	_, most := st.Extent.Bounds()
	var sums []*expr.Var
	turns := 0.0
	for _, b := range st.Body {
		a, ok := b.(*loop.Assign)
		if !ok {
			continue
		}
		if p := accumulation(a); p != nil && p.kind == expr.ReduceSum && s.turns[a.Var] > 0 &&
			!readsElsewhere(st.Body, a) {
			sums = append(sums, a.Var)
			turns = max(turns, s.turns[a.Var])
		}
	}
	if len(sums) == 0 || turns*float64(most) < longSum || most < sumBlock/64 {
		return nil
	}
	if most <= 2*sumBlock {
		return inBlock(st, sums)
	}
	size := sym.Int(blockOf(st.Extent))
	count := sym.CeilDiv(st.Extent, size)
	outer := sym.NewVar("block", count)
	first := sym.Mul(outer.Expr(), size)
	inner := *st
	inner.Extent = size
	if !sym.Mod(st.Extent, size).IsZero() {
		inner.Extent = sym.Min(size, sym.Sub(st.Extent, first))
	}
	inner.Var = sym.NewVar(st.Var.Name, inner.Extent)
	m := expr.Subst{st.Var: sym.Add(first, inner.Var.Expr())}
	inner.Body = moved(st.Body, m)
	return []loop.Stmt{&loop.For{Var: outer, Extent: count, Body: inBlock(&inner, sums)}}
}

// inBlock is a loop whose sums begin with 0 and are added to what they were before it.
func inBlock(l *loop.For, sums []*expr.Var) []loop.Stmt {
	var before, after []loop.Stmt
	for _, acc := range sums {
		total := &expr.Var{Name: "total", DType: acc.DType}
		before = append(before, &loop.Let{Var: total, Value: expr.Get(acc)},
			&loop.Assign{Var: acc, Value: expr.Neutral(expr.ReduceSum, acc.DType)})
		after = append(after, &loop.Assign{Var: acc,
			Value: expr.Add(expr.Get(total), expr.Get(acc))})
	}
	return slices.Concat(before, []loop.Stmt{l}, after)
}

// blockOf returns the length of blocks of a sum: one that divides the extent, if one is
// close to sumBlock.
func blockOf(extent sym.Expr) int64 {
	if n, ok := extent.Const(); ok {
		for d := int64(sumBlock); d >= sumBlock/4; d-- {
			if n%d == 0 {
				return d
			}
		}
	}
	return sumBlock
}

// readsElsewhere reports whether body reads or writes a's accumulator but in a.
func readsElsewhere(body []loop.Stmt, a *loop.Assign) bool {
	return loop.Any(body, func(s loop.Stmt) bool {
		switch other, ok := s.(*loop.Assign); {
		case ok && other == a:
			return mentions(accumulation(a).term, a.Var)
		case ok && other.Var == a.Var:
			return true
		}
		return loop.AnyNode(s, func(e *expr.Expr) bool { return mentions(e, a.Var) })
	})
}
