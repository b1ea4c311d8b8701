package native

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/schedule"
)

// forwardCopies removes copies whose source can be made in the destination:
// results of branches and loop bodies, new state, user outputs, parts of a
// concatenation. It is the one place where such copies are avoided.
func forwardCopies(m *Method) {
	w := &forwarder{total: map[*Buffer]int{}}
	for _, s := range m.Body {
		eachAccess(s, func(a access) { w.total[Root(*a.buf)]++ })
	}
	w.block(&m.Body)
}

// forwarder forwards copies in the blocks of one method.
type forwarder struct {
	total map[*Buffer]int // by root, how often the method uses it
}

func (w *forwarder) block(block *[]Stmt) {
	for _, s := range *block {
		for _, nested := range Blocks(s) {
			w.block(nested)
		}
	}
	u := usesIn(*block)
	// What the caller gets is made there if it need not lie elsewhere.
	for _, outputs := range []bool{false, true} {
		for w.some(u, block, outputs) { // a copy that goes may be what another one waited for
		}
	}
	*block = slices.DeleteFunc(*block, func(s Stmt) bool { return s == nil })
	w.dropTrivial(block)
}

// some removes copies from block, those to outputs if they are wanted too, and
// reports whether it did.
func (w *forwarder) some(u *blockUses, block *[]Stmt, outputs bool) bool {
	found := false
	for i := len(*block) - 1; i >= 0; i-- {
		c, ok := isCopy((*block)[i])
		if !ok {
			continue
		}
		f := forwarding{w: w, uses: u, block: block, at: i, dst: c.Args[0], src: c.Args[1]}
		switch {
		case sameMemory(f.dst, f.src):
			f.drop()
		case (outputs || f.dst.Storage != Output) && f.run():
			found = true
		}
	}
	return found
}

// dropTrivial removes copies that forwarding made copies of a run to itself.
func (w *forwarder) dropTrivial(block *[]Stmt) {
	kept := (*block)[:0]
	for _, s := range *block {
		if c, ok := isCopy(s); ok && sameMemory(c.Args[0], c.Args[1]) {
			w.total[Root(c.Args[0])] -= 2
			continue
		}
		for _, nested := range Blocks(s) {
			w.dropTrivial(nested)
		}
		kept = append(kept, s)
	}
	*block = kept
}

// forwarding makes src's memory that of dst, so that the copy of src to dst, which
// is statement at of the block, goes.
type forwarding struct {
	w        *forwarder
	uses     *blockUses
	block    *[]Stmt
	at       int
	dst, src *Buffer
}

// drop takes the copy out of the block.
func (f *forwarding) drop() {
	s := (*f.block)[f.at]
	eachAccess(s, func(a access) { f.w.total[Root(*a.buf)]-- })
	f.uses.remove(f.at, s)
	(*f.block)[f.at] = nil
}

// run does so if every step between src's first write and the copy finds what it
// needs of what dst held, and no later one changes dst while src is still read.
// If src only begins as a copy of dst, some of that is saved before it changes
// rather than all of dst made twice. It reports whether the copy is gone, or, with
// src read later, turned round.
func (f *forwarding) run() bool {
	dst, src, block := f.dst, f.src, *f.block
	if src.Root != nil && src.At.IsZero() && src.Len.Equal(src.Root.Len) {
		src = src.Root // a reshape of it
		f.src = src
	}
	if src.Root != nil || src.Storage != Arena || src.DType != dst.DType ||
		!src.Len.Equal(dst.Len) {
		return false
	}
	u := f.uses
	at := u.at[src]
	first := at[0]
	if first == f.at || f.w.total[src] != u.count[src] || !writesFirst(block[first], src) {
		return false // nothing makes it, or it is used outside
	}
	if !u.known(first, dst.At) {
		return false
	}
	// What outlives the call changes only once nothing can fail any more.
	if lasting := dst.Storage == State || dst.Storage == Input; lasting && u.mayFail(first, f.at) {
		return false
	}
	over := overwriting{src: src, dst: dst}
	var early []Stmt // calls with late reads that may as well run before
	for _, j := range u.of(src, Root(dst), first, f.at) {
		s := block[j]
		n := len(over.late)
		if !over.step(s) {
			return false
		}
		if len(over.late) > n && f.mayRunBefore(s, made(block[first:f.at])) {
			early, over.late = append(early, s), over.late[:n]
		}
	}
	begins := over.changesNothing(block[first])
	if len(over.late) > 0 && !begins {
		return false
	}
	changed, reversed := false, false
	for _, j := range u.of(src, Root(dst), f.at+1, at[len(at)-1]+1) { // while src is still read
		s := block[j]
		if touches(s, src) {
			if writes(s, src) || !changed && writesOverlap(s, dst) {
				return false
			}
			reversed = reversed || changed
		}
		changed = changed || writesOverlap(s, dst)
	}
	if reversed && !begins {
		return false
	}
	saves := append(early, f.save(over.late)...)
	if !reversed && len(saves) == 0 {
		f.drop()
		for _, j := range u.at[src] {
			rebase(block[j], src, dst)
		}
		u.move(src, Root(dst))
		f.w.total[Root(dst)] += f.w.total[src]
		delete(f.w.total, src)
		return true
	}
	for _, j := range at {
		if j != f.at && (j < f.at || !reversed) {
			rebase(block[j], src, dst)
		}
	}
	if reversed {
		block[f.at] = &Call{Kernel: copyKernel(src.DType, src.Len), Args: []*Buffer{src, dst},
			From: block[f.at].(*Call).From}
	} else {
		block = slices.Delete(block, f.at, f.at+1)
	}
	rest := slices.DeleteFunc(slices.Clone(block[first:]), func(s Stmt) bool {
		return slices.Contains(early, s)
	})
	*f.block = slices.Concat(block[:first], saves, rest)
	f.recount()
	return true
}

