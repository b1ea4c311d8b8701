package native

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/schedule"
)

// overwriting follows statements that write src, in the order in which they run,
// as if src lay where dst does. Every write to it has to follow every read of what
// dst held there; reads for which that does not hold are late. Memory is told
// apart by runs: a copy of dst to src at the start changes nothing, and what is
// not overwritten yet may still be read as dst's.
type overwriting struct {
	src, dst *Buffer
	written  []*Buffer // parts of dst that may no longer hold what they did
	late     []access
}

// all follows statements and reports whether none but src's writes change dst.
func (o *overwriting) all(stmts []Stmt) bool {
	for _, s := range stmts {
		if !o.step(s) {
			return false
		}
	}
	return true
}

func (o *overwriting) step(s Stmt) bool {
	switch s := s.(type) {
	case *Call:
		return o.call(s)
	case *Cond:
		o.read(access{buf: &s.Pred, read: true})
		before := slices.Clip(o.written)
		ok := o.all(s.Then)
		after := o.written
		o.written = before
		ok = ok && o.all(s.Else)
		o.written = append(slices.Clip(o.written), after...)
		return ok
	case *For, *While:
		// An iteration reads after all writes of the one before.
		eachAccess(s, func(a access) {
			if a.write && Root(*a.buf) == o.src {
				o.written = append(o.written, moved(*a.buf, o.src, o.dst))
			}
		})
	}
	ok := true
	eachAccess(s, func(a access) {
		ok = ok && !(a.write && overlap(*a.buf, o.dst))
		if a.read {
			o.read(a)
		}
	})
	return ok
}

// read notes a read that is late.
func (o *overwriting) read(a access) {
	if overlap(*a.buf, o.dst) && slices.ContainsFunc(o.written, func(w *Buffer) bool {
		return overlap(*a.buf, w)
	}) {
		o.late = append(o.late, a)
	}
}

// changesNothing reports whether s copies a part of dst to where it lies already.
func (o *overwriting) changesNothing(s Stmt) bool {
	c, ok := isCopy(s)
	return ok && Root(c.Args[0]) == o.src && sameMemory(moved(c.Args[0], o.src, o.dst), c.Args[1])
}

// call follows c, which may read what it overwrites itself.
func (o *overwriting) call(c *Call) bool {
	list := accesses(c)
	for _, a := range list {
		if a.write && overlap(*a.buf, o.dst) {
			return false
		}
	}
	var written []*Buffer
	if !o.changesNothing(c) {
		for _, a := range list {
			if a.write && Root(*a.buf) == o.src {
				written = append(written, moved(*a.buf, o.src, o.dst))
			}
		}
	}
	for i, a := range list {
		if !a.read || !overlap(*a.buf, o.dst) {
			continue
		}
		had := len(o.late)
		o.read(a)
		if len(o.late) > had {
			continue
		}
		for j, w := range list {
			if w.write && Root(*w.buf) == o.src && len(written) > 0 && !o.inPlace(c, j, i) {
				o.late = append(o.late, a)
				break
			}
		}
	}
	o.written = append(o.written, written...)
	return true
}

// inPlace reports whether c may write operand out, a part of src, where dst lies,
// and read operand in, a part of dst.
func (o *overwriting) inPlace(c *Call, out, in int) bool {
	to, from := moved(c.Args[out], o.src, o.dst), c.Args[in]
	switch {
	case !overlap(to, from):
		return true
	case c.Kernel.Copy: // goes from the first element to the last
		return sym.LessEq(to.At, from.At)
	}
	return c.Kernel.Loop != nil && to.At.Equal(from.At) && schedule.InPlace(c.Kernel.Loop, out, in)
}
