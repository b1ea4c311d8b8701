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
// exactly one definition: a graph input, a constant or a node output. A node
// and one of its outputs may have the same name. Every symbol that a type
// mentions is in Method.Symbols. Each region of a control-flow operator has an
// input for each operand that the operator hands on.
//
// Print and Parse give a program a text form; passes change graphs through a
// Rewriter.
package ir
