package ir

import (
	"slices"

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
	es := make([]sym.Expr, len(xs))
	for i, x := range xs {
		es[i] = sym.Int(x)
	}
	return es
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
