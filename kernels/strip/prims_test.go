package strip_test

import (
	"bytes"
	"encoding/binary"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/strip"
)

// prim is an instance of a primitive that computes elements from elements, and
// the expression it stands for, of its operands in the order it takes them.
type prim struct {
	name string
	fn   any // func(dst, operands…): vectors are slices
	e    func(x []*expr.Expr) *expr.Expr
	// halves is the dtype of vectors of uint16, if they are the bits of floats.
	halves ir.DType
	// shifts tells that the second operand counts bits.
	shifts bool
}

func binaryOf(f func(a, b *expr.Expr) *expr.Expr) func([]*expr.Expr) *expr.Expr {
	return func(x []*expr.Expr) *expr.Expr { return f(x[0], x[1]) }
}

func unaryOf(f func(a *expr.Expr) *expr.Expr) func([]*expr.Expr) *expr.Expr {
	return func(x []*expr.Expr) *expr.Expr { return f(x[0]) }
}

func castTo(d ir.DType) func([]*expr.Expr) *expr.Expr {
	return func(x []*expr.Expr) *expr.Expr { return expr.Cast(d, x[0]) }
}

// through is a cast to d and back.
func through(d ir.DType) func([]*expr.Expr) *expr.Expr {
	return func(x []*expr.Expr) *expr.Expr { return expr.Cast(x[0].DType, expr.Cast(d, x[0])) }
}

// truncated is a product and a sum in float64 without its fraction.
func truncated(x []*expr.Expr) *expr.Expr {
	y := expr.Trunc(expr.Add(expr.Mul(expr.Cast(ir.Float64, x[0]), x[1]), x[2]))
	return expr.Cast(ir.Float32, expr.Select(expr.Eq(y, y), y, expr.Float(ir.Float64, 0)))
}

// rounded is a number quantized, of what it is made of, a zero point, limits and what is
// subtracted.
func rounded(x *expr.Expr, s []*expr.Expr) *expr.Expr {
	n := expr.Min(s[2], expr.Max(s[1], expr.Add(expr.Round(x), s[0])))
	n = expr.Select(expr.Eq(n, n), n, expr.Float(ir.Float32, 0))
	return expr.Sub(n, s[3])
}

// mixed is a shifted sum of two integers times numbers.
func mixed(x []*expr.Expr) *expr.Expr {
	term := func(a, m *expr.Expr) *expr.Expr { return expr.Mul(expr.Cast(ir.Int32, a), m) }
	sum := expr.Add(expr.Add(term(x[0], x[2]), term(x[1], x[3])), x[4])
	sum = expr.Shr(sum, expr.And(x[5], expr.Int(ir.Int32, 31)))
	return expr.Sub(expr.Cast(ir.Float32, expr.Min(x[7], expr.Max(x[6], sum))), x[8])
}

func bitcastTo(d ir.DType) func([]*expr.Expr) *expr.Expr {
	return func(x []*expr.Expr) *expr.Expr { return expr.Bitcast(d, x[0]) }
}

// extreme is one of two values, NaN if one of them is.
func extreme(better func(a, b *expr.Expr) *expr.Expr) func(a, b *expr.Expr) *expr.Expr {
	return func(a, b *expr.Expr) *expr.Expr {
		cond := better(b, a)
		if b.DType.IsFloat() {
			cond = expr.Or(cond, expr.Ne(b, b))
		}
		return expr.Select(cond, b, a)
	}
}

func chosen(x []*expr.Expr) *expr.Expr { return expr.Select(x[0], x[1], x[2]) }

