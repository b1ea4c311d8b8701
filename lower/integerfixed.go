package lower

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// fixedTerm is integers, of at most so much, times a scale for each channel, or one for all.
type fixedTerm struct {
	ints  *ir.Value
	most  int64
	scale []float64
}

// fixedScale is how fixed point makes integers of a sum of terms, in ops.FixedRescale's words.
type fixedScale struct {
	multipliers [][]int64 // of each term
	up          []int64
	added       []int64 // for each channel, or one for all
	shift       int
	ties        int // one of ops.TiesUp and its like
}

const (
	// The result of fixed point has so many fractional bits before it is rounded.
	mostFraction, fewestFraction = 24, 8
	// What is added lies in this range, and so does the sum of the products.
	fixedRange = 1 << 30
)

// fixedOf is what makes integers of terms + added; nil if int32 does not hold enough fractional
// bits.
func (to *quantization) fixedOf(terms []fixedTerm, added []float64) *fixedScale {
	f := &fixedScale{}
	// A quotient of scales that is a power of 2 is one exactly.
	var by [][]float64
	var largest []float64
	most := 0.0
	for i, t := range terms {
		up := int64(0)
		for up < 30 && t.most<<(up+1) <= math.MaxInt32 {
			up++
		}
		f.up = append(f.up, up)
		by = append(by, seq.Map(t.scale, func(k float64) float64 { return k / to.scale }))
		largest = append(largest, 0)
		for _, k := range by[i] {
			largest[i] = max(largest[i], math.Abs(k))
		}
		most += largest[i] * float64(t.most)
	}
	add := []float64{float64(to.zero)}
	if added != nil {
		add = slices.Clone(added)
	}
	far := 0.0
	for c := range add {
		if added != nil {
			add[c] = add[c]/to.scale + float64(to.zero)
		}
		// What is farther is limited with any sum.
		limit := math.Abs(float64(to.lo)) + math.Abs(float64(to.hi)) + 1
		for i, t := range terms {
			k := largest[i]
			if len(add) == len(by[i]) {
				k = math.Abs(by[i][c])
			}
			limit += k * float64(t.most)
		}
		add[c] = min(max(add[c], -limit), limit)
		far = max(far, math.Abs(add[c]))
	}
	if !(slices.Max(largest) < math.MaxFloat32) || slices.ContainsFunc(add, math.IsNaN) {
		return nil
	}
	fits := func(one float64) bool {
		for i, k := range largest {
			if k*math.Ldexp(one, 32-int(f.up[i])) >= math.MaxInt32 {
				return false
			}
		}
		return most*one < fixedRange && (far+1)*one < fixedRange
	}
	for f.shift = mostFraction; !fits(math.Ldexp(1, f.shift)); f.shift-- {
		if f.shift == fewestFraction {
			return nil
		}
	}
	one := math.Ldexp(1, f.shift)
	// Each product is rounded down, on average by a half, for one of which no sum makes up.
	lost := int64(len(terms) / 2)
	halves := func(by []float64) bool {
		return slices.ContainsFunc(by, func(k float64) bool { return k*one == math.Trunc(k*one) })
	}
	if to.other == nil && !slices.ContainsFunc(by, func(by []float64) bool { return !halves(by) }) {
		f.ties, lost = ops.TiesToEven, 0
		if to.zero%2 != 0 { // which is added to what becomes even
			f.ties = ops.TiesToOdd
		}
	}
	for i, by := range by {
		f.multipliers = append(f.multipliers, wholes(by, math.Ldexp(one, 32-int(f.up[i]))))
	}
	f.added = seq.Map(wholes(add, one), func(x int64) int64 { return x + 1<<(f.shift-1) + lost })
	return f
}

// wholes are xs times a number, rounded.
func wholes(xs []float64, by float64) []int64 {
	return seq.Map(xs, func(x float64) int64 { return int64(math.RoundToEven(x * by)) })
}

// rescaled is what quantize node n makes of a sum in fixed point, nil if it has no such form.
func (s *scaledSum) rescaled(b *ops.Builder, n *ir.Node, to *quantization) *ir.Value {
	if s.ints == nil {
		return nil
	}
	return (&fixedSum{[]fixedTerm{{s.ints, s.most, s.scale}}, s.added, s.inner, nil}).rescaled(b, n,
		to)
}

// fixedSum is terms + added, with a number for each channel or one for all.
type fixedSum struct {
	terms []fixedTerm
	added []float64
	inner int // dimensions behind the channels
	// floats are what the sum stands for, if nodes make these of floats that stand for the terms
	floats *ir.Value
}

