package raise

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// state is what is known at a point of the method.
type state struct {
	memory  map[int64][]piece // by memory, sorted, disjoint
	scalars map[int32]scalar  // that were written
	bound   map[int32]binding // tensor values that Move changed
	sizes   map[int32][]sym.Expr
}

// piece says that bytes lo to hi hold those of a value from at on, as it lies
// in memory with its dimensions in an order. A value of dynamic size has bytes
// up to its actual size only.
type piece struct {
	lo, hi int64
	value  *ir.Value
	order  []uint8
	at     int64
}

// binding is what a tensor value means after a Move: another tensor (slot), or,
// where ways meet on which it was another one each (slot is -1), what that held.
type binding struct {
	slot  int32
	value *ir.Value
	among []int32 // the tensors it may be
	stale bool    // one of among was written to since
}

// scalar is a number, bool, string or None: an integer whose expression is
// known, else an argument.
type scalar struct {
	arg    ir.Arg
	expr   sym.Expr
	isExpr bool
}

func integer(e sym.Expr) scalar { return scalar{expr: e, isExpr: true} }

// equal reports whether two scalars are certainly the same.
func (s scalar) equal(t scalar) bool {
	if s.isExpr || t.isExpr {
		return s.isExpr && t.isExpr && s.expr.Equal(t.expr)
	}
	return s.arg == t.arg
}

func newState() *state {
	return &state{memory: map[int64][]piece{}, scalars: map[int32]scalar{},
		bound: map[int32]binding{}, sizes: map[int32][]sym.Expr{}}
}

func (s *state) clone() *state {
	t := &state{scalars: maps.Clone(s.scalars), bound: maps.Clone(s.bound),
		sizes: maps.Clone(s.sizes), memory: map[int64][]piece{}}
	for m, ps := range s.memory {
		t.memory[m] = slices.Clone(ps)
	}
	return t
}

// overlapping returns which pieces of a memory share bytes with a range: those from
// i up to j.
func (s *state) overlapping(p place) (i, j int) {
	ps := s.memory[p.memory]
	i = sort.Search(len(ps), func(k int) bool { return ps[k].hi > p.lo })
	j = i + sort.Search(len(ps)-i, func(k int) bool { return ps[i+k].lo >= p.hi })
	return i, j
}

// forget makes a range hold nothing known.
func (s *state) forget(p place) { s.replace(p) }

// put makes a range hold a value.
func (s *state) put(p place, v *ir.Value, order []uint8) {
	if p.lo == p.hi {
		s.forget(p)
		return
	}
	s.replace(p, piece{lo: p.lo, hi: p.hi, value: v, order: order})
}

// replace puts pieces in the place of what a range holds.
func (s *state) replace(p place, by ...piece) {
	i, j := s.overlapping(p)
	ps := s.memory[p.memory]
	if i < j {
		if left := ps[i]; left.lo < p.lo {
			left.hi = p.lo
			by = append([]piece{left}, by...)
		}
		if right := ps[j-1]; p.hi < right.hi {
			right.at += p.hi - right.lo
			right.lo = p.hi
			by = append(by, right)
		}
	}
	s.memory[p.memory] = slices.Replace(ps, i, j, by...)
}

// within returns the pieces of a range, cut to it.
func (s *state) within(p place) []piece {
	i, j := s.overlapping(p)
	out := slices.Clone(s.memory[p.memory][i:j])
	for k := range out {
		x := &out[k]
		if x.lo < p.lo {
			x.at += p.lo - x.lo
			x.lo = p.lo
		}
		x.hi = min(x.hi, p.hi)
	}
	return out
}

// written marks the values of moves that may have lain in a place as lost.
func (r *raiser) written(p place) {
	for slot, b := range r.st.bound {
		for _, i := range b.among {
			if r.tensors[i].place.overlaps(p) {
				b.stale = true
				r.st.bound[slot] = b
				break
			}
		}
	}
}

// sizesOf returns what sizes a tensor has now, nil if they are not known.
func (r *raiser) sizesOf(t *tensor) []sym.Expr {
	if s, ok := r.st.sizes[t.slot]; ok {
		return s
	}
	return ir.Ints(t.sizes)
}

