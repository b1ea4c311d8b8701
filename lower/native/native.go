// Package native builds and holds the native form: an ordered list, with
// nested regions, of kernel calls over dense buffers. Printers turn it into C
// and Go, codegen adds nothing to it but text.
package native

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
	"github.com/etgen/etgen/plan"
)

// Program is a compiled program. What a file says is a foreign.Text in it; names
// that are strings are identifiers, and those of buffers, constants and kernels
// unique.
type Program struct {
	Source  foreign.Text // base name of the model file
	Methods []*Method
	Kernels []*Kernel // every instance called, in order of first call
	Consts  []*Const  // distinct constant data, in order of first use
	State   []*Buffer // mutable buffers, shared by all methods

	convolves bool // some node is a convolution
}

// Method is one entry point.
type Method struct {
	Name    foreign.Text
	Symbols []*sym.Symbol // dynamic sizes the caller determines through input shapes
	Inputs  []Port
	Outputs []Port
	Buffers []*Buffer // all but constants, in order of first use
	Body    []Stmt
	// Clamps are the operators that take the nearest element where an index of the
	// caller's is out of range, each once.
	Clamps []string

	Problem *plan.Problem
	Plan    *plan.Plan
	// Bank maps each root Buffer with Storage Arena to its plan.BufferID.
	Bank map[*Buffer]plan.BufferID
}

// Port is a user input or output.
type Port struct {
	Name foreign.Text // unique in the method, also as an identifier
	// position in the Python calling convention, e.g. `args[0]["x"]`, for comments
	Path foreign.Text
	Type ir.Type
	Buf  *Buffer // nil for scalars
	// Value is an output or fixed input that is a literal or an integer
	// expression; a scalar input that is read at run time has Sym or Var set.
	Value ir.Arg
	Sym   *sym.Symbol
	Var   *expr.Var
	// Mutated tells that the method writes the caller's input memory.
	Mutated bool
	// Packs, if not nil, says that the caller makes the port's elements once, of
	// constants that it knows later than the compiler.
	Packs *Packing
}

// Packing makes an operand of a tuned kernel from an input.
type Packing struct {
	Of     foreign.Text // the name of an input; "" makes zeros
	Panels panels.Shape
}

// Storage is where a buffer lives.
type Storage uint8

// The storages.
const (
	Arena  Storage = iota // planned
	Input                 // the caller's input memory
	Output                // the caller's output memory
	State                 // the state struct
	Weight                // constant data
)

// Buffer is a dense run of elements.
type Buffer struct {
	Name    string
	DType   ir.DType
	Sizes   []sym.Expr // row-major shape, for comments; the product is Len
	Len     sym.Expr   // elements, actual
	MaxLen  int64      // elements at the bound of every symbol; what is planned for
	Storage Storage
	Const   *Const // Weight: the data; State: the initial value
	// Root is not nil for a view: the buffer is the run of Root's elements
	// that starts at element At (which may mention a surrounding loop's
	// variable). Root is never itself a view.
	Root *Buffer
	At   sym.Expr
	// Offset in bytes in the arena (Arena roots, once planned).
	Offset int64
}

// Const is constant data.
type Const struct {
	Name  string       // an identifier, unique in the program
	From  foreign.Text // qualified names it was made of, for comments
	DType ir.DType
	Data  []byte
}

// Stmt is a step of a method.
type Stmt interface{ isStmt() }

// The statements.
type (
	// Call runs a kernel.
	Call struct {
		Kernel *Kernel
		// Args are the operand buffers in the kernel's order: a loop kernel's
		// Bufs; a tuned kernel's result, operands, packed constants, epilogue
		// operands, scratch.
		Args []*Buffer
		// Ints are the values of Kernel.Params at this call.
		Ints []sym.Expr
		// Scalars are the values of the loop kernel's Scalars.
		Scalars []*expr.Expr
		From    []Origin
	}
	// Cond runs Then if the Bool scalar Pred holds, else Else.
	Cond struct {
		Pred       *Buffer
		Then, Else []Stmt
		From       []Origin
	}
	// While runs Head, tests the Bool scalar Pred, and as long as it holds
	// runs Body and begins again.
	While struct {
		Head []Stmt
		Pred *Buffer
		Body []Stmt
		From []Origin
	}
	// For runs Body for Var = 0 … Extent-1 (descending if Reverse).
	For struct {
		Var     *sym.Symbol
		Extent  sym.Expr
		Reverse bool
		Body    []Stmt
		From    []Origin
	}
	// Let reads a run-time scalar: Var or Sym gets Value, whose Loads index Args.
	Let struct {
		Var   *expr.Var
		Sym   *sym.Symbol
		Value *expr.Expr
		Args  []*Buffer
		From  []Origin
	}
	// Assert stops the method with an assertion error unless Cond holds; with a
	// shape error if it is about sizes and numbers that the caller gives (Given),
	// with an index error if it is about indices (Index).
	Assert struct {
		Cond    *expr.Expr
		Args    []*Buffer
		Message foreign.Text
		Given   bool
		Index   bool
		From    []Origin
	}
	// Poison overwrites a dead buffer. Only tests ask for it (Options.Poison).
	Poison struct{ Buf *Buffer }
	// Section runs Body. Package codegen puts it around what is to be a function of
	// its own in the text; Build makes none, and the text form has none.
	Section struct{ Body []Stmt }
)

func (*Call) isStmt()    {}
func (*Cond) isStmt()    {}
func (*While) isStmt()   {}
func (*For) isStmt()     {}
func (*Let) isStmt()     {}
func (*Assert) isStmt()  {}
func (*Poison) isStmt()  {}
func (*Section) isStmt() {}

// Origin is a graph node that a statement came from.
type Origin struct {
	Node foreign.Text
	Op   foreign.Text
	Loc  Location
}

// Location is where a node is in the model's source, as [ir.Location].
type Location struct {
	File   foreign.Text
	Line   int
	Module foreign.Text
}

// Kernel is a kernel instance: the same code for every call of it. Exactly one
// of Loop and Tuned is set.
type Kernel struct {
	Name   string        // an identifier, unique in the program, without prefix
	Params []*sym.Symbol // integer parameters that differ between calls or are dynamic
	Loop   *loop.Func
	Tuned  *tuned.Instance // its Params' Values are constants or expressions of Kernel.Params
	Doc    foreign.Text    // what it computes
	Copy   bool            // a plain copy of its second buffer to its first
	whole  *tuned.Instance // of a kernel that makes a band of rows: that of all rows
}
