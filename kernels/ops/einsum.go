package ops

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// einsum is a parsed equation over operands. Labels are letters; those of an
// ellipsis are negative, -1 the last.
type einsum struct {
	in    [][]int          // labels of each operand's dimensions
	out   []int            // of the result
	sizes map[int]sym.Expr // of each label: that of the operand in which it is not 1
}

// parseEinsum reads the equation of c.
func parseEinsum(c *Call) *einsum {
	ts := c.Tensors("tensors")
	text := strings.ReplaceAll(c.Str("equation"), " ", "")
	left, right, explicit := strings.Cut(text, "->")
	terms := strings.Split(left, ",")
	c.errorIf(len(terms) != len(ts) || len(ts) == 0, "equation %q is for %d operands, not %d", text,
		len(terms), len(ts))
	e := &einsum{sizes: map[int]sym.Expr{}}
	count, dots := map[int]int{}, 0
	for i, term := range terms {
		labels := einsumLabels(c, term, ts[i].Rank())
		c.errorIf(len(labels) != ts[i].Rank(), "%q names %d dimensions of an operand with %d", term,
			len(labels), ts[i].Rank())
		for d, l := range labels {
			s := ts[i].Sizes[d]
			if have, ok := e.sizes[l]; !ok || have.Is(1) {
				e.sizes[l] = s
			} else if !s.Is(1) && differ(have, s) {
				panic(c.Errorf("%q has sizes %s and %s for one label", text, have, s))
			}
			count[l]++
			dots = max(dots, -l)
		}
		e.in = append(e.in, labels)
	}
	if explicit {
		labels := einsumLabels(c, right, dots+len(strings.ReplaceAll(right, "...", "")))
		for i, l := range labels {
			c.errorIf(count[l] == 0 || slices.Contains(labels[:i], l),
				"the result of %q names a dimension that no operand has, or one twice", text)
		}
		e.out = labels
		return e
	}
	for l := -dots; l < 0; l++ {
		e.out = append(e.out, l)
	}
	for l := range 'z' + 1 { // in the order of letters, capitals first
		if count[int(l)] == 1 {
			e.out = append(e.out, int(l))
		}
	}
	return e
}

// einsumLabels returns the labels of a term for a tensor of the given rank.
func einsumLabels(c *Call, term string, rank int) []int {
	before, after, dots := strings.Cut(term, "...")
	var labels []int
	add := func(s string) {
		for _, r := range s {
			c.errorIf((r < 'a' || r > 'z') && (r < 'A' || r > 'Z'), "%q in %q is no label", r, term)
			labels = append(labels, int(r))
		}
	}
	add(before)
	if dots {
		for l := min(len(before)+len(after)-rank, 0); l < 0; l++ {
			labels = append(labels, l)
		}
	}
	add(after)
	return labels
}

// keep returns the labels that are still needed after operand k.
func (e *einsum) keep(k int) []int {
	return slices.Concat(append([][]int{e.out}, e.in[k+1:]...)...)
}

