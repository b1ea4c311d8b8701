package ir

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// Kind tells what a value is.
type Kind uint8

// The kinds of values.
const (
	NoneKind Kind = iota
	TensorKind
	IntKind    // a Python int, possibly symbolic
	FloatKind  // a Python float
	BoolKind   // a Python bool
	StringKind // a Python string, only as a graph input or output
	TokenKind  // orders effects
	CustomKind // a torch.ScriptObject
)

// Type is the static type of a value.
type Type struct {
	Kind Kind

	// Of tensors. Sizes and Strides have equal length; strides and offset
	// count elements.
	DType   DType
	Sizes   []sym.Expr
	Strides []sym.Expr
	Offset  sym.Expr

	// Expr is the value of an IntKind in terms of the method's symbols, when
	// it is known.
	Expr    sym.Expr
	HasExpr bool

	// Class is the qualified name of a CustomKind.
	Class string
}

// TensorOf returns a dense row-major tensor type.
func TensorOf(d DType, sizes ...sym.Expr) Type {
	return Type{Kind: TensorKind, DType: d, Sizes: sizes, Strides: Contiguous(sizes)}
}

// StaticTensor returns a dense row-major tensor type of constant sizes.
func StaticTensor(d DType, sizes ...int64) Type {
	return TensorOf(d, Ints(sizes)...)
}

// SymInt returns the type of an integer whose value is e.
func SymInt(e sym.Expr) Type { return Type{Kind: IntKind, Expr: e, HasExpr: true} }

// Ints converts constants to expressions.
func Ints(xs []int64) []sym.Expr {
	return seq.Map(xs, sym.Int)
}

// Contiguous returns the row-major strides of sizes as PyTorch computes them:
// a dimension of size 0 counts as 1.
func Contiguous(sizes []sym.Expr) []sym.Expr {
	strides := make([]sym.Expr, len(sizes))
	s := sym.Int(1)
	for i := len(sizes) - 1; i >= 0; i-- {
		strides[i] = s
		s = sym.Mul(s, sym.Max(sizes[i], sym.Int(1)))
	}
	return strides
}

// Rank returns the number of dimensions.
func (t Type) Rank() int { return len(t.Sizes) }

// Numel returns the number of elements.
func (t Type) Numel() sym.Expr { return sym.Mul(t.Sizes...) }

// Bytes returns the bytes of the elements stored densely.
func (t Type) Bytes() sym.Expr {
	return sym.Mul(t.Numel(), sym.Int(int64(t.DType.Size())))
}

