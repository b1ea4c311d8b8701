package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// Op is one entry of the table. Infer is always there, and at least one of
// Compute, Loops, Decompose, View, Value, ScalarOp and Effect.
type Op struct {
	// Schema is the operator's ATen schema line, as in
	// "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
	// Names, defaults, mutation and aliasing are read from it.
	Schema string

	// Infer returns the type of every result: dtype by PyTorch's promotion,
	// sizes (symbolic too) and the strides eager PyTorch gives.
	Infer func(*Call) ([]ir.Type, error)

	// Compute gives every result as a tensor expression over the operands.
	Compute func(*Call) ([]expr.Tensor, error)

	// Loops gives an imperative body. Its buffers are the results, then the
	// tensor operands in order, then scratch.
	Loops func(*Call) (*loop.Func, error)

	// Permuted, of an operator with Loops, gives the call that does the same to
	// tensors whose dimensions are all permuted to an order, nil if there is none.
	Permuted func(c *Call, order []int) *Call

	// Decompose writes the operator in terms of other entries and returns one
	// value per result.
	Decompose func(*Builder, *Call) ([]*ir.Value, error)

	// Writes is set for operators that may write to arguments beside giving
	// results, as batch norm does in training: it says such a call in
	// functional operators and Builder.Write. It returns nil for a call that
	// writes nothing; only these have another meaning.
	Writes func(*Builder, *Call) ([]*ir.Value, error)

	// View tells how each result aliases an operand. It returns nil for a call
	// that makes a copy, as contiguous may; then another form is there.
	View func(*Call) ([]View, error)

	// Value computes the result of an operator on scalars (sym_size.int,
	// _operator.mul) as an integer expression over the method's symbols. It
	// is used if the call has no run-time scalar operands.
	Value func(*Call) (sym.Expr, error)

	// ScalarOp gives the result of an operator on scalars that is known only
	// at run time, as an expression over Call.Scalars and sizes.
	ScalarOp func(*Call) (*expr.Expr, error)

	// Effect is set for operators that are kept though nobody uses their
	// results: assertions.
	Effect bool

	// Random is set for operators that draw numbers: two equal calls give
	// different results, and no call is computed beforehand.
	Random bool

	// variant returns another entry of the same schema for calls that this one
	// does not mean, nil for all others.
	variant func(*Call) *Op

	sch     *aten.Schema
	numbers bool // a number may stand for a Tensor argument
}

// View is a result that shares its operand's memory: element c of the result
// is element Map(c) of operand Of.
type View struct {
	Of  int
	Map func(coords []sym.Expr) []sym.Expr
}

// Table is a set of operators by name ("aten.add.Tensor").
type Table struct {
	byName map[string]*Op
	names  []string // sorted
}