// without returns labels, each once, for which drop is false.
func without(labels []int, drop func(l int) bool) []int {
	var out []int
	for _, l := range labels {
		if !drop(l) && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// pairing sorts the labels of two operands: in both and kept, in both and
// summed, in one alone; each in the order of the result. If all that b alone
// has comes first there, b is to be the left factor.
func (e *einsum) pairing(a, b, keep []int) (batch, sum, onlyA, onlyB []int, swap bool) {
	in := func(set []int) func(int) bool {
		return func(l int) bool { return slices.Contains(set, l) }
	}
	batch = without(a, func(l int) bool { return !in(b)(l) || !in(keep)(l) })
	sum = without(a, func(l int) bool { return !in(b)(l) || in(keep)(l) })
	onlyA = without(a, func(l int) bool { return in(b)(l) || !in(keep)(l) })
	onlyB = without(b, func(l int) bool { return in(a)(l) || !in(keep)(l) })
	for _, set := range [][]int{batch, sum, onlyA, onlyB} {
		seq.Sort(set, func(x, y int) int { return e.rank(x) - e.rank(y) })
	}
	swap = len(onlyA) > 0 && len(onlyB) > 0 && e.rank(onlyB[len(onlyB)-1]) < e.rank(onlyA[0])
	return
}

// rank orders labels: those of the result as they stand there, then the others.
func (e *einsum) rank(l int) int {
	if i := slices.Index(e.out, l); i >= 0 {
		return i
	}
	return len(e.out) + 'z' + l
}

func (e *einsum) of(labels []int) []sym.Expr {
	return seq.Map(labels, func(l int) sym.Expr { return e.sizes[l] })
}

// single returns x with each label once: dimensions that share one leave their
// diagonal, at the end, and those of size 1 that broadcast are dropped.
//
//go:noinline
func (e *einsum) single(b *Builder, x *ir.Value, labels []int) (*ir.Value, []int) {
	labels = slices.Clone(labels)
	for i := 0; i < len(labels); {
		l := labels[i]
		j := i + 1 + slices.Index(labels[i+1:], l)
		switch {
		case j > i:
			x = b.aten("diagonal", x, 0, i, j)
			labels = append(slices.Delete(slices.Delete(labels, j, j+1), i, i+1), l)
		case x.Type.Sizes[i].Is(1) && !e.sizes[l].Is(1):
			x = b.aten("select.int", x, i, 0)
			labels = slices.Delete(labels, i, i+1)
		default:
			i++
		}
	}
	return x, labels
}

// places returns where in labels each of want is.
func places(labels, want []int) []int {
	return seq.Map(want, func(l int) int { return slices.Index(labels, l) })
}

// build emits the products from left to right.
func (e *einsum) build(b *Builder, xs []*ir.Value) *ir.Value {
	x, labels := e.single(b, xs[0], e.in[0])
	for k := 1; k < len(xs); k++ {
		y, other := e.single(b, xs[k], e.in[k])
		x, labels = e.product(b, x, y, labels, other, e.keep(k))
	}
	x, labels = sumOut(b, x, labels, e.out)
	return b.aten("permute", x, places(labels, e.out))
}

// sumOut sums over the dimensions that are not kept.
func sumOut(b *Builder, x *ir.Value, labels, keep []int) (*ir.Value, []int) {
	var dims, rest []int
	for i, l := range labels {
		if slices.Contains(keep, l) {
			rest = append(rest, l)
		} else {
			dims = append(dims, i)
		}
	}
	if len(dims) == 0 {
		return x, labels
	}
	return b.aten("sum.dim_IntList", x, dims, Kw("dtype", x.Type.DType)), rest
}

// product multiplies two operands as batches of matrices.
func (e *einsum) product(b *Builder, x, y *ir.Value, lx, ly, keep []int) (*ir.Value, []int) {
	x, lx = sumOut(b, x, lx, slices.Concat(ly, keep))
	y, ly = sumOut(b, y, ly, slices.Concat(lx, keep))
	batch, sum, onlyX, onlyY, swap := e.pairing(lx, ly, keep)
	if swap {
		x, y, lx, ly, onlyX, onlyY = y, x, ly, lx, onlyY, onlyX
	}
	bring := func(v *ir.Value, labels []int, groups ...[]int) *ir.Value {
		order := slices.Concat(groups...)
		v = b.aten("permute", v, places(labels, order))
		sizes := seq.Map(groups, func(g []int) sym.Expr { return sym.Mul(e.of(g)...) })
		return b.aten("reshape", v, sizes)
	}
	p := b.aten("bmm", bring(x, lx, batch, onlyX, sum), bring(y, ly, batch, sum, onlyY))
	labels := slices.Concat(batch, onlyX, onlyY)
	return b.aten("view", p, e.of(labels)), labels
}

// einsumOps is torch.einsum.
func einsumOps() []entry {
	return []entry{derived(
		"aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
		func(b *Builder, c *Call) *ir.Value {
			ts := c.Tensors("tensors")
			for _, t := range ts {
				c.errorIf(t.DType != ts[0].DType, "the product of %s and %s", ts[0].DType, t.DType)
			}
			return parseEinsum(c).build(b, c.Operands())
		})}
}