func numeric[T strip.Numeric]() []prim {
	add, sub, mul := binaryOf(expr.Add), binaryOf(expr.Sub), binaryOf(expr.Mul)
	most, least := binaryOf(expr.Max), binaryOf(expr.Min)
	eq, ne, lt, le := binaryOf(expr.Eq), binaryOf(expr.Ne), binaryOf(expr.Lt), binaryOf(expr.Le)
	return append(choices[T](), []prim{
		{name: "Add", fn: strip.Add[T], e: add},
		{name: "AddScalar", fn: strip.AddScalar[T], e: add},
		{name: "Sub", fn: strip.Sub[T], e: sub}, {name: "SubScalar", fn: strip.SubScalar[T],
			e: sub}, {name: "ScalarSub", fn: strip.ScalarSub[T], e: sub},
		{name: "Mul", fn: strip.Mul[T], e: mul},
		{name: "MulScalar", fn: strip.MulScalar[T], e: mul},
		{name: "Max", fn: strip.Max[T], e: most}, {name: "MaxScalar", fn: strip.MaxScalar[T],
			e: most}, {name: "ScalarMax", fn: strip.ScalarMax[T], e: most},
		{name: "Min", fn: strip.Min[T], e: least}, {name: "MinScalar", fn: strip.MinScalar[T],
			e: least}, {name: "ScalarMin", fn: strip.ScalarMin[T], e: least},
		{name: "Larger", fn: strip.Larger[T], e: binaryOf(extreme(expr.Gt))},
		{name: "Smaller", fn: strip.Smaller[T], e: binaryOf(extreme(expr.Lt))},
		{name: "Neg", fn: strip.Neg[T], e: unaryOf(expr.Neg)},
		{name: "Eq", fn: strip.Eq[T], e: eq}, {name: "EqScalar", fn: strip.EqScalar[T], e: eq},
		{name: "Ne", fn: strip.Ne[T], e: ne}, {name: "NeScalar", fn: strip.NeScalar[T], e: ne},
		{name: "Lt", fn: strip.Lt[T], e: lt}, {name: "LtScalar", fn: strip.LtScalar[T], e: lt},
		{name: "Le", fn: strip.Le[T], e: le}, {name: "LeScalar", fn: strip.LeScalar[T], e: le},
		{name: "GtScalar", fn: strip.GtScalar[T], e: binaryOf(expr.Gt)},
		{name: "GeScalar", fn: strip.GeScalar[T], e: binaryOf(expr.Ge)},
		{name: "Convert", fn: strip.Convert[float32, T], e: castTo(ir.Float32)},
		{name: "Convert", fn: strip.Convert[float64, T], e: castTo(ir.Float64)},
		{name: "Numbers", fn: strip.Numbers[T], e: castTo(dtypeOf(reflect.TypeFor[T]()))},
	}...)
}

func choices[T any]() []prim {
	return []prim{
		{name: "Select", fn: strip.Select[T], e: chosen},
		{name: "SelectScalar", fn: strip.SelectScalar[T], e: chosen},
		{name: "ScalarSelect", fn: strip.ScalarSelect[T], e: chosen},
		{name: "Fill", fn: strip.Fill[T], e: unaryOf(func(x *expr.Expr) *expr.Expr { return x })},
	}
}

func integer[T strip.Integer]() []prim {
	and, or, xor, shl, shr := binaryOf(expr.And), binaryOf(expr.Or), binaryOf(expr.Xor),
		binaryOf(expr.Shl), binaryOf(expr.Shr)
	return append(numeric[T](), []prim{
		{name: "AbsInt", fn: strip.AbsInt[T], e: unaryOf(expr.Abs)},
		{name: "BitAnd", fn: strip.BitAnd[T], e: and}, {name: "BitAndScalar",
			fn: strip.BitAndScalar[T], e: and},
		{name: "BitOr", fn: strip.BitOr[T], e: or}, {name: "BitOrScalar", fn: strip.BitOrScalar[T],
			e: or},
		{name: "BitXor", fn: strip.BitXor[T], e: xor}, {name: "BitXorScalar",
			fn: strip.BitXorScalar[T], e: xor},
		{name: "Shl", fn: strip.Shl[T], e: shl, shifts: true},
		{name: "ShlScalar", fn: strip.ShlScalar[T], e: shl, shifts: true},
		{name: "Shr", fn: strip.Shr[T], e: shr, shifts: true},
		{name: "ShrScalar", fn: strip.ShrScalar[T], e: shr, shifts: true},
		{name: "Convert", fn: strip.Convert[int8, T], e: castTo(ir.Int8)},
		{name: "Convert", fn: strip.Convert[uint32, T], e: castTo(ir.Uint32)},
		{name: "Convert", fn: strip.Convert[int64, T], e: castTo(ir.Int64)},
		{name: "Convert", fn: strip.Convert[uint64, T], e: castTo(ir.Uint64)},
		{name: "Truncate", fn: strip.Truncate[T, float32],
			e: castTo(dtypeOf(reflect.TypeFor[T]()))},
		{name: "Truncate", fn: strip.Truncate[T, float64],
			e: castTo(dtypeOf(reflect.TypeFor[T]()))},
	}...)
}

func float[T strip.Float]() []prim {
	div, rem := binaryOf(expr.Div), binaryOf(expr.Rem)
	return append(numeric[T](), []prim{
		{name: "Div", fn: strip.Div[T], e: div}, {name: "DivScalar", fn: strip.DivScalar[T],
			e: div}, {name: "ScalarDiv", fn: strip.ScalarDiv[T], e: div},
		{name: "Mod", fn: strip.Mod[T], e: rem},
		{name: "ModScalar", fn: strip.ModScalar[T], e: rem},
		{name: "AbsFloat", fn: strip.AbsFloat[T], e: unaryOf(expr.Abs)},
		{name: "Sqrt", fn: strip.Sqrt[T], e: unaryOf(expr.Sqrt)},
		{name: "Floor", fn: strip.Floor[T], e: unaryOf(expr.Floor)},
		{name: "Ceil", fn: strip.Ceil[T], e: unaryOf(expr.Ceil)},
		{name: "Trunc", fn: strip.Trunc[T], e: unaryOf(expr.Trunc)},
		{name: "Round", fn: strip.Round[T], e: unaryOf(expr.Round)},
	}...)
}

