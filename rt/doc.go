// Package rt runs ExecuTorch programs: it interprets the instructions of .pte
// files. It is the stock runtime's model in Go.
//
//	program, err := rt.Open("model.pte", nil)
//	method, err := program.LoadMethod("forward", &rt.MethodOptions{Registry: kernels})
//	outputs, err := method.Forward(ctx, x)
//
// A [Program] is a loaded file; [MethodMeta] describes what is in it. A [Method]
// is one of its methods made ready, with memory and state of its own: any number
// of goroutines may each have one of the same Program. Input and output are
// [Tensor]s, made with [TensorOf] and read with [Data].
//
// The operators that a program calls are kernels in a [Registry], which the
// caller gives: rt/portable has all of the operator table, and etgen registry
// writes one for exactly the programs named, so that an application links no
// other. Only the runtime's own operators ([PrimOp]) need no kernel.
//
// What surrounds the interpreter comes in by interfaces: [DataLoader] for the
// file, [MemoryManager] for memory, [Backend] for delegates, [EventTracer] and
// [Platform] for observers, [Optimizer] for what replaces the interpreter.
//
// Files need not be trusted. What is wrong in one is an error (see the Err
// variables) that names the method, the instruction and the operator; memory and
// instructions have limits; constants cannot be written. Kernels are trusted
// with the arguments that they checked when they were prepared; a kernel that
// panics nevertheless ends the execution with an error, not the program.
package rt