// sizesOrBounds returns what sizes a tensor has now, as far as known, else how
// large it may be.
func (r *raiser) sizesOrBounds(t *tensor) []sym.Expr {
	if s := r.sizesOf(t); len(s) == len(t.sizes) {
		return s
	}
	return ir.Ints(t.sizes)
}

// resolve returns the tensor that a tensor value means.
func (r *raiser) resolve(slot int32) *tensor {
	if r.tensors[slot] == nil {
		must.Fail("value %d is no tensor", slot)
	}
	if b, ok := r.st.bound[slot]; ok {
		if b.slot < 0 {
			must.Fail(
				"value %d is one of several tensors, which depends on the way here, and is written to", slot)
		}
		return r.tensors[b.slot]
	}
	return r.tensors[slot]
}

// read returns what a tensor value holds.
func (r *raiser) read(slot int32) *ir.Value {
	if r.tensors[slot] == nil {
		must.Fail("value %d is no tensor", slot)
	}
	if b, ok := r.st.bound[slot]; ok {
		if b.slot < 0 {
			if b.stale {
				must.Fail(
					"value %d was moved here from one of several places that have been written to since", slot)
			}
			return b.value
		}
		return r.readTensor(r.tensors[b.slot])
	}
	return r.readTensor(r.tensors[slot])
}

func (r *raiser) readTensor(t *tensor) *ir.Value {
	if t.constant {
		return r.constant(t)
	}
	sizes := r.sizesOf(t)
	if len(sizes) != len(t.sizes) {
		must.Fail("value %d has a size that depends on the way here", t.slot)
	}
	var v *ir.Value
	saying(fmt.Sprintf("value %d", t.slot), func() {
		v = r.readAs(t.place, t.dtype, sizes, t.order)
	})
	return v
}

// readAs returns what a range holds as a tensor of given type and sizes.
func (r *raiser) readAs(p place, d ir.DType, sizes []sym.Expr,
	order []uint8) (v *ir.Value) {
	want := typeOf(d, sizes, order)
	if want.Numel().IsZero() {
		return r.b.Op("aten.full.default", sizes, 0, ops.Kw("dtype", d))
	}
	pieces := r.st.within(p)
	if len(pieces) == 0 {
		must.Fail("what it reads (%v) was not written before", p)
	}
	if x := pieces[0]; len(pieces) == 1 && x.at == 0 && x.lo == p.lo &&
		x.value.Type.Bytes().Equal(want.Bytes()) {
		return r.reshape(x.value, x.order, want, order)
	}
	if _, ok := want.StaticSizes(); !ok {
		must.Fail(
			"it has %v where %v was written: whether that is the same number of bytes is not known",
			want, pieces[0].value.Type)
	}
	return r.assemble(pieces, p, want, order)
}

// reshape gives a value another type of as many bytes, as memory has it.
func (r *raiser) reshape(v *ir.Value, from []uint8, want ir.Type,
	order []uint8) (out *ir.Value) {
	if sameLayout(v.Type, from, want, order) {
		return v
	}
	key := seenAs{v, want.String()}
	if v := r.views[key]; v != nil {
		return v
	}
	v = r.inMemoryOrder(v, from)
	if v.Type.DType != want.DType {
		v = r.bytesAs(v, want.DType)
	}
	r.views[key] = r.fromMemoryOrder(v, want, order)
	return r.views[key]
}

// seenAs is a value read as a type.
type seenAs struct {
	value *ir.Value
	typ   string
}

// sameLayout reports whether a value laid out one way is one of a type laid out
// another way as it is. Where dimensions of size 1 stand does not matter.
func sameLayout(have ir.Type, from []uint8, want ir.Type, order []uint8) bool {
	if have.DType != want.DType || !sym.AllEqual(have.Sizes, want.Sizes) {
		return false
	}
	return slices.Equal(relevant(have.Sizes, from), relevant(want.Sizes, order))
}

