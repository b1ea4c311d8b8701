package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// unflatten is the inverse of sym.RowMajor.
func unflatten(at sym.Expr, sizes []sym.Expr) []sym.Expr {
	coords := make([]sym.Expr, len(sizes))
	for d := len(sizes) - 1; d >= 0; d-- {
		switch {
		case d == 0:
			coords[d] = at
		case sizes[d].IsZero() || sizes[d].Is(1): // nothing is ever read, or 0
		default:
			coords[d] = sym.Mod(at, sizes[d])
			at = sym.FloorDiv(at, sizes[d])
		}
	}
	return coords
}

// reshapeCoords returns the coordinates in a tensor of sizes from of what is at
// coords after it was reshaped to sizes to. Dimensions are matched in groups of
// equal product, so that what stays the same needs no division.
func reshapeCoords(from, to, coords []sym.Expr) []sym.Expr {
	out := make([]sym.Expr, len(from))
	for i, j := 0, 0; i < len(from) || j < len(to); {
		i0, j0 := i, j
		p, q := sym.Int(1), sym.Int(1)
		if i < len(from) {
			p = from[i]
			i++
		}
		if j < len(to) {
			q = to[j]
			j++
		}
		for !p.Equal(q) {
			switch {
			case i < len(from) && sym.LessEq(p, q):
				p = sym.Mul(p, from[i])
				i++
			case j < len(to) && sym.LessEq(q, p):
				q = sym.Mul(q, to[j])
				j++
			default: // who is larger cannot be told: all the rest is one group
				i, j = len(from), len(to)
				q = p
			}
		}
		copy(out[i0:], unflatten(sym.RowMajor(to[j0:j], coords[j0:j]), from[i0:i]))
	}
	return out
}

// openSize returns sizes with the one -1 in it replaced so that they hold
// numel elements.
func (c *Call) openSize(sizes []sym.Expr, numel sym.Expr) ([]sym.Expr, error) {
	sizes = slices.Clone(sizes)
	open, known := -1, sym.Int(1)
	for d, s := range sizes {
		switch {
		case s.Is(-1):
			if open >= 0 {
				return nil, c.Errorf("more than one size is -1")
			}
			open = d
		default:
			if n, ok := s.Const(); ok && n < 0 {
				return nil, c.Errorf("size %d", n)
			}
			known = sym.Mul(known, s)
		}
	}
	if open >= 0 {
		if known.IsZero() {
			return nil, c.Errorf("a size of -1 beside a size of 0")
		}
		sizes[open] = sym.FloorDiv(numel, known)
		known = sym.Mul(known, sizes[open])
	}
	if differ(known, numel) {
		return nil, c.Errorf("%s elements do not make %s", numel,
			describeSizes([]ir.Type{{Sizes: sizes}}))
	}
	return sizes, nil
}

// viewStrides returns the strides with which t's storage holds t reshaped to
// sizes; ok is false if no strides do. Sizes that cannot be compared count as
// different.
func viewStrides(t ir.Type, sizes []sym.Expr) (strides []sym.Expr, ok bool) {
	if slices.EqualFunc(sizes, t.Sizes, sym.Expr.Equal) {
		return t.Strides, true
	}
	if t.Numel().IsZero() {
		return ir.Contiguous(sizes), true
	}
	strides = make([]sym.Expr, len(sizes))
	if t.Rank() == 0 {
		for d := range strides {
			strides[d] = sym.Int(1)
		}
		return strides, true
	}
	v := len(sizes) - 1
	base := t.Strides[t.Rank()-1]
	have, want := sym.Int(1), sym.Int(1)
	for d := t.Rank() - 1; d >= 0; d-- {
		have = sym.Mul(have, t.Sizes[d])
		if d > 0 && (t.Sizes[d-1].Is(1) || t.Strides[d-1].Equal(sym.Mul(have, base))) {
			continue
		}
		for v >= 0 && (sizes[v].Is(1) || !want.Equal(have)) {
			strides[v] = sym.Mul(want, base)
			want = sym.Mul(want, sizes[v])
			v--
			if less(have, want) {
				return nil, false
			}
		}
		if differ(want, have) || v >= 0 && !want.Equal(have) {
			return nil, false
		}
		if d > 0 {
			base = t.Strides[d-1]
			have, want = sym.Int(1), sym.Int(1)
		}
	}
	return strides, v < 0
}

