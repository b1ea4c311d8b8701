package loop

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// Walk calls f for every statement of body and below, outer ones first.
func Walk(body []Stmt, f func(Stmt)) {
	for _, s := range body {
		f(s)
		for _, b := range Blocks(s) {
			Walk(b, f)
		}
	}
}

// Each calls f for those that are of one type.
func Each[S Stmt](body []Stmt, f func(S)) {
	Walk(body, func(s Stmt) {
		if s, ok := s.(S); ok {
			f(s)
		}
	})
}

// Blocks returns the blocks directly in s.
func Blocks(s Stmt) [][]Stmt {
	switch s := s.(type) {
	case *For:
		return [][]Stmt{s.Body}
	case *While:
		return [][]Stmt{s.Body}
	case *If:
		return [][]Stmt{s.Then, s.Else}
	case *Chunks:
		return [][]Stmt{s.Body, s.Else}
	case *Transpose:
		return [][]Stmt{s.Else}
	}
	return nil
}

// Exprs calls f for the expressions directly in s, not for those in its blocks.
func Exprs(s Stmt, f func(*expr.Expr)) {
	var e *expr.Expr
	switch s := s.(type) {
	case *While:
		e = s.Cond
	case *If:
		e = s.Cond
	case *Let:
		e = s.Value
	case *Assign:
		e = s.Value
	case *LetIndex:
		e = s.Value
	case *Store:
		e = s.Value
	case *Invoke:
		each(s.Args, func(a *Actual) {
			if a.Value != nil {
				f(a.Value)
			}
		})
	case *Vector:
		for _, o := range s.Args {
			if o.Kind == ScalarOperand {
				f(o.Value)
			}
		}
	}
	if e != nil {
		f(e)
	}
}

// Nodes calls f for every node of the expressions directly in s.
func Nodes(s Stmt, f func(*expr.Expr)) {
	Exprs(s, func(e *expr.Expr) { expr.Walk(e, f) })
}

// AnyNode reports whether f holds for one of them.
func AnyNode(s Stmt, f func(*expr.Expr) bool) bool {
	found := false
	Nodes(s, func(e *expr.Expr) { found = found || f(e) })
	return found
}

// Any reports whether f holds for a statement of body or below.
func Any(body []Stmt, f func(Stmt) bool) bool {
	found := false
	Walk(body, func(s Stmt) { found = found || f(s) })
	return found
}

// Indices calls f for the index expressions of s, those in its expressions
// included, not for those in its blocks.
func Indices(s Stmt, f func(sym.Expr)) {
	switch s := s.(type) {
	case *For:
		f(s.Extent)
	case *Assign:
		if s.Var.Len > 0 {
			f(s.At)
		}
	case *Store:
		f(s.At)
	case *Invoke:
		each(s.Args, func(a *Actual) {
			f(a.Index)
			for _, n := range a.Sizes {
				f(n)
			}
		})
	case *Chunks:
		f(s.Extent)
		f(s.RowCount)
	case *Vector:
		for _, o := range s.Operands() {
			f(o.At)
		}
	case *Transpose:
		for _, x := range []sym.Expr{s.To, s.From, s.Rows, s.Cols} {
			f(x)
		}
	}
	Nodes(s, func(e *expr.Expr) { e.Indices(f) })
}

// Map returns s with its expressions and index expressions replaced, those in
// its blocks as well. Variables stay. Vectors are made last: it knows none.
func Map(s Stmt, value func(*expr.Expr) *expr.Expr, index func(sym.Expr) sym.Expr) Stmt {
	switch s := s.(type) {
	case *For:
		c := *s
		c.Extent, c.Body = index(s.Extent), MapAll(s.Body, value, index)
		return &c
	case *While:
		return &While{Cond: value(s.Cond), Body: MapAll(s.Body, value, index)}
	case *If:
		return &If{Cond: value(s.Cond), Then: MapAll(s.Then, value, index), Else: MapAll(s.Else,
			value, index)}
	case *Let:
		c := *s
		if s.Value != nil {
			c.Value = value(s.Value)
		}
		return &c
	case *Assign:
		return &Assign{Var: s.Var, At: index(s.At), Value: value(s.Value)}
	case *LetIndex:
		return &LetIndex{Sym: s.Sym, Value: value(s.Value)}
	case *Store:
		return &Store{Buf: s.Buf, At: index(s.At), Value: value(s.Value)}
	case *Break:
		return s
	case *Invoke:
		return &Invoke{Op: s.Op, Args: mapActuals(s.Args, value, index)}
	}
	panic(fmt.Sprintf("loop: unknown statement %T", s))
}

