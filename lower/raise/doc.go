// Package raise makes a functional graph of an ExecuTorch program, so that a
// .pte compiles the way a .pt2 does.
//
// A program's instructions work on places: tensors in planned memory that share
// bytes, are written over and outlive a call. The raiser runs a method once,
// keeping for every place which value of the graph lies there ([state]); a read
// gives that value, seen with the reader's type. What may be read before
// anything was written to it is the method's state. Jumps become cond,
// while_loop and scan by the structure of the flow graph, whoever emitted them
// ([flow], [region]): what a branch or loop writes and what may be read
// afterwards ([liveness]) is what it returns or carries.
//
// A file stores upper bounds of dynamic sizes and neither which of them vary
// nor which are equal; how that is found says symbols.go.
package raise
