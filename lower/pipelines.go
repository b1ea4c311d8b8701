package lower

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/lower/alias"
)

// Functional makes a program as torch.export wrote it functional: no wrappers
// around parts of the graph, regions that capture what they read, no in-place
// operators; only then it shows which state several methods share.
var Functional = Pipeline{From: ir.ATen}.then(ir.Functional, "no node writes to an operand",
	BoundSizes,
	InlineWrappers,
	MapVmaps,
	Capture,
	TieSizes,
	UnwrapFunctionalized,
	CheckRecords,
	ExplicitWrites,
	Functionalise,
	SeparateState,
	RealParts,
)

// Quantizable is what a quantizer sees: layers as the model has them, without batch norms
// that are part of a layer, and with weights that are constants.
var Quantizable = Functional.with(
	FoldBatchNorm,
	RemoveNoOps,
	FoldConstants,
	DeadCode,
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
	SplitTransposed,
	CortexM,
	IntegerArithmetic,
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

// dialectRule is what a dialect asks for, besides what the dialect asks for that it is part of.
type dialectRule struct {
	dialect ir.Dialect
	of      ir.Dialect // "" for ATen, which asks for what ir.Verify does
	// node returns why the node must not be in a program of the dialect, nil if it may.
	node func(*Context, *ir.Node) error
}

var dialectRules = []dialectRule{
	{ir.ATen, "", nil},
	{ir.Functional, ir.ATen, func(ctx *Context, n *ir.Node) error {
		if _, ok := alias.Writes(ctx.Table, n); ok {
			return fmt.Errorf("it writes to an operand")
		}
		return nil
	}},
	{ir.CoreATen, ir.Functional, func(ctx *Context, n *ir.Node) error {
		if op, ok := ctx.Table.Lookup(n.Op); ok && !IsCore(op) {
			return fmt.Errorf("the operator is not of Core ATen")
		}
		return nil
	}},
	{ir.Edge, ir.CoreATen, nil},
	{ir.Backend, ir.Functional, func(ctx *Context, n *ir.Node) error {
		for _, v := range n.Outputs {
			if v != nil && v.Type.Kind == ir.TensorKind && !v.Type.IsContiguous() {
				return fmt.Errorf("its result %s is not row-major", v.Name)
			}
		}
		if len(n.Regions) > 0 {
			return nil
		}
		c, err := ctx.Table.Bind(n)
		if err == nil && !HasKernel(c.Op) && (ctx.Legal == nil || !ctx.Legal(c)) {
			err = fmt.Errorf("the operator has no kernel")
		}
		return err
	}},
	{ir.ExecuTorch, ir.ATen, func(_ *Context, n *ir.Node) error {
		if v, ok := aten.OutOf(n.Op); ok && n.Op != viewCopyOp {
			return fmt.Errorf("it is not the out variant %s", v.Name)
		}
		return nil
	}},
}

// Verify checks that p is in its dialect. It names all nodes that must not be there.
func Verify(ctx *Context, p *ir.Program) error {
	errs := []error{ir.Verify(p)}
	for d := p.Dialect; d != ""; {
		r := ruleOf(d)
		if r == nil {
			return fmt.Errorf("there is no dialect %q", d)
		}
		for _, m := range p.Methods {
			if r.node == nil {
				break
			}
			err := faults(m, func(n *ir.Node) {
				if err := r.node(ctx, n); err != nil {
					must.Fail("in the %s dialect %w", d, err)
				}
			})
			nameFile(m.Source, err)
			errs = append(errs, err)
		}
		d = r.of
	}
	return errors.Join(errs...)
}

// ruleOf returns what a dialect asks for, nil if there is none of that name.
func ruleOf(d ir.Dialect) *dialectRule {
	i := slices.IndexFunc(dialectRules, func(r dialectRule) bool { return r.dialect == d })
	if i < 0 {
		return nil
	}
	return &dialectRules[i]
}

// within reports whether what is in dialect d is in dialect of too. A program that does not
// say what it is in may be in any.
func within(d, of ir.Dialect) bool {
	for d != of && d != "" && of != "" {
		r := ruleOf(d)
		if r == nil || r.of == "" {
			return false
		}
		d = r.of
	}
	return true
}

// Pipelines are those that bring a program as it was read into a dialect, one for each.
var Pipelines = []Pipeline{Functional, ToCore, ToEdge, Backend, ToExecutorch}

// To returns the pipeline that leads to a dialect; ok is false if there is none.
func To(d ir.Dialect) (_ Pipeline, ok bool) {
	i := slices.IndexFunc(Pipelines, func(pl Pipeline) bool { return pl.To == d })
	if i < 0 {
		return Pipeline{}, false
	}
	return Pipelines[i], true
}

// Passes lists every pass of all pipelines once, in order.
func Passes() []Pass {
	var all []Pass
	seen := map[string]bool{}
	for _, pl := range Pipelines {
		for _, p := range pl.Passes {
			if !seen[p.Name] {
				seen[p.Name] = true
				all = append(all, p)
			}
		}
	}
	return all
}
