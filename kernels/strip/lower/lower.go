// Package lower turns innermost loops into calls of the vector primitives of
// kernels/strip. Readers of loops that run or print such calls (kernels/eval,
// the Go printer) share it, so that they round sums in the same way.
package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/strip"
)

// Code is an innermost loop as calls, to be made one after the other on the
// iterations Var, Var+1, … of a strip: for Var = 0, strip.Size, 2·strip.Size, …
// or, if Whole is set, once on all of them.
type Code struct {
	Var    *sym.Symbol
	Extent sym.Expr
	Temps  []ir.DType // temporaries of up to TempLen elements
	// TempLen is the most elements a strip has.
	TempLen int64
	Whole   bool
	Calls   []Call
}

// Call is one step: a primitive of kernels/strip, a scalar function applied to
// every element, or a scalar computed once for the strip.
type Call struct {
	// Prim is the name of the primitive: its parameters are Dst, unless it is
	// a reduction, and Args. "Apply" sets Dst to Fn of the elements of Args,
	// "Copy" copies.
	Prim string
	Fn   *expr.Func
	Dst  Operand
	Args []Operand
	// Acc is the local that a reduction changes: Acc = Prim(Acc, Args).
	Acc *expr.Var
	// Let declares a scalar; the other fields are empty.
	Let *loop.Let
}

// Kind tells operands apart.
type Kind uint8

// The kinds of operands.
const (
	None   Kind = iota
	Temp        // a temporary
	Run         // elements At, At+1, … of a buffer, At being for the strip's first iteration
	Whole       // a buffer from its beginning: what Load, Store and Gather take
	Scalar      // a value that is the same in all iterations
	Index       // an integer that is the same in all iterations, as an index expression
)

// Operand is an operand of a call.
type Operand struct {
	Kind  Kind
	DType ir.DType
	Temp  int
	Buf   int
	At    sym.Expr
	Value *expr.Expr
}

// The fewest iterations that are worth calls: in general, where all have vector
// forms, where a function is applied that has one, to copy, and where every
// operation on an element is a call itself. A call takes as long as 16 sums or
// two exponentials in Go.
const (
	shortest            = 32
	shortestVector      = 16
	shortestApply       = 8
	shortestCopy        = 4
	shortestInterpreted = 4
)

// Options tell Loop about the reader.
type Options struct {
	// Length gives the elements of a buffer if they are known: loads that a
	// condition guards may only be made unconditionally where they are in range.
	Length func(buf int) (sym.Expr, bool)
	// Interpreted is for readers to whom an operation on an element is as dear as
	// a primitive on a few: shorter loops are worth calls, and so are both arms
	// of the Selects in scalar functions.
	Interpreted bool
	// Native reports whether the reader has code for a scalar function, so that
	// what it is made of need not be lowered. Nil: for none.
	Native func(*expr.Func) bool
}

// Loop returns s as calls, or nil if it has to run element by element: it has
// inner loops or conditions, operations without a primitive, or too few
// iterations.
func Loop(s *loop.For, opts Options) *Code {
	if !s.Strip {
		return nil
	}
	b := &builder{v: s.Var, opts: opts, vars: map[*expr.Var]value{}, syms: map[*sym.Symbol]value{},
		scalars: map[*expr.Var]bool{}, memo: map[*expr.Expr]value{},
		bodies: map[*expr.Func]*expr.Expr{}}
	if !b.body(s.Body) {
		return nil
	}
	_, most := s.Extent.Bounds()
	if most < b.least() {
		return nil
	}
	c := &Code{Var: s.Var, Extent: s.Extent, TempLen: min(most, strip.Size)}
	b.finish(c)
	c.Whole = most <= strip.Size || len(c.Calls) == 1
	return c
}

// least returns the fewest iterations that are worth the calls.
func (b *builder) least() int64 {
	switch {
	case b.opts.Interpreted:
		return shortestInterpreted
	case len(b.calls) == 1 && b.calls[0].Prim == "Copy":
		return shortestCopy
	}
	least := int64(shortestVector)
	for _, c := range b.calls {
		if c.Prim == "Apply" && Vector(c.Fn) != "" {
			return shortestApply
		}
		if !c.vectorized() {
			least = shortest
		}
	}
	return least
}

// vectorized reports whether a call has a vector form: it has if it computes
// elements of float32, or bools from them.
func (c *Call) vectorized() bool {
	switch c.Prim {
	case "Load", "Store", "Gather", "Iota", "Apply", "Mod", "ModScalar":
		return false
	}
	for _, o := range append([]Operand{c.Dst}, c.Args...) {
		if o.Kind != None && o.DType != ir.Float32 && o.DType != ir.Bool {
			return false
		}
	}
	return true
}

// Invariant reports whether o is the same in all iterations.
func (o Operand) Invariant() bool { return o.Kind == Scalar || o.Kind == Index }
