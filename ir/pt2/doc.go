// Package pt2 reads the models that torch.export.save writes, of torch 2.6 and
// of the PT2 archives that replaced its container, into package ir. Read is
// the door; ReadZip and ReadFS read from memory and other file systems.
//
// Files are not trusted: sizes, names and nesting are checked, pickles run
// through a machine that knows only tensors, and anything wrong is an *Error.
package pt2
