package ops

import (
	"slices"
	"strconv"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// defaultFloat is torch.get_default_dtype() at export.
const defaultFloat = ir.Float32

// rank orders the dtypes that PyTorch promotes by taking the higher one.
// Float16 and BFloat16 meet in Float32, uint8 with a signed type in one that
// holds both.
var rank = map[ir.DType]int{
	ir.Bool: 1, ir.Uint8: 2, ir.Int8: 2, ir.Uint16: 3, ir.Int16: 3, ir.Uint32: 4, ir.Int32: 4,
	ir.Uint64: 5, ir.Int64: 5,
	ir.Float16: 6, ir.BFloat16: 6, ir.Float32: 7, ir.Float64: 8,
	ir.Complex32: 9, ir.Complex64: 10, ir.Complex128: 11,
}

// promoteTypes is torch.promote_types; ok is false where it raises. An invalid
// dtype promotes to the other.
func promoteTypes(a, b ir.DType) (d ir.DType, ok bool) {
	if a == b || b == ir.InvalidDType {
		return a, true
	}
	if a == ir.InvalidDType {
		return b, true
	}
	ra, rb := rank[a], rank[b]
	if ra == 0 || rb == 0 {
		return ir.InvalidDType, false // the 8-bit floats
	}
	if ra > rb || ra == rb && b.IsUnsigned() {
		a, b, ra, rb = b, a, rb, ra
	}
	switch { // b is the higher one, or the signed one of equal size
	case ra == rb && a.IsFloat():
		return ir.Float32, true
	case b.IsComplex():
		if (a == ir.Float64) || b == ir.Complex32 && a == ir.Float32 || b == ir.Complex32 &&
			a == ir.BFloat16 {
			return promoteTypes(complexOf(a), b)
		}
	case a.IsInt() && b.IsInt() && a.IsUnsigned() != b.IsUnsigned():
		if a != ir.Uint8 && b != ir.Uint8 {
			return ir.InvalidDType, false // PyTorch does not mix these
		}
		if b.IsUnsigned() { // int8 with uint16 and wider
			return ir.InvalidDType, false
		}
		if ra == rb {
			return ir.Int16, true
		}
	}
	return b, true
}

// complexOf returns the complex dtype whose parts are d.
func complexOf(d ir.DType) ir.DType {
	switch d {
	case ir.Float16:
		return ir.Complex32
	case ir.Float64:
		return ir.Complex128
	}
	return ir.Complex64
}

// opmath returns the dtype in which PyTorch computes on d: Float32 for the
// narrow floats, which are rounded once at the end of an operator.
func opmath(d ir.DType) ir.DType {
	switch d {
	case ir.Float16, ir.BFloat16, ir.Float8E4M3FN, ir.Float8E5M2, ir.Float8E4M3FNUZ,
		ir.Float8E5M2FNUZ, ir.Float8E8M0FNU:
		return ir.Float32
	}
	return d
}

// promotion is torch.result_type under way: tensors with dimensions outweigh
// tensors without, and those outweigh Python numbers, unless the category
// (bool, integer, float, complex) of the lighter one is higher.
type promotion struct {
	dims, zero, wrapped ir.DType
	bad                 bool
}

func (p *promotion) add(to *ir.DType, d ir.DType) {
	r, ok := promoteTypes(*to, d)
	if !ok {
		p.bad = true
	}
	*to = r
}

func (p *promotion) tensor(t ir.Type) {
	if t.Rank() > 0 {
		p.add(&p.dims, t.DType)
	} else {
		p.add(&p.zero, t.DType)
	}
}

func (p *promotion) number(d ir.DType) { p.add(&p.wrapped, d) }

func (p *promotion) result() (ir.DType, bool) {
	d, ok := combineCategories(p.zero, p.wrapped)
	if ok {
		d, ok = combineCategories(p.dims, d)
	}
	return d, ok && !p.bad
}

func combineCategories(higher, lower ir.DType) (ir.DType, bool) {
	switch {
	case higher.IsComplex():
		return higher, true
	case higher.IsFloat():
		if lower.IsComplex() {
			return complexOf(higher), true
		}
		return higher, true
	case higher == ir.Bool || lower.IsFloat() || lower.IsComplex():
		return promoteTypes(higher, lower)
	case higher != ir.InvalidDType:
		return higher, true
	}
	return lower, true
}

// numberDType returns the dtype a Python number has as a tensor.
func numberDType(a ir.Arg) ir.DType {
	switch a := a.(type) {
	case ir.BoolArg:
		return ir.Bool
	case ir.Int:
		return ir.Int64
	case ir.Float:
		return defaultFloat
	case ir.Complex:
		return complexOf(defaultFloat)
	case ir.Ref:
		switch a.Value.Type.Kind {
		case ir.BoolKind:
			return ir.Bool
		case ir.IntKind:
			return ir.Int64
		case ir.FloatKind:
			return defaultFloat
		}
	}
	return ir.InvalidDType
}

// Promote returns the common dtype of arguments, which are tensors or numbers;
// absent ones do not count.
func (c *Call) Promote(names ...string) (ir.DType, error) {
	var p promotion
	for _, name := range names {
		c.promoteArg(&p, c.Arg(name))
	}
	d, ok := p.result()
	if !ok {
		return d, c.Errorf("the dtypes of its arguments do not promote to a common one")
	}
	return d, nil
}

func (c *Call) promoteArg(p *promotion, a ir.Arg) {
	switch a := a.(type) {
	case ir.None:
	case ir.List:
		for _, x := range a {
			c.promoteArg(p, x)
		}
	case ir.Ref:
		if a.Value.Type.Kind == ir.TensorKind {
			p.tensor(a.Value.Type)
			return
		}
		p.number(numberDType(a))
	default:
		p.number(numberDType(a))
	}
}

// Broadcast returns the common sizes of ts by NumPy's rule; ok is false if
// there are none, or if sizes may differ when the program runs. A size that is a
// symbol does not count as 1, even if it may be.
func Broadcast(ts ...ir.Type) (sizes []sym.Expr, ok bool) {
	n := 0
	for _, t := range ts {
		n = max(n, t.Rank())
	}
	sizes = seq.Of(n, func(i int) sym.Expr { return sym.Int(1) })
	for _, t := range ts {
		for i, s := range t.Sizes {
			at := &sizes[n-t.Rank()+i]
			switch {
			case s.Is(1):
			case at.Is(1):
				*at = s
			case differ(s, *at):
				return nil, false
			}
		}
	}
	return sizes, true
}

// broadcastsTo reports whether t may stand for a tensor of sizes: those that
// broadcasting gives are these.
func broadcastsTo(t ir.Type, sizes []sym.Expr) bool {
	both, ok := Broadcast(t, ir.Type{Sizes: sizes})
	return ok && sym.AllEqual(both, sizes)
}

// pointwiseType returns the type of the result of an elementwise operator over
// ts: their broadcast sizes and the strides PyTorch's TensorIterator gives,
// which keep the operands' common order of dimensions.
func pointwiseType(d ir.DType, ts ...ir.Type) (ir.Type, bool) {
	sizes, ok := Broadcast(ts...)
	if !ok {
		return ir.Type{}, false
	}
	return ir.Type{Kind: ir.TensorKind, DType: d, Sizes: sizes,
		Strides: pointwiseStrides(sizes, ts)}, true
}

func pointwiseStrides(sizes []sym.Expr, ts []ir.Type) []sym.Expr {
	if strides, ok := sameLayout(sizes, ts); ok {
		return strides
	}
	if rowMajor(sizes, ts) {
		return ir.Contiguous(sizes)
	}
	n := len(sizes)
	// over holds the strides over the broadcast dimensions, 0 where an operand
	// is repeated.
	over := make([][]sym.Expr, len(ts))
	for k, t := range ts {
		over[k] = make([]sym.Expr, n)
		for i := range t.Sizes {
			d := n - t.Rank() + i
			if !t.Sizes[i].Is(1) || sizes[d].Is(1) {
				over[k][d] = t.Strides[i]
			}
		}
	}
	// perm lists the dimensions from the innermost out.
	perm := seq.Of(n, func(i int) int { return n - 1 - i })
	// compare tells whether dimension a belongs outside (1) or inside (-1) of b.
	compare := func(a, b int) int {
		for k := range ts {
			sa, sb := over[k][a], over[k][b]
			switch {
			case sa.IsZero() || sb.IsZero():
			case sa.Equal(sb):
				if less(sizes[b], sizes[a]) {
					return 1
				}
			case less(sa, sb):
				return -1
			case less(sb, sa):
				return 1
			}
		}
		return 0
	}
	for i := 1; i < n; i++ { // insertion sort that stops only at a clear answer
		at := i
		for j := i - 1; j >= 0; j-- {
			c := compare(perm[j], perm[at])
			if c > 0 {
				perm[j], perm[at] = perm[at], perm[j]
				at = j
			} else if c < 0 {
				break
			}
		}
	}
	return stridesInOrder(sizes, perm)
}

// stridesInOrder returns dense strides with perm's dimensions from the
// innermost out.
func stridesInOrder(sizes []sym.Expr, perm []int) []sym.Expr {
	n := len(sizes)
	rowMajor := true
	for i, d := range perm {
		rowMajor = rowMajor && d == n-1-i
	}
	if rowMajor {
		return ir.Contiguous(sizes)
	}
	strides := make([]sym.Expr, n)
	next := sym.Int(1)
	for _, d := range perm {
		strides[d] = next
		next = sym.Mul(next, sizes[d])
	}
	return strides
}

// sameLayout is TensorIterator's short cut for operands of one shape: all
// row-major, all channels last, or all dense with the same strides.
func sameLayout(sizes []sym.Expr, ts []ir.Type) ([]sym.Expr, bool) {
	eq := sym.Expr.Equal
	contiguous, last, dense := true, true, true
	for _, t := range ts {
		if !slices.EqualFunc(t.Sizes, sizes, eq) {
			return nil, false
		}
		contiguous = contiguous && t.IsContiguous()
		last = last && isChannelsLast(t)
		dense = dense && slices.EqualFunc(t.Strides, ts[0].Strides, eq) && isDense(t)
	}
	switch {
	case len(ts) == 0 || contiguous:
		return ir.Contiguous(sizes), true
	case last:
		return channelsLastStrides(sizes), true
	case dense:
		return ts[0].Strides, true
	}
	return nil, false
}

// rowMajor is FakeTensor's short cut for operands that are all row-major and
// of which one has the common shape. It differs from the long way only for
// tensors without elements.
func rowMajor(sizes []sym.Expr, ts []ir.Type) bool {
	whole := false
	for _, t := range ts {
		whole = whole || sym.AllEqual(t.Sizes, sizes)
		if !t.IsContiguous() {
			return false
		}
	}
	return whole
}

// less reports whether a < b for certain.
func less(a, b sym.Expr) bool { return sym.NonNegative(sym.Sub(sym.Sub(b, a), sym.Int(1))) }

// channelsLastStrides returns the strides of torch.channels_last for four
// dimensions, of channels_last_3d for five.
func channelsLastStrides(sizes []sym.Expr) []sym.Expr {
	perm := []int{1}
	for d := len(sizes) - 1; d >= 2; d-- {
		perm = append(perm, d)
	}
	return stridesInOrder(sizes, append(perm, 0))
}

// isChannelsLast reports whether t is contiguous in the channels-last format
// of its rank.
func isChannelsLast(t ir.Type) bool {
	if t.Rank() != 4 && t.Rank() != 5 {
		return false
	}
	for i, s := range channelsLastStrides(t.Sizes) {
		if !t.Sizes[i].Is(1) && !s.Equal(t.Strides[i]) {
			return false
		}
	}
	return true
}

// isDense reports whether the elements of t fill a run of memory, each at its
// own place, in some order of the dimensions.
func isDense(t ir.Type) bool {
	_, ok := denseOrder(t)
	return ok
}

// denseOrder returns the dimensions of t from the innermost out if t is dense
// for certain. Dimensions of size 1 come last.
func denseOrder(t ir.Type) (perm []int, ok bool) {
	var ones []int
	rest := make([]int, 0, t.Rank())
	for d := t.Rank() - 1; d >= 0; d-- {
		if t.Sizes[d].Is(1) {
			ones = append(ones, d)
		} else {
			rest = append(rest, d)
		}
	}
	next := sym.Int(1)
	for len(rest) > 0 {
		i := slices.IndexFunc(rest, func(d int) bool { return t.Strides[d].Equal(next) })
		if i < 0 {
			return nil, false
		}
		d := rest[i]
		rest = slices.Delete(rest, i, i+1)
		perm = append(perm, d)
		next = sym.Mul(next, t.Sizes[d])
	}
	return append(perm, ones...), true
}

// likeStrides returns the strides of empty_like with preserve_format: those of
// t if it is dense, else row-major ones in the order of t's strides.
func likeStrides(t ir.Type) []sym.Expr {
	if isDense(t) {
		return t.Strides
	}
	return pointwiseStrides(t.Sizes, []ir.Type{t})
}

// suggestsChannelsLast is Tensor::suggest_memory_format() == ChannelsLast (or
// ChannelsLast3d): the strides grow in the order C, W, H, (D,) N, and are not
// just as well row-major.
func suggestsChannelsLast(t ir.Type) bool {
	n := t.Rank()
	if n != 4 && n != 5 || t.Strides[1].IsZero() {
		return false
	}
	order := []int{1}
	for d := n - 1; d >= 2; d-- {
		order = append(order, d)
	}
	least := sym.Int(0)
	for _, d := range append(order, 0) {
		if t.Sizes[d].IsZero() || !sym.LessEq(least, t.Strides[d]) {
			return false
		}
		if d == 0 && least.Equal(t.Strides[1]) {
			return false
		}
		least = t.Strides[d]
		if !t.Sizes[d].Is(1) {
			least = sym.Mul(least, t.Sizes[d])
		}
	}
	return true
}

// inFormatOf returns a tensor of dtype d that is channels last if t is.
func inFormatOf(t ir.Type, d ir.DType, sizes []sym.Expr) ir.Type {
	u := ir.TensorOf(d, sizes...)
	if suggestsChannelsLast(t) {
		u.Strides = channelsLastStrides(sizes)
	}
	return u
}

// sameSizes reports whether sizes are certainly equal.
func sameSizes(a, b []sym.Expr) bool {
	return slices.EqualFunc(a, b, func(x, y sym.Expr) bool { return !differ(x, y) })
}

// dim returns an int argument as a dimension of a tensor of the given rank;
// negative ones count from the end. A tensor without dimensions counts as
// having one.
func (c *Call) dim(name string, rank int) int { return c.wrapDim(must(c.Int(name)), rank) }

func (c *Call) wrapDim(n int64, rank int) int {
	r := int64(max(rank, 1))
	c.errorIf(n < -r || n >= r, "dimension %d of a tensor with %d", n, rank)
	if n < 0 {
		n += r
	}
	return int(n)
}

// dims returns an int[] argument as a set of dimensions: set[d] tells whether
// d is in it. None, and where ATen means so the empty list, stand for all.
func (c *Call) dims(name string, rank int, emptyIsAll bool) []bool {
	set := make([]bool, rank)
	var ns []int64
	if c.Has(name) {
		ns = must(c.Ints(name))
	}
	if !c.Has(name) || len(ns) == 0 && emptyIsAll {
		for d := range set {
			set[d] = true
		}
		return set
	}
	seen := make([]bool, max(rank, 1))
	for _, n := range ns {
		d := c.wrapDim(n, rank)
		c.errorIf(seen[d], "dimension %d is given twice", d)
		seen[d] = true
	}
	copy(set, seen)
	return set
}

// zeros returns the coordinates of the first element.
func zeros(rank int) []sym.Expr { return make([]sym.Expr, rank) }

// one returns a single result type.
func one(t ir.Type) []ir.Type { return []ir.Type{t} }

func itoa(n int) string { return strconv.Itoa(n) }