// MapAll is Map for a block.
func MapAll(body []Stmt, value func(*expr.Expr) *expr.Expr, index func(sym.Expr) sym.Expr) []Stmt {
	if body == nil {
		return nil
	}
	return seq.Map(body, func(s Stmt) Stmt { return Map(s, value, index) })
}

// Replace returns body with its outermost loops, those in branches as well, replaced
// by what f returns for them, or as they are where that is nil.
func Replace(body []Stmt, f func(*For) []Stmt) []Stmt {
	var out []Stmt
	for _, s := range body {
		switch t := s.(type) {
		case *For:
			if with := f(t); with != nil {
				out = append(out, with...)
				continue
			}
		case *While:
			s = &While{Cond: t.Cond, Body: Replace(t.Body, f)}
		case *If:
			s = &If{Cond: t.Cond, Then: Replace(t.Then, f), Else: Replace(t.Else, f)}
		}
		out = append(out, s)
	}
	return out
}

// Free returns the symbols that f does not bind, which stand for its dynamic sizes, in
// order of appearance.
func (f *Func) Free() (free []*sym.Symbol) {
	known := map[*sym.Symbol]bool{}
	Walk(f.Body, func(s Stmt) {
		switch s := s.(type) {
		case *For:
			known[s.Var] = true
		case *LetIndex:
			known[s.Sym] = true
		}
	})
	Walk(f.Body, func(s Stmt) {
		Indices(s, func(x sym.Expr) {
			for _, s := range x.Symbols() {
				if !known[s] {
					known[s] = true
					free = append(free, s)
				}
			}
		})
	})
	return free
}

// Loads tells of every buffer of f whether f loads from it.
func (f *Func) Loads() []bool {
	loads := make([]bool, len(f.Bufs))
	Walk(f.Body, func(s Stmt) {
		Nodes(s, func(e *expr.Expr) {
			if e.Op == expr.OpLoad {
				loads[e.Buf] = true
			}
		})
	})
	return loads
}

// Without returns f without the buffers that drop names, which it neither loads
// from nor stores to. What InOut buffers hold at entry becomes the caller's
// business if that is among them.
func (f *Func) Without(drop []bool) *Func {
	if !slices.Contains(drop, true) {
		return f
	}
	g, to := *f, make([]int, len(f.Bufs))
	g.Bufs = nil
	for i, b := range f.Bufs {
		to[i] = len(g.Bufs)
		if !drop[i] {
			g.Bufs = append(g.Bufs, b)
		}
	}
	for i, b := range g.Bufs {
		if b.Role == InOut && b.Init != Filled {
			g.Bufs[i].Init = to[b.Init]
			if drop[b.Init] {
				g.Bufs[i].Init = Filled
			}
		}
	}
	g.Body = MapAll(f.Body, func(e *expr.Expr) *expr.Expr {
		return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
			if e.Op != expr.OpLoad || to[e.Buf] == e.Buf {
				return e
			}
			n := *e
			n.Buf = to[e.Buf]
			return &n
		})
	}, func(x sym.Expr) sym.Expr { return x })
	Each(g.Body, func(s *Store) { s.Buf = to[s.Buf] }) // MapAll has made it anew
	Each(g.Body, func(s *Invoke) { each(s.Args, func(a *Actual) { a.Buf = to[a.Buf] }) })
	return &g
}
