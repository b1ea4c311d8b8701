// Package loop is the imperative form kernels have before they are printed or
// run: counted and conditional loops over buffers with scalar locals. Three
// readers exist: the C printer, the Go printer and kernels/eval. It has no
// operators, only expr's scalar operations.
package loop

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// Func is a kernel: straight code over flat buffers.
type Func struct {
	Name string
	Bufs []Buf         // operand buffers, outputs first; Load.Buf and Store.Buf index them
	Syms []*sym.Symbol // integer parameters: dynamic sizes, and what sharing abstracts
	// scalar parameters (run-time scalars and abstracted constants), read as expr.Scalar by
	// position
	Scalars []*expr.Var
	Body    []Stmt
}

// Buf is one operand: a dense run of elements.
type Buf struct {
	Name  string
	DType ir.DType
	Role  Role
	Len   sym.Expr // elements; sym.Inf() where calls differ
	// Init, of an InOut buffer, is the index of the buffer whose contents it holds
	// at entry, Filled if the caller fills it.
	Init int
}

// Filled says that no operand is what an InOut buffer holds at entry.
const Filled = -1

// Role is how a kernel uses a buffer.
type Role uint8

// The roles. An InOut buffer holds a copy of buffer Init at entry (the caller
// makes it, or gives the same memory), or what the caller filled it with; a
// Scratch buffer's contents are undefined at entry.
const (
	In Role = iota
	Out
	InOut
	Scratch
)

// Stmt is a statement.
type Stmt interface{ isStmt() }

// The statements.
type (
	// For runs Body for Var = 0, 1, …, Extent-1.
	For struct {
		Var    *sym.Symbol
		Extent sym.Expr
		Body   []Stmt
		// Vectorizable says iterations are independent but for the reductions in
		// Assign, so that a reader may run them in chunks.
		Vectorizable bool
		// InOrder says that what a reduction adds is added in the order of the iterations.
		InOrder bool
		// Rolled asks for a short loop not to be unrolled before the compiler
		// has made vectors of it.
		Rolled bool
		// Divided says that threads may each run some of the iterations at the same
		// time: see schedule.Divide.
		Divided bool
	}
	// While runs Body as long as Cond holds.
	While struct {
		Cond *expr.Expr
		Body []Stmt
	}
	// If runs Then or Else.
	If struct {
		Cond       *expr.Expr
		Then, Else []Stmt
		Likely     bool // Else nearly never runs
	}
	// Let declares Var and gives it its first value (Value nil: an array, or
	// undefined until assigned). Mutable tells whether an Assign follows.
	Let struct {
		Var     *expr.Var
		Value   *expr.Expr
		Mutable bool
	}
	// Assign sets a local, or element At of an array local.
	Assign struct {
		Var   *expr.Var
		At    sym.Expr // arrays only
		Value *expr.Expr
	}
	// LetIndex binds Sym to an integer value for the rest of the block.
	LetIndex struct {
		Sym   *sym.Symbol
		Value *expr.Expr
	}
	// Store writes an element.
	Store struct {
		Buf   int
		At    sym.Expr
		Value *expr.Expr
	}
	// Break leaves the innermost For or While.
	Break struct{}
)

func (*For) isStmt()      {}
func (*While) isStmt()    {}
func (*If) isStmt()       {}
func (*Let) isStmt()      {}
func (*Assign) isStmt()   {}
func (*LetIndex) isStmt() {}
func (*Store) isStmt()    {}
func (*Break) isStmt()    {}
