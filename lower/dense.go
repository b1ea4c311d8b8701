package lower

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// Dense makes every tensor dense and row-major: strides mean something in ATen
// only. What depends on strides is resolved before: integers known to the
// compiler (sizes, strides, offsets and what is computed of them) become their
// expressions, and the operators that address storage (as_strided) do so over
// an operand that lies in its storage in row-major order.
var Dense = Pass{
	Name: "dense",
	Doc:  "resolve strides: every tensor is dense and row-major from here on",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		rw := &ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			return resolveStrides(ops.NewBuilder(ctx.Table, e), n)
		}}
		if err := rw.Run(m); err != nil {
			return err
		}
		m.Graph.Walk(func(g *ir.Graph) {
			densify(g.Inputs)
			densify(g.Constants)
			for _, n := range g.Nodes {
				densify(n.Outputs)
			}
		})
		return nil
	}),
}

func densify(vs []*ir.Value) {
	for _, v := range vs {
		if v != nil && v.Type.Kind == ir.TensorKind {
			v.Type = v.Type.Dense()
		}
	}
}

func resolveStrides(b *ops.Builder, n *ir.Node) ([]*ir.Value, bool, error) {
	if op, ok := b.Table.Lookup(n.Op); ok && op.Value != nil {
		if v := n.Output(0); v != nil && v.Type.Kind == ir.IntKind && v.Type.HasExpr &&
			len(n.Args) > 0 {
			return []*ir.Value{b.SymInt(v.Type.Expr)}, false, nil
		}
	}
	switch n.Op {
	case "aten.as_strided.default", "aten.as_strided_copy.default",
		"aten.as_strided_scatter.default", "aten._reshape_alias.default",
		"aten._reshape_alias_copy.default":
		return resolveStorage(b, n)
	}
	return nil, true, nil
}

// resolveStorage makes an operator that addresses its operand's storage do so
// on an operand that is dense, row-major and at offset 0.
func resolveStorage(b *ops.Builder, n *ir.Node) ([]*ir.Value, bool, error) {
	c, err := b.Table.Bind(n)
	if err != nil {
		return nil, false, err
	}
	self := c.Value("self")
	t := self.Type
	if t.IsContiguous() && t.Offset.IsZero() {
		return nil, true, nil
	}
	perm, ok := storageOrder(t)
	if !ok {
		return nil, false,
			fmt.Errorf(
				"its operand has gaps or repeated elements, so that its storage is not at hand; make it contiguous before")
	}
	if c.Op.ParsedSchema().Index("storage_offset") >= 0 && c.Has("storage_offset") {
		at, err := c.SymInt("storage_offset")
		if err != nil {
			return nil, false, err
		}
		n.SetArg("storage_offset", sizeArg(b, sym.Sub(at, t.Offset)))
	}
	ordered, err := b.Call("aten.permute.default", self, perm)
	if err != nil {
		return nil, false, err
	}
	ordered[0].Type.Offset = sym.Expr{}
	n.SetArg("self", ir.Ref{Value: ordered[0]})
	if c.Op.View != nil || len(c.Operands()) == 1 {
		b.Append(n)
		return nil, false, nil
	}
	// A scatter gives the whole storage back, in its order.
	written := b.Emit(n.Op, n.Args, ordered[0].Type)
	out, err := b.Call("aten.permute.default", written.Outputs[0], inverse(perm))
	return out, false, err
}

// storageOrder returns the dimensions of t from the outermost in storage to
// the innermost; ok is false if its elements do not fill a run of storage.
func storageOrder(t ir.Type) (perm []int, ok bool) {
	perm = make([]int, t.Rank())
	used := make([]bool, t.Rank())
	stride := sym.Int(1)
	for at := len(perm) - 1; at >= 0; at-- {
		found := -1
		for d := t.Rank() - 1; d >= 0; d-- {
			if !used[d] && (t.Sizes[d].Is(1) || t.Strides[d].Equal(stride)) {
				found = d
				break
			}
		}
		if found < 0 {
			return nil, false
		}
		used[found], perm[at] = true, found
		stride = sym.Mul(stride, t.Sizes[found])
	}
	return perm, true
}

// sizeArg returns an integer as an argument.
func sizeArg(b *ops.Builder, e sym.Expr) ir.Arg {
	if n, ok := e.Const(); ok {
		return ir.Int(n)
	}
	return ir.Ref{Value: b.SymInt(e)}
}
