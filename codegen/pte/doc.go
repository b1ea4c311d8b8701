// Package pte makes ExecuTorch programs of graphs in the dialect that
// lower.ToExecutorch gives.
//
// Generate goes through four stages, method by method:
//
//  1. build: the graph becomes a tree of instructions over slots, the entries
//     of the value table to be. Regions become branches and loops; what a
//     region returns is copied to where the operator's results are.
//  2. forward: copies whose source can be made in its destination's place go.
//  3. place: the slots' memory is planned, with the tree as region tree.
//  4. flatten: branches and loops become jumps, slots get their indices.
//
// What the instructions rely on is what ExecuTorch's runtime does: an operator's
// out arguments never share memory with its other arguments; a Move is used on
// numbers only, where it is an assignment; a tensor is made to share another's
// memory by its place in the plan, or by et_view if its sizes are dynamic.
package pte
