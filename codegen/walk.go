package codegen

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/native"
)

// Walk calls f for every statement of block and below, outer ones first.
func Walk(block []native.Stmt, f func(native.Stmt)) {
	for _, s := range block {
		f(s)
		for _, b := range native.Blocks(s) {
			Walk(*b, f)
		}
	}
}

// Any reports whether f is true of a statement of block or below.
func Any(block []native.Stmt, f func(native.Stmt) bool) bool {
	found := false
	Walk(block, func(s native.Stmt) { found = found || f(s) })
	return found
}

// WalkFunction is Walk but for what is in Sections, which is in other functions.
func WalkFunction(block []native.Stmt, f func(native.Stmt)) {
	for _, s := range block {
		f(s)
		if _, apart := s.(*native.Section); apart {
			continue
		}
		for _, b := range native.Blocks(s) {
			WalkFunction(*b, f)
		}
	}
}

// Declarations tells, for the statements of a function, which buffers' locals are best
// declared right before each: every buffer once, in the innermost block that
// holds all its uses, before the first. Roots stand before their views. Only
// arena buffers and views need locals. A Section has declarations of its own.
func Declarations(body []native.Stmt) map[native.Stmt][]*native.Buffer {
	d := &declarer{uses: map[*native.Buffer]*home{}}
	d.block(body, nil)
	out := map[native.Stmt][]*native.Buffer{}
	for _, b := range d.order {
		h := d.uses[b]
		at := h.path[len(h.path)-1].stmt
		out[at] = append(out[at], b)
	}
	return out
}

// step is a statement in a block; a path of them leads to a statement.
type step struct {
	stmt  native.Stmt
	block int // which block of the statement the next step is in
}

// home is where a buffer's local belongs: the last step is the statement to
// declare it before.
type home struct{ path []step }

type declarer struct {
	uses  map[*native.Buffer]*home
	order []*native.Buffer
}

func (d *declarer) block(stmts []native.Stmt, outer []step) {
	for _, s := range stmts {
		if _, apart := s.(*native.Section); apart {
			continue
		}
		path := append(slices.Clone(outer), step{stmt: s})
		last := len(path) - 1
		if w, ok := s.(*native.While); ok && len(w.Head) > 0 {
			// The predicate is read after the head, inside the loop.
			for k, b := range native.Blocks(s) {
				path[last].block = k
				d.block(*b, path)
				if k == 0 {
					d.use(w.Pred, append(slices.Clone(path), step{stmt: w.Head[len(w.Head)-1]}))
				}
			}
			continue
		}
		for _, b := range native.Operands(s) {
			d.use(b, path)
		}
		for k, b := range native.Blocks(s) {
			path[last].block = k
			d.block(*b, path)
		}
	}
}

func (d *declarer) use(b *native.Buffer, path []step) {
	if b.Root != nil {
		d.use(b.Root, path)
	} else if b.Storage != native.Arena {
		return
	}
	h := d.uses[b]
	if h == nil {
		d.uses[b] = &home{path: slices.Clone(path)}
		d.order = append(d.order, b)
		return
	}
	// Statements are met in order: where the two paths part, the earlier one is
	// the first use in the innermost block they have in common.
	for i := range h.path {
		last := i == len(h.path)-1 || i == len(path)-1
		if last || h.path[i] != path[i] {
			h.path = h.path[:i+1]
			return
		}
	}
}

// Number is what a Let reads at run time.
type Number struct {
	Key   any // the symbol or local that it is bound to
	Name  string
	Index bool     // it is a symbol
	DType ir.DType // of a local
}

// NumberOf returns the number that l reads.
func NumberOf(l *native.Let) Number {
	if l.Sym != nil {
		return Number{Key: l.Sym, Name: l.Sym.Name, Index: true}
	}
	return Number{Key: l.Var, Name: l.Var.Name, DType: l.Var.DType}
}

// Numbers returns the numbers that block reads at run time, each once.
func Numbers(block []native.Stmt) (list []Number) {
	Walk(block, func(s native.Stmt) {
		if l, ok := s.(*native.Let); ok && !slices.Contains(list, NumberOf(l)) {
			list = append(list, NumberOf(l))
		}
	})
	return list
}
