// Package xnn makes operators of a graph of what ExecuTorch's XNNPACK backend runs.
//
// Values have the dimensions that the payload gives them: where it has images with channels
// last, so has the graph, and permutations stand around the operators that want channels
// first; passes cancel them. Integers that stand for numbers are dequantized where they are
// read, and results are quantized, as the program did before it was delegated: the pass that
// makes integer arithmetic of such graphs makes it of these. Where the run chooses how to
// quantize, the graph has XNNPACK's own formula, by rows.
//
// Sizes of values that are no constants are what the operands' are; those of the payload are
// bounds.
package xnn
