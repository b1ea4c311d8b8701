package lower

import (
	_ "embed"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// ToExecutorch brings a program to the dialect that the instructions of a .pte
// are in. Every tensor is dense and row-major, except user inputs that lie in
// another order, which are copied first; every operator is the out variant of
// one that ExecuTorch's runtime has a kernel for, writing to a tensor that
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
// What cortex_m operators take and give lies as CMSIS-NN wants it: see [CortexMLayout].
//
// An integer argument is a literal or refers to a value that such a node
// defines. What a program writes to is in the specs of its outputs.
var ToExecutorch = ToPortable.then(ir.ExecuTorch,
	"out variants of operators that ExecuTorch has kernels for",
	Refusals,
	CortexMLayout,
	OutVariants,
)

// ToPortable is ToExecutorch without out variants: a functional program of the
// operators that ExecuTorch's runtime has kernels for.
var ToPortable = Functional.with(
	FoldBatchNorm,
	CortexM,
	DecomposeToPortable,
	DefineSizes,
	CheckIndices,
	DenseInside,
	RemoveNoOps,
	FoldConstantsTightly,
	Simplify,
	CommonSubexpressions,
	DeadCode,
	PortableForms,
	FoldConstantsTightly,
	CommonSubexpressions,
	DeadCode,
	Sizes,
	DeadCode,
	OnlyPortable,
)

// executorch_ops.txt lists the operators that ExecuTorch's runtime registers with
// its portable, quantised and primitive kernels, as files name them.
//
//go:embed executorch_ops.txt
var executorchText string

// portableNames are these operators by the names nodes use.
var portableNames = sync.OnceValue(func() map[string]bool { return nodeNames(executorchText) })

// portableFamilies are the namespaces of operators whose kernels come with the
// program that runs a .pte: they stay whatever they are.
var portableFamilies = []string{"cortex_m."}

// HasPortableKernel reports whether ExecuTorch's runtime has a kernel for a
// functional operator: for it or for its out variant.
func HasPortableKernel(op string) bool {
	for _, f := range portableFamilies {
		if strings.HasPrefix(op, f) {
			return true
		}
	}
	if v, ok := aten.OutOf(op); ok {
		op = v.Name
	}
	return portableNames()[op]
}

// coreViewOps are the views that PortableForms turns into copies.
var coreViewOps = map[string]bool{
	"aten.permute.default": true, "aten.view.default": true, "aten.select.int": true,
	"aten.slice.Tensor":   true,
	"aten.expand.default": true, "aten.diagonal.default": true, "aten.as_strided.default": true,
	"aten.unfold.default": true,
}

// IsPortable keeps the operators that ExecuTorch's runtime has a kernel for, and
// those that PortableForms makes into such: DecomposeToPortable leaves them.
func IsPortable(op *ops.Op) bool {
	schema := op.ParsedSchema()
	// PortableForms makes all parts of a tensor at once.
	parts := op.View != nil && len(schema.Returns) == 1 && schema.Returns[0].Type.IsList() &&
		!schema.Args[0].Type.IsList()
	return HasPortableKernel(op.Name()) || coreViewOps[op.Name()] || parts ||
		op.Decompose == nil && (op.View == nil || !strings.HasPrefix(op.Name(), "aten."))
}

// DecomposeToPortable is Decompose for ExecuTorch's runtime. Of assertions it keeps those that
// Refusals can say, and drops those that hold by types and ranges.
var DecomposeToPortable = Pass{
	Name: "decompose-to-portable",
	Doc: "replace operators that ExecuTorch has no kernel for by simpler ones; drop assertions " +
		"about types",
	Run: perMethod(func(ctx *Context, _ *ir.Program, m *ir.Method) {
		rewrite(ctx.Table, m, func(b *ops.Builder, n *ir.Node) []*ir.Value {
			if x, ok := assertedTensor(n); ok && x.Type.DType != ir.Bool {
				n.Args[0].Value = ir.Ref{Value: b.Op("aten.ne.Scalar", x, 0)}
			}
			if op, ok := ctx.Table.Lookup(n.Op); ok && op.Effect && len(n.Regions) == 0 &&
				!isAssertion(n) && n.Op != ir.CallDelegate {
				return gone
			}
			return nil
		})
		decomposeAll(ctx.Table, m, func(c *ops.Call) bool { return !IsPortable(c.Op) })
	}),
}

// isAssertion reports whether n is an assertion that Refusals says.
func isAssertion(n *ir.Node) bool {
	_, ok := assertedTensor(n)
	return ok || n.Op == assertOp
}

// assertedTensor returns the tensor whose one element n asserts to be true.
func assertedTensor(n *ir.Node) (*ir.Value, bool) {
	switch n.Op {
	case "aten._assert_async.msg", "aten._assert_async.default", ops.AssertIndex:
		ref, ok := n.Args[0].Value.(ir.Ref)
		return ref.Value, ok && ref.Value.Type.Kind == ir.TensorKind
	}
	return nil, false
}

// portablePad is the rule for padding by less than nothing, which crops: the
// kernel only adds.
func portablePad(b *ops.Builder, _ *ir.Node, c *ops.Call) *ir.Value {
	pad := must.Get(c.SymInts("pad"))
	if !slices.ContainsFunc(pad, crops) {
		return nil
	}
	return padOrCrop(b, c.Value("self"), pad, c.Arg("value"))
}

// crops reports whether padding by p may take elements away.
func crops(p sym.Expr) bool {
	lo, _ := p.Bounds()
	return lo < 0
}

// padOrCrop pads x with value as constant_pad_nd does, in operators that have kernels.
func padOrCrop(b *ops.Builder, x *ir.Value, pad []sym.Expr, value ir.Arg) *ir.Value {
	zero, added := sym.Int(0), slices.Clone(pad)
	for i := 0; i+1 < len(pad); i += 2 {
		d := x.Type.Rank() - 1 - i/2
		front, back := sym.Max(sym.Neg(pad[i]), zero), sym.Max(sym.Neg(pad[i+1]), zero)
		if !front.IsZero() || !back.IsZero() {
			x = b.Op("aten.slice_copy.Tensor", x, d, front, sym.Sub(x.Type.Sizes[d], back))
		}
		added[i], added[i+1] = sym.Max(pad[i], zero), sym.Max(pad[i+1], zero)
	}
	if !slices.ContainsFunc(added, func(p sym.Expr) bool { return !p.IsZero() }) {
		return x
	}
	return b.Op("aten.constant_pad_nd.default", x, added, value)
}

// portableCat is the rule for joining tensors without elements: the kernel leaves
// them out and gives the result no sizes.
func portableCat(b *ops.Builder, _ *ir.Node, c *ops.Call) *ir.Value {
	if !c.Outs[0].Numel().IsZero() {
		return nil
	}
	return b.Op("aten.full.default", c.Outs[0].Sizes, 0, ops.Kw("dtype", c.Outs[0].DType))
}

// portablePower is the rule for integers to a constant power: the kernel computes
// in double, which neither wraps around nor holds all 64-bit integers.
func portablePower(b *ops.Builder, _ *ir.Node, c *ops.Call) *ir.Value {
	e, ok := c.Arg("exponent").(ir.Int)
	if !ok || e < 1 || e > 64 || !c.Outs[0].DType.IsInt() ||
		c.Value("self").Type.DType != c.Outs[0].DType {
		return nil
	}
	var power *ir.Value
	for square := c.Value("self"); ; square = b.Op("aten.mul.Tensor", square, square) {
		switch {
		case e&1 == 0:
		case power == nil:
			power = square
		default:
			power = b.Op("aten.mul.Tensor", power, square)
		}
		if e >>= 1; e == 0 {
			return power
		}
	}
}

// OnlyPortable fails if an operator is left that ExecuTorch's runtime has no kernel
// for, or memory for a result cannot be planned, and names all such nodes.
var OnlyPortable = Pass{
	Name: "only-portable",
	Doc:  "report operators that cannot be said in those ExecuTorch has kernels for",
	Run: perMethod(func(ctx *Context, _ *ir.Program, m *ir.Method) {
		must.Check(faults(m, func(n *ir.Node) {
			if len(n.Regions) == 0 {
				portableFault(ctx.Table, n)
			}
			unboundedFault(n)
		}))
	}),
}

// portableFault fails if ExecuTorch's runtime cannot run n.
func portableFault(t *ops.Table, n *ir.Node) {
	if n.Op == ir.CallDelegate {
		return
	}
	op, known := t.Lookup(n.Op)
	custom := ops.IsCustom(n.Op) && (!known || op.Custom != nil)
	if !isAssertion(n) && !HasPortableKernel(n.Op) && !custom {
		must.Fail("ExecuTorch has no kernel for it, and it cannot be said in operators that have one")
	}
	if n.Op == "aten.convolution.default" {
		if r, ok := n.Arg("input").(ir.Ref); ok && r.Value.Type.Rank() > 4 {
			must.Fail("ExecuTorch's kernel takes no more than two spatial dimensions")
		}
	}
	if n.Op == ToDimOrderOp {
		for _, t := range []ir.Type{n.Outputs[0].Type, n.Arg("self").(ir.Ref).Value.Type} {
			switch t.DType {
			case ir.Uint16, ir.Uint32, ir.Uint64:
				must.Fail("ExecuTorch has no kernel that converts %s", t.DType)
			}
		}
	}
}

// unboundedFault fails if memory for a result of n cannot be planned.
func unboundedFault(n *ir.Node) {
	for _, v := range n.Outputs {
		if v == nil {
			continue
		}
		for _, e := range v.Type.Sizes {
			if _, most := e.Bounds(); most == math.MaxInt64 && !e.Undefined() {
				must.Fail("its size %v has no upper bound, which memory planning needs: %s",
					e, ir.WantBound(e))
			}
		}
	}
}

// allocOp makes an uninitialised tensor of its result's type, which a planner
// gives its place.
const allocOp = "memory.alloc"

// viewCopyOp gives its operand's elements in another shape. It stays as it is:
// the result may be the operand's memory.
const viewCopyOp = "aten.view_copy.default"

// renamed gives the node that replaces n its names: what is said of instructions names nodes as
// they are before out variants.
func renamed(by, n *ir.Node) *ir.Node {
	by.Name = n.Name
	for i, v := range by.Outputs {
		if old := n.Output(i); v != nil && old != nil {
			v.Name = old.Name
		}
	}
	return by
}

// OutVariants replaces every operator that has an out variant by it, writing
// to freshly allocated tensors: one for each result, in a list where the
// operator returns a list. Results that nobody uses have their tensors too.
// Operators without an out variant (views, numbers, control flow) stay. It
// comes last: no other pass knows out arguments.
var OutVariants = Pass{
	Name: "out-variants",
	Doc:  "operators write to tensors allocated before them",
	Run: perNode(func(*Context, *ir.Program, *ir.Method) visitor {
		return func(b *ops.Builder, n *ir.Node) []*ir.Value {
			if n.Op == ir.CallDelegate {
				return nil // codegen/pte allocates its results
			}
			if op, ok := b.Table.Lookup(n.Op); ok && op.Custom != nil {
				return callCustomOut(b, must.Get(b.Table.Bind(n)))
			}
			v, ok := aten.OutOf(n.Op)
			if !ok || n.Op == viewCopyOp {
				return nil
			}
			c := must.Get(b.Table.Bind(n))
			functional := c.Op.ParsedSchema()
			returnsList := len(functional.Returns) == 1 && functional.Returns[0].Type.IsList()
			if !returnsList && len(v.Outs) != len(n.Outputs) {
				must.Fail("it has %d results, %s writes %d", len(n.Outputs), v.Name, len(v.Outs))
			}
			var args []ir.NamedArg
			params := v.Schema(functional).Args
			for _, p := range params[:len(params)-len(v.Outs)] {
				args = append(args, ir.NamedArg{Name: p.Name, Value: c.Arg(p.Name)})
			}
			types := make([]ir.Type, len(c.Outs))
			outs := make(ir.List, len(c.Outs))
			for i, t := range c.Outs {
				if out := n.Output(i); out != nil {
					t = out.Type
				}
				types[i] = t
				outs[i] = ir.Ref{Value: b.Emit(allocOp, nil, t).Outputs[0]}
			}
			if returnsList {
				args = append(args, ir.NamedArg{Name: v.Outs[0], Value: outs})
			} else {
				for i, name := range v.Outs {
					args = append(args, ir.NamedArg{Name: name, Value: outs[i]})
				}
			}
			return append(gone, renamed(b.Emit(v.Name, args, types...), n).Outputs...)
		}
	}),
}
