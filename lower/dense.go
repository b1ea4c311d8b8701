package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
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
	Run: perMethod(func(ctx *Context, _ *ir.Program, m *ir.Method) {
		rewrite(ctx.Table, m, resolveStrides)
		m.Graph.Walk(func(g *ir.Graph) {
			densify(g.Inputs)
			densify(g.Constants)
			for _, n := range g.Nodes {
				densify(n.Outputs)
			}
		})
	}),
}

func densify(vs []*ir.Value) {
	for _, v := range vs {
		if v != nil && v.Type.Kind == ir.TensorKind {
			v.Type = v.Type.Dense()
		}
	}
}

func resolveStrides(b *ops.Builder, n *ir.Node) []*ir.Value {
	if op, ok := b.Table.Lookup(n.Op); ok && op.Value != nil {
		if v := n.Output(0); v != nil && v.Type.Kind == ir.IntKind && v.Type.HasExpr &&
			len(n.Args) > 0 {
			return []*ir.Value{b.SymInt(v.Type.Expr)}
		}
	}
	switch n.Op {
	case "aten.as_strided.default", "aten.as_strided_copy.default",
		"aten.as_strided_scatter.default", "aten._reshape_alias.default",
		"aten._reshape_alias_copy.default":
		return resolveStorage(b, n)
	}
	return nil
}

// resolveStorage makes an operator that addresses its operand's storage do so
// on an operand that is dense, row-major and at offset 0.
func resolveStorage(b *ops.Builder, n *ir.Node) []*ir.Value {
	c := must.Get(b.Table.Bind(n))
	self := c.Value("self")
	t := self.Type
	if t.IsContiguous() && t.Offset.IsZero() {
		return nil
	}
	perm, ok := storageOrder(t)
	if !ok {
		must.Fail("its operand has gaps or repeated elements, so that its storage is not at hand; " +
			"make it contiguous before")
	}
	if c.Op.ParsedSchema().Index("storage_offset") >= 0 && c.Has("storage_offset") {
		at := must.Get(c.SymInt("storage_offset"))
		n.SetArg("storage_offset", sizeArg(b, sym.Sub(at, t.Offset)))
	}
	ordered := b.Op("aten.permute.default", self, perm)
	ordered.Type.Offset = sym.Expr{}
	n.SetArg("self", ir.Ref{Value: ordered})
	if c.Op.View != nil || len(c.Operands()) == 1 {
		return put(b, n)
	}
	// A scatter gives the whole storage back, in its order.
	written := b.Emit(n.Op, n.Args, ordered.Type)
	return []*ir.Value{b.Op("aten.permute.default", written.Outputs[0], inverse(perm))}
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

// newNode returns a node with one result, to be put into a graph by hand.
func newNode(names *ir.Names, base, op string, t ir.Type, args ...ir.NamedArg) *ir.Node {
	n := &ir.Node{Name: names.Fresh(base), Op: op, Args: args}
	n.Outputs = []*ir.Value{{Name: n.Name, Type: t, Def: n}}
	return n
}

// dims returns a list of dimensions as an argument.
func dims[T int | uint8](order []T) ir.List {
	list := make(ir.List, len(order))
	for i, d := range order {
		list[i] = ir.Int(d)
	}
	return list
}

// replaceUses puts values for others wherever g or a region below it refers to them. Arguments
// of the operator except stay.
func replaceUses(g *ir.Graph, now map[*ir.Value]*ir.Value, except string) {
	swap := func(v *ir.Value) ir.Arg {
		if w := now[v]; w != nil {
			v = w
		}
		return ir.Ref{Value: v}
	}
	g.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			if n.Op == except {
				continue
			}
			for i := range n.Args {
				n.Args[i].Value = ir.MapRefs(n.Args[i].Value, swap)
			}
		}
		for i := range g.Outputs {
			g.Outputs[i] = ir.MapRefs(g.Outputs[i], swap)
		}
	})
}

