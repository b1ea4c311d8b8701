package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// AssertIndex is the operator that says that indices are within their bounds:
// self is one bool, assert_msg what is wrong if it does not hold. Where PyTorch
// would raise an error of an index, kernels take the nearest element; this is how
// a program asks for the error.
const AssertIndex = "etgen.assert_index.default"

const assertIndexSchema = "etgen::assert_index(Tensor self, str assert_msg) -> ()"

// Index is a tensor operand whose elements an operator takes for positions along
// a dimension.
type Index struct {
	Operand int      // index in Operands
	Size    sym.Expr // of the dimension
	Wrap    bool     // negative ones count from the end
}

// Indices returns the operands of c that hold indices, in the order in which the
// definition reads them. An operator that is defined by others has none.
func (c *Call) Indices() []Index {
	integers := slices.ContainsFunc(c.operands, func(v *ir.Value) bool {
		return v.Type.DType.IsInt()
	})
	if !integers || c.Op.Compute == nil && c.Op.Loops == nil {
		return nil
	}
	reading := *c
	reading.indices = &[]Index{}
	if c.Op.Compute != nil {
		if _, err := c.Op.Compute(&reading); err != nil {
			return nil // who compiles the call reports it
		}
	} else if _, err := c.Op.Loops(&reading); err != nil {
		return nil
	}
	return *reading.indices
}

// noteIndex notes that an element of an operand is an index, for Indices. What is
// computed otherwise is in bounds, or clamped by what the operator means. first
// is the number of operand 0 among the buffers that index loads from.
func (c *Call) noteIndex(index *expr.Expr, first int, n sym.Expr, wrap bool) {
	if c.indices == nil {
		return
	}
	for index.Op == expr.OpCast && index.Args[0].DType.IsInt() {
		index = index.Args[0]
	}
	if index.Op == expr.OpLoad && index.Buf >= first {
		*c.indices = append(*c.indices, Index{index.Buf - first, n, wrap})
	}
}

// boundIndex turns an index read from an operand into a coordinate of a dimension
// of size n; wrap lets negative ones count from the end.
func (c *Call) boundIndex(name string, index *expr.Expr, n sym.Expr, wrap bool) *sym.Symbol {
	c.noteIndex(index, 0, n, wrap)
	return clampedIndex(name, index, n, wrap)
}

// bindAt is boundIndex in loop form: it also returns the statement that computes
// the coordinate.
func (c *Call) bindAt(name string, index *expr.Expr, n sym.Expr, wrap bool) (sym.Expr, loop.Stmt) {
	c.noteIndex(index, len(c.Outs), n, wrap)
	return clampedAt(name, index, n, wrap)
}

// clampedIndex makes a number a coordinate of a dimension of size n. Where it is
// outside, the nearest element is taken, so that no kernel leaves its buffers.
func clampedIndex(name string, index *expr.Expr, n sym.Expr, wrap bool) *sym.Symbol {
	return expr.Bind(name, indexValue(index, n, wrap), n)
}

// clampedAt is clampedIndex in loop form.
func clampedAt(name string, index *expr.Expr, n sym.Expr, wrap bool) (sym.Expr, loop.Stmt) {
	s := sym.NewVar(name, n)
	return s.Expr(), &loop.LetIndex{Sym: s, Value: indexValue(index, n, wrap)}
}

func indexValue(index *expr.Expr, n sym.Expr, wrap bool) *expr.Expr {
	i := expr.Cast(ir.Int64, index)
	size, zero := expr.Idx(ir.Int64, n), expr.Int(ir.Int64, 0)
	if wrap {
		i = expr.Select(expr.Lt(i, zero), expr.Add(i, size), i)
	}
	return expr.Max(expr.Min(i, expr.Sub(size, expr.Int(ir.Int64, 1))), zero)
}

// CheckIndex emits the assertion that all elements of index are positions of a
// dimension; message is what is wrong if they are not.
func (b *Builder) CheckIndex(index *ir.Value, x Index, message string) error {
	return b.Do(func() error {
		var lo any = 0
		if x.Wrap {
			lo = sym.Neg(x.Size)
		}
		outside := b.Op("aten.logical_or.default", b.Op("aten.lt.Scalar", index, lo),
			b.Op("aten.ge.Scalar", index, x.Size))
		inside := b.Op("aten.logical_not.default", b.Op("aten.any.default", outside))
		_, err := b.Call(AssertIndex, inside, message)
		return err
	})
}

// CheckSize emits the assertion that a size an operator needs is over 0.
func (b *Builder) CheckSize(size sym.Expr, op string) error {
	return b.Do(func() error {
		_, err := b.Call("aten._assert_scalar.default", b.Op("_operator.ge", size, 1),
			op+" needs "+size.String()+" > 0")
		return err
	})
}
