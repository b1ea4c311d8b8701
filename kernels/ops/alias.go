package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// alias is a tensor that shares the elements of another: element c of it is
// element at(c) of the other.
type alias struct {
	ir.Type
	at func(c []sym.Expr) []sym.Expr
}

// restrided returns t with other sizes and strides.
func restrided(t ir.Type, sizes, strides []sym.Expr) ir.Type {
	t.Sizes, t.Strides = sizes, strides
	return t
}

// self returns t as an alias of itself.
func self(t ir.Type) alias {
	return alias{t, func(c []sym.Expr) []sym.Expr { return c }}
}

// permuted returns t with its dimensions in the order perm.
func permuted(t ir.Type, perm []int) alias {
	sizes, strides := make([]sym.Expr, len(perm)), make([]sym.Expr, len(perm))
	for i, d := range perm {
		sizes[i], strides[i] = t.Sizes[d], t.Strides[d]
	}
	return alias{restrided(t, sizes, strides), func(c []sym.Expr) []sym.Expr {
		out := make([]sym.Expr, len(c))
		for i, d := range perm {
			out[d] = c[i]
		}
		return out
	}}
}

// swapped returns t with two dimensions exchanged.
func swapped(t ir.Type, a, b int) alias {
	perm := upTo(t.Rank())
	if t.Rank() > 0 {
		perm[a], perm[b] = perm[b], perm[a]
	}
	return permuted(t, perm)
}

// upTo returns 0, 1, …, n-1.
func upTo(n int) []int {
	return seq.Of(n, func(i int) int { return i })
}

// expanded returns t broadcast to sizes, in which -1 keeps t's own.
func expanded(c *Call, t ir.Type, sizes []sym.Expr) alias {
	n := len(sizes) - t.Rank()
	c.errorIf(n < 0, "%d sizes for a tensor with %d dimensions", len(sizes), t.Rank())
	out, strides := slices.Clone(sizes), make([]sym.Expr, len(sizes))
	for d := len(sizes) - 1; d >= 0; d-- {
		own, stride := sym.Int(1), sym.Int(1)
		switch {
		case d >= n:
			own, stride = t.Sizes[d-n], t.Strides[d-n]
		case sizes[d].Is(-1):
			panic(c.Errorf("the size of new dimension %d is left open", d))
		case t.Rank() > 0: // a new dimension has the stride it would have if it were stored
			stride = sym.Mul(t.Sizes[0], t.Strides[0])
		}
		switch {
		case sizes[d].Is(-1) || sizes[d].Equal(own):
			out[d], strides[d] = own, stride
		case own.Is(1) && !sym.Less(sizes[d], sym.Int(0)):
		case differ(sizes[d], own):
			panic(c.Errorf("size %s of dimension %d does not expand to %s", own, d-n, sizes[d]))
		default:
			strides[d] = stride
		}
	}
	return alias{restrided(t, out, strides), func(c []sym.Expr) []sym.Expr {
		return broadcastCoords(t, out, c)
	}}
}

// differ reports whether two sizes are not certainly equal. PyTorch writes sizes
// that it traced as equal with the same symbols: what is not equal by its form may
// differ when the program runs, and nothing would check it.
func differ(a, b sym.Expr) bool { return !sym.Sub(a, b).IsZero() }

// unsqueezed returns t with a new dimension of size 1 before d.
func unsqueezed(t ir.Type, d int) alias {
	stride := sym.Int(1)
	if d < t.Rank() {
		stride = sym.Mul(t.Sizes[d], t.Strides[d])
	}
	sizes := slices.Insert(slices.Clone(t.Sizes), d, sym.Int(1))
	strides := slices.Insert(slices.Clone(t.Strides), d, stride)
	return alias{restrided(t, sizes, strides), func(c []sym.Expr) []sym.Expr {
		return slices.Delete(slices.Clone(c), d, d+1)
	}}
}

// squeezed returns t without those dimensions of drop whose size is 1.
func squeezed(t ir.Type, drop []bool) alias {
	var keep []int
	var sizes, strides []sym.Expr
	for d := range t.Sizes {
		if !drop[d] || !t.Sizes[d].Is(1) {
			keep = append(keep, d)
			sizes, strides = append(sizes, t.Sizes[d]), append(strides, t.Strides[d])
		}
	}
	rank := t.Rank()
	return alias{restrided(t, sizes, strides), func(c []sym.Expr) []sym.Expr {
		out := make([]sym.Expr, rank)
		for i, d := range keep {
			out[d] = c[i]
		}
		return out
	}}
}