// ToDimOrderOp copies a tensor to another dtype or another order of its
// elements in memory.
const ToDimOrderOp = "dim_order_ops._to_dim_order_copy.default"

// DenseInside is Dense but for user inputs in channels-last order: these keep
// it and are copied to row-major first, and what is written back to them is
// copied to their order last.
var DenseInside = Pass{
	Name: "dense-inside",
	Doc:  "resolve strides; channels-last inputs are copied to row-major order",
	Run: func(ctx *Context, p *ir.Program) error {
		kept := seq.Map(p.Methods, copyChannelsLast)
		if err := Dense.Run(ctx, p); err != nil {
			return err
		}
		for i, m := range p.Methods {
			restoreOrder(m, kept[i])
		}
		return nil
	},
}

// DimOrder returns the dimensions of t from the outermost in memory to the
// innermost: row-major, or channels-last where t lies so.
func DimOrder(t ir.Type) (order []int, channelsLast bool) {
	if !t.IsContiguous() {
		if order, ok := storageOrder(t); ok && (slices.Equal(order, []int{0, 2, 3, 1}) ||
			slices.Equal(order, []int{0, 2, 3, 4, 1})) {
			return order, true
		}
	}
	order = seq.Of(t.Rank(), func(d int) int { return d })
	return order, false
}

// toOrder returns a node that copies x to type t in its order.
func toOrder(names *ir.Names, x *ir.Value, t ir.Type) *ir.Node {
	order, _ := DimOrder(t)
	return newNode(names, "to_dim_order", ToDimOrderOp, t,
		ir.NamedArg{Name: "self", Value: ir.Ref{Value: x}},
		ir.NamedArg{Name: "dtype", Value: ir.DTypeArg(t.DType)},
		ir.NamedArg{Name: "non_blocking", Value: ir.BoolArg(false)},
		ir.NamedArg{Name: "dim_order", Value: dims(order)})
}

// copyChannelsLast gives the graph row-major copies of its inputs in
// channels-last order. Delegates take the inputs as they are: their parts were
// made of a graph that has the copies. It returns the types the inputs have.
func copyChannelsLast(m *ir.Method) map[*ir.Value]ir.Type {
	kept, copies := map[*ir.Value]ir.Type{}, map[*ir.Value]*ir.Value{}
	names := ir.NewNames(m)
	var nodes []*ir.Node
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind != ir.UserInput || v.Type.Kind != ir.TensorKind {
			continue
		}
		if _, last := DimOrder(v.Type); !last {
			continue
		}
		n := toOrder(names, v, v.Type.Dense())
		t := v.Type
		t.Offset = sym.Expr{}
		kept[v], copies[v] = t, n.Outputs[0]
		nodes = append(nodes, n)
	}
	if len(nodes) > 0 {
		replaceUses(m.Graph, copies, ir.CallDelegate)
	}
	m.Graph.Nodes = append(nodes, m.Graph.Nodes...)
	return kept
}

// restoreOrder gives inputs their types back, and what is written to them
// their order.
func restoreOrder(m *ir.Method, kept map[*ir.Value]ir.Type) {
	byName := map[string]*ir.Value{}
	for _, v := range m.Graph.Inputs {
		if t, ok := kept[v]; ok {
			v.Type = t
			byName[v.Name] = v
		}
	}
	names := ir.NewNames(m)
	for i, spec := range m.Outputs {
		in := byName[spec.Target]
		ref, ok := m.Graph.Outputs[i].(ir.Ref)
		if spec.Kind != ir.UserInputMutation || in == nil || !ok {
			continue
		}
		n := toOrder(names, ref.Value, in.Type)
		m.Graph.Nodes = append(m.Graph.Nodes, n)
		m.Graph.Outputs[i] = ir.Ref{Value: n.Outputs[0]}
	}
}

