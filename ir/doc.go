// Package ir is the graph etgen works on: a Program holds Methods, a Method a
// Graph, a Graph Nodes in execution order over typed Values. It has no
// operators of its own: a node names one ("aten.add.Tensor") and the table in
// kernels/ops says what it means.
//
// A node may own regions (nested graphs): the arms of "cond", the condition
// and body of "while_loop", the body of "scan". A region sees the values of
// the graphs around it, so what it captures needs no operand.
//
// Invariants, checked by Verify: every name is unique in its graph and the
// graphs around it, every value is defined before use, and every value has
// exactly one definition: a graph input, a constant or a node output.
package ir
