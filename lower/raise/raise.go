package raise

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// Program returns the graph of an ExecuTorch program: functional, of operators
// of the table, a method for each plan. Source is the name of its file, for
// messages; data are the files beside it that its external tensors are in. The
// constants keep reading from p's blobs and data's. The error joins what is wrong
// with all methods; each part names the method and the instruction.
func Program(p *pte.Program, source string, table *ops.Table,
	data ...*pte.DataFile) (*ir.Program, error) {
	out, _, err := Planned(p, source, table, nil, data...)
	return out, err
}

// Origins tells where in the model's source is what an instruction stands for or, if handle is not
// 0, what the node of a debug handle does in the delegate that it calls. Instructions are those of
// all chains of a plan, in order.
type Origins func(plan, instruction int, handle uint32) ir.Location

// Planned is Program that also tells where each method's plan has what its values hold. Origins,
// if not nil, have the Python lines of what the program itself has none of.
func Planned(p *pte.Program, source string, table *ops.Table, origins Origins,
	data ...*pte.DataFile) (*ir.Program, []Memory, error) {
	if err := pte.VerifyMeaning(p, table); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", foreign.Message(source), err)
	}
	out := &ir.Program{Source: source, Dialect: ir.Functional}
	var memories []Memory
	var errs []error
	in := &input{file: p, data: data, table: table, origins: origins, opaques: map[int]*opaque{}}
	for i, ep := range p.Plans {
		var m *ir.Method
		var memory Memory
		err := must.Try(func() { m, memory = method(in, i, ep) })
		if err != nil {
			errs = append(errs, within(foreign.Message(source)+": method "+foreign.Message(ep.Name),
				err)...)
			continue
		}
		out.Methods, memories = append(out.Methods, m), append(memories, memory)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	out.Delegates, out.Custom = in.calledDelegates(), in.customs
	if err := ir.Verify(out); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", foreign.Message(source), err)
	}
	return out, memories, nil
}

// within puts a prefix before every part of an error.
func within(prefix string, err error) []error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range list.Unwrap() {
			out = append(out, within(prefix, e)...)
		}
		return out
	}
	return []error{fmt.Errorf("%s: %w", prefix, err)}
}

// raiser raises one method.
type raiser struct {
	*plan
	*input
	*analysis

	method *ir.Method
	top    *ir.Emitter  // of the method's graph
	b      *ops.Builder // of the graph that is being built
	st     *state
	args   []*ir.Value // parallel to Inputs; nil for those that are no tensors

	buffers []*buffer
	named   map[string]bool // names of these
	cuts    map[cutKey]ir.Blob

	constants map[constantKey]*ir.Value
	views     map[seenAs]*ir.Value    // of the graph that is being built
	items     map[*ir.Value]*ir.Value // numbers that are items of tensors
	truths    map[*ir.Value]ir.Ref    // numbers that are 1 where a condition holds, else 0
	held      map[*ir.Value]bool      // values that lie in some place
	placed    map[*ir.Value]place     // where in the plan's memory values were first written
	steps     []*step                 // of the loops around
	unbacked  int                     // symbols made
	most      map[*sym.Symbol]int64   // what they are bounded by besides
	asserted  []ir.Ref                // conditions that hold wherever the method goes on
	known     []condition             // what they say of sizes and numbers
	now       int                     // the instruction that is being raised
	readAt    map[*ir.Value]int       // numbers that instructions read from tensors
	readBy    map[*sym.Symbol]int     // the symbols of such numbers
	spans     map[int]span            // of numbers, by the instructions that read them
	readFrom  map[int]*ir.Value       // the numbers, by these
	decided   map[*sym.Symbol]int     // symbols of sizes and numbers, by what gives them values
	sizeAt    map[int]sym.Expr        // what they are, by instructions
	ties      map[int]int             // instructions to earlier ones that give the same
	doubts    int                     // see [xnn.Into]
	errs      []error
}

// What cannot be raised ends the function that finds it, see [ops.Fail]: of what an
// instruction does only the instruction, else the method, with an error of instruction
// now.

// try runs f. What ends it is noted as an error of instruction i.
func (r *raiser) try(i int, f func()) (ok bool) {
	err := must.Try(f)
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", r.describe(i), err))
	}
	return err == nil
}

// note is try of what belongs to no instruction.
func (r *raiser) note(what string, f func()) {
	if err := must.Try(func() { saying(what, f) }); err != nil {
		r.errs = append(r.errs, err)
	}
}

// saying runs f. An error that ends it says of what it is.
func saying(what string, f func()) {
	if err := must.Try(f); err != nil {
		must.Fail("%s: %w", what, err)
	}
}

// analysis is what is known of a plan whatever the sizes of its inputs are.
type analysis struct {
	roles   []*role
	effects []effect
	yielded map[int32]bool // tensors that et_copy_index fills in a counted loop
	counted map[*loop]*counted
	flow    *flow
	live    *liveness

	delegates []opened    // parallel to the plan's
	results   map[int]int // of calls of opaque ones, how many arguments
	stored    []int32     // slots of state that the file has data of
}

// input is what all methods share.
type input struct {
	file    *pte.Program
	data    []*pte.DataFile
	table   *ops.Table
	origins Origins

	opaques map[int]*opaque // delegates by their numbers over all plans
	named   []ir.NamedData  // what they find by name, nil before anybody asks
	customs []string        // schemas of the custom operators that are called
}