// rescaled is what quantize node n makes of s, nil if fixed point does not hold it.
func (s *fixedSum) rescaled(b *ops.Builder, n *ir.Node, to *quantization) *ir.Value {
	if s.floats != nil {
		near := *to
		if near.near, _ = s.doubt(to.scale); near.near > 0 {
			near.other = to.float(b, s.floats)
			to = &near
		}
	}
	f := to.fixedOf(s.terms, s.added)
	if f == nil {
		return nil
	}
	row := func(name string, xs []int64) *ir.Value {
		return intConstant(b, n.Name+name, ir.Int32, xs, channelSizes(len(xs), s.inner)...)
	}
	ints := seq.Map(s.terms, func(t fixedTerm) *ir.Value { return t.ints })
	by := seq.Map(f.multipliers, func(xs []int64) *ir.Value { return row("_multipliers", xs) })
	args := []any{ints, by, row("_added", f.added), f.up, f.shift, f.ties, to.lo, to.hi, to.dtype}
	if to.other != nil { // products are rounded down
		args = append(args, to.other, int64(math.Ceil(math.Ldexp(to.near, f.shift)))+int64(len(ints)))
	}
	return b.Op(ops.FixedRescale, args...)
}

// doubt is that of a sum of tensors, in steps of a result's scale.
func (s *fixedSum) doubt(scale float64) (steps float64, many bool) {
	parts, most := int64(1), 0.0
	for _, t := range s.terms {
		by := math.Abs(t.scale[0]) / scale
		most += by * 2 * float64(t.most) // less a zero point
		of := partsOf(by)
		parts = parts / max(gcd(parts, of), 1) * of
	}
	halves := 0.0
	if parts > 0 && parts%2 == 0 {
		halves = 1 / float64(parts)
	}
	return doubtOf(halves, most, int64(len(s.terms)+3))
}

// mostTerms is how many terms a sum in fixed point may have.
const mostTerms = 4

// fixedSumOf is v as a sum in fixed point, nil if it is none.
func (a *integerArithmetic) fixedSumOf(b *ops.Builder, v *ir.Value) *fixedSum {
	if s := a.fixedSums[v]; s != nil {
		return s
	}
	if s := a.sums[v]; s != nil && s.ints != nil {
		return &fixedSum{[]fixedTerm{{s.moved(b, s.ints), s.most, s.scale}}, s.added, s.inner, nil}
	}
	if q := a.of[v]; q.small() && q.uniform() {
		return &fixedSum{[]fixedTerm{{q.ints, max(-q.least, q.most), q.scale}},
			[]float64{-float64(q.zero[0]) * q.scale[0]}, 0, v}
	}
	return nil
}

// noteFixedSum notes the sum or difference of two such, which are not both of 8 bits.
func (a *integerArithmetic) noteFixedSum(b *ops.Builder, n *ir.Node, c *ops.Call) {
	if !a.fixedPoint || n.Op != "aten.add.Tensor" && n.Op != "aten.sub.Tensor" ||
		a.linear[n.Output(0)] != nil || c.Outs[0].DType != ir.Float32 {
		return
	}
	by, err := c.Float("alpha")
	if ir.OpBase(n.Op) == "sub" {
		by = -by
	}
	x, y := a.fixedSumOf(b, c.Value("self")), a.fixedSumOf(b, c.Value("other"))
	if err != nil || x == nil || y == nil || len(x.terms)+len(y.terms) > mostTerms {
		return
	}
	s := &fixedSum{slices.Clone(x.terms), nil, max(x.inner, y.inner), nil}
	if x.floats != nil && y.floats != nil {
		s.floats = n.Output(0)
	}
	for _, t := range y.terms {
		t.scale = multiplied(t.scale, by)
		s.terms = append(s.terms, t)
	}
	channels := 1
	for _, t := range s.terms {
		if !sym.AllEqual(t.ints.Type.Sizes, c.Outs[0].Sizes) {
			return
		}
		channels = max(channels, len(t.scale))
	}
	for _, of := range []*fixedSum{x, y} {
		if channels = max(channels, len(of.added)); of.inner != s.inner && of.channels() > 1 {
			return
		}
	}
	s.added = make([]float64, channels)
	for i := range s.added {
		for k, of := range []*fixedSum{x, y} {
			if len(of.added) > 0 {
				s.added[i] += []float64{1, by}[k] * of.added[min(i, len(of.added)-1)]
			}
		}
	}
	a.fixedSums[n.Output(0)], a.forms[n.Output(0)] = s, &form{unlimited, s.rescaled}
}

// channels is how many numbers s has for what there is one of for each channel.
func (s *fixedSum) channels() int {
	n := len(s.added)
	for _, t := range s.terms {
		n = max(n, len(t.scale))
	}
	return n
}

// int32s are integers of 8 or 16 bits as int32, less their zero point.
func (q *quantity) int32s(b *ops.Builder) *ir.Value {
	v := b.Op("aten._to_copy.default", q.ints, ops.Kw("dtype", ir.Int32))
	if q.zero[0] != 0 {
		v = b.Op("aten.sub.Scalar", v, q.zero[0])
	}
	return v
}

