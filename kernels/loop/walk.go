package loop

import (
	"fmt"

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

// Blocks returns the blocks directly in s.
func Blocks(s Stmt) [][]Stmt {
	switch s := s.(type) {
	case *For:
		return [][]Stmt{s.Body}
	case *While:
		return [][]Stmt{s.Body}
	case *If:
		return [][]Stmt{s.Then, s.Else}
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
	}
	if e != nil {
		f(e)
	}
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
	}
	Exprs(s, func(e *expr.Expr) {
		expr.Walk(e, func(e *expr.Expr) { e.Indices(f) })
	})
}

// Map returns s with its expressions and index expressions replaced, those in
// its blocks as well. Variables stay.
func Map(s Stmt, value func(*expr.Expr) *expr.Expr, index func(sym.Expr) sym.Expr) Stmt {
	switch s := s.(type) {
	case *For:
		c := *s
		c.Extent, c.Body = index(s.Extent), MapAll(s.Body, value, index)
		return &c
	case *While:
		return &While{Cond: value(s.Cond), Body: MapAll(s.Body, value, index)}
	case *If:
		return &If{Cond: value(s.Cond), Then: MapAll(s.Then, value, index), Else: MapAll(s.Else, value, index)}
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
	}
	panic(fmt.Sprintf("loop: unknown statement %T", s))
}

// MapAll is Map for a block.
func MapAll(body []Stmt, value func(*expr.Expr) *expr.Expr, index func(sym.Expr) sym.Expr) []Stmt {
	if body == nil {
		return nil
	}
	out := make([]Stmt, len(body))
	for i, s := range body {
		out[i] = Map(s, value, index)
	}
	return out
}
