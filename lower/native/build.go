package native

import (
	"crypto/sha256"
	"errors"
	"iter"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/plan"
)

// Build turns a program in the Backend dialect (functional, every node in the
// table) into native form and plans its memory. It may add copies to p.
func Build(p *ir.Program, opt Options) (made *Program, err error) {
	defer must.Catch(&err)
	known := bindings{}
	if opt.Rows {
		if len(p.Methods) != 1 {
			must.Fail("%s: rows of the input are for programs of one method, this one has %d",
				p.Source, len(p.Methods))
		}
		opt.sparing = true
		err := must.Try(func() { made = build(p, opt, known) })
		if errors.Is(err, errParts) { // loops can
			opt.rowsInLoops = true
			made, err = build(p, opt, known), nil
		}
		return made, err
	}
	var whole *Program
	whole, err = fitting(p, opt, known)
	if !opt.scarce() || whole != nil && !whole.convolves {
		return whole, err
	}
	opt.sparing = true
	if err != nil { // less memory may do
		return build(p, opt, known), nil
	}
	if spare := build(p, opt, known); opt.Patches > 0 || worthSparing(whole, spare) {
		return spare, nil
	}
	return whole, nil
}

// fitting builds the program. The error is that it does not fit into the banks.
func fitting(p *ir.Program, opt Options, known bindings) (made *Program, err error) {
	err = must.Try(func() { made = build(p, opt, known) })
	if _, full := errors.AsType[*plan.FitError](err); !full {
		must.Check(err)
	}
	return made, err
}

func build(p *ir.Program, opt Options, known bindings) *Program {
	prog := &Program{Source: foreign.Of(p.Source), Banks: opt.Banks,
		Tile: opt.Target.BytesTile()}
	state, shared := map[string]*Buffer{}, p.SharedState()
	consts := &constPool{byData: map[[sha256.Size]byte]*Const{}, names: newTaken()}
	for _, m := range p.Methods {
		b := newBuilder(opt, prog, m, state, consts, known)
		b.shared, b.divisions.b = shared, b
		b.method(m)
	}
	prog.Delegates = delegates(p, consts)
	prog.Consts = consts.list
	share(prog, opt)
	for _, m := range prog.Methods {
		overOutputs(m, opt)
		place(m, opt)
	}
	return prog
}

// builder builds one method.
type builder struct {
	opt    Options
	prog   *Program
	source *ir.Method
	m      *Method
	state  map[string]*Buffer // by qualified name, over all methods
	consts *constPool
	known  bindings
	shared map[string]bool // state, by qualified name, that methods other than this one may write

	facts   map[*ir.Node]*facts
	users   map[*ir.Value][]*ir.Node    // distinct readers; nil for a graph's outputs
	want    map[*ir.Value]bool          // has a buffer
	read    map[*ir.Value]bool          // by something that is emitted
	extras  map[*ir.Value]bool          // read by an epilogue
	rows    map[*ir.Value]bool          // its elements have reductions in common
	evals   map[*ir.Value]float64       // evaluations per element if inlined
	kernels map[*ir.Value]map[*bulk]int // how often the expressions it is inlined into read it
	// dimensions in the order of memory, of values that are not row-major
	orders   map[*ir.Value][]int
	separate map[*ir.Node]bool   // joint calls among row-major images
	forms    map[*ir.Value]*form // values without a buffer
	bufs     map[*ir.Value]*Buffer
	scalars  map[*ir.Value]*expr.Expr // numbers: a local, or a constant
	given    map[*expr.Var]bool       // locals that follow from what the caller gives
	entered  []*sym.Symbol            // of the types of inputs
	written  map[*ir.Value]ir.Arg     // of inputs that the method writes back, what
	mutable  map[*ir.Value]bool       // these, and those that other methods may write
	ports    *taken                   // names of inputs, once there are packed ones

	fusions   map[*Call]*fusion // of kernels of loops, what they compute
	divisions *divisions

	block *[]Stmt
}

