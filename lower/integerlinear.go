package lower

import (
	"maps"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// linear is Σ terms + add with limits, which elementwise nodes make of quantities of 8 bits:
// what adds, takes away or scales them.
type linear struct {
	terms []term
	add   float64
	limits
	nodes []*ir.Node // in order
}

type term struct {
	of *quantity
	by float64 // 1 is the quantity itself
	// floats that stand for it or, the same integers scaled otherwise, for others
	values map[*ir.Value]*quantity
}

// linearOf returns what is known of v as a linear function, nil if nothing is.
func (a *integerArithmetic) linearOf(v *ir.Value) *linear {
	if l := a.linear[v]; l != nil || v == nil {
		return l
	}
	if q := a.of[v]; q != nil && q.uniform() && q.ints.Type.DType.Size() == 1 {
		return &linear{terms: []term{{q, 1, map[*ir.Value]*quantity{v: q}}}, limits: unlimited}
	}
	if xs, ok := a.elements(v); ok && len(xs) == 1 {
		return &linear{add: xs[0], limits: unlimited}
	}
	return nil
}

// noteLinear notes a node that is a linear function of one or two quantities of 8 bits.
func (a *integerArithmetic) noteLinear(n *ir.Node, c *ops.Call) {
	if len(n.Outputs) != 1 || len(c.Operands()) == 0 || c.Outs[0].DType != ir.Float32 ||
		len(c.Scalars()) > 0 {
		return
	}
	var made *linear
	none := &linear{limits: unlimited}
	switch n.Op {
	case "aten.add.Tensor", "aten.add.Scalar", "aten.sub.Tensor", "aten.sub.Scalar":
		by, err := c.Float("alpha")
		if err != nil {
			return
		}
		if ir.OpBase(n.Op) == "sub" {
			by = -by
		}
		made = a.linearOf(c.Value("self")).plus(a.otherOf(c), by)
	case "aten.mul.Tensor", "aten.mul.Scalar", "aten.div.Tensor", "aten.div.Scalar":
		x, y := a.linearOf(c.Value("self")), a.otherOf(c)
		if x == nil || y == nil || len(y.terms) > 0 || y.add == 0 {
			return
		}
		by := y.add
		if ir.OpBase(n.Op) == "div" {
			by = 1 / by
		}
		made = none.plus(x, by)
	case "aten.neg.default":
		made = none.plus(a.linearOf(c.Value("self")), -1)
	default:
		r, ok := limitsOf(c)
		if !ok {
			return
		}
		x := a.linearOf(c.Value("self"))
		if x == nil {
			return
		}
		limited := *x
		limited.limits = x.limits.of(r)
		made = &limited
	}
	if made == nil || len(made.terms) == 0 || len(made.terms) > 2 {
		return
	}
	made.nodes = append(slices.Clip(made.nodes), n)
	a.linear[n.Output(0)] = made
}

// otherOf is the argument other as a linear function.
func (a *integerArithmetic) otherOf(c *ops.Call) *linear {
	if v := c.Value("other"); v != nil {
		return a.linearOf(v)
	}
	x, err := c.Float("other")
	if err != nil {
		return nil
	}
	return &linear{add: x, limits: unlimited}
}

// plus is x + by·y, nil if one of them is nil or has limits.
func (x *linear) plus(y *linear, by float64) *linear {
	if x == nil || y == nil || x.limits != unlimited || y.limits != unlimited || math.IsNaN(by) ||
		math.IsInf(by, 0) {
		return nil
	}
	sum := &linear{terms: slices.Clone(x.terms), add: x.add + by*y.add, limits: unlimited,
		nodes: slices.Clone(x.nodes)}
	for _, t := range y.terms {
		i := slices.IndexFunc(sum.terms, func(s term) bool {
			return s.of.ints == t.of.ints && s.of.zero[0] == t.of.zero[0]
		})
		if i < 0 {
			sum.terms = append(sum.terms, term{t.of, 0, nil})
			i = len(sum.terms) - 1
		}
		s := &sum.terms[i]
		s.by += by * t.by * t.of.scale[0] / s.of.scale[0]
		s.values = maps.Clone(s.values)
		if s.values == nil {
			s.values = map[*ir.Value]*quantity{}
		}
		maps.Copy(s.values, t.values)
	}
	for _, n := range y.nodes {
		if !slices.Contains(sum.nodes, n) {
			sum.nodes = append(sum.nodes, n)
		}
	}
	return sum
}

// steps are integers that give a linear function as it is quantized: Σ q·by + add, shifted to
// the right.
type steps struct {
	by      []int64
	add     int64
	shift   int
	lo, hi  int64
	dtype   ir.DType
	less    int64
	operand []*quantity
	near    int64 // what the floats may be off at most
	// doubtful means that what is so near to the middle of two integers is what the floats make it
	doubtful bool
}

const (
	// Shifts of fewer bits round too many sums to the other side.
	leastShift = 14
	mostShift  = 24
)

// stepsOf returns the steps for what quantize node n makes of l, which is v; nil if they would
// overflow, or would not give what n gives often enough.
func (a *integerArithmetic) stepsOf(table *ops.Table, n *ir.Node, v *ir.Value, l *linear,
	to *quantization) *steps {
	for shift := mostShift; shift >= leastShift; shift-- {
		s := &steps{shift: shift, dtype: to.dtype, less: to.less}
		s.lo, s.hi = to.limited(l.limits)
		add := (l.add/to.scale + float64(to.zero)) * math.Ldexp(1, shift)
		most := 0.0
		for _, t := range l.terms {
			by := t.by * t.of.scale[0] / to.scale
			add -= by * float64(t.of.zero[0]) * math.Ldexp(1, shift)
			m := math.RoundToEven(by * math.Ldexp(1, shift))
			least, greatest := expr.IntRange(t.of.ints.Type.DType)
			most += math.Abs(m) * float64(max(-least, greatest))
			s.by = append(s.by, int64(m))
			s.operand = append(s.operand, t.of)
		}
		add = math.RoundToEven(add)
		half := math.Ldexp(0.5, shift)
		most += math.Abs(add) + half
		// Each factor is rounded, and each node rounds its floats.
		s.near = int64(math.Ldexp(most, -23)*float64(len(l.nodes)+3)) + int64(128*len(l.terms)) + 1
		if !(most+float64(s.near) < math.MaxInt32) {
			continue
		}
		s.add = int64(add)
		if s.whole() {
			s.shift = 0
		} else {
			s.add += int64(half)
		}
		if s.tried(a, table, n, v, l) {
			return s
		}
		return nil
	}
	return nil
}

// whole reports whether the steps are ones of whole numbers, and makes them so then.
func (s *steps) whole() bool {
	all := append(slices.Clone(s.by), s.add)
	if slices.ContainsFunc(all, func(x int64) bool { return x&(1<<s.shift-1) != 0 }) {
		return false
	}
	for i := range s.by {
		s.by[i] >>= s.shift
	}
	s.add >>= s.shift
	return true
}

// tried reports whether the steps give what n makes of l for all values of the operands but few, of
// which they are off by one. Where time does not count more may differ: then s is doubtful.
func (s *steps) tried(a *integerArithmetic, table *ops.Table, n *ir.Node, v *ir.Value,
	l *linear) bool {
	made := computed(table, func(b *ops.Builder) []*ir.Value {
		known := map[*ir.Value]*ir.Value{}
		at := &integerArithmetic{of: map[*ir.Value]*quantity{}}
		for i, t := range l.terms {
			ints := allBytes(b, t.of, [][]int64{{256, 1}, {1, 256}}[i]...).ints
			for v, q := range t.values {
				q := *q
				q.ints = ints
				known[v] = at.float(b, &q)
			}
		}
		again(b, l.nodes, known)
		c := must.Get(table.Bind(n))
		known[c.Value("input")] = known[v]
		return []*ir.Value{again(b, []*ir.Node{n}, known)}
	})
	if made == nil {
		return false
	}
	want, ok := numbersOf(made[0])
	n2 := 256
	if len(l.terms) == 1 {
		n2 = 1
	}
	if !ok || len(want) != 256*n2 {
		return false
	}
	differ := 0
	value := func(q *quantity, i int) int64 {
		if q.ints.Type.DType == ir.Int8 {
			return int64(int8(i))
		}
		return int64(i)
	}
	for i, y := range want {
		sum := s.add + value(s.operand[0], i/n2)*s.by[0]
		if n2 > 1 {
			sum += value(s.operand[1], i%n2) * s.by[1]
		}
		limited := func(x int64) int64 { return min(max(x, s.lo), s.hi) }
		switch limited(sum>>s.shift) - limited(int64(y)-s.less) {
		case 0:
		case 1, -1:
			differ++
		default:
			return false
		}
	}
	s.doubtful = differ*mayDiffer > len(want)
	return !s.doubtful || !a.speed || a.fixedPoint
}

// One element of so many may differ from the graph that was quantized.
const mayDiffer = 1000

// again emits nodes once more, with other operands for those that are known, and returns the
// result of the last.
func again(b *ops.Builder, nodes []*ir.Node, known map[*ir.Value]*ir.Value) (v *ir.Value) {
	for _, n := range nodes {
		v = b.Op(n.Op, withRefs(n, func(v *ir.Value) *ir.Value {
			if known[v] == nil && v.Const != nil {
				known[v] = b.Constant(v.Name, v.Const)
			}
			return known[v]
		})...)
		known[n.Output(0)] = v
	}
	return v
}

// emit computes the steps of v, which to quantizes.
func (s *steps) emit(b *ops.Builder, v *ir.Value, to *quantization) *ir.Value {
	if q := s.operand[0]; len(s.by) == 1 && s.by[0] == 1 && s.add == 0 && s.shift == 0 &&
		q.ints.Type.DType == s.dtype {
		return b.Op("aten.clamp.default", q.ints, s.lo, s.hi)
	}
	tensors := seq.Map(s.operand, func(q *quantity) *ir.Value { return q.ints })
	args := []any{tensors, s.by, s.add, s.shift, s.lo, s.hi, s.dtype}
	if s.doubtful {
		args = append(args, to.float(b, v), s.near)
	}
	return b.Op(ops.IntegerLinear, args...)
}
