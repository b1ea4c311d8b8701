package native

import (
	"slices"

	"github.com/etgen/etgen/kernels/schedule"
)

// overwriting follows statements that write src, in the order in which they run,
// as if src lay where dst does. Every write to it has to follow every read of what
// dst held there. Memory is told apart by runs: a copy of dst to src at the start
// changes nothing, and what is not overwritten yet may still be read as dst's.
type overwriting struct {
	src, dst *Buffer
	written  []*Buffer // parts of dst that may no longer hold what they did
}

// all reports whether the statements read what they should.
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
		if !o.reads(s.Pred) {
			return false
		}
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
		ok = ok && !(a.write && overlap(*a.buf, o.dst)) && (!a.read || o.reads(*a.buf))
	})
	return ok
}

// reads reports whether b, if it is part of dst, holds what it did.
func (o *overwriting) reads(b *Buffer) bool {
	return !overlap(b, o.dst) || !slices.ContainsFunc(o.written, func(w *Buffer) bool { return overlap(b, w) })
}

// call reports whether c reads what it should, what it overwrites itself
// included.
func (o *overwriting) call(c *Call) bool {
	if c.Kernel.Copy && Root(c.Args[0]) == o.src && sameMemory(moved(c.Args[0], o.src, o.dst), c.Args[1]) {
		return o.reads(c.Args[1]) // changes nothing
	}
	var written []*Buffer
	for i, b := range c.Args {
		read, write := c.Kernel.Uses(i)
		if write && overlap(b, o.dst) || read && !o.reads(b) {
			return false
		}
		if !write || Root(b) != o.src {
			continue
		}
		to := moved(b, o.src, o.dst)
		for j, in := range c.Args {
			if !overlap(in, o.dst) || !overlap(in, to) {
				continue
			}
			if c.Kernel.Loop == nil || !sameStart(to, in) || !schedule.InPlace(c.Kernel.Loop, i, j) {
				return false
			}
		}
		written = append(written, to)
	}
	o.written = append(o.written, written...)
	return true
}

// sameStart reports whether two buffers begin at the same element.
func sameStart(a, b *Buffer) bool { return Root(a) == Root(b) && a.At.Equal(b.At) }
