// Package registry writes the kernels of exactly the operator calls that some
// ExecuTorch programs make, as Go source that defines an rt.Registry. An app that
// runs those programs with it links neither the operator table nor what
// interprets its definitions.
//
// Calls that differ only in what they are given are one form: a program of one
// instruction, which goes the way of any other program to Go. Constants are not
// part of a form: they come with the program, and kernels that want them packed
// have them packed when it is loaded.
package registry
