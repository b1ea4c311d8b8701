// Package pt2 reads the models that torch.export.save writes, of torch 2.6 and
// of the PT2 archives that replaced its container, into package ir. Read is
// the door; ReadZip and ReadFS read from memory and other file systems.
//
// The form of the result does not depend on the version that wrote the file,
// with one exception: torch 2.6's scan has the arguments dim and reverse after
// its operands. Operators keep the names of the file without "torch.ops.":
// "aten.add.Tensor", "higher_order.cond", "_operator.mul". Names in sub-graphs
// are made unique in the method.
//
// Weights are read from the file when asked for; their checksums are not
// verified, those of the graph are.
//
// Files are not trusted: sizes, names and nesting are checked, pickles run
// through a machine that knows only tensors, and anything wrong is an *Error.
package pt2
