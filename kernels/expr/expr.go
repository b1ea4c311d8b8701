// Package expr is the scalar expression language operators are defined in. A
// tensor expression (Tensor) gives each element of an output as an expression
// of input elements, with reductions and gathers; fusion is inlining one
// Tensor into another (Inline). Index arithmetic is ir/sym throughout: loop
// variables, dynamic sizes and data-dependent indices are sym.Symbols.
//
// Nodes are immutable and shared: the same pointer used twice is computed
// once.
package expr

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// Op is the operation of a node.
type Op uint8

// The operations. Arithmetic is that of C on the node's dtype, integers
// wrapping around; operands have the node's dtype unless said otherwise.
const (
	OpInvalid Op = iota

	// Leaves.
	OpConst // Int (integers, bool) or Float (floats) of DType
	OpIndex // the integer Idx as a value of DType (Int32 or Int64)
	// element of operand Buf. In a Tensor: at Coords, one per dimension. In loop form: one flat
	// coordinate in elements
	OpLoad
	// value of the local variable Var (loop form); element Coords[0] of it if it is an array
	OpLocal
	// run-time scalar Buf: in a Tensor the operator's Buf-th scalar operand, in loop form the
	// function's scalar parameter
	OpScalar

	// Arithmetic.
	OpAdd
	OpSub
	OpMul
	OpDiv // floats: true division; integers: truncating, divisor not zero
	OpRem // floats: fmod; integers: sign of the dividend, divisor not zero
	OpNeg
	OpAbs
	OpMin // a < b ? a : b, as C: the second operand if unordered
	OpMax // a > b ? a : b, as C
	OpFMA // a*b + c rounded once
	OpSqrt
	OpFloor
	OpCeil
	OpTrunc
	OpRound // to nearest, ties to even

	// Bits; And, Or, Xor, Not on Bool are logical.
	OpAnd
	OpOr
	OpXor
	OpNot
	OpShl
	OpShr     // arithmetic on signed, logical on unsigned
	OpBitcast // same bits as DType of the same size

	// Comparisons: DType Bool, operands of one common dtype.
	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe

	// Args[0] (Bool) ? Args[1] : Args[2]; only the chosen one is evaluated, so a Select guards its
	// Loads
	OpSelect
	// Args[0] converted to DType: float to integer truncates (what does not fit: see Convert), to
	// Bool is != 0, to a narrower float rounds to nearest even
	OpCast
	OpCall   // function Fn of Args
	OpReduce // Kind over all values of Vars of Args[0]
)

// ReduceKind is how a Reduce combines.
type ReduceKind uint8

// The reductions. Over no values they give Neutral.
// Max and Min give NaN if any value is NaN. ArgMax and ArgMin give the Int64
// position (row-major over Vars) of the first extremum, the first NaN if any;
// ArgMaxLastNaN that of the last NaN, else of the first largest value.
const (
	ReduceSum ReduceKind = iota
	ReduceProd
	ReduceMax
	ReduceMin
	ReduceArgMax
	ReduceArgMin
	ReduceArgMaxLastNaN
)

// Expr is a node.
type Expr struct {
	Op    Op
	DType ir.DType
	Args  []*Expr

	Int    int64         // Const
	Float  float64       // Const
	Idx    sym.Expr      // Index
	Buf    int           // Load, Scalar
	Coords []sym.Expr    // Load, Local (array)
	Var    *Var          // Local
	Fn     *Func         // Call
	Kind   ReduceKind    // Reduce
	Likely bool          // Select: the second arm is nearly never chosen
	Vars   []*sym.Symbol // Reduce: bound here, ranges 0..extent-1
	// Reduce: floats are added in the order of Vars, the first one outermost, in every language.
	InOrder bool
}

// Var is a local variable of a loop.Func: a scalar, or a small array if Len > 0.
type Var struct {
	Name  string
	DType ir.DType
	Len   int
}

// Func is a scalar function defined by an expression, emitted once where it is
// used: exp, tanh, … Body refers to the parameters as Local.
type Func struct {
	Name   string // C and Go identifier, e.g. "exp_f32"
	Params []*Var
	Body   *Expr
	Doc    string // error bound and domain
}

// Tensor is one output of an operator: Body gives the element at Vars.
type Tensor struct {
	DType ir.DType
	Vars  []*sym.Symbol // one per dimension, 0 ≤ v < size
	Body  *Expr
}

// Bind makes a symbol for a data-dependent index: value must be an integer
// expression and lie in [0, extent). It may be used in Coords.
func Bind(name string, value *Expr, extent sym.Expr) *sym.Symbol {
	s := sym.NewVar(name, extent)
	s.Def = value
	return s
}

var opNames = [...]string{
	OpInvalid: "invalid", OpConst: "const", OpIndex: "index", OpLoad: "load", OpLocal: "local",
	OpScalar: "scalar",
	OpAdd:    "add", OpSub: "sub", OpMul: "mul", OpDiv: "div", OpRem: "rem", OpNeg: "neg",
	OpAbs: "abs",
	OpMin: "min", OpMax: "max", OpFMA: "fma", OpSqrt: "sqrt", OpFloor: "floor", OpCeil: "ceil",
	OpTrunc: "trunc", OpRound: "round",
	OpAnd: "and", OpOr: "or", OpXor: "xor", OpNot: "not", OpShl: "shl", OpShr: "shr",
	OpBitcast: "bitcast",
	OpEq:      "eq", OpNe: "ne", OpLt: "lt", OpLe: "le", OpGt: "gt", OpGe: "ge",
	OpSelect: "select", OpCast: "cast", OpCall: "call", OpReduce: "reduce",
}

// String returns the operation's name in dumps.
func (op Op) String() string {
	if int(op) < len(opNames) {
		return opNames[op]
	}
	return fmt.Sprintf("op(%d)", uint8(op))
}

// String returns the reduction's name in dumps.
func (k ReduceKind) String() string {
	names := [...]string{"sum", "prod", "max", "min", "argmax", "argmin", "argmax_last_nan"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("reduce(%d)", uint8(k))
}
