package lower

import (
	"errors"
	"maps"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/alias"
)

// Functionalise replaces in-place operators by functional ones. After a write
// every tensor that shares the memory is made anew from it when it is next
// read. Buffers, parameters and user inputs that are written to become
// outputs of kind mutation; a constant that is written to becomes a buffer. What a region writes
// to outside of itself becomes
// a further result of the control-flow node, of loops a carried value.
var Functionalise = Pass{
	Name: "functionalise",
	Doc:  "replace in-place operators; written buffers and inputs become outputs",
	Run: perMethod(func(ctx *Context, p *ir.Program, m *ir.Method) {
		if len(p.Methods) == 1 { // several agree by names on what state they share
			tieState(m)
		}
		checkTargets(m)
		writes := false
		for n := range m.Graph.All() {
			nameTarget(ctx.Table, n)
			_, w := alias.Writes(ctx.Table, n)
			writes = writes || w
		}
		if !writes {
			return
		}
		must.Check(complexViews(ctx.Table, m))
		exposeViews(ctx.Table, m)
		f := &functionaliser{
			table: ctx.Table, method: m, set: alias.Analyse(ctx.Table, m.Graph),
			now: map[*alias.Alias]state{}, version: map[*ir.Value]int{},
			args: map[*ir.Node][]ir.NamedArg{},
		}
		f.run()
	}),
}

// complexViews reports writes to memory that complex numbers and their parts share: the two are
// separate values.
func complexViews(t *ops.Table, m *ir.Method) error {
	set, shared := alias.Analyse(t, m.Graph), map[*ir.Value]*ir.Node{}
	return faults(m, func(n *ir.Node) {
		if w, ok := alias.Writes(t, n); ok && !w.Rebind {
			if of := shared[set.Of(w.Target).Root]; of != nil {
				must.Fail("it writes to memory of which %s makes other numbers; write to a clone",
					of.Name)
			}
		}
		switch n.Op {
		case "aten.view_as_complex.default", "aten.view_as_real.default", "aten.real.default",
			"aten.imag.default", "aten.conj.default", "aten._conj.default", "aten.mH.default",
			"aten.adjoint.default", "aten.matrix_H.default":
			if a, ok := n.Arg("self").(ir.Ref); ok && (isComplex(a.Value) || isComplex(n.Output(0))) {
				shared[set.Of(a.Value).Root], shared[set.Of(n.Output(0)).Root] = n, n
			}
		}
	})
}

// nameTarget gives the written argument of an in-place node the name it has in
// the functional form: PyTorch always calls it self.
func nameTarget(t *ops.Table, n *ir.Node) {
	op, ok := t.Lookup(n.Op)
	if !ok || op.Name() == n.Op || op.ParsedSchema().Index("self") >= 0 {
		return
	}
	for i := range n.Args {
		if n.Args[i].Name == "self" {
			n.Args[i].Name = op.ParsedSchema().Args[0].Name
		}
	}
}

// functionaliser walks a graph in order and builds it anew.
type functionaliser struct {
	table  *ops.Table
	method *ir.Method
	set    *alias.Set // of the graph as it was

	now map[*alias.Alias]state
	// of a root's memory: the number of the last write to it, 0 before any
	version map[*ir.Value]int
	clock   int // numbers writes

	args map[*ir.Node][]ir.NamedArg // operands of view nodes as they were emitted
	errs []error
}

// state is the value that an alias had at a version of its memory.
type state struct {
	value   *ir.Value
	version int
}

func (f *functionaliser) run() {
	m := f.method
	g := must.Get(ir.BuildGraph(ir.NewNames(m), m.Graph.Inputs,
		func(e *ir.Emitter) ([]ir.Arg, error) {
			return f.mutations(e, f.graph(e, m.Graph)), nil
		}))
	g.Constants = m.Graph.Constants
	m.Graph = g
	must.Check(errors.Join(f.errs...))
}

// graph emits the nodes of g and returns what it returns.
func (f *functionaliser) graph(e *ir.Emitter, g *ir.Graph) []ir.Arg {
	for _, n := range g.Nodes {
		e.Loc = n.Loc
		if err := must.Try(func() { f.node(e, n) }); err != nil {
			f.errs = append(f.errs, ir.ErrorAt("", n, err))
		}
	}
	return seq.Map(g.Outputs, func(a ir.Arg) ir.Arg { return f.resolve(e, a) })
}

