package native

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
)

// Results in place: what a call makes may lie where something began that nobody reads later. For
// loops that follows from the text; tuned kernels say of which operands it is so. The planner
// decides it, but in programs that are made in patches: there it is a choice like these, of which
// some need another instance of a kernel, that copies what it overwrites.

// mayOverwrite reports whether what the call writes to argument i may lie over argument j,
// beginning where that does.
func (c *Call) mayOverwrite(i, j int) bool {
	if c.Kernel.Loop != nil {
		return schedule.InPlace(c.Kernel.Loop, i, j)
	}
	given := *c.Kernel.Tuned
	given.Params = slices.Clone(given.Params)
	for k, v := range c.Fields() {
		given.Params[k].Value = v
	}
	out, in := c.Args[i], c.Args[j]
	for k, a := range c.Args {
		if read, _ := c.Kernel.Uses(k); read && overlap(a, in) &&
			!(given.MayOverwrite(k) && sameMemory(a, in)) {
			return false
		}
	}
	return out.DType.Size() == in.DType.Size() && sym.LessEq(out.Len, in.Len)
}

// whole returns the ways to make the last call before end of a run whole: as it is, or with the
// instance that needs the least memory.
func (s *sparer) whole(r *run, end int) []choice {
	c := s.choice(r, end-1, end)
	l := &r.links[end-1]
	list := s.inPlace(c, l, l.call, r.first+end-1)
	in := l.call.Kernel.Tuned
	if in == nil {
		return list
	}
	if l.kind.spare == nil {
		l.kind.spare = tuned.Spare(in, s.b.request(l.facts), nil)
	}
	if l.kind.spare == nil {
		return list
	}
	other := tuned.Spare(in, s.b.request(l.facts), l.kind.spare)
	c.call = s.b.instead(l.call, other)
	c.time = other.Instructions() - l.instructions
	c.around += bound(other.Scratch) - bound(in.Scratch)
	return append(list, s.inPlace(c, l, c.call, r.first+end-1)...)
}

// inPlace returns the ways to make what c is by a call, statement at, whose result may lie over
// what that is the last to read: over its image for good, as results of patches do, or where the
// planner has it.
func (s *sparer) inPlace(c choice, l *link, call *Call, at int) []choice {
	over := func(j int) bool {
		u := s.uses[call.Args[j]]
		read, _ := call.Kernel.Uses(j)
		return read && u != nil && u.last == at && call.mayOverwrite(0, j)
	}
	o := overImage(call)
	for j := range call.Args[1:] {
		if (l.moving[j+1] || j == 0 && o == nil) && over(j+1) {
			c.around -= c.result
			return []choice{c}
		}
	}
	list := []choice{c}
	if o != nil && over(1) && s.uses[o.image].first < at {
		c.over = o
		list = append(list, c)
	}
	return list
}

// instead returns a call with another instance of its kernel.
func (b *builder) instead(c *Call, in *tuned.Instance) *Call {
	args := slices.Clone(c.Args[:c.Kernel.Tuned.First(tuned.Scratch)])
	if !in.Scratch.IsZero() {
		args = append(args, b.tunedScratch(in.Scratch))
	}
	k := *c.Kernel
	k.Tuned, k.whole = in, c.Kernel.Tuned
	return &Call{Kernel: &k, Args: args, From: c.From}
}

// overImage returns how the result of a whole call lies over its image, or nil if they are not
// alike.
func overImage(c *Call) *over {
	o := &over{image: c.Args[1], result: c.Args[0], whole: true}
	if o.image.Root != nil || o.result.Root != nil || o.image.Storage != Arena ||
		o.result.Storage != Arena || o.image.DType != o.result.DType ||
		o.image.MaxLen != o.result.MaxLen {
		return nil
	}
	return o
}