// StaticSizes returns the sizes if all are constants.
func (t Type) StaticSizes() ([]int64, bool) {
	out := make([]int64, len(t.Sizes))
	for i, s := range t.Sizes {
		n, ok := s.Const()
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

// IsContiguous reports whether the strides are row-major. Strides of
// dimensions of size 1 do not matter, nor any of an empty tensor.
func (t Type) IsContiguous() bool {
	want := Contiguous(t.Sizes)
	for i, s := range t.Sizes {
		if s.IsZero() {
			return true
		}
		if !s.Is(1) && !t.Strides[i].Equal(want[i]) {
			return false
		}
	}
	return true
}

// Dense returns t with row-major strides and no offset.
func (t Type) Dense() Type {
	t.Strides, t.Offset = Contiguous(t.Sizes), sym.Expr{}
	return t
}

// Equal reports whether both types are the same, strides and offset included.
func (t Type) Equal(u Type) bool {
	eq := sym.Expr.Equal
	return t.Kind == u.Kind && t.DType == u.DType && t.Class == u.Class &&
		slices.EqualFunc(t.Sizes, u.Sizes, eq) && slices.EqualFunc(t.Strides, u.Strides, eq) &&
		t.Offset.Equal(u.Offset) && t.HasExpr == u.HasExpr && t.Expr.Equal(u.Expr)
}

// DType is an element type. Its numbers are etgen's own; the file formats
// translate theirs.
type DType uint8

// The element types PyTorch can export.
const (
	InvalidDType DType = iota
	Bool
	Uint8
	Int8
	Int16
	Int32
	Int64
	Uint16
	Uint32
	Uint64
	Float16
	BFloat16
	Float32
	Float64
	Complex32
	Complex64
	Complex128
	Float8E4M3FN
	Float8E5M2
	Float8E4M3FNUZ
	Float8E5M2FNUZ
	Float8E8M0FNU
	numDTypes
)

// class orders dtypes for promotion: bool < integer < float < complex.
type class uint8

const (
	boolClass class = iota
	intClass
	floatClass
	complexClass
)

var dtypes = [numDTypes]struct {
	name  string // as PyTorch's torch.NAME and meta.json write it
	short string // as PyTorch's graph listings write it
	size  int
	class class
}{
	Bool:           {"bool", "b8", 1, boolClass},
	Uint8:          {"uint8", "u8", 1, intClass},
	Int8:           {"int8", "i8", 1, intClass},
	Int16:          {"int16", "i16", 2, intClass},
	Int32:          {"int32", "i32", 4, intClass},
	Int64:          {"int64", "i64", 8, intClass},
	Uint16:         {"uint16", "u16", 2, intClass},
	Uint32:         {"uint32", "u32", 4, intClass},
	Uint64:         {"uint64", "u64", 8, intClass},
	Float16:        {"float16", "f16", 2, floatClass},
	BFloat16:       {"bfloat16", "bf16", 2, floatClass},
	Float32:        {"float32", "f32", 4, floatClass},
	Float64:        {"float64", "f64", 8, floatClass},
	Complex32:      {"complex32", "c32", 4, complexClass},
	Complex64:      {"complex64", "c64", 8, complexClass},
	Complex128:     {"complex128", "c128", 16, complexClass},
	Float8E4M3FN:   {"float8_e4m3fn", "f8e4m3fn", 1, floatClass},
	Float8E5M2:     {"float8_e5m2", "f8e5m2", 1, floatClass},
	Float8E4M3FNUZ: {"float8_e4m3fnuz", "f8e4m3fnuz", 1, floatClass},
	Float8E5M2FNUZ: {"float8_e5m2fnuz", "f8e5m2fnuz", 1, floatClass},
	Float8E8M0FNU:  {"float8_e8m0fnu", "f8e8m0fnu", 1, floatClass},
}

// String returns PyTorch's name, e.g. "float32".
func (d DType) String() string {
	if d == InvalidDType || d >= numDTypes {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// Short returns the name used in graph listings, e.g. "f32".
func (d DType) Short() string {
	if d == InvalidDType || d >= numDTypes {
		return d.String()
	}
	return dtypes[d].short
}

// Size returns the bytes one element takes, 0 for InvalidDType.
func (d DType) Size() int {
	if d >= numDTypes {
		return 0
	}
	return dtypes[d].size
}

func (d DType) is(c class) bool {
	return d != InvalidDType && d < numDTypes && dtypes[d].class == c
}

// IsInt reports whether d is an integer type (bool is not).
func (d DType) IsInt() bool { return d.is(intClass) }

// IsFloat reports whether d is a real floating-point type.
func (d DType) IsFloat() bool { return d.is(floatClass) }

// IsHalf reports whether d is a float of 16 bits.
func (d DType) IsHalf() bool { return d == Float16 || d == BFloat16 }

// GoElement is the type in Go of elements of d, as kernels of custom operators take them; 16-bit
// floats are their bits.
func (d DType) GoElement() string {
	if d.IsHalf() {
		return "uint16"
	}
	return d.String()
}

// IsComplex reports whether d is a complex type.
func (d DType) IsComplex() bool { return d.is(complexClass) }

// IsUnsigned reports whether d is an unsigned integer type.
func (d DType) IsUnsigned() bool {
	return d == Uint8 || d == Uint16 || d == Uint32 || d == Uint64
}

// Part is the dtype of the parts of complex numbers, and d itself if it is real.
func (d DType) Part() DType {
	switch d {
	case Complex32:
		return Float16
	case Complex64:
		return Float32
	case Complex128:
		return Float64
	}
	return d
}

// RealParts returns the type of the real and imaginary parts of t where t is complex: a last
// dimension that has both, which is how they lie in memory.
func (t Type) RealParts() Type {
	if t.Kind != TensorKind || !t.DType.IsComplex() {
		return t
	}
	t.DType = t.DType.Part()
	two := sym.Int(2)
	strides := make([]sym.Expr, 0, len(t.Sizes)+1)
	for _, s := range t.Strides {
		strides = append(strides, sym.Mul(s, two))
	}
	t.Sizes, t.Strides = append(slices.Clone(t.Sizes), two), append(strides, sym.Int(1))
	t.Offset = sym.Mul(t.Offset, two)
	return t
}

// ParseDType is the inverse of String and of Short.
func ParseDType(s string) (DType, bool) {
	for d := DType(1); d < numDTypes; d++ {
		if dtypes[d].name == s || dtypes[d].short == s {
			return d, true
		}
	}
	return InvalidDType, false
}
