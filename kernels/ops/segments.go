package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// segmentReduce reduces the rows of each segment. Segments follow each other; how long they are,
// or where they begin and the last ends, is data.
func segmentReduce() entry {
	return derived("aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, "+
		"Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, "+
		"Scalar? initial=None) -> Tensor",
		func(b *Builder, c *Call) *ir.Value {
			x := c.Value("data")
			t := x.Type
			c.errorIf(t.Rank() < 1 || !t.DType.IsFloat(), "segments of %s in %s", t.DType, sizesOf{t})
			c.errorIf(c.dim("axis", t.Rank()) != 0, "segments along another dimension than the first")
			c.errorIf(c.Has("indices") || c.Has("lengths") == c.Has("offsets"),
				"segments by something else than lengths, or offsets")
			var begin, end *ir.Value
			if c.Has("lengths") {
				lengths := c.Value("lengths")
				c.errorIf(lengths.Type.Rank() != 1, "lengths of %s", sizesOf{lengths.Type})
				end = b.aten("cumsum", lengths, 0)
				begin = b.sub(end, lengths)
				if !c.Bool("unsafe") {
					all := b.aten("eq.Scalar", b.aten("sum", lengths), t.Sizes[0])
					b.assert(all, "segment_reduce: the lengths are those of all rows")
				}
			} else {
				offsets := c.Value("offsets")
				c.errorIf(offsets.Type.Rank() != 1 || offsets.Type.Sizes[0].IsZero(), "offsets of %s",
					sizesOf{offsets.Type})
				c.need(offsets.Type.Sizes[0])
				n := sym.Sub(offsets.Type.Sizes[0], sym.Int(1))
				begin, end = b.aten("narrow", offsets, 0, 0, n), b.aten("narrow", offsets, 0, 1, n)
			}
			n := begin.Type.Sizes[0]
			c.need(n)
			how, ok := map[string]struct {
				op   string
				none float64 // the result of no rows
			}{"sum": {"sum", 0}, "mean": {"sum", 0}, "prod": {"prod", 1},
				"max": {"amax", math.Inf(-1)}, "min": {"amin", inf}}[c.Str("reduce")]
			c.errorIf(!ok, "reduce of %q", c.Str("reduce"))
			start := how.none
			if c.Has("initial") {
				start = must(c.Float("initial"))
			}
			perRow := func(v *ir.Value) *ir.Value {
				return b.reshaped(v, slices.Concat(v.Type.Sizes,
					slices.Repeat([]sym.Expr{sym.Int(1)}, t.Rank()-1))...)
			}
			// The segment of a row is the number of those that end before it.
			rows := b.aten("arange", t.Sizes[0], Kw("dtype", end.Type.DType))
			segment := b.aten("sum.dim_IntList", b.aten("le.Tensor", b.aten("unsqueeze", end, 1), rows),
				[]int{0})
			segment = b.aten("clamp", segment, nil, sym.Sub(n, sym.Int(1)))
			// Rows before the first segment and behind the last change nothing.
			inside := b.aten("logical_and",
				b.aten("ge.Tensor", rows, b.aten("select.int", begin, 0, 0)),
				b.aten("lt.Tensor", rows, b.aten("select.int", end, 0, -1)))
			x = b.where(perRow(inside), x, how.none, t.DType)
			sizes := append([]sym.Expr{n}, t.Sizes[1:]...)
			y := b.aten("full", sizes, start, Kw("dtype", t.DType))
			if how.op == "sum" {
				y = b.aten("index_add", y, 0, segment, x)
			} else {
				index := b.aten("expand", perRow(segment), t.Sizes)
				y = b.aten("scatter_reduce.two", y, 0, index, x, how.op)
			}
			if c.Str("reduce") != "mean" {
				return y
			}
			length := perRow(b.sub(end, begin))
			empty := start // the mean of no rows
			if !c.Has("initial") {
				empty = math.NaN()
			}
			return b.where(b.aten("gt.Scalar", length, 0), b.div(y, b.cast(length, t.DType)), empty,
				t.DType)
		})
}
