// Package compare decides whether an output agrees with the recorded one.
package compare

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/half"
)

// Tolerance is what a float element may be off. An element passes if
//
//	|got - want| ≤ atol + rtol·|want| + 4·eps·sqrt(Terms)·max|want| + 4·Slack
//
// with PyTorch's assert_close values for atol and rtol and eps of the dtype.
type Tolerance struct {
	Terms int64   // longest reduction in the program, 1 if it has none
	Slack float64 // what PyTorch's exported program deviates from eager
	// Exact asks for the same bits (NaNs may differ in theirs).
	Exact bool
	// Class asks only for the largest of all float elements to be at the same
	// place: what was recorded is another model's, which this one approximates.
	Class bool
	// Overflow lets an infinite element agree with one of its sign that is beyond a
	// sixteenth of the dtype's largest: which of the two a sum gives is decided by
	// its order.
	Overflow bool
	// Own, if not nil, are limits that stand in place of all of the formula: an element passes if
	// |got - want| ≤ Absolute + Relative·|want|.
	Own *Limits
}

// Limits are what a float element may be off.
type Limits struct{ Absolute, Relative float64 }

// Miss is the first element, or the form, in which an output is wrong.
type Miss struct {
	Problem string // of the form: dtype, shape, kind; "" if an element is wrong
	Element int64  // row-major position
	Index   []int64
	Got     string
	Want    string
	Limit   float64 // largest difference allowed; 0 for exact values
	Bad     int64   // elements that are wrong
	Of      int64   // elements
}

func (m *Miss) Error() string {
	if m.Problem != "" {
		return m.Problem
	}
	limit := ""
	if m.Limit > 0 {
		limit = fmt.Sprintf(" (limit %.3g)", m.Limit)
	}
	return fmt.Sprintf("element %d at %v is %s, want %s%s; %d of %d are wrong",
		m.Element, m.Index, m.Got, m.Want, limit, m.Bad, m.Of)
}

// Values compares an output with the recorded one; nil means they agree.
func Values(got, want tensor.Value, tol Tolerance) *Miss {
	if want.Tensor == nil || got.Tensor == nil {
		return scalars(got, want, tol)
	}
	return Tensors(got.Tensor, want.Tensor, tol)
}

// Tensors compares a tensor with the recorded one; nil means they agree.
func Tensors(g, w *tensor.Tensor, tol Tolerance) *Miss {
	switch {
	case g.DType != w.DType || !slices.Equal(g.Shape, w.Shape):
		return &Miss{Problem: fmt.Sprintf("it is %v, want %v", g, w)}
	case len(g.Data) != len(w.Data):
		return &Miss{Problem: fmt.Sprintf("it has %d bytes, want %d", len(g.Data), len(w.Data))}
	}
	limits, ok := limitsOf(w.DType)
	if !ok {
		return integers(g, w)
	}
	if tol.Class {
		return class(g, w)
	}
	return floats(Floats(g), Floats(w), w, limits, tol)
}

// class compares the places of the largest elements; NaN is no element.
func class(g, w *tensor.Tensor) *Miss {
	got, want := Largest(g), Largest(w)
	if got == want {
		return nil
	}
	text := func(i int) string {
		if i < 0 {
			return "nowhere"
		}
		return fmt.Sprintf("at %v", index(int64(i), w.Shape))
	}
	return &Miss{Problem: fmt.Sprintf("the largest element is %s, want it %s", text(got),
		text(want))}
}

// Largest returns the position of the first largest element that is a number,
// -1 if there is none.
func Largest(t *tensor.Tensor) int {
	at, largest := -1, math.Inf(-1)
	for i, x := range Floats(t) {
		if x > largest || at < 0 && x == largest {
			at, largest = i, x
		}
	}
	return at
}

// scalars compares Python numbers: floats as float64 tensors, anything else
// exactly.
func scalars(got, want tensor.Value, tol Tolerance) *Miss {
	g, gotFloat := got.Scalar.(ir.Float)
	w, wantFloat := want.Scalar.(ir.Float)
	if got.Tensor == nil && want.Tensor == nil && gotFloat && wantFloat {
		limits, _ := limitsOf(ir.Float64)
		return floats([]float64{float64(g)}, []float64{float64(w)},
			&tensor.Tensor{DType: ir.Float64}, limits, tol)
	}
	if got.Tensor != nil || want.Tensor != nil || got.Scalar != want.Scalar {
		return &Miss{Problem: fmt.Sprintf("it is %v, want %v", got, want)}
	}
	return nil
}

type limits struct{ atol, rtol, eps, largest float64 }

