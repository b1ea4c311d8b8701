// Package random holds the compiler against programs that nobody thought of: a
// generator makes small methods of views, writes, arithmetic, reductions,
// matrix products and control flow, and every form the compiler brings them
// into must compute what eager PyTorch's meaning of them gives.
//
// A program is known by its text alone: the data of its inputs and constants
// follows from their names.
package random
