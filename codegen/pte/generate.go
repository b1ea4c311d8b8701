package pte

import (
	"errors"
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/plan"
)

// Options steer Generate.
type Options struct {
	Table   *ops.Table   // nil is ops.Standard
	Planner plan.Planner // nil is plan.Best
	// Banks, if not nil, are the memories that planned memory is divided into, the fastest
	// first: memory ids from 1 on, without that of state that methods share.
	Banks []plan.Bank
	// ExternalWeights leaves the data of constants out of the program: tensors
	// refer to it by name.
	ExternalWeights bool
	// StackTraces writes for each instruction where in the model's Python source
	// it comes from.
	StackTraces bool
	// InlineDelegates puts the payloads of delegates into the flatbuffer and not in segments.
	InlineDelegates bool
	// Done, if not nil, ends Generate with an error soon after it is closed.
	Done <-chan struct{}
}

// Output is what Generate makes.
type Output struct {
	Program *pte.Program
	// Data is what the program refers to by name, sorted by name; nil without
	// Options.ExternalWeights.
	Data *pte.DataFile
	// Memory says for each method where its tensors lie.
	Memory []Memory
	// Origins says for each instruction of each method where it comes from.
	Origins [][]Origin
	// Edge is the program whose nodes instructions stand for: what an ETRecord has. Nil if nobody
	// asked for it.
	Edge *ir.Program
}

// Origin is where an instruction comes from.
type Origin struct {
	Node string // of the graph; "" if it stands for none
	Loc  ir.Location
	// Events are what a delegate that the instruction runs reports.
	Events []ir.DelegateEvent
	// Outs is how many results a delegate gives that the instruction runs.
	Outs int
}

// Inside are the nodes that a delegate has in it, each once, in the order of its events.
func (o Origin) Inside() (nodes []ir.Origin) {
	seen := map[ir.Origin]bool{}
	for _, e := range o.Events {
		for _, n := range e.Nodes {
			if !seen[n] {
				seen[n] = true
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}

// Nodes are those that the instruction stands for or, if event is not "", those that an event of
// the delegate does that it calls.
func (o Origin) Nodes(event string) []ir.Origin {
	for _, e := range o.Events {
		if event != "" && e.ID == event {
			return e.Nodes
		}
	}
	if event != "" {
		return nil
	}
	if inside := o.Inside(); len(inside) > 0 {
		return inside
	}
	return []ir.Origin{{Node: o.Node, Loc: o.Loc}}
}

// Memory is a method's planned memory.
type Memory struct {
	Problem *plan.Problem
	Plan    *plan.Plan
}

// Generate makes a program of p, which is in the dialect of lower.ToExecutorch
// and is not changed. Errors name file, node, operator and Python line; those of
// all methods are joined.
func Generate(p *ir.Program, opt Options) (_ *Output, err error) {
	defer must.Catch(&err)
	if opt.Table == nil {
		opt.Table = must.Get(ops.Of(p))
	}
	if opt.Planner == nil {
		opt.Planner = plan.Best{}
	}
	pool := newPool(opt.ExternalWeights)
	shared := must.At(func() *sharedArena { return sharedOf(p) }, "%s", foreign.Message(p.Source))
	out := &Output{Program: &pte.Program{}}
	ds := &delegates{named: map[string]string{}, inline: opt.InlineDelegates}
	var errs []error
	for _, m := range p.Methods {
		must.Check(eval.Stopped(opt.Done))
		if err := must.Try(func() { out.method(p, pool, shared, ds, m, opt) }); err != nil {
			errs = append(errs, inFile(p.SourceOf(m), m, err))
		}
	}
	must.Check(errors.Join(errs...))
	out.Program.Constants, out.Program.Mutable = pool.constants, pool.mutable()
	if opt.ExternalWeights {
		pool.leaveOutside(ds.data)
	} else {
		out.Program.Named = append(out.Program.Named, ds.data...)
	}
	out.Data = pool.dataFile()
	err = pte.Verify(out.Program, opt.Table)
	if err == nil && out.Data != nil {
		err = pte.VerifyData(out.Program, out.Data)
	}
	must.In(err, "%s: the program made of it is not right, which is a defect of etgen",
		foreign.Message(p.Source))
	return out, nil
}

// method adds the execution plan of m.
func (o *Output) method(p *ir.Program, pool *pool, shared *sharedArena, ds *delegates,
	m *ir.Method, opt Options) {
	if m.Name == "" || strings.Contains(m.Name, "\x00") {
		must.Fail("an ExecuTorch program has no methods of this name: give it another with --method")
	}
	c := build(p, pool, shared, m, opt.Table)
	forward(c)
	places, mem := place(c, opt)
	ep, origins := flatten(c, places, shared.in(m), ds, opt.StackTraces)
	ep.Name = m.Name
	ep.Container = container(m)
	ep.BufferSizes = []int64{0}
	for k, memory := range mem.Plan.Memories {
		if k == 1 && shared.in(m) {
			ep.BufferSizes = append(ep.BufferSizes, shared.size)
		}
		ep.BufferSizes = append(ep.BufferSizes, memory.Size)
	}
	if shared.in(m) && len(mem.Plan.Memories) == 1 {
		ep.BufferSizes = append(ep.BufferSizes, shared.size)
	}
	o.Program.Plans = append(o.Program.Plans, ep)
	o.Program.SetLeast(len(o.Program.Plans)-1, least(m))
	o.Memory = append(o.Memory, mem)
	o.Origins = append(o.Origins, origins)
}

// least returns the least sizes of inputs of dynamic size, nil for others.
func least(m *ir.Method) [][]int64 {
	var inputs [][]int64
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind != ir.UserInput && m.Inputs[i].Kind != ir.ConstantInput {
			continue
		}
		var sizes []int64
		if _, static := v.Type.StaticSizes(); v.Type.Kind == ir.TensorKind && !static {
			for _, e := range v.Type.Sizes {
				lo, _ := e.Bounds()
				sizes = append(sizes, max(0, lo))
			}
		}
		inputs = append(inputs, sizes)
	}
	return inputs
}

// inFile names the file in an error; one that is about no node is told with its
// method.
func inFile(file string, m *ir.Method, err error) error {
	if at, ok := errors.AsType[*ir.Error](err); ok {
		at.File = file
		return err
	}
	return fmt.Errorf("%s: method %s: %w", foreign.Message(file), foreign.Message(m.Name), err)
}