func prims() []prim {
	fma := func(x []*expr.Expr) *expr.Expr { return expr.FMA(x[0], x[1], x[2]) }
	list := []prim{
		{name: "And", fn: strip.And, e: binaryOf(expr.And)}, {name: "Or", fn: strip.Or,
			e: binaryOf(expr.Or)},
		{name: "Xor", fn: strip.Xor, e: binaryOf(expr.Xor)}, {name: "Not", fn: strip.Not,
			e: unaryOf(expr.Not)},
		{name: "FMAF32", fn: strip.FMAF32, e: fma}, {name: "FMAF64", fn: strip.FMAF64, e: fma},
		{name: "ThroughInt8", fn: strip.ThroughInt8, e: through(ir.Int8)}, {name: "ThroughUint8",
			fn: strip.ThroughUint8, e: through(ir.Uint8)},
		{name: "Quantize", fn: strip.Quantize, e: func(x []*expr.Expr) *expr.Expr {
			return rounded(x[0], x[1:])
		}},
		{name: "Rescale", fn: strip.Rescale, e: func(x []*expr.Expr) *expr.Expr {
			return rounded(expr.Mul(expr.Add(x[0], x[1]), x[2]), x[3:])
		}},
		{name: "Mix", fn: strip.Mix, e: mixed},
		{name: "TruncMulAdd", fn: strip.TruncMulAdd, e: truncated},
		{name: "Float32Bits", fn: strip.Float32Bits[int32], e: bitcastTo(ir.Int32)},
		{name: "Float32Bits", fn: strip.Float32Bits[uint32], e: bitcastTo(ir.Uint32)},
		{name: "Float64Bits", fn: strip.Float64Bits[int64], e: bitcastTo(ir.Int64)},
		{name: "Float64Bits", fn: strip.Float64Bits[uint64], e: bitcastTo(ir.Uint64)},
		{name: "BitsFloat32", fn: strip.BitsFloat32[int32], e: bitcastTo(ir.Float32)},
		{name: "BitsFloat32", fn: strip.BitsFloat32[uint32], e: bitcastTo(ir.Float32)},
		{name: "BitsFloat64", fn: strip.BitsFloat64[int64], e: bitcastTo(ir.Float64)},
		{name: "BitsFloat64", fn: strip.BitsFloat64[uint64], e: bitcastTo(ir.Float64)},
		{name: "FromF16", fn: strip.FromF16, e: castTo(ir.Float32), halves: ir.Float16},
		{name: "ToF16", fn: strip.ToF16, e: castTo(ir.Float16), halves: ir.Float16},
		{name: "FromBF16", fn: strip.FromBF16, e: castTo(ir.Float32), halves: ir.BFloat16},
		{name: "ToBF16", fn: strip.ToBF16, e: castTo(ir.BFloat16), halves: ir.BFloat16},
	}
	for _, more := range [][]prim{
		choices[bool](), integer[int8](), integer[uint8](), integer[int16](), integer[uint16](),
		integer[int32](), integer[uint32](),
		integer[int64](), integer[uint64](), float[float32](), float[float64](),
	} {
		list = append(list, more...)
	}
	return list
}

var kinds = map[reflect.Kind]ir.DType{
	reflect.Bool: ir.Bool, reflect.Int8: ir.Int8, reflect.Uint8: ir.Uint8, reflect.Int16: ir.Int16,
	reflect.Uint16: ir.Uint16,
	reflect.Int32:  ir.Int32, reflect.Uint32: ir.Uint32, reflect.Int64: ir.Int64,
	reflect.Uint64:  ir.Uint64,
	reflect.Float32: ir.Float32, reflect.Float64: ir.Float64,
}

func dtypeOf(t reflect.Type) ir.DType { return kinds[t.Kind()] }

// elements returns n elements of d, by their bytes.
func elements(r *rand.Rand, d ir.DType, n int) []byte {
	out := make([]byte, n*d.Size())
	for i := range n {
		special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1,
			0.5, 2.5, 0x1p31, -0x1p63, 0x1p64, 1e-310}
		v := eval.Value{I: expr.Wrap(d, int64(r.Uint64()))}
		switch k := r.IntN(2 * len(special)); {
		case d == ir.Bool:
			v.I = int64(r.IntN(2))
		case d.IsFloat() && k < len(special):
			v.F = expr.RoundTo(d, special[k])
		case d.IsFloat():
			v.F = expr.RoundTo(d, r.NormFloat64()*math.Pow(2, float64(r.IntN(40)-10)))
		case k < 8:
			v.I = expr.Wrap(d, int64(k-4))
		case k == 8:
			v.I = expr.Wrap(d, -1<<(8*d.Size()-1))
		}
		eval.Put(d, out, int64(i), v)
	}
	return out
}

