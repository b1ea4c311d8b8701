package lower

import (
	"errors"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/alias"
)

// MapVmaps makes map_impl of what torch.export leaves of a vmap: nodes on single samples
// between those that take the samples from batches and those that put them together again.
var MapVmaps = Pass{
	Name: "map-vmaps",
	Doc:  "make map_impl of the parts of a vmap that export left as they are",
	Run: perMethod(func(ctx *Context, _ *ir.Program, m *ir.Method) {
		v := &vmaps{ctx.Table, ir.NewNames(m)}
		var graphs []*ir.Graph
		m.Graph.Walk(func(g *ir.Graph) { graphs = append(graphs, g) })
		for _, g := range graphs {
			g.Nodes = v.nodes(g.Nodes)
		}
	}),
}

type vmaps struct {
	table *ops.Table
	names *ir.Names
}

// vmapPart returns which part of a vmap n is, "" for other nodes.
func vmapPart(n *ir.Node) string {
	name, ok := strings.CutPrefix(n.Op, "torch._functorch.predispatch.")
	if !ok {
		return ""
	}
	return name
}

// nodes returns the nodes with a map_impl in place of each vmap.
func (v *vmaps) nodes(nodes []*ir.Node) []*ir.Node {
	var out []*ir.Node
	for i := 0; i < len(nodes); i++ {
		switch vmapPart(nodes[i]) {
		case "lazy_load_decompositions":
			continue
		case "_vmap_increment_nesting":
			end := vmapEnd(nodes[i:])
			if end < 0 {
				must.Check(ir.ErrorAt("", nodes[i], errVmap))
			}
			end += i
			out = append(out, v.vmap(nodes[i], v.nodes(nodes[i+1:end]))...)
			i = end
		default:
			out = append(out, nodes[i])
		}
	}
	return out
}

