// Package sym is the integer index algebra of etgen: tensor sizes, strides,
// loop bounds and memory offsets are all values of type [Expr].
//
// An Expr is kept in canonical form: a constant plus a sum of coefficient
// times product of atoms, fully expanded. Atoms are symbols, floor divisions,
// modulos, maxima and minima. Every constructor simplifies, using the ranges
// of the symbols, so that equal index computations mostly become structurally
// equal expressions; [Expr.Equal] is sound but cannot be complete.
//
// # Mathematics
//
// Expressions mean unbounded integers. FloorDiv rounds towards minus infinity
// and Mod takes the sign of the divisor, as in Python. Simplification may
// make an expression more defined, never less and never different: x//x
// becomes 1 although x may be 0.
//
// # Overflow
//
// When a coefficient or constant does not fit int64, or a divisor is the
// constant 0, the result is the undefined expression. It absorbs every
// operation, its Eval is an error, it has no constant value, its bounds are
// infinite, and nothing is provable about it. [Expr.Undefined] tests for it.
//
// # Ranges
//
// The bounds of a symbol are fixed before its first use in an expression:
// simplification has already relied on them by then.
package sym