// noteBatchNorm notes a batch norm that no layer takes in: each channel times a number, plus
// another.
func (a *integerArithmetic) noteBatchNorm(n *ir.Node, c *ops.Call) {
	if !a.fixedPoint || n.Op != "aten._native_batch_norm_legit_no_training.default" {
		return
	}
	x := a.of[c.Value("input")]
	if !x.small() || !x.uniform() {
		return
	}
	if scale, added, ok := a.batchNormOf(c); ok {
		a.forms[n.Output(0)] = &form{unlimited, func(b *ops.Builder, q *ir.Node,
			to *quantization) *ir.Value {
			s := &scaledSum{ints: x.int32s(b), most: x.far(), scale: multiplied(scale, x.scale[0]),
				added: added, inner: x.ints.Type.Rank() - 2}
			return s.rescaled(b, q, to)
		}}
	}
}

// batchNormOf reads a batch norm of constants: each channel times scale, plus added.
func (a *integerArithmetic) batchNormOf(c *ops.Call) (scale, added []float64, ok bool) {
	eps, err := c.Float("eps")
	var params [4][]float64
	for i, name := range []string{"weight", "bias", "running_mean", "running_var"} {
		if c.Has(name) {
			if params[i], ok = a.biasOf(c.Value(name)); !ok {
				return nil, nil, false
			}
		}
	}
	for i, variance := range params[3] {
		by, add := 1/math.Sqrt(variance+eps), 0.0
		if params[0] != nil {
			by *= params[0][i]
		}
		if params[1] != nil {
			add = params[1][i]
		}
		if add -= params[2][i] * by; math.IsNaN(add) || math.IsInf(add, 0) {
			return nil, nil, false
		}
		scale, added = append(scale, by), append(added, add)
	}
	return scale, added, err == nil && len(scale) > 0
}

// notePReLU notes what multiplies numbers below 0 by constants.
func (a *integerArithmetic) notePReLU(n *ir.Node, c *ops.Call) {
	if n.Op != "aten._prelu_kernel.default" {
		return
	}
	x, w := a.of[c.Value("self")], c.Value("weight")
	if x == nil || !x.uniform() || x.ints.Type.DType != ir.Int8 {
		return
	}
	sizes, static := w.Type.StaticSizes()
	if by, ok := a.biasOf(w); ok && static && len(by) > 0 && !slices.ContainsFunc(by, math.IsNaN) {
		a.forms[n.Output(0)] = &form{unlimited, func(b *ops.Builder, q *ir.Node,
			to *quantization) *ir.Value {
			return a.prelu(b, q, n.Output(0), x, by, sizes, to)
		}}
	}
}

func (a *integerArithmetic) prelu(b *ops.Builder, n *ir.Node, v *ir.Value, x *quantity,
	by []float64, sizes []int64, to *quantization) *ir.Value {
	scale := x.scale[0] / to.scale
	largest := max(1, slices.Max(by), -slices.Min(by)) * scale
	shift := mostShift
	for (largest*float64(x.far())+math.Abs(float64(to.zero))+1)*math.Ldexp(1, shift) >= fixedRange {
		if shift--; shift < leastShift {
			return nil
		}
	}
	one := math.Ldexp(1, shift)
	below, above := wholes(by, scale*one), wholes([]float64{scale}, one)[0]
	added := to.zero<<shift + 1<<(shift-1)
	// As in stepsOf, all values are tried.
	elements, differ := 0, 0
	for i, k := range by {
		for q := x.least; q <= x.most; q++ {
			d, m := q-x.zero[0], above
			v := float32(d) * float32(x.scale[0])
			if d < 0 {
				v, m = v*float32(k), below[i]
			}
			want := math.RoundToEven(float64(v*float32(1/to.scale))) + float64(to.zero)
			want = min(max(want, float64(to.lo)), float64(to.hi))
			got := float64(min(max((d*m+added)>>shift, to.lo), to.hi))
			if elements++; math.Abs(got-want) > 1 {
				return nil
			} else if got != want {
				differ++
			}
		}
	}
	doubtful := differ*mayDiffer > elements
	if doubtful && a.speed && !a.fixedPoint {
		return nil
	}
	args := []any{x.ints, intConstant(b, n.Name+"_multipliers", ir.Int32, below, sizes...), x.zero[0],
		above, added, shift, to.lo, to.hi, to.dtype}
	if doubtful { // factors are rounded, and floats
		args = append(args, to.float(b, v), x.far()+fixedRange>>20)
	}
	return b.Op(ops.IntegerPReLU, args...)
}

// sizes are channelSizes in front of the sum's inner dimensions.
func (s *scaledSum) sizes(n int) []int64 { return channelSizes(n, s.inner) }

// channelSizes are those of a constant with n numbers, for each channel or one for all.
func channelSizes(n, inner int) []int64 {
	if n == 1 {
		return nil
	}
	return append([]int64{int64(n)}, slices.Repeat([]int64{1}, inner)...)
}