// vmapEnd returns which of nodes ends the vmap that the first begins, -1 if none does.
func vmapEnd(nodes []*ir.Node) int {
	depth := 0
	for i, n := range nodes {
		switch vmapPart(n) {
		case "_vmap_increment_nesting":
			depth++
		case "_vmap_decrement_nesting":
			depth--
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

// vmap returns the nodes that stand for a vmap, which has begun at first. Those of vmaps in
// its body are maps already.
func (v *vmaps) vmap(first *ir.Node, body []*ir.Node) []*ir.Node {
	random := false // numbers of its own for each sample
	for _, a := range first.Args {
		random = random || a.Value == ir.Str("different")
		if a.Value == ir.Str("same") {
			must.Check(ir.ErrorAt("", first, errors.New(
				"a vmap whose samples have the same random numbers is not supported")))
		}
	}
	each := v.writes(body) || random // all is done for each sample
	region := &ir.Graph{}
	n := &ir.Node{Name: v.names.Fresh("vmap"), Op: "higher_order.map_impl", Loc: first.Loc,
		Regions: []*ir.Graph{region}}
	var before, after []*ir.Node
	var xs ir.List
	single := map[*ir.Value]bool{} // values of single samples
	for _, x := range body {
		part := vmapPart(x)
		if part == "" {
			if readsAny(x, single) || each && !v.asserts(x) {
				v.lostAssertions(x)
				region.Nodes = append(region.Nodes, x)
				for _, y := range x.Outputs {
					single[y] = true
				}
			} else {
				before = append(before, x) // the same for all samples
			}
			continue
		}
		batch, d := vmapOperand(x, part)
		switch sample := x.Outputs[0]; part {
		case "_add_batch_dim":
			order := append([]int{d}, others(batch.Type.Rank(), d)...)
			p := v.permute(x, batch, order)
			before = append(before, p)
			xs = append(xs, ir.Ref{Value: p.Outputs[0]})
			sample.Def, sample.Index = nil, 0
			region.Inputs = append(region.Inputs, sample)
			single[sample] = true
		case "_remove_batch_dim":
			if !single[batch] {
				after = append(after, v.expand(x, batch, d)...)
				continue
			}
			region.Outputs = append(region.Outputs, ir.Ref{Value: batch})
			y := &ir.Value{Name: v.names.Fresh("mapped"), Def: n, Index: len(n.Outputs),
				Type: ir.TensorOf(batch.Type.DType,
					append([]sym.Expr{sample.Type.Sizes[d]}, batch.Type.Sizes...)...)}
			n.Outputs = append(n.Outputs, y)
			if sample.Type.Strides[d].IsZero() { // it lies in memory once
				one := v.first(x, y, batch.Type)
				after = append(append(after, one), v.expand(x, one.Outputs[0], d)...)
				continue
			}
			after = append(after, v.restride(x, y, d)...)
		}
	}
	n.Args = []ir.NamedArg{{Value: xs}, {Value: ir.List{}}}
	if len(n.Outputs) > 0 {
		before = append(before, n)
	}
	return append(before, after...)
}

// writes reports whether nodes in the body of a vmap write to tensors that the body makes. A
// write to any other tensor is an error: it happens once for all samples, or is one to a batch.
func (v *vmaps) writes(body []*ir.Node) bool {
	found, own := false, map[*ir.Value]bool{} // tensors in memory that the body makes
	for n := range (&ir.Graph{Nodes: body}).All() {
		for _, to := range v.targets(n) {
			if !own[to] {
				must.Check(ir.ErrorAt("", n, errors.New("in the body of a vmap it writes to a "+
					"sample or to a tensor from outside, which is not supported; clone() the "+
					"tensor in the body and write to that")))
			}
			found = true
		}
		if vmapPart(n) != "" {
			continue // it gives samples, and batches of results
		}
		made := v.makes(n) || !readsTensor(n, func(x *ir.Value) bool { return !own[x] })
		if w, ok := alias.Writes(v.table, n); ok {
			made = own[w.Target]
		}
		for _, y := range n.Outputs {
			own[y] = made
		}
	}
	return found
}

// readsTensor reports whether an argument of n is or has a tensor that is such.
func readsTensor(n *ir.Node, such func(*ir.Value) bool) (found bool) {
	for _, a := range n.Args {
		ir.EachRef(a.Value, func(x *ir.Value) {
			found = found || x.Type.Kind == ir.TensorKind && such(x)
		})
	}
	return found
}

// makes reports whether the results of n have memory of their own, for sure.
func (v *vmaps) makes(n *ir.Node) bool {
	if len(n.Regions) > 0 || alias.Fresh(n.Op) {
		return true
	}
	op, ok := v.table.Lookup(n.Op)
	return ok && op.Name() == n.Op && op.View == nil && !returnsAlias(op.ParsedSchema())
}

// targets returns the tensors that n itself writes to; detach_ changes no element.
func (v *vmaps) targets(n *ir.Node) []*ir.Value {
	if n.Op == "aten.detach_.default" || len(n.Regions) > 0 {
		return nil
	}
	if w, ok := alias.Writes(v.table, n); ok {
		return []*ir.Value{w.Target}
	}
	op, ok := v.table.Lookup(n.Op)
	if !ok || op.Writes == nil {
		return nil
	}
	c, err := v.table.Bind(n)
	if err != nil {
		return nil // later passes report it
	}
	g, err := ir.BuildGraph(ir.NewNames(&ir.Method{Graph: &ir.Graph{}}), nil,
		func(e *ir.Emitter) ([]ir.Arg, error) {
			_, err := op.Writes(ops.NewBuilder(v.table, e), c)
			return nil, err
		})
	if err != nil {
		return nil
	}
	var targets []*ir.Value
	for n := range g.All() {
		if w, ok := alias.Writes(v.table, n); ok {
			targets = append(targets, w.Target)
		}
	}
	return targets
}

// asserts reports whether n asserts what types do not tell already.
func (v *vmaps) asserts(n *ir.Node) bool {
	op, ok := v.table.Lookup(n.Op)
	return ok && op.Effect && n.Op != "aten._assert_tensor_metadata.default"
}

// lostAssertions is an error if n, which is done for each sample, asserts something: if no
// result follows from the samples, nothing is done for them.
func (v *vmaps) lostAssertions(n *ir.Node) {
	for x := range (&ir.Graph{Nodes: []*ir.Node{n}}).All() {
		if v.asserts(x) {
			must.Check(ir.ErrorAt("", x, errors.New("in the body of a vmap it asserts "+
				"something of a sample, which is not supported; assert it of the batch, outside "+
				"of the vmap")))
		}
	}
}

// readsAny reports whether n or a node in its regions reads one of some values.
func readsAny(n *ir.Node, values map[*ir.Value]bool) bool {
	for v := range ir.Uses(&ir.Graph{Nodes: []*ir.Node{n}}) {
		if values[v] {
			return true
		}
	}
	return false
}

// expand returns the nodes that make the result of at of x, which is the same for all
// samples: a batch in dimension d.
func (v *vmaps) expand(at *ir.Node, x *ir.Value, d int) []*ir.Node {
	to := at.Outputs[0]
	t := x.Type
	t.Sizes = append([]sym.Expr{to.Type.Sizes[d]}, t.Sizes...)
	t.Strides = append([]sym.Expr{sym.Int(0)}, t.Strides...)
	sizes := append(ir.List{at.Args[2].Value}, slices.Repeat(ir.List{ir.Int(-1)}, x.Type.Rank())...)
	e := &ir.Node{Name: v.names.Fresh("expand"), Op: "aten.expand.default", Loc: at.Loc,
		Args: []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: x}}, {Name: "size", Value: sizes}}}
	e.Outputs = []*ir.Value{{Name: e.Name, Type: t, Def: e}}
	order := slices.Insert(seq.Of(x.Type.Rank(), func(k int) int { return k + 1 }), d, 0)
	q := v.permute(at, e.Outputs[0], order)
	q.Outputs[0], to.Def = to, q
	return []*ir.Node{e, q}
}

