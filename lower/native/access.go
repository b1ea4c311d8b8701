package native

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/tuned"
)

// access is one use of a buffer by a statement.
type access struct {
	buf         **Buffer // where the statement refers to it
	read, write bool
}

// accesses returns the buffers a statement uses itself, nested blocks left out.
func accesses(s Stmt) []access {
	var list []access
	eachOwn(s, func(a access) { list = append(list, a) })
	return list
}

// eachOwn calls f for every use in s itself, nested blocks left out.
func eachOwn(s Stmt, f func(access)) {
	read := func(bufs []*Buffer) {
		for i := range bufs {
			f(access{buf: &bufs[i], read: true})
		}
	}
	switch s := s.(type) {
	case *Call:
		for i := range s.Args {
			r, w := s.Kernel.Uses(i)
			f(access{buf: &s.Args[i], read: r, write: w})
		}
	case *Cond:
		f(access{buf: &s.Pred, read: true})
	case *Let:
		read(s.Args)
	case *Assert:
		read(s.Args)
	}
}

// Uses tells how the kernel uses its operand i.
func (k *Kernel) Uses(i int) (read, write bool) {
	if k.Tuned != nil {
		switch k.Tuned.KindOf(i) {
		case tuned.Result, tuned.Scratch:
			return false, true
		}
		return true, false
	}
	switch k.Loop.Bufs[i].Role {
	case loop.In:
		return true, false
	case loop.InOut:
		return true, true
	}
	return false, true
}

// Fields are the values that a call of a tuned kernel gives the fields of its descriptor.
func (c *Call) Fields() []sym.Expr {
	ints := map[*sym.Symbol]sym.Expr{}
	for i, s := range c.Kernel.Params {
		ints[s] = c.Ints[i]
	}
	var list []sym.Expr
	for _, p := range c.Kernel.Tuned.Params {
		list = append(list, p.Value.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
			e, ok := ints[s]
			return e, ok
		}))
	}
	return list
}

// IsScratch reports whether operand i is scratch memory.
func (k *Kernel) IsScratch(i int) bool {
	r, w := k.Uses(i)
	if k.Tuned != nil {
		return !r && w && i > 0
	}
	return k.Loop.Bufs[i].Role == loop.Scratch
}

// Blocks returns the nested blocks of a statement with their order of
// execution.
func Blocks(s Stmt) []*[]Stmt {
	switch s := s.(type) {
	case *Cond:
		return []*[]Stmt{&s.Then, &s.Else}
	case *While:
		return []*[]Stmt{&s.Head, &s.Body}
	case *For:
		return []*[]Stmt{&s.Body}
	case *Section:
		return []*[]Stmt{&s.Body}
	}
	return nil
}

// eachAccess calls f for every use in s, nested ones included, in program
// order. The predicate of a While is used after its head.
func eachAccess(s Stmt, f func(access)) {
	eachOwn(s, f)
	for i, block := range Blocks(s) {
		for _, t := range *block {
			eachAccess(t, f)
		}
		if w, ok := s.(*While); ok && i == 0 {
			f(access{buf: &w.Pred, read: true})
		}
	}
}

// Root returns the buffer that owns b's memory.
func Root(b *Buffer) *Buffer {
	if b.Root != nil {
		return b.Root
	}
	return b
}

// overlap reports whether two buffers may share memory.
func overlap(a, b *Buffer) bool {
	if Root(a) != Root(b) {
		return false
	}
	return !sym.LessEq(sym.Add(a.At, a.Len), b.At) && !sym.LessEq(sym.Add(b.At, b.Len), a.At)
}

// sameMemory reports whether two buffers are the same run of memory.
func sameMemory(a, b *Buffer) bool {
	return Root(a) == Root(b) && a.At.Equal(b.At) && a.Len.Equal(b.Len)
}