func newBuilder(opt Options, prog *Program, m *ir.Method, state map[string]*Buffer,
	consts *constPool, known bindings) *builder {
	return &builder{
		opt: opt, prog: prog, source: m, state: state, consts: consts, known: known,
		m:     &Method{Name: foreign.Of(m.Name), Symbols: m.Symbols},
		facts: map[*ir.Node]*facts{}, users: map[*ir.Value][]*ir.Node{},
		want: map[*ir.Value]bool{}, extras: map[*ir.Value]bool{}, evals: map[*ir.Value]float64{},
		kernels: map[*ir.Value]map[*bulk]int{}, orders: map[*ir.Value][]int{},
		read: map[*ir.Value]bool{}, rows: map[*ir.Value]bool{},
		separate: map[*ir.Node]bool{},
		forms:    map[*ir.Value]*form{}, bufs: map[*ir.Value]*Buffer{},
		scalars: map[*ir.Value]*expr.Expr{}, given: map[*expr.Var]bool{},
		mutable: map[*ir.Value]bool{}, divisions: newDivisions(), fusions: map[*Call]*fusion{},
	}
}

func (b *builder) method(m *ir.Method) {
	b.prog.Methods = append(b.prog.Methods, b.m)
	b.block = &b.m.Body
	b.written = writtenBack(m)
	for i, v := range m.Graph.Inputs {
		b.mutable[v] = b.written[v] != nil || b.held(m.Inputs[i])
	}
	b.gather(m.Graph, 0)
	if len(b.opt.Kernels) > 0 {
		b.layouts(m.Graph)
		b.wholeOrders(m.Graph)
		b.selectTuned(m.Graph)
	}
	b.markRows(m.Graph)
	b.decide(m.Graph)
	b.inputs(m)
	b.graph(m.Graph)
	b.outputs(m)
	forwardCopies(b.m)
	b.patches()
	divide(b.m, b.opt.Target)
	b.dropPacked()
	b.storeBytes()
	collectBuffers(b.m)
	if ordered(b.m, b.opt) {
		collectBuffers(b.m)
	}
}

// bindings are what the table says of nodes. That does not depend on layouts: when
// a method is gathered again, only nodes whose arguments have changed are bound.
type bindings map[*ir.Node]*binding

// binding is a call of an operator, and its definition.
type binding struct {
	call    *ops.Call // nil for control flow
	tensors []expr.Tensor
	view    bool // tensors are views of operands
}

// binding returns that of n, which is no control flow.
func (b *builder) binding(n *ir.Node) *binding {
	if b.known[n] == nil {
		x := &binding{call: must.Get(b.opt.Table.Bind(n))}
		x.tensors, x.view = must.Get2(x.call.Results())
		b.known[n] = x
	}
	return b.known[n]
}

// gather binds every node to the table and collects who reads what.
func (b *builder) gather(g *ir.Graph, depth int) {
	for i, n := range g.Nodes {
		must.Check(eval.Stopped(b.opt.Done))
		f := &facts{node: n, place: i, depth: depth}
		b.facts[n] = f
		for _, a := range n.Args {
			ir.EachRef(a.Value, func(v *ir.Value) { b.uses(v, n) })
		}
		for _, r := range n.Regions {
			b.gather(r, depth+1)
		}
		if len(n.Regions) > 0 {
			continue
		}
		b.at(n, func() { f.binding = *b.binding(n) })
		c := f.call
		f.operands = c.Operands()
		b.prog.convolves = b.prog.convolves || tuned.IsConvolution(c) ||
			tuned.IsConvolutionInt8(c, b.opt.Target)
		b.noteClamps(c)
		if f.tensors == nil && c.Op.Loops == nil && c.Op.Value == nil && c.Op.ScalarOp == nil &&
			!c.Op.Effect && !b.whole(c) {
			b.at(n, func() {
				must.Fail("the operator has no kernel; it should have been decomposed")
			})
		}
	}
	for _, a := range g.Outputs {
		ir.EachRef(a, func(v *ir.Value) { b.uses(v, nil) })
	}
}

// noteClamps notes that an index of c is clamped, if it may be out of range.
func (b *builder) noteClamps(c *ops.Call) {
	name := ir.OpBase(c.Op.Name())
	if b.opt.Checked || slices.Contains(b.m.Clamps, name) {
		return
	}
	for _, x := range c.Indices() {
		if c.Operands()[x.Operand].Const == nil {
			b.m.Clamps = append(b.m.Clamps, name)
			return
		}
	}
}

// uses notes that n reads v. The arguments of a node follow each other.
func (b *builder) uses(v *ir.Value, n *ir.Node) {
	us := b.users[v]
	if n != nil && len(us) > 0 && us[len(us)-1] == n {
		return
	}
	b.users[v] = append(us, n)
}

// nodes goes through the nodes of g, those of a node's regions before it, and the
// graphs they are in. Nodes that are added meanwhile are not met.
func (b *builder) nodes(g *ir.Graph) iter.Seq2[*ir.Graph, *facts] {
	return func(yield func(*ir.Graph, *facts) bool) { b.eachNode(g, yield) }
}