// limitsOf returns the limits of a float or complex dtype.
func limitsOf(d ir.DType) (limits, bool) {
	switch d {
	case ir.Float64, ir.Complex128:
		return limits{1e-7, 1e-7, 0x1p-52, math.MaxFloat64}, true
	case ir.Float32, ir.Complex64:
		return limits{1e-5, 1.3e-6, 0x1p-23, math.MaxFloat32}, true
	case ir.Float16, ir.Complex32:
		return limits{1e-5, 1e-3, 0x1p-10, 65504}, true
	case ir.BFloat16:
		return limits{1e-5, 1.6e-2, 0x1p-7, 0xffp120}, true
	}
	return limits{}, false
}

// integers compares elements that have no rounding.
func integers(got, want *tensor.Tensor) *Miss {
	var miss *Miss
	item := want.DType.Size()
	for i := range want.Len() {
		g, w := got.Data[int(i)*item:][:item], want.Data[int(i)*item:][:item]
		if slices.Equal(g, w) {
			continue
		}
		if miss == nil {
			miss = &Miss{Element: i, Index: index(i, want.Shape), Of: want.Len(),
				Got: integerText(want.DType, g), Want: integerText(want.DType, w)}
		}
		miss.Bad++
	}
	return miss
}

func integerText(d ir.DType, b []byte) string {
	var wide [8]byte
	copy(wide[:], b)
	n := binary.LittleEndian.Uint64(wide[:])
	if d == ir.Bool && n <= 1 {
		return fmt.Sprint(n == 1)
	}
	if d.IsInt() && !d.IsUnsigned() {
		shift := 64 - 8*len(b)
		return fmt.Sprint(int64(n<<shift) >> shift)
	}
	return fmt.Sprint(n)
}

func floats(got, want []float64, like *tensor.Tensor, l limits, tol Tolerance) *Miss {
	largest := 0.0
	for _, w := range want {
		if !math.IsInf(w, 0) && !math.IsNaN(w) {
			largest = max(largest, math.Abs(w))
		}
	}
	base := l.atol + 4*l.eps*math.Sqrt(float64(max(tol.Terms, 1)))*largest + 4*tol.Slack
	var miss *Miss
	for i, w := range want {
		limit := base + l.rtol*math.Abs(w)
		if own := tol.Own; own != nil {
			limit = own.Absolute + own.Relative*math.Abs(w)
		}
		if tol.Exact {
			limit = 0
		}
		if near(got[i], w, limit) || tol.Overflow && overflow(got[i], w, l.largest) {
			continue
		}
		if miss == nil {
			at := int64(i)
			if like.DType.IsComplex() {
				at /= 2
			}
			miss = &Miss{Element: at, Index: index(at, like.Shape), Limit: limit,
				Of:  int64(len(want)),
				Got: fmt.Sprint(got[i]), Want: fmt.Sprint(w)}
		}
		miss.Bad++
	}
	return miss
}

func near(got, want, limit float64) bool {
	switch {
	case math.IsNaN(want) || math.IsNaN(got):
		return math.IsNaN(want) && math.IsNaN(got)
	case math.IsInf(want, 0) || math.IsInf(got, 0) || limit == 0:
		return math.Float64bits(got) == math.Float64bits(want)
	}
	return math.Abs(got-want) <= limit
}

// overflow reports whether one is infinite and the other has its sign and is close to
// the largest.
func overflow(a, b, largest float64) bool {
	if !math.IsInf(a, 0) {
		a, b = b, a
	}
	return math.IsInf(a, 0) && math.Signbit(a) == math.Signbit(b) && math.Abs(b) > largest/16
}

// index is the position of a row-major element.
func index(at int64, shape []int64) []int64 {
	out := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = at % shape[i]
		at /= shape[i]
	}
	return out
}

// Floats returns the elements of a float tensor; a complex element counts as
// two.
func Floats(t *tensor.Tensor) []float64 {
	item := t.DType.Size()
	if t.DType.IsComplex() {
		item /= 2
	}
	out := make([]float64, 0, len(t.Data)/item)
	for b := t.Data; len(b) >= item; b = b[item:] {
		out = append(out, float(t.DType, b))
	}
	return out
}

func float(d ir.DType, b []byte) float64 {
	switch d {
	case ir.Float64, ir.Complex128:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case ir.Float32, ir.Complex64:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case ir.Complex32:
		d = ir.Float16
	}
	if d.Size() == 1 {
		return float64(half.ToFloat32(d, uint16(b[0])))
	}
	return float64(half.ToFloat32(d, binary.LittleEndian.Uint16(b)))
}
