package lower

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// function is what elementwise nodes, each of the one before, make of a quantity of int8.
type function struct {
	of    *quantity
	nodes []*ir.Node
}

// noteFunction notes a node that is an elementwise function of a quantity of int8, or of such a
// function.
func (a *integerArithmetic) noteFunction(n *ir.Node, c *ops.Call) {
	if a.speed || len(n.Outputs) != 1 || len(c.Operands()) != 1 || len(c.Scalars()) > 0 ||
		c.Outs[0].DType != ir.Float32 {
		return
	}
	v := c.Operands()[0]
	f := a.functions[v]
	if q := a.of[v]; f == nil && q != nil && q.uniform() &&
		(q.ints.Type.DType == ir.Int8 || q.ints.Type.DType == ir.Int16 && !a.vectors) {
		f = &function{of: q}
	}
	if ts := a.tensors(c); f != nil && len(ts) == 1 && elementwise(ts[0]) {
		a.functions[n.Output(0)] = &function{of: f.of, nodes: append(slices.Clip(f.nodes), n)}
	}
}

// elementwise reports whether each element of t is made of the operand's at the same place.
func elementwise(t expr.Tensor) bool {
	ok := true
	expr.Walk(t.Body, func(e *expr.Expr) {
		switch e.Op {
		case expr.OpReduce, expr.OpIndex, expr.OpScalar:
			ok = false
		case expr.OpLoad:
			ok = ok && slices.EqualFunc(e.Coords, t.Vars, func(x sym.Expr, v *sym.Symbol) bool {
				return x.Equal(v.Expr()) || x.IsZero() && expr.Extent(v).Is(1)
			})
		}
	})
	return ok
}

// table looks up what quantize makes of a function of int8: one of 256 results, which are
// computed now. It is nil if they cannot be.
func (a *integerArithmetic) table(b *ops.Builder, n *ir.Node, v *ir.Value, f *function,
	to *quantization) *ir.Value {
	least, most := expr.IntRange(f.of.ints.Type.DType)
	count := int(most - least + 1)
	made := computed(b.Table, func(b *ops.Builder) []*ir.Value {
		q := *f.of
		q.ints = b.Constant("ints", intData(f.of.ints.Type.DType,
			seq.Of(count, func(i int) int64 { return least + int64(i) }), int64(count)))
		x := (&integerArithmetic{of: map[*ir.Value]*quantity{}}).float(b, &q)
		var v *ir.Value
		for _, n := range append(slices.Clip(f.nodes), n) {
			from := must.Get(b.Table.Bind(n)).Operands()[0]
			v, x = x, again(b, []*ir.Node{n}, map[*ir.Value]*ir.Value{from: x})
		}
		return []*ir.Value{x, v}
	})
	if made == nil || made[0].Type.DType.Size() > 2 {
		return nil
	}
	xs, _ := numbersOf(made[0])
	want := seq.Map(xs, func(x float64) int64 { return min(max(int64(x)-to.less, to.lo), to.hi) })
	if count == 256 {
		if made[0].Type.DType.Size() > 1 {
			return nil
		}
		return b.Op("cortex_m.quantized_activation.default", f.of.ints,
			intConstant(b, n.Name+"_table", ir.Int8, want, 256))
	}
	floats, _ := numbersOf(made[1])
	for bits := mostSplineBits; bits >= leastSplineBits; bits-- {
		s := splineOf(floats, want, bits, to)
		if s == nil || s.floats > splineFloats {
			continue
		}
		args := []any{f.of.ints, intConstant(b, n.Name+"_table", ir.Int32, s.table,
			int64(len(s.table)/4), 4), bits, s.shift, to.lo, to.hi, to.dtype}
		if s.floats > 0 {
			args = append(args, to.float(b, v))
		}
		return b.Op(ops.IntegerSpline, args...)
	}
	return nil
}

const (
	// A parabola is for 2^7 to 2^10 integers, so that a table has 1 to 8 KB.
	leastSplineBits, mostSplineBits = 7, 10
	// splineFloats is of how many integers floats may make the result.
	splineFloats = 1 << 16 / 64
)

// spline is a function of int16, in ops.IntegerSpline's words.
type spline struct {
	table  []int64
	shift  int
	floats int // of so many integers it is not sure
}

// splineOf approximates floats, which are those of all int16 in order, and are quantized to what is
// wanted; nil if int32 does not hold it.
func splineOf(floats []float64, want []int64, bits int, to *quantization) *spline {
	lo, hi := float64(to.lo)-1, float64(to.hi)+1
	steps := seq.Map(floats, func(x float64) float64 {
		return min(max(x/to.scale+float64(to.zero), lo), hi)
	})
	if slices.ContainsFunc(steps, math.IsNaN) {
		return nil
	}
	s := &spline{shift: mostSplineShift}
	for max(-lo, hi)*math.Ldexp(1, s.shift) >= fixedRange {
		s.shift--
	}
	one, length := math.Ldexp(1, s.shift), 1<<bits
	limited := func(x int64) int64 { return min(max(x>>s.shift, to.lo), to.hi) }
	for first := 0; first < len(steps); first += length {
		// Through the middle and two numbers before and behind it.
		half := length / 2
		d := half * 7 / 8
		u := float64(d) / float64(half)
		before, mid, behind := steps[first+half-d], steps[first+half], steps[first+half+d]
		row := wholes([]float64{mid, (behind - before) / (2 * u),
			(behind + before - 2*mid) / (2 * u * u)}, one)
		row[0] += 1 << (s.shift - 1)
		near := int64(0)
		var sums []int64
		for i := range length {
			t := int64(i - half)
			y := row[2] * t
			z := (row[1] + y>>(bits-1)) * t
			sum := row[0] + z>>(bits-1)
			if max(y, -y, z, -z) > math.MaxInt32 || max(sum, -sum) >= 3*fixedRange/2 {
				return nil
			}
			sums = append(sums, sum)
			if limited(sum) == want[first+i] {
				continue
			}
			rest := sum & (1<<s.shift - 1)
			off := min(rest+1, 1<<s.shift-rest)
			if limited(sum-off) == limited(sum+off) {
				off = fixedRange / 2
			}
			near = max(near, off)
		}
		for _, sum := range sums {
			if limited(sum-near) != limited(sum+near) {
				s.floats++
			}
		}
		s.table = append(s.table, row[0], row[1], row[2], near)
	}
	return s
}

// mostSplineShift is how many fractional bits a spline has at most.
const mostSplineShift = 16
