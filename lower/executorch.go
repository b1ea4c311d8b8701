package lower

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/kernels/ops"
)

// ToExecutorch brings a program to the dialect that the instructions of a .pte
// are in. Every tensor is dense and row-major, except user inputs that lie in
// another order, which are copied first; every operator is the out variant of
// one that the stock runtime has a kernel for, writing to a tensor that
// memory.alloc made, or one of
//
//   - aten.view_copy.default: the operand's elements in another shape, which a
//     writer may let share the operand's memory;
//   - aten.sym_size.int, aten._local_scalar_dense.default and
//     executorch_prim.*: numbers, each computed by a node of its own;
//   - aten.full.out of a size that a node computes, to a tensor of one element:
//     what Refusals makes of assertions;
//   - higher_order.cond, while_loop and scan with regions as Capture leaves
//     them.
//
// An integer argument is a literal or refers to a value that such a node
// defines. What a program writes to is in the specs of its outputs.
var ToExecutorch = ToStock.then(ir.ExecuTorch,
	"out variants of operators that ExecuTorch has kernels for",
	Refusals,
	OutVariants,
)

// ToStock is ToExecutorch without out variants: a functional program of the
// operators that the stock runtime has kernels for.
var ToStock = Functional.with(
	FoldBatchNorm,
	DecomposeToStock,
	DefineSizes,
	CheckIndices,
	DenseInside,
	RemoveNoOps,
	FoldConstantsTightly,
	Simplify,
	CommonSubexpressions,
	DeadCode,
	StockForms,
	FoldConstantsTightly,
	CommonSubexpressions,
	DeadCode,
	Sizes,
	DeadCode,
	OnlyStock,
)

// executorch_ops.txt lists the operators that the stock runtime registers with
// its portable, quantised and primitive kernels, as files name them.
//
//go:embed executorch_ops.txt
var executorchText string

// stockNames are these operators by the names nodes use.
var stockNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(executorchText) {
		name = strings.Replace(name, "::", ".", 1)
		if strings.Count(name, ".") == 1 {
			name += ".default"
		}
		names[name] = true
	}
	return names
})

// stockFamilies are the namespaces of operators whose kernels come with the
// program that runs a .pte: they stay whatever they are.
var stockFamilies = []string{"quantized_decomposed.", "cortex_m."}

// hasStockKernel reports whether the stock runtime has a kernel for a
// functional operator: for it or for its out variant.
func hasStockKernel(op string) bool {
	for _, f := range stockFamilies {
		if strings.HasPrefix(op, f) {
			return true
		}
	}
	if v, ok := aten.OutOf(op); ok {
		op = v.Name
	}
	return stockNames()[op]
}

// coreViewOps are the views that StockForms turns into copies.
var coreViewOps = map[string]bool{
	"aten.permute.default": true, "aten.view.default": true, "aten.select.int": true,
	"aten.slice.Tensor":   true,
	"aten.expand.default": true, "aten.diagonal.default": true, "aten.as_strided.default": true,
	"aten.unfold.default": true,
}

// IsStock keeps the operators that the stock runtime has a kernel for, and
// those that StockForms makes into such: DecomposeToStock leaves them.
func IsStock(op *ops.Op) bool {
	schema := op.ParsedSchema()
	// StockForms makes all parts of a tensor at once.
	parts := op.View != nil && len(schema.Returns) == 1 && schema.Returns[0].Type.IsList() &&
		!schema.Args[0].Type.IsList()
	return hasStockKernel(op.Name()) || coreViewOps[op.Name()] || parts ||
		!strings.HasPrefix(op.Name(), "aten.") || op.Decompose == nil && op.View == nil
}
