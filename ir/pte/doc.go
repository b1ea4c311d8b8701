// Package pte reads, writes and verifies ExecuTorch programs: .pte files, the
// bundled programs around them (.bpte) and the external tensor data beside them
// (.ptd).
//
// The types here are the file's own, with its names. What the operators of a
// program mean is not this package's business: lower/raise makes a graph of a
// Program, codegen/pte makes a Program of a graph, rt runs one.
package pte
