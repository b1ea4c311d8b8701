package strip

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// lengths are where vectors begin and end, and a strip.
func lengths() []int {
	n := []int{Size - 1, Size}
	for i := range 71 {
		n = append(n, i)
	}
	return n
}

// draw returns a number of any kind.
func draw(r *rand.Rand) float32 {
	special := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)),
		float32(math.Inf(-1)), float32(math.NaN()),
		1, -1, 0.5, 1.5, 2.5, -2.5, 1e-45, -1e-40, math.MaxFloat32, -math.MaxFloat32, 0x1p31,
		-0x1p31, 0x1p23 + 1}
	switch k := r.IntN(3 * len(special)); {
	case k < len(special):
		return special[k]
	case k%2 == 0:
		return math.Float32frombits(r.Uint32())
	}
	return float32(r.NormFloat64())
}

// fill sets the elements of a slice, or a scalar.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Float32:
		v.SetFloat(float64(draw(r)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32, reflect.Int8:
		v.SetInt(int64(r.Uint64()))
	case reflect.Uint8:
		v.SetUint(r.Uint64())
	}
}

// vectorized are the primitives with vector forms that work element by element.
var vectorized = map[string]any{
	"Add": Add[float32], "AddScalar": AddScalar[float32], "Sub": Sub[float32],
	"SubScalar": SubScalar[float32], "ScalarSub": ScalarSub[float32],
	"Mul": Mul[float32], "MulScalar": MulScalar[float32], "Div": Div[float32],
	"DivScalar": DivScalar[float32], "ScalarDiv": ScalarDiv[float32],
	"Max": Max[float32], "MaxScalar": MaxScalar[float32], "ScalarMax": ScalarMax[float32],
	"Min": Min[float32], "MinScalar": MinScalar[float32], "ScalarMin": ScalarMin[float32],
	"Larger": Larger[float32], "Smaller": Smaller[float32], "FMAF32": FMAF32,
	"ThroughInt8": ThroughInt8, "ThroughUint8": ThroughUint8,
	"Neg": Neg[float32], "AbsFloat": AbsFloat[float32], "Sqrt": Sqrt[float32],
	"Floor": Floor[float32], "Ceil": Ceil[float32], "Trunc": Trunc[float32],
	"Round": Round[float32],
	"Eq":    Eq[float32], "Ne": Ne[float32], "Lt": Lt[float32], "Le": Le[float32],
	"EqScalar": EqScalar[float32], "NeScalar": NeScalar[float32], "LtScalar": LtScalar[float32],
	"LeScalar": LeScalar[float32],
	"GtScalar": GtScalar[float32], "GeScalar": GeScalar[float32],
	"Select": Select[float32], "SelectScalar": SelectScalar[float32],
	"ScalarSelect": ScalarSelect[float32],
	"Convert":      Convert[float32, int32],
	"ConvertInt8":  Convert[float32, int8], "ConvertUint8": Convert[float32, uint8],
	"TruncateInt8": Truncate[int8, float32], "TruncateUint8": Truncate[uint8, float32],
	"Quantize": Quantize, "Rescale": Rescale, "Mix": Mix,
}

// Every form of a primitive gives the bits that the plain one does and leaves
// what is around its result alone, at any alignment and where the result is an
// operand.
func TestForms(t *testing.T) {
	for name, prim := range vectorized {
		fn := reflect.ValueOf(prim)
		typ := fn.Type()
		r := rand.New(rand.NewPCG(1, 2))
		for _, n := range lengths() {
			offset, alias := r.IntN(4), r.IntN(typ.NumIn())
			args := make([]reflect.Value, typ.NumIn())
			for i := range args {
				if typ.In(i).Kind() != reflect.Slice {
					args[i] = reflect.New(typ.In(i)).Elem()
					fill(r, args[i])
					continue
				}
				s := reflect.MakeSlice(typ.In(i), n+8, n+8)
				fill(r, s)
				args[i] = s
			}
			if typ.In(alias) != typ.In(0) {
				alias = 0
			}
			run := func() any {
				in := slices.Clone(args)
				for i := range in {
					if in[i].Kind() == reflect.Slice {
						whole := reflect.AppendSlice(reflect.MakeSlice(typ.In(i), 0, n+8), in[i])
						in[i] = whole
					}
				}
				if alias > 0 {
					in[alias] = in[0]
				}
				whole := in[0]
				for i := range in {
					if in[i].Kind() == reflect.Slice {
						in[i] = in[i].Slice(offset, offset+n)
					}
				}
				fn.Call(in)
				return whole.Interface()
			}
			var want any
			plain(func() { want = run() })
			levels(func(level int) {
				if got := run(); !same(got, want) {
					t.Errorf("%s of %d, level %d: got %v, want %v of %v", name, n, level, got,
						want, args)
				}
			})
		}
	}
}

func same(a, b any) bool {
	x, ok := a.([]float32)
	if !ok {
		return reflect.DeepEqual(a, b)
	}
	return slices.EqualFunc(x, b.([]float32), sameFloat)
}

func sameFloat(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// The extremes found by vectors are those found one after the other: NaN if there
// is one, the first of zeros.
func TestExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range append(lengths(), lengths()...) {
		kinds := 1 + r.IntN(3) // any numbers, numbers, zeros
		a := make([]float32, n)
		for i := range a {
			a[i] = draw(r)
			if kinds > 1 && a[i] != a[i] {
				a[i] = -1
			}
			if kinds > 2 {
				a[i] = float32(math.Copysign(0, float64(a[i])))
			}
		}
		acc := draw(r)
		for name, f := range map[string]func(acc float32, a []float32) float32{
			"Largest": Largest[float32], "Smallest": Smallest[float32]} {
			var want float32
			plain(func() { want = f(acc, a) })
			levels(func(level int) {
				if got := f(acc, a); !sameFloat(got, want) {
					t.Errorf("%s at level %d: got %v, want %v of %v and %v", name, level, got,
						want, acc, a)
				}
			})
		}
	}
}
