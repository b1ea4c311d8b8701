// Package rt runs ExecuTorch programs: it interprets the instructions of .pte
// files. It is ExecuTorch's model in Go.
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
//
// No program keeps [Method.Execute] longer than its context allows. Between
// instructions the context is looked at always; kernels look at [Call.Context].
// Those of rt/portable, and code of rt/optimize, do so at least once for every
// 32768 iterations of interpreted loops, counting inner ones, or 2^27
// multiply-accumulates of hand-made kernels, but not within one pass over a
// tensor or one tile of results: an execution goes on for a few milliseconds,
// and at most for the time that a small number of passes over the method's
// memory takes, which MemoryManager.Limit bounds. What kernels allocate for
// themselves counts towards that limit ([Call.Reserve]). Loading has no context:
// its work follows from the file's size; rt/optimize computes what depends on
// constants alone, but nothing that takes more than some 2^28 iterations of loops
// and a few for each byte of constants.
// Kernels and backends of others keep their own promises; those that etgen
// registry writes look at no context within a call: see rt/compiled.
package rt
