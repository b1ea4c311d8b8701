package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

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
	if !st.Strip {
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
	inner.Body = loop.MapAll(st.Body,
		func(e *expr.Expr) *expr.Expr { return expr.SubstIndex(e, m) },
		func(x sym.Expr) sym.Expr { return subst(x, m) })
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
	found := false
	reads := func(e *expr.Expr) {
		expr.Walk(e, func(e *expr.Expr) {
			found = found || e.Op == expr.OpLocal && e.Var == a.Var
		})
	}
	loop.Walk(body, func(s loop.Stmt) {
		if other, ok := s.(*loop.Assign); ok && other == a {
			reads(accumulation(a).term)
			return
		} else if ok && other.Var == a.Var {
			found = true
		}
		loop.Exprs(s, reads)
	})
	return found
}