// first returns the node that makes the first sample of y, of which t is the type.
func (v *vmaps) first(at *ir.Node, y *ir.Value, t ir.Type) *ir.Node {
	s := &ir.Node{Name: v.names.Fresh("select"), Op: "aten.select.int", Loc: at.Loc,
		Args: []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: y}}, {Name: "dim",
			Value: ir.Int(0)}, {Name: "index", Value: ir.Int(0)}}}
	s.Outputs = []*ir.Value{{Name: s.Name, Type: t.Dense(), Def: s}}
	return s
}

// restride returns the nodes that make the result of at of y, whose first dimension becomes
// dimension d. They give it the order in memory that the file records.
func (v *vmaps) restride(at *ir.Node, y *ir.Value, d int) []*ir.Node {
	to := at.Outputs[0]
	dims := others(to.Type.Rank(), d)                 // of y, behind its first
	memory := slices.Insert(slices.Clone(dims), 0, d) // outermost first
	seq.Sort(memory, func(a, b int) int {
		switch x, y := to.Type.Strides[a], to.Type.Strides[b]; {
		case sym.Less(y, x):
			return -1
		case sym.Less(x, y):
			return 1
		}
		return 0
	})
	order := seq.Map(memory, func(k int) int { return slices.Index(dims, k) + 1 })
	p := v.permute(at, y, order)
	c := &ir.Node{Name: v.names.Fresh("clone"), Op: "aten.clone.default", Loc: at.Loc,
		Args: []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: p.Outputs[0]}},
			{Name: "memory_format", Value: ir.ContiguousFormat}}}
	c.Outputs = []*ir.Value{{Name: c.Name, Type: p.Outputs[0].Type.Dense(), Def: c}}
	back := seq.Of(len(memory), func(k int) int { return slices.Index(memory, k) })
	q := v.permute(at, c.Outputs[0], back)
	q.Outputs[0], to.Def = to, q
	return []*ir.Node{p, c, q}
}

// others returns the dimensions of a tensor of some rank but d.
func others(rank, d int) []int {
	return slices.DeleteFunc(seq.Of(rank, func(k int) int { return k }),
		func(k int) bool { return k == d })
}

var errVmap = errors.New(
	"a vmap is not as torch.export writes it; export the model after run_decompositions()")

// vmapOperand returns the tensor that part of a vmap takes, and the batch's dimension in it
// or in the result.
func vmapOperand(n *ir.Node, part string) (*ir.Value, int) {
	at := map[string]int{"_add_batch_dim": 1, "_remove_batch_dim": 3}[part]
	if at > 0 && at < len(n.Args) && len(n.Outputs) == 1 && n.Outputs[0] != nil {
		batch, sample := n.Args[0].Value, ir.Arg(ir.Ref{Value: n.Outputs[0]})
		if part == "_remove_batch_dim" {
			batch, sample = sample, batch
		}
		b, okB := argType(batch)
		s, okS := argType(sample)
		d, isInt := n.Args[at].Value.(ir.Int)
		x, isRef := n.Args[0].Value.(ir.Ref)
		if part == "_remove_batch_dim" && d < 0 { // vmap passes out_dims as they are
			d += ir.Int(b.Rank())
		}
		if okB && okS && isInt && isRef && s.Kind == ir.TensorKind && b.Kind == ir.TensorKind &&
			d >= 0 && int(d) < b.Rank() && b.Rank() == s.Rank()+1 {
			return x.Value, int(d)
		}
	}
	must.Check(ir.ErrorAt("", n, errVmap))
	return nil, 0
}

// permute returns a node that puts the dimensions of x in an order.
func (v *vmaps) permute(at *ir.Node, x *ir.Value, order []int) *ir.Node {
	t := x.Type
	t.Sizes = seq.Map(order, func(d int) sym.Expr { return x.Type.Sizes[d] })
	t.Strides = seq.Map(order, func(d int) sym.Expr { return x.Type.Strides[d] })
	p := &ir.Node{Name: v.names.Fresh("permute"), Op: "aten.permute.default", Loc: at.Loc,
		Args: []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: x}}, {Name: "dims",
			Value: ir.List(seq.Map(order, func(d int) ir.Arg { return ir.Int(d) }))}}}
	p.Outputs = []*ir.Value{{Name: p.Name, Type: t, Def: p}}
	return p
}