// InMemoryOrder makes the tensors that m takes and returns row-major tensors of
// their elements as they lie in memory. The orders list dimensions from the
// outermost in memory to the innermost; inputs are parallel to the graph's
// inputs, outputs to the user outputs, and nil is row-major. What is written to
// an input is in the input's order.
func InMemoryOrder(m *ir.Method, inputs, outputs [][]uint8) {
	names := ir.NewNames(m)
	var first []*ir.Node
	for k, order := range inputs {
		if order == nil {
			continue
		}
		logical := m.Graph.Inputs[k]
		given := &ir.Value{Name: logical.Name, Type: inOrder(logical.Type, order)}
		logical.Def = permuted(names, given.Name+"_logical", given, inverse(order), logical.Type)
		logical.Name, logical.Def.Outputs[0] = logical.Def.Name, logical
		m.Graph.Inputs[k] = given
		first = append(first, logical.Def)
		for i, s := range m.Outputs {
			if s.Kind == ir.UserInputMutation && s.Target == given.Name {
				outputInOrder(m, names, i, order)
			}
		}
	}
	m.Graph.Nodes = append(first, m.Graph.Nodes...)
	at := 0
	for i, s := range m.Outputs {
		if s.Kind != ir.UserOutput {
			continue
		}
		if outputs[at] != nil {
			outputInOrder(m, names, i, outputs[at])
		}
		at++
	}
}

func outputInOrder(m *ir.Method, names *ir.Names, i int, order []uint8) {
	ref, ok := m.Graph.Outputs[i].(ir.Ref)
	if !ok {
		return
	}
	n := permuted(names, "placed", ref.Value, order, inOrder(ref.Value.Type, order))
	m.Graph.Nodes = append(m.Graph.Nodes, n)
	m.Graph.Outputs[i] = ir.Ref{Value: n.Outputs[0]}
}

func permuted[T int | uint8](names *ir.Names, base string, v *ir.Value, order []T,
	t ir.Type) *ir.Node {
	return newNode(names, base, "aten.permute.default", t,
		ir.NamedArg{Name: "self", Value: ir.Ref{Value: v}},
		ir.NamedArg{Name: "dims", Value: dims(order)})
}

// inOrder returns the row-major type of a tensor's elements as they lie in
// memory.
func inOrder(t ir.Type, order []uint8) ir.Type {
	sizes := seq.Map(order, func(d uint8) sym.Expr { return t.Sizes[d] })
	return ir.TensorOf(t.DType, sizes...)
}

// ReadTransposed makes a product with a transposed matrix a linear layer, which
// reads the matrix as it is: weights that something else needs too are then
// packed, or read by columns, without a copy in memory. Tensors must be dense.
var ReadTransposed = Pass{
	Name: "read-transposed",
	Doc:  "make products with transposed matrices linear layers, which read them as they are",
	Run:  byRules(func(s *simplifier) []rule { return []rule{s.transposed} }),
}

// transposed returns what may stand for n's result, nil if the matrix is not
// transposed or what is added is no row.
func (s *simplifier) transposed(b *ops.Builder, n *ir.Node, c *ops.Call) *ir.Value {
	x, bias := "self", ""
	switch n.Op {
	case "aten.mm.default":
	case "aten.addmm.default":
		x, bias = "mat1", "self"
	default:
		return nil
	}
	w, p := view(s.definition(c.Value("mat2")))
	if p == nil || w.Type.DType != c.Outs[0].DType {
		return nil
	}
	if perm, ok := p.permuted(); !ok || len(perm) != 2 || perm[0] != 1 {
		return nil
	}
	args := []any{c.Value(x), w}
	if bias != "" {
		v := c.Value(bias)
		if !one(c, "alpha") || !one(c, "beta") || v.Type.DType != w.Type.DType ||
			!sym.AllEqual(v.Type.Sizes, []sym.Expr{w.Type.Sizes[0]}) {
			return nil
		}
		args = append(args, v)
	}
	return b.Op("aten.linear.default", args...)
}

// one reports whether a number is 1.
func one(c *ops.Call, name string) bool {
	x, err := c.Float(name)
	return err == nil && x == 1
}