// tracedStrides are the strides that PyTorch's tracer gives to a view that
// viewStrides allows: it splits and merges dimensions from the left, and so
// differs from eager in strides of dimensions of size 1.
func tracedStrides(t ir.Type, sizes []sym.Expr) (strides []sym.Expr, ok bool) {
	if t.Numel().IsZero() || t.IsContiguous() && (len(sizes) == 1 && t.Rank() > 1 ||
		len(sizes) == 2 && t.Rank() == 1) {
		return ir.Contiguous(sizes), true
	}
	if t.Rank() == 0 {
		return ir.Contiguous(sizes), true
	}
	have, stride := slices.Clone(t.Sizes), slices.Clone(t.Strides)
	for i, n := range sizes {
		if i >= len(have) { // only ones are left
			have, stride = append(have, sym.Int(1)), append(stride, stride[i-1])
			continue
		}
		if n.Equal(have[i]) {
			continue
		}
		end, product := i, have[i]
		for !sym.Mod(product, n).IsZero() {
			if end++; end >= len(have) {
				return nil, false
			}
			product = sym.Mul(product, have[end])
		}
		least := stride[end]
		for d := end - 1; d >= i; d-- {
			if !have[d].Is(1) && less(stride[d], least) {
				least = stride[d]
			}
		}
		have, stride = slices.Replace(have, i, end+1, product), slices.Replace(stride, i,
			end+1, least)
		if inner := sym.FloorDiv(product, n); !inner.Is(1) || !product.Equal(n) {
			have, stride = slices.Replace(have, i, i+1, n, inner), slices.Replace(stride, i, i+1,
				sym.Mul(least, inner), least)
		}
	}
	return stride[:len(sizes)], true
}

// reshaped returns t, viewed with other sizes; the type is dense if no view is
// possible, and ok false.
func (c *Call) reshaped(t ir.Type, sizes []sym.Expr) (a alias, ok bool, err error) {
	if sizes, err = c.openSize(sizes, t.Numel()); err != nil {
		return alias{}, false, err
	}
	from := t.Sizes
	at := func(coords []sym.Expr) []sym.Expr { return reshapeCoords(from, sizes, coords) }
	strides, ok := viewStrides(t, sizes)
	if !ok {
		return alias{ir.TensorOf(t.DType, sizes...), at}, false, nil
	}
	if traced, ok := tracedStrides(t, sizes); ok {
		strides = traced
	}
	return alias{restrided(t, sizes, strides), at}, true, nil
}

// storageCoords returns the coordinates in t of the element at position at of
// its storage. t must be dense.
func storageCoords(t ir.Type, at sym.Expr) ([]sym.Expr, bool) {
	perm, ok := denseOrder(t)
	if !ok {
		return nil, false
	}
	slices.Reverse(perm) // from the outermost in
	sizes := make([]sym.Expr, len(perm))
	for i, d := range perm {
		sizes[i] = t.Sizes[d]
	}
	out := make([]sym.Expr, len(perm))
	for i, c := range unflatten(sym.Sub(at, t.Offset), sizes) {
		out[perm[i]] = c
	}
	return out, true
}

// strided returns the tensor that has the given sizes and strides over t's
// storage. What it reads must lie in t itself, and t be dense.
func (c *Call) strided(t ir.Type, sizes, strides []sym.Expr, offset sym.Expr) (alias, error) {
	if len(sizes) != len(strides) {
		return alias{}, c.Errorf("%d sizes and %d strides", len(sizes), len(strides))
	}
	last, empty := offset, false
	for d, s := range sizes {
		empty = empty || s.IsZero()
		if !sym.NonNegative(s) || !sym.NonNegative(strides[d]) {
			return alias{}, c.Errorf("the size %s with stride %s", s, strides[d])
		}
		last = sym.Add(last, sym.Mul(sym.Sub(s, sym.Int(1)), strides[d]))
	}
	if !empty && !(sym.LessEq(t.Offset, offset) && sym.Less(last, sym.Add(t.Offset, t.Numel()))) {
		return alias{},
			c.Errorf(
				"elements %s to %s of the storage are asked for, of which the operand holds only %s to %s",
				offset, last, t.Offset, sym.Add(t.Offset, t.Numel(), sym.Int(-1)))
	}
	if !isDense(t) {
		return alias{},
			c.Errorf(
				"the operand has gaps or repeated elements, so that its storage is not at hand; make it contiguous before as_strided")
	}
	a := restrided(t, sizes, strides)
	a.Offset = offset
	return alias{a, func(coords []sym.Expr) []sym.Expr {
		at := offset
		for d, x := range coords {
			at = sym.Add(at, sym.Mul(x, strides[d]))
		}
		out, _ := storageCoords(t, at)
		return out
	}}, nil
}