// slice returns elements as a slice of type t.
func slice(t *testing.T, typ reflect.Type, data []byte) reflect.Value {
	n := len(data) / int(typ.Elem().Size())
	s := reflect.MakeSlice(typ, n, n)
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, s.Interface()); err != nil {
		t.Fatal(err)
	}
	return s
}

// reference computes e element by element; operands are vectors or, of one
// element, scalars.
func reference(t *testing.T, p prim, d ir.DType, operands []ir.DType, data [][]byte, n int) []byte {
	count := sym.Int(int64(n))
	i := sym.NewVar("i", count)
	f := &loop.Func{Name: p.name, Bufs: []loop.Buf{{Name: "out", DType: d, Role: loop.Out,
		Len: count}}}
	var xs []*expr.Expr
	bufs := [][]byte{make([]byte, n*d.Size())}
	for k, od := range operands {
		size := int64(len(data[k]) / od.Size())
		at := i.Expr()
		if size == 1 {
			at = sym.Int(0)
		}
		f.Bufs = append(f.Bufs, loop.Buf{Name: string(rune('a' + k)), DType: od, Role: loop.In,
			Len: sym.Int(size)})
		xs = append(xs, expr.At(1+k, od, at))
		bufs = append(bufs, data[k])
	}
	f.Body = []loop.Stmt{&loop.For{Var: i, Extent: count,
		Body: []loop.Stmt{&loop.Store{At: i.Expr(), Value: p.e(xs)}}}}
	if err := eval.Run(f, bufs, nil, nil); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	return bufs[0]
}

// TestPrimitives compares every primitive that works element by element with
// the expression it stands for.
func TestPrimitives(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range prims() {
		fn := reflect.ValueOf(p.fn)
		dtype := func(t reflect.Type) ir.DType {
			if p.halves != ir.InvalidDType && t.Kind() == reflect.Uint16 {
				return p.halves
			}
			return dtypeOf(t)
		}
		for _, n := range []int{0, 1, 3, 8, 257} {
			dst := fn.Type().In(0)
			args := []reflect.Value{reflect.MakeSlice(dst, n, n)}
			var operands []ir.DType
			var data [][]byte
			for k := 1; k < fn.Type().NumIn(); k++ {
				typ := fn.Type().In(k)
				elem, size := typ, 1
				if typ.Kind() == reflect.Slice {
					elem, size = typ.Elem(), n+2 // longer than the result
				}
				d := dtype(elem)
				b := elements(r, d, size)
				if p.shifts && k == 2 {
					for i := range int64(size) {
						eval.Put(d, b, i, eval.Value{I: int64(r.IntN(8 * d.Size()))})
					}
				}
				operands, data = append(operands, d), append(data, b)
				s := slice(t, reflect.SliceOf(elem), b)
				if size == 1 && typ.Kind() != reflect.Slice {
					s = s.Index(0)
				}
				args = append(args, s)
			}
			fn.Call(args)
			d := dtype(dst.Elem())
			want := slice(t, dst, reference(t, p, d, operands, data, n))
			for i := range n {
				got, want := args[0].Index(i), want.Index(i)
				if !sameBits(got, want) {
					var in []any
					for _, a := range args[1:] {
						if a.Kind() == reflect.Slice {
							a = a.Index(i)
						}
						in = append(in, a.Interface())
					}
					t.Errorf("%s%v: got %v, want %v", p.name, in, got, want)
				}
			}
		}
	}
}

func sameBits(a, b reflect.Value) bool {
	if a.CanFloat() {
		x, y := a.Float(), b.Float()
		return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
	}
	return a.Interface() == b.Interface()
}

// TestComplete finds every exported function with a destination in a table of
// tests.
func TestComplete(t *testing.T) {
	tested := map[string]bool{}
	for _, p := range prims() {
		tested[p.name] = true
	}
	for _, name := range moves {
		tested[name] = true
	}
	entries, err := strip.Source.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		src, err := strip.Source.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), src, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() || strings.HasSuffix(e.Name(), "_test.go") ||
				tested[fn.Name.Name] {
				continue
			}
			if first := fn.Type.Params.List[0].Names[0].Name; first == "dst" || first == "acc" {
				t.Errorf("%s is not tested", fn.Name.Name)
			}
		}
	}
}