// selected returns the slice of t at index i of dimension d, which is dropped.
func selected(c *Call, t ir.Type, d int, i sym.Expr) alias {
	c.errorIf(t.Rank() == 0, "a tensor without dimensions has nothing to select from")
	i = fromEnd(i, t.Sizes[d])
	c.errorIf(sym.Less(i, sym.Int(0)) || sym.LessEq(t.Sizes[d], i),
		"index %s is outside of dimension %d of size %s", i, d, t.Sizes[d])
	c.errorIf(!sym.Less(sym.Int(0), t.Sizes[d]), "dimension %d of size %s may have no element %s",
		d, t.Sizes[d], i)
	i = inside(i, sym.Sub(t.Sizes[d], sym.Int(1)))
	a := restrided(t, slices.Delete(slices.Clone(t.Sizes), d, d+1),
		slices.Delete(slices.Clone(t.Strides), d, d+1))
	a.Offset = sym.Add(t.Offset, sym.Mul(i, t.Strides[d]))
	return alias{a, func(c []sym.Expr) []sym.Expr { return slices.Insert(slices.Clone(c), d, i) }}
}

// fromEnd returns the place that Python's index i of n elements means: negative
// ones count from the end. The sign may be known only at run time.
func fromEnd(i, n sym.Expr) sym.Expr {
	switch {
	case sym.NonNegative(i):
		return i
	case sym.Less(i, sym.Int(0)):
		return sym.Add(i, n)
	}
	negative := sym.Min(sym.Max(sym.Neg(i), sym.Int(0)), sym.Int(1)) // 1 or 0
	return sym.Add(i, sym.Mul(negative, n))
}

// inside returns i kept in 0 … last, which nothing else checks at run time.
func inside(i, last sym.Expr) sym.Expr {
	if !sym.LessEq(i, last) {
		i = sym.Min(i, last)
	}
	if !sym.NonNegative(i) {
		i = sym.Max(i, sym.Int(0))
	}
	return i
}

// stepped returns n elements of dimension d of t, from start on in steps of
// step.
func stepped(t ir.Type, d int, start, n, step sym.Expr) alias {
	a := restrided(t, slices.Clone(t.Sizes), slices.Clone(t.Strides))
	a.Sizes[d] = n
	a.Strides[d] = sym.Mul(t.Strides[d], step)
	a.Offset = sym.Add(t.Offset, sym.Mul(start, t.Strides[d]))
	return alias{a, func(c []sym.Expr) []sym.Expr {
		out := slices.Clone(c)
		out[d] = sym.Add(start, sym.Mul(step, c[d]))
		return out
	}}
}

// diagonalOf returns the diagonal of dimensions d1 and d2 of t as a last
// dimension.
func diagonalOf(t ir.Type, offset int64, d1, d2 int) alias {
	row, col := sym.Int(max(-offset, 0)), sym.Int(max(offset, 0))
	n := sym.Max(sym.Min(sym.Sub(t.Sizes[d1], row), sym.Sub(t.Sizes[d2], col)), sym.Int(0))
	var rest []int
	var sizes, strides []sym.Expr
	for d := range t.Sizes {
		if d != d1 && d != d2 {
			rest = append(rest, d)
			sizes, strides = append(sizes, t.Sizes[d]), append(strides, t.Strides[d])
		}
	}
	a := restrided(t, append(sizes, n), append(strides, sym.Add(t.Strides[d1], t.Strides[d2])))
	if !n.IsZero() {
		a.Offset = sym.Add(t.Offset, sym.Mul(row, t.Strides[d1]), sym.Mul(col, t.Strides[d2]))
	}
	rank := t.Rank()
	return alias{a, func(c []sym.Expr) []sym.Expr {
		out := make([]sym.Expr, rank)
		for i, d := range rest {
			out[d] = c[i]
		}
		k := c[len(rest)]
		out[d1], out[d2] = sym.Add(k, row), sym.Add(k, col)
		return out
	}}
}

// windowed returns t with dimension d as the starts of windows of size
// elements, step apart, and a last dimension within them.
func windowed(c *Call, t ir.Type, d int, size, step int64) alias {
	if t.Rank() == 0 { // PyTorch takes it as one element
		c.errorIf(size > 1, "windows of %d in a tensor of one element", size)
		return alias{restrided(t, ir.Ints([]int64{size}), ir.Ints([]int64{1})),
			func([]sym.Expr) []sym.Expr { return nil }}
	}
	c.errorIf(step <= 0 || size < 0 || sym.Less(t.Sizes[d], sym.Int(size)),
		"windows of %d, %d apart, in dimension %d of size %s", size, step, d, t.Sizes[d])
	sizes, strides := slices.Clone(t.Sizes), slices.Clone(t.Strides)
	sizes[d] = sym.Add(sym.FloorDiv(sym.Sub(t.Sizes[d], sym.Int(size)), sym.Int(step)), sym.Int(1))
	strides[d] = sym.Mul(sym.Int(step), t.Strides[d])
	a := restrided(t, append(sizes, sym.Int(size)), append(strides, t.Strides[d]))
	return alias{a, func(c []sym.Expr) []sym.Expr {
		n := len(c) - 1
		out := slices.Clone(c[:n])
		out[d] = sym.Add(sym.Mul(c[d], sym.Int(step)), c[n])
		return out
	}}
}