func (b *builder) eachNode(g *ir.Graph, yield func(*ir.Graph, *facts) bool) bool {
	for _, n := range slices.Clone(g.Nodes) {
		for _, r := range n.Regions {
			if !b.eachNode(r, yield) {
				return false
			}
		}
		if !yield(g, b.facts[n]) {
			return false
		}
	}
	return true
}

// selectTuned asks the tuned kernels for every call that computes something.
func (b *builder) selectTuned(g *ir.Graph) {
	for _, f := range b.nodes(g) {
		if f.call == nil || f.absorbed || f.view || !b.onlyFirstRead(f.node) {
			continue
		}
		f.instance = tuned.Select(b.kernelsFor(f), b.request(f))
		if f.instance == nil {
			continue
		}
		f.operands = nil
		for _, k := range f.instance.Operands {
			f.operands = append(f.operands, f.call.Operands()[k])
		}
		if !f.instance.Kernel.Whole {
			b.findEpilogue(f)
		}
	}
}

// kernelsFor returns the kernels that may be selected for f: of an input that comes by rows
// those that make patches.
func (b *builder) kernelsFor(f *facts) []*tuned.Kernel {
	if !b.opt.Rows || !slices.Contains(f.call.Operands(), b.rowsInput()) {
		return b.opt.Kernels
	}
	if b.opt.rowsInLoops {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.opt.Kernels), func(k *tuned.Kernel) bool {
		return k.InPatches == nil || k.ScalarPatches && tuned.ChannelsLast(b.opt.Target)
	})
}

// request is what a kernel is selected for that makes the first result of f.
func (b *builder) request(f *facts) *tuned.Request {
	call := *f.call
	call.Outs = call.Outs[:1]
	return &tuned.Request{
		Call: &call, Target: b.opt.Target,
		Order: func(k int) []int { return b.orders[f.call.Operands()[k]] },
		Out:   b.orders[f.node.Output(0)],
		Const: func(k int) ([]byte, bool) {
			v := f.call.Operands()[k]
			if b.mutable[v] {
				return nil, false
			}
			return b.elements(v)
		},
		Later: func(k int) bool { return b.later(f.call.Operands()[k]) },
	}
}

// elements returns those of v if it is constant, or unpacked of a constant.
func (b *builder) elements(v *ir.Value) ([]byte, bool) {
	def := v.Def
	if def != nil && def.Op == "aten.view.default" { // of row-major elements, if they are constant
		return b.elements(b.facts[def].call.Operands()[0])
	}
	if def != nil && def.Op == ops.UnpackInt4 {
		packed, ok := constBytes(b.facts[def].call.Operands()[0])
		data := make([]byte, 0, 2*len(packed))
		for _, x := range packed {
			data = append(data, byte(int8(x<<4)>>4), byte(int8(x)>>4))
		}
		return data, ok
	}
	return constBytes(v)
}

// onlyFirstRead reports whether n has results of which nobody reads any but the
// first.
func (b *builder) onlyFirstRead(n *ir.Node) bool {
	return len(n.Outputs) > 0 && n.Output(0) != nil &&
		!slices.ContainsFunc(n.Outputs[1:], func(v *ir.Value) bool {
			return v != nil && len(b.users[v]) > 0
		})
}

// file is the base name of the method's file.
func (b *builder) file() string {
	if b.source.Source != "" {
		return b.source.Source
	}
	return b.prog.Source.Raw()
}

// at runs f; what fails in it says that it is about node n.
func (b *builder) at(n *ir.Node, f func()) {
	must.Check(ir.ErrorAt(b.file(), n, must.Try(f)))
}

// numel returns the elements of a value.
func numel(v *ir.Value) sym.Expr { return v.Type.Numel() }

// uniform returns the tensor expression of a constant all of whose elements
// are the same (every scalar constant), so that it needs no memory.
func (b *builder) uniform(v *ir.Value) (expr.Tensor, bool) {
	if v.Const == nil || b.mutable[v] {
		return expr.Tensor{}, false
	}
	data, ok := constBytes(v)
	if !ok {
		return expr.Tensor{}, false
	}
	x, ok := sameElement(v.Type.DType, data)
	if !ok {
		return expr.Tensor{}, false
	}
	return expr.Tensor{DType: v.Type.DType, Vars: expr.Over(v.Type.Sizes), Body: x}, true
}