// mutations adds an output for every input that was written to.
func (f *functionaliser) mutations(e *ir.Emitter, out []ir.Arg) []ir.Arg {
	m := f.method
	known := seq.Set(m.Outputs)
	var specs []ir.OutputSpec
	var values []ir.Arg
	shared := sharersOf(m)
	for i, v := range m.Graph.Inputs {
		if f.version[v] == 0 {
			continue
		}
		spec := ir.OutputSpec{Target: m.Inputs[i].Target}
		switch m.Inputs[i].Kind {
		case ir.Buffer:
			spec.Kind = ir.BufferMutation
		case ir.Parameter:
			spec.Kind = ir.ParameterMutation
		case ir.TensorConstant:
			f.keep(i)
			spec.Kind = ir.BufferMutation
		case ir.UserInput:
			spec.Kind, spec.Target = ir.UserInputMutation, v.Name
		default:
			continue
		}
		shared.alone(m, i)
		if !known[spec] {
			specs = append(specs, spec)
			values = append(values, ir.Ref{Value: f.current(e, f.set.Of(v))})
		}
	}
	m.Outputs = append(specs, m.Outputs...)
	return append(values, out...)
}

// keep makes a buffer of constant i, which is written to: it is state as any
// buffer is, that the model's author did not register.
func (f *functionaliser) keep(i int) {
	spec := &f.method.Inputs[i]
	for k, other := range f.method.Inputs {
		if k != i && other.Kind.IsState() && other.Target == spec.Target {
			must.Fail("method %s: it writes to the constant %s, and a parameter or buffer is "+
				"called so too", f.method.Name, spec.Target)
		}
	}
	spec.Kind = ir.Buffer
}

func (f *functionaliser) node(e *ir.Emitter, n *ir.Node) {
	if len(n.Regions) > 0 {
		f.control(e, n)
		return
	}
	if w, ok := alias.Writes(f.table, n); ok {
		f.write(e, n, w)
		return
	}
	for i := range n.Args {
		n.Args[i].Value = f.resolve(e, n.Args[i].Value)
	}
	e.Append(n)
	for _, v := range n.Outputs {
		if v == nil || v.Type.Kind != ir.TensorKind {
			continue
		}
		if a := f.set.Of(v); a.Parent != nil {
			f.now[a] = state{v, f.version[a.Root]}
			f.args[n] = n.Args
		}
	}
}

// resolve replaces tensors by what they are now.
func (f *functionaliser) resolve(e *ir.Emitter, a ir.Arg) ir.Arg {
	return ir.MapRefs(a, func(v *ir.Value) ir.Arg {
		if v.Type.Kind != ir.TensorKind {
			return ir.Ref{Value: v}
		}
		return ir.Ref{Value: f.current(e, f.set.Of(v))}
	})
}

// current returns the value that a has now. If its memory was written to since
// a was last read, it is made anew from its root.
func (f *functionaliser) current(e *ir.Emitter, a *alias.Alias) *ir.Value {
	version := f.version[a.Root]
	if s, ok := f.now[a]; ok && s.version == version {
		return s.value
	}
	if a.Parent == nil {
		return a.Root // never written to
	}
	p := f.current(e, a.Parent)
	types := make([]ir.Type, len(a.Node.Outputs))
	for i, v := range a.Node.Outputs {
		if v != nil {
			types[i] = v.Type
		}
	}
	again := e.Emit(a.Node.Op, withOperand(f.args[a.Node], a.View.Of, p), types...)
	for i, v := range a.Node.Outputs {
		if v != nil {
			f.now[f.set.Of(v)] = state{again.Outputs[i], version}
		}
	}
	return f.now[a].value
}

// withOperand returns args with tensor operand k replaced.
func withOperand(args []ir.NamedArg, k int, by *ir.Value) []ir.NamedArg {
	return seq.Map(args, func(a ir.NamedArg) ir.NamedArg {
		return ir.NamedArg{Name: a.Name, Value: ir.MapRefs(a.Value, func(v *ir.Value) ir.Arg {
			if v.Type.Kind == ir.TensorKind {
				if k == 0 {
					v = by
				}
				k--
			}
			return ir.Ref{Value: v}
		})}
	})
}

// write emits the functional form of an in-place node and makes its result
// what the target is from now on.
func (f *functionaliser) write(e *ir.Emitter, n *ir.Node, w alias.Write) {
	b := ops.NewBuilder(f.table, e)
	target := f.set.Of(w.Target)
	old := f.current(e, target).Type
	call := &ir.Node{Op: w.Functional}
	for _, a := range n.Args {
		call.Args = append(call.Args, ir.NamedArg{Name: a.Name, Value: f.resolve(e, a.Value)})
	}
	c := must.Get(f.table.Bind(call))
	fits := old
	if len(c.Outs) > 0 {
		fits.DType = c.Outs[0].DType
	}
	if len(c.Outs) != 1 || !sameShape(c.Outs[0], fits) {
		must.Fail("its result does not fit what it writes to")
	}
	v := e.Emit(w.Functional, call.Args, fits).Outputs[0]
	if v.Type.DType != old.DType {
		v = b.Op("aten._to_copy.default", v, ops.Kw("dtype", old.DType))
		v.Type = old
	}
	f.store(b, target, v)
}

