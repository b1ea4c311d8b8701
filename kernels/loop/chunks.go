package loop

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// The statements on vectors. schedule.Vectorize makes them of loops for readers
// that run or print calls of the primitives of kernels/strip.
type (
	// Chunks runs Body, Vectors and Lets, on chunks of the iterations of Var below
	// Extent: Var is the first iteration of a chunk, which has up to Size.
	Chunks struct {
		Var    *sym.Symbol
		Extent sym.Expr
		Size   int64
		Whole  bool       // all iterations are one chunk
		Temps  []ir.DType // vectors that Body computes, of up to Size elements
		Body   []Stmt
		// Rows, if not nil, is the variable of a loop around, of RowCount iterations:
		// a chunk holds all iterations of Var for several of Rows. Else, two loops, runs
		// if a buffer that is written lies where another one that is read does.
		Rows     *sym.Symbol
		RowCount sym.Expr
		Else     []Stmt
	}
	// Vector is a call of a primitive on a chunk.
	Vector struct {
		// Prim is the name of the primitive: its parameters are Dst, unless it is
		// a reduction, and Args. "Apply" sets Dst to Fn of the elements of Args,
		// "Copy" copies.
		Prim string
		Fn   *expr.Func
		Dst  Operand
		Args []Operand
		// Acc is the local that a reduction changes: Acc = Prim(Acc, Args).
		Acc *expr.Var
	}
	// Transpose copies rows to columns: element To + DstStep·c + r of Dst becomes
	// element From + SrcStep·r + c of Src, for r below Rows and c below Cols. Else,
	// two loops, runs if the buffers overlap.
	Transpose struct {
		Dst, Src         int // buffers, not the same
		To, From         sym.Expr
		DstStep, SrcStep int64 // more than 1
		Rows, Cols       sym.Expr
		Else             []Stmt
	}
)

func (*Chunks) isStmt()    {}
func (*Vector) isStmt()    {}
func (*Transpose) isStmt() {}

// Operand is an operand of a Vector.
type Operand struct {
	Kind  OperandKind
	DType ir.DType
	Temp  int
	Buf   int
	At    sym.Expr
	Value *expr.Expr
}

// OperandKind tells operands apart.
type OperandKind uint8

// The kinds of operands.
const (
	NoOperand     OperandKind = iota
	TempOperand               // vector Temp of the Chunks
	RunOperand                // elements At, At+1, … of Buf from the chunk's first iteration on
	BufferOperand             // Buf from its beginning: what Load, Store and Gather take
	ScalarOperand             // Value, the same in all iterations
	IndexOperand              // At, the same in all iterations
)

// Invariant reports whether o is the same in all iterations.
func (o Operand) Invariant() bool { return o.Kind == ScalarOperand || o.Kind == IndexOperand }

// SameTemp reports whether both are the same vector of a Chunks.
func (o Operand) SameTemp(a Operand) bool {
	return o.Kind == TempOperand && a.Kind == TempOperand && o.Temp == a.Temp
}

// Operands returns Dst, if there is one, and Args.
func (v *Vector) Operands() []Operand {
	if v.Dst.Kind == NoOperand {
		return v.Args
	}
	return append([]Operand{v.Dst}, v.Args...)
}