// method raises one plan.
func method(in *input, index int, ep *pte.ExecutionPlan) (*ir.Method, Memory) {
	p := survey(ep)
	p.index = index
	for i := range p.code {
		p.code[i].loc = cmp.Or(p.code[i].loc, in.origin(index, i, 0))
	}
	s := &sizing{in: in, plan: p, analysis: analyse(in, p, newFlow(p)), read: map[int]span{},
		ties: map[int]int{}}
	r := s.raise()
	m, memory := r.method, r.memory()
	r.checkCalls()
	must.Check(errors.Join(r.errs...))
	return m, memory
}

// origin is what [Origins] tell, if there are any.
func (in *input) origin(plan, instruction int, handle uint32) ir.Location {
	if in.origins == nil {
		return ir.Location{}
	}
	return in.origins(plan, instruction, handle)
}

func newRaiser(in *input, p *plan, a *analysis) *raiser {
	return &raiser{
		plan: p, input: in, analysis: a,
		constants: map[constantKey]*ir.Value{}, views: map[seenAs]*ir.Value{},
		items: map[*ir.Value]*ir.Value{}, truths: map[*ir.Value]ir.Ref{},
		held: map[*ir.Value]bool{}, placed: map[*ir.Value]place{}, st: newState(),
		cuts: map[cutKey]ir.Blob{},
		most: map[*sym.Symbol]int64{}, named: map[string]bool{},
		readAt: map[*ir.Value]int{}, readBy: map[*sym.Symbol]int{},
		readFrom: map[int]*ir.Value{}, decided: map[*sym.Symbol]int{}, sizeAt: map[int]sym.Expr{},
	}
}

func analyse(in *input, p *plan, f *flow) *analysis {
	r := newRaiser(in, p, &analysis{flow: f, yielded: map[int32]bool{},
		counted: map[*loop]*counted{}})
	for _, o := range p.Operators {
		r.roles = append(r.roles, roleOf(in.table, o))
	}
	r.fitRoles()
	r.openDelegates()
	r.findResults()
	r.setEffects()
	for _, b := range f.blocks {
		if l := f.loops[b]; l != nil {
			r.findCounted(l)
		}
	}
	r.setEffects()
	r.live = r.newLiveness()
	return r.analysis
}

func (r *raiser) setEffects() {
	r.effects = make([]effect, len(r.code))
	for i := range r.code {
		r.effects[i] = r.effectOf(i)
	}
}

// raise builds the method, its inputs of the sizes given.
func (r *raiser) raise(sizes *sizes) error {
	m := &ir.Method{Name: r.Name, Symbols: sizes.symbols}
	r.method, r.spans, r.ties = m, sizes.read, sizes.ties
	names := ir.NewNames(&ir.Method{Graph: &ir.Graph{}})
	var inputs []*ir.Value
	err := must.Try(func() {
		m.Graph, _ = ir.BuildGraph(names, nil, func(e *ir.Emitter) ([]ir.Arg, error) {
			r.top, r.b = e, ops.NewBuilder(r.table, e)
			inputs = r.enter(sizes)
			for i, x := range sizes.symbols {
				if s := sizes.asserted[i]; s != unasserted {
					r.assert(ir.Ref{Value: r.b.SymInt(x.Expr())}, s)
				}
			}
			a := r.flow.newArea(nil)
			r.walk(a, a.on(r.flow.blocks[0]), nil)
			return r.leaveMethod(), nil
		})
	})
	if err != nil {
		r.try(r.now, func() { must.Check(err) })
	}
	r.known = r.conditions()
	if len(r.errs) > 0 {
		return errors.Join(r.errs...)
	}
	m.Graph.Inputs = inputs
	declare(m, r.most)
	m.In, m.Out = r.trees()
	return nil
}

// Known reports whether calls of an operator can be raised.
func Known(table *ops.Table, o pte.Operator) bool { return roleOf(table, o).kind != unknown }

// Scratch reports whether argument i of an operator is memory to work in, which
// holds nothing before the call and nothing afterwards.
func Scratch(table *ops.Table, o pte.Operator, i int) bool { return roleOf(table, o).isScratch(i) }

// Memory is a method's planned memory: its buffers behind one another.
type Memory struct {
	Method string
	Size   int64
	Places map[string]Range // where instructions write values, by the values' names
}

// Range is a range of bytes.
type Range struct{ Offset, Size int64 }

// memoryAlign is what the start of a planned buffer is aligned to, in bytes.
const memoryAlign = 16

// memory tells where what was raised lies.
func (r *raiser) memory() Memory {
	m := Memory{Method: r.Name, Places: map[string]Range{}}
	start := make([]int64, len(r.BufferSizes))
	for i, n := range r.BufferSizes {
		start[i] = m.Size
		if n > 0 {
			m.Size = (m.Size + n + memoryAlign - 1) / memoryAlign * memoryAlign
		}
	}
	for v, p := range r.placed {
		if p.memory < int64(len(start)) {
			m.Places[v.Name] = Range{start[p.memory] + p.lo, p.hi - p.lo}
		}
	}
	return m
}

// Innermost returns the innermost frame outside of PyTorch.
func Innermost(frames []pte.Frame) (_ pte.Frame, ok bool) {
	for _, f := range slices.Backward(frames) {
		name := strings.ReplaceAll(f.Filename, `\`, "/")
		if name != "" && !strings.Contains(name, "/torch/") &&
			!strings.Contains(name, "/executorch/exir/") {
			f.Filename = name
			return f, true
		}
	}
	return pte.Frame{}, false
}

// location is the place of the innermost frame. What it is in, a function or a
// module, files do not agree on.
func location(frames []pte.Frame) ir.Location {
	f, ok := Innermost(frames)
	if !ok {
		return ir.Location{}
	}
	return ir.Location{File: filepath.Base(f.Filename), Line: int(f.Line)}
}