// store makes v the value of a, and through a of its root.
func (f *functionaliser) store(b *ops.Builder, a *alias.Alias, v *ir.Value) {
	selfOverlap(a.Type)
	if a.Parent == nil {
		f.clock++
		f.version[a.Root] = f.clock
	} else {
		f.store(b, a.Parent, writeThrough(b, a, f.current(b.Emitter, a.Parent), v))
	}
	f.now[a] = state{v, f.version[a.Root]}
}

// control emits a control-flow node. The memory its regions write to outside
// of themselves becomes further results.
func (f *functionaliser) control(e *ir.Emitter, n *ir.Node) {
	for i := range n.Args {
		n.Args[i].Value = f.resolve(e, n.Args[i].Value)
	}
	written := f.written(n)
	at := len(n.Outputs) // where the further results come
	loop := false
	switch n.Op {
	case "higher_order.cond":
	case "higher_order.while_loop":
		loop = true
		if len(f.written(&ir.Node{Regions: n.Regions[:1]})) > 0 {
			must.Fail("the condition of the loop writes to a tensor outside of it; do it in the body")
		}
		n.Args[0].Value = f.carried(e, n.Args[0].Value, written)
	case "higher_order.scan":
		loop = true
		init, _ := n.Arg("init").(ir.List)
		at = len(init)
		n.SetArg("init", f.carried(e, init, written))
	default:
		if len(written) > 0 {
			must.Fail("a region of it writes to a tensor outside of it, which is not supported")
		}
	}
	for i, r := range n.Regions {
		returns := n.Op != "higher_order.while_loop" || i == 1
		n.Regions[i] = f.region(e, r, written, at, loop, returns)
	}
	n.Outputs = slices.Insert(n.Outputs, at, f.renewed(e, written, "_new")...)
	e.Append(n)
}

// carried adds what is written to the values that a loop starts with.
func (f *functionaliser) carried(e *ir.Emitter, init ir.Arg, written []*ir.Value) ir.List {
	list, _ := init.(ir.List)
	list = slices.Clone(list)
	for _, root := range written {
		list = append(list, ir.Ref{Value: f.current(e, f.set.Of(root))})
	}
	return list
}

// region emits a region. A loop's gets an input for everything written; if it
// returns, what is written is among its results from position at on.
func (f *functionaliser) region(e *ir.Emitter, r *ir.Graph, written []*ir.Value, at int, loop,
	returns bool) *ir.Graph {
	now, version := maps.Clone(f.now), maps.Clone(f.version)
	inputs := r.Inputs
	if loop {
		more := f.renewed(e, written, "_old")
		inputs = slices.Insert(slices.Clone(inputs), at, more...)
	}
	g := must.Get(e.Region(inputs, func(inner *ir.Emitter) ([]ir.Arg, error) {
		out := f.graph(inner, r)
		if returns {
			out = slices.Insert(out, at, f.carried(inner, nil, written)...)
		}
		return out, nil
	}))
	g.Constants = r.Constants
	f.now, f.version = now, version // values made in it are not known behind it
	return g
}

// renewed returns new values of memory, which something else has written to.
func (f *functionaliser) renewed(e *ir.Emitter, written []*ir.Value, suffix string) []*ir.Value {
	more := make([]*ir.Value, len(written))
	for i, root := range written {
		more[i] = &ir.Value{Name: e.Names.Fresh(root.Name + suffix), Type: root.Type}
		f.clock++
		f.version[root] = f.clock
		f.now[f.set.Of(root)] = state{more[i], f.clock}
	}
	return more
}

// written returns the roots of memory outside of n's regions that they write
// to, in order of the first write.
func (f *functionaliser) written(n *ir.Node) []*ir.Value {
	inside := map[*ir.Value]bool{}
	var targets []*ir.Value
	for _, r := range n.Regions {
		r.Walk(func(g *ir.Graph) {
			for _, v := range append(slices.Clone(g.Inputs), g.Constants...) {
				inside[v] = true
			}
			for _, n := range g.Nodes {
				for _, v := range n.Outputs {
					inside[v] = true
				}
				if w, ok := alias.Writes(f.table, n); ok {
					targets = append(targets, f.set.Of(w.Target).Root)
				}
			}
		})
	}
	var roots []*ir.Value
	for _, v := range targets {
		if !inside[v] && !slices.Contains(roots, v) {
			roots = append(roots, v)
		}
	}
	return roots
}