// made returns the statements that are not gone.
func made(stmts []Stmt) []Stmt {
	return slices.DeleteFunc(slices.Clone(stmts), func(s Stmt) bool { return s == nil })
}

// recount makes the index of the block anew.
func (f *forwarding) recount() {
	for root, n := range f.uses.count {
		f.w.total[root] -= n
	}
	*f.uses = *usesIn(*f.block)
	for root, n := range f.uses.count {
		f.w.total[root] += n
	}
}

// mayRunBefore reports whether s, one of the statements, may run before them all: a
// call that they make nothing for, and that makes nothing for those before it. What
// it makes lives longer then, but src needs no memory.
func (f *forwarding) mayRunBefore(s Stmt, stmts []Stmt) bool {
	c, ok := s.(*Call)
	if !ok || touches(c, f.src) {
		return false
	}
	room := f.src.MaxLen * int64(f.src.DType.Size())
	for _, a := range accesses(c) {
		if b := Root(*a.buf); a.write && b.Storage == Arena {
			if room -= b.MaxLen * int64(b.DType.Size()); b.MaxLen < 0 || room < 0 {
				return false
			}
		}
	}
	for _, before := range stmts[:slices.Index(stmts, s)] {
		if _, ok := before.(*Call); !ok {
			return false // it may give numbers their values, or end the call
		}
		if some(c, func(a access) bool {
			return a.write && touches(before, Root(*a.buf)) ||
				writes(before, Root(*a.buf))
		}) {
			return false
		}
	}
	return true
}

// save lets late reads of dst read copies of it, and returns these: of the parts
// that are read, or of the whole if that is less.
func (f *forwarding) save(late []access) (copies []Stmt) {
	var parts []*Buffer
	total := int64(0)
	for _, a := range late {
		b := *a.buf
		if slices.ContainsFunc(parts, func(p *Buffer) bool { return sameMemory(p, b) }) {
			continue
		}
		if _, ok := b.At.Const(); !ok && b.Root != nil || b.MaxLen < 0 || total > f.dst.MaxLen {
			total = f.dst.MaxLen + 1
			break
		}
		parts, total = append(parts, b), total+b.MaxLen
	}
	if total > f.dst.MaxLen {
		parts = []*Buffer{f.dst}
	}
	olds := make([]*Buffer, len(parts))
	for i, p := range parts {
		olds[i] = dense(p.Name+"_old", p.DType, p.Sizes...)
		copies = append(copies, &Call{Kernel: copyKernel(p.DType, p.Len), Args: []*Buffer{olds[i],
			p}, From: (*f.block)[f.at].(*Call).From})
	}
	for _, a := range late {
		b := *a.buf
		i := slices.IndexFunc(parts, func(p *Buffer) bool { return sameMemory(p, b) })
		i = max(i, 0) // the whole
		*a.buf = viewAt(b, olds[i], sym.Sub(b.At, parts[i].At))
	}
	return copies
}

// rebase replaces src, and views of it, by the same parts of dst.
func rebase(s Stmt, src, dst *Buffer) {
	eachAccess(s, func(a access) { *a.buf = moved(*a.buf, src, dst) })
}

// moved returns the part of dst that b is of src, b if it is of something else.
func moved(b, src, dst *Buffer) *Buffer {
	switch {
	case b == src:
		return viewAt(b, dst, sym.Expr{})
	case b.Root == src:
		return viewAt(b, dst, b.At)
	}
	return b
}

// viewAt returns b as the part of dst that starts at element at.
func viewAt(b, dst *Buffer, at sym.Expr) *Buffer {
	if at.IsZero() && b.Len.Equal(dst.Len) && dst.Root == nil {
		return dst
	}
	v := viewOf(dst, b.Name, b.Sizes, at)
	v.DType = b.DType
	return v
}

// some reports whether f holds for a use in s.
func some(s Stmt, f func(access) bool) bool {
	found := false
	eachAccess(s, func(a access) { found = found || f(a) })
	return found
}

func touches(s Stmt, b *Buffer) bool {
	return some(s, func(a access) bool { return Root(*a.buf) == b })
}

