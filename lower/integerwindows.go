package lower

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// windows are weighted sums of a quantity over windows, of which unit make one.
type windows struct {
	of              *quantity
	starts, weights []*ir.Constant // of each dimension
	unit            float64
	most            int64   // no sum is larger
	terms           int64   // of a sum
	whole           float64 // so many of the sums are whole steps
}

const (
	// maxUnit is how many parts a weight of one may be divided into, maxWideUnit for sums of int64.
	maxUnit     = 1 << 12
	maxWideUnit = 1 << 16
	// weightSlack is what float64 may make of whole numbers.
	weightSlack = 1e-6
)

// windowsOf reads what averages or resamples. If its weights are no whole multiples of one number
// for each dimension, or int32 may not hold the sums, they are fractions of a power of two in sums
// of int64; nil where time counts.
func (a *integerArithmetic) windowsOf(c *ops.Call) *windows {
	if len(c.Operands()) == 0 {
		return nil
	}
	q := a.of[c.Operands()[0]]
	if !q.small() || !q.uniform() || c.Outs[0].DType != ir.Float32 {
		return nil
	}
	all := ops.Windows(c)
	if all == nil {
		return nil
	}
	upTo := func(most float64, none float64) func([]ops.Window) float64 {
		return func(rows []ops.Window) float64 { return cmp.Or(unitOf(rows, most), none) }
	}
	if w := q.windows(all, upTo(maxUnit, 0), ir.Int16, math.MaxInt32); w != nil || a.speed {
		return w
	}
	fraction := math.Ldexp(1, min(24, (61-bits.Len64(uint64(q.far())))/len(all)-1))
	return q.windows(all, upTo(maxWideUnit, fraction), ir.Int32, math.MaxInt64)
}

// windows are those of which unitOf tells the unit of each dimension, with weights of d and sums of
// at most so much; nil if there are none.
func (q *quantity) windows(all [][]ops.Window, unitOf func([]ops.Window) float64, d ir.DType,
	most int64) *windows {
	w := &windows{of: q, unit: 1, most: q.far(), terms: 1, whole: 1}
	var lists [][]int64
	for dim, rows := range all {
		size, _ := q.ints.Type.Sizes[q.ints.Type.Rank()-len(all)+dim].Const()
		unit, longest, largest := unitOf(rows), int64(1), int64(0)
		whole := 0.0
		for _, r := range rows {
			longest = max(longest, int64(len(r.Weights)))
		}
		var starts, weights []int64
		for _, r := range rows {
			start, row, sum := min(r.Start, size-longest), make([]int64, longest), int64(0)
			common := int64(unit)
			for i, x := range r.Weights {
				n := int64(math.Round(x * unit))
				row[r.Start-start+int64(i)] = n
				sum += max(n, -n)
				common = gcd(common, n)
			}
			whole += math.Abs(float64(common)) / unit
			starts, weights = append(starts, start), append(weights, row...)
			largest = max(largest, sum)
		}
		if w.unit *= unit; unit == 0 || largest > most/w.most {
			return nil
		}
		w.starts = append(w.starts, intData(ir.Int32, starts, int64(len(rows))))
		lists = append(lists, weights)
		w.most *= max(largest, 1)
		w.terms *= longest
		w.whole *= whole / float64(len(rows))
	}
	for dim, xs := range lists {
		n := int64(len(all[dim]))
		w.weights = append(w.weights, intData(d, xs, n, int64(len(xs))/n))
	}
	return w
}

// unitOf returns the smallest number of parts of one of which the weights are whole numbers, 0 if
// there is none up to most.
func unitOf(rows []ops.Window, most float64) float64 {
	for unit := 1.0; unit <= most; unit++ {
		if !slices.ContainsFunc(rows, func(r ops.Window) bool {
			return slices.ContainsFunc(r.Weights, func(x float64) bool {
				x *= unit
				return !(math.Abs(x-math.Round(x)) < weightSlack) || math.Abs(x) > math.MaxInt16
			})
		}) {
			return unit
		}
	}
	return 0
}

// wide reports whether the sums are of int64.
func (w *windows) wide() bool { return w.weights[0].Type.DType == ir.Int32 }

// sum is the sums, of int32 or float32.
func (w *windows) sum(b *ops.Builder, n *ir.Node, d ir.DType) *ir.Value {
	var lists [2][]*ir.Value
	for i, of := range [][]*ir.Constant{w.starts, w.weights} {
		for _, c := range of {
			lists[i] = append(lists[i], b.Constant(n.Name+[]string{"_starts", "_weights"}[i], c))
		}
	}
	if !w.wide() {
		return b.Op(ops.IntegerWindows, w.of.ints, lists[0], lists[1], w.of.zero[0], d)
	}
	sum := b.Op(ops.IntegerWindows, w.of.ints, lists[0], lists[1], w.of.zero[0], ir.Int64)
	return b.Op("aten._to_copy.default", sum, ops.Kw("dtype", d))
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
