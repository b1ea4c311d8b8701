// Package pte reads, writes and verifies ExecuTorch programs: .pte files, the
// bundled programs around them (.bpte) and the external tensor data beside them
// (.ptd).
//
// The types here are the file's own, with its names. What the operators of a
// program mean is not this package's business: lower/raise makes a graph of a
// Program, codegen/pte makes a Program of a graph, rt runs one.
//
// [Read] takes any file of the format and never more memory than a stated
// multiple of its flatbuffer; tensor data stays in the file until somebody reads
// a blob. [Verify] tells whether a runtime may trust the program.
package pte