func writes(s Stmt, b *Buffer) bool {
	return some(s, func(a access) bool { return a.write && Root(*a.buf) == b })
}

func writesOverlap(s Stmt, b *Buffer) bool {
	return some(s, func(a access) bool { return a.write && overlap(*a.buf, b) })
}

// mayFail reports whether s can end the method early.
func mayFail(s Stmt) bool {
	if _, ok := s.(*Assert); ok {
		return true
	}
	return slices.ContainsFunc(Blocks(s), func(nested *[]Stmt) bool {
		return slices.ContainsFunc(*nested, mayFail)
	})
}

// writesFirst reports whether the first use of src in s is a write, in each
// arm of a Cond that uses it. A counted loop may fill it part by part.
func writesFirst(s Stmt, src *Buffer) bool {
	switch s := s.(type) {
	case *Call:
		return writes(s, src) && !some(s, func(a access) bool {
			return a.read && !a.write && Root(*a.buf) == src
		})
	case *Cond:
		for _, arm := range Blocks(s) {
			for _, t := range *arm {
				if touches(t, src) {
					if !writesFirst(t, src) {
						return false
					}
					break
				}
			}
		}
		return Root(s.Pred) != src
	case *For:
		return !some(s, func(a access) bool { return a.read && Root(*a.buf) == src })
	}
	return false
}

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
	return !slices.ContainsFunc(stmts, func(s Stmt) bool { return !o.step(s) })
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

// blockUses is an index of the statements of one block, so that what concerns a
// buffer is found without going through all of them. A statement that goes leaves
// nil behind: places stay.
type blockUses struct {
	at      map[*Buffer][]int   // by root, the places of statements that use it, nested ones included
	count   map[*Buffer]int     // by root, how often it is used
	fails   []int               // places of statements that can end the method
	lets    map[*sym.Symbol]int // the last place that gives a symbol its value
	scratch []int               // for of
}

func usesIn(block []Stmt) *blockUses {
	u := &blockUses{at: map[*Buffer][]int{}, count: map[*Buffer]int{}, lets: map[*sym.Symbol]int{}}
	for i, s := range block {
		if s == nil {
			continue
		}
		eachAccess(s, func(a access) {
			root := Root(*a.buf)
			u.count[root]++
			if list := u.at[root]; len(list) == 0 || list[len(list)-1] != i {
				u.at[root] = append(list, i)
			}
		})
		if l, ok := s.(*Let); ok && l.Sym != nil {
			u.lets[l.Sym] = i
		}
		if mayFail(s) {
			u.fails = append(u.fails, i)
		}
	}
	return u
}

// remove takes the statement at place i out of the index.
func (u *blockUses) remove(i int, s Stmt) {
	eachAccess(s, func(a access) {
		root := Root(*a.buf)
		u.count[root]--
		if k, ok := slices.BinarySearch(u.at[root], i); ok {
			u.at[root] = slices.Delete(u.at[root], k, k+1)
		}
	})
}

// move gives all uses of one root to another.
func (u *blockUses) move(src, dst *Buffer) {
	if at := u.at[src]; len(at) > 0 {
		first, end := at[0], at[len(at)-1]+1
		both := u.of(src, dst, first, end)
		from, to := spanOf(u.at[dst], first, end)
		u.at[dst] = slices.Replace(u.at[dst], from, to, both...)
	}
	u.count[dst] += u.count[src]
	delete(u.at, src)
	delete(u.count, src)
}

// of returns the places from first up to end of statements that use one of two
// roots, until the next call.
func (u *blockUses) of(a, b *Buffer, first, end int) []int {
	x, y := u.at[a], u.at[b]
	from, to := spanOf(x, first, end)
	x = x[from:to]
	from, to = spanOf(y, first, end)
	y = y[from:to]
	out := u.scratch[:0]
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0] < y[0]:
			out, x = append(out, x[0]), x[1:]
		case x[0] > y[0]:
			out, y = append(out, y[0]), y[1:]
		default:
			out, x, y = append(out, x[0]), x[1:], y[1:]
		}
	}
	u.scratch = append(append(out, x...), y...)
	return u.scratch
}

// spanOf returns where the places from first up to end are in a list.
func spanOf(places []int, first, end int) (from, to int) {
	from, _ = slices.BinarySearch(places, first)
	n, _ := slices.BinarySearch(places[from:], end)
	return from, from + n
}

// known reports whether a position can be computed before the statement at place
// first: it mentions no number that is read from there on.
func (u *blockUses) known(first int, at sym.Expr) bool {
	for _, s := range at.Symbols() {
		if last, ok := u.lets[s]; ok && last >= first {
			return false
		}
	}
	return true
}

// mayFail reports whether a statement from first up to end can end the method.
func (u *blockUses) mayFail(first, end int) bool {
	k, _ := slices.BinarySearch(u.fails, first)
	return k < len(u.fails) && u.fails[k] < end
}