func relevant(sizes []sym.Expr, order []uint8) []uint8 {
	return seq.Filter(order, func(k uint8) bool { return !sizes[k].Is(1) })
}

// inMemoryOrder permutes a tensor so that row-major is how it lies in memory.
func (r *raiser) inMemoryOrder(v *ir.Value, order []uint8) *ir.Value {
	if slices.IsSorted(relevant(v.Type.Sizes, order)) {
		return v
	}
	return r.b.Op("aten.permute.default", v, ints(order))
}

// fromMemoryOrder makes a tensor of a row-major one.
func (r *raiser) fromMemoryOrder(v *ir.Value, want ir.Type, order []uint8) *ir.Value {
	if slices.IsSorted(relevant(want.Sizes, order)) {
		if sym.AllEqual(v.Type.Sizes, want.Sizes) {
			return v
		}
		return r.b.Op("aten.view.default", v, want.Sizes)
	}
	sizes := make([]sym.Expr, len(order))
	back := make([]uint8, len(order))
	for i, k := range order {
		sizes[i] = want.Sizes[k]
		back[k] = uint8(i)
	}
	if !sym.AllEqual(v.Type.Sizes, sizes) {
		v = r.b.Op("aten.view.default", v, sizes)
	}
	return r.b.Op("aten.permute.default", v, ints(back))
}

// bytesAs looks at the bytes of a tensor as elements of another type. The
// result has one dimension.
func (r *raiser) bytesAs(v *ir.Value, d ir.DType) *ir.Value {
	v = r.flat(v)
	if v.Type.DType == d {
		return v
	}
	return r.b.Op("aten.view.dtype", v, d)
}

func (r *raiser) flat(v *ir.Value) *ir.Value {
	if v.Type.Rank() == 1 {
		return v
	}
	return r.b.Op("aten.view.default", v, []sym.Expr{v.Type.Numel()})
}

// assemble makes a tensor of parts of others.
func (r *raiser) assemble(pieces []piece, p place, want ir.Type,
	order []uint8) (out *ir.Value) {
	next := p.lo
	for _, x := range pieces {
		if _, static := x.value.Type.Bytes().Const(); !static {
			must.Fail("it reads a part (%v) of %v, whose size is not fixed", p,
				x.value.Type)
		}
		if x.lo != next {
			must.Fail("bytes %d to %d of what it reads (%v) were not written before",
				next, x.lo, p)
		}
		next = x.hi
	}
	if next != p.hi {
		must.Fail("bytes %d to %d of what it reads (%v) were not written before",
			next, p.hi, p)
	}
	// In elements if all pieces have the type and are whole ones, else in bytes.
	unit := want.DType
	for _, x := range pieces {
		size := int64(unit.Size())
		if x.value.Type.DType != want.DType || x.at%size != 0 || (x.hi-x.lo)%size != 0 {
			unit = ir.Uint8
		}
	}
	var parts []*ir.Value
	for _, x := range pieces {
		v := r.bytesAs(r.inMemoryOrder(x.value, x.order), unit)
		size := int64(unit.Size())
		lo, hi := x.at/size, (x.at+x.hi-x.lo)/size
		if n, _ := v.Type.Numel().Const(); lo != 0 || hi != n {
			v = r.b.Op("aten.slice.Tensor", v, 0, lo, hi)
		}
		parts = append(parts, v)
	}
	v := parts[0]
	if len(parts) > 1 {
		v = r.b.Op("aten.cat.default", parts, 0)
	}
	return r.fromMemoryOrder(r.bytesAs(v, want.DType), want, order)
}

func ints(order []uint8) []int64 {
	return seq.Map(order, func(k uint8) int64 { return int64(k) })
}

// write makes a tensor hold a value, which has its dtype and sizes; the value's
// type takes the tensor's layout.
func (r *raiser) write(t *tensor, v *ir.Value) {
	r.written(t.place)
	r.st.put(t.place, v, t.order)
	if _, ok := r.placed[v]; !ok && t.place.memory > 0 {
		r.placed[v] = t.place
	}
	if t.dynamic {
		r.st.sizes[t.slot] = v.Type.Sizes
	}
}
