package lower

import "github.com/etgen/etgen/ir"

// Functional makes a program as torch.export wrote it functional: no wrappers
// around parts of the graph, regions that capture what they read, no in-place
// operators; only then it shows which state several methods share.
var Functional = Pipeline{
	BoundSizes,
	InlineWrappers,
	Capture,
	TieSizes,
	CheckRecords,
	ExplicitWrites,
	Functionalise,
	SeparateState,
	reach(ir.Functional, "no node writes to an operand"),
}

// ToCore brings a program to the Core ATen operators. Types keep the strides that
// eager PyTorch has.
var ToCore = Concat(Functional, Pipeline{
	FoldBatchNorm,
	CheckSizes,
	DecomposeToCore,
	DefineSizes,
	RemoveNoOps,
	DeadCode,
	reach(ir.CoreATen, "Core ATen operators alone"),
})

// ToEdge is Core ATen with dead and doubled work removed.
var ToEdge = Concat(ToCore, Pipeline{
	FoldConstants,
	CommonSubexpressions,
	DeadCode,
	reach(ir.Edge, "Core ATen, nothing dead or done twice"),
})

// Backend is what native form is built from: every tensor dense and row-major,
// every operator one that has a kernel.
var Backend = Concat(Functional, Pipeline{
	FoldBatchNorm,
	CheckSizes,
	Decompose,
	DefineSizes,
	RemoveNoOps,
	DeadCode,
	CheckIndices,
	Dense,
	ExactProducts,
	RemoveNoOps,
	FindAttention,
	FoldConstants,
	Simplify,
	ReadTransposed,
	FoldPadding,
	CommonSubexpressions,
	DeadCode,
	reach(ir.Backend, "operators that have kernels, tensors dense and row-major"),
})
