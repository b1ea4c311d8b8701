package lower

// Functional makes a program as torch.export wrote it functional: no wrappers
// around parts of the graph, regions that capture what they read, no in-place
// operators; only then it shows which state several methods share.
var Functional = Pipeline{
	BoundSizes,
	InlineWrappers,
	Capture,
	CheckRecords,
	ExplicitWrites,
	Functionalise,
	SeparateState,
}

// ToCore brings a program to the operators the target keeps; with
// Context.Keep = IsCore these are the Core ATen operators. Types keep the
// strides that eager PyTorch has.
var ToCore = Concat(Functional, Pipeline{
	FoldBatchNorm,
	CheckSizes,
	Decompose,
	RemoveNoOps,
	DeadCode,
})

// ToEdge is Core ATen with dead and doubled work removed.
var ToEdge = Concat(ToCore, Pipeline{
	FoldConstants,
	CommonSubexpressions,
	DeadCode,
})

// Backend is what native form is built from: every tensor dense and row-major,
// every operator one that has a kernel.
var Backend = Concat(ToCore, Pipeline{
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
})

// Passes lists every pass once, in the order of Backend and ToExecutorch.
func Passes() []Pass {
	var all []Pass
	seen := map[string]bool{}
	for _, p := range Concat(Backend, ToExecutorch) {
		if !seen[p.Name] {
			seen[p.Name] = true
			all = append(all, p)
		}
	}
	return all
}
