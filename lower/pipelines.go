package lower

import "github.com/etgen/etgen/ir"

// Functional makes a program as torch.export wrote it functional: no wrappers
// around parts of the graph, regions that capture what they read, no in-place
// operators; only then it shows which state several methods share.
var Functional = Pipeline{From: ir.ATen}.then(ir.Functional, "no node writes to an operand",
	BoundSizes,
	InlineWrappers,
	Capture,
	TieSizes,
	CheckRecords,
	ExplicitWrites,
	Functionalise,
	SeparateState,
)

// ToCore brings a program to the Core ATen operators. Types keep the strides that
// eager PyTorch has.
var ToCore = Functional.then(ir.CoreATen, "Core ATen operators alone",
	FoldBatchNorm,
	CheckSizes,
	DecomposeToCore,
	DefineSizes,
	RemoveNoOps,
	DeadCode,
)

// ToEdge is Core ATen with dead and doubled work removed.
var ToEdge = ToCore.then(ir.Edge, "Core ATen, nothing dead or done twice",
	FoldConstants,
	CommonSubexpressions,
	DeadCode,
)

// Backend is what native form is built from: every tensor dense and row-major,
// every operator one that has a kernel.
var Backend = Functional.then(ir.Backend,
	"operators that have kernels, tensors dense and row-major",
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
)
