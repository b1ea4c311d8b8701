package way

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/etdump"
	"github.com/etgen/etgen/rt/optimize"
	"github.com/etgen/etgen/rt/payload"
	"github.com/etgen/etgen/rt/portable"
)

// RT writes models as ExecuTorch programs and runs the files with package rt and
// the kernels of the whole operator table. A model that is such a file runs as it
// is; how to compile has no effect on it.
type RT struct {
	Settings // Keep has no effect
	// Optimize lets methods be compiled when they are loaded. One that cannot be
	// fails.
	Optimize bool
	// MaxInstructions ends a call that loops; 0 is the runtime's default.
	MaxInstructions int
	// Backends run the delegates of programs, by the names that these have for them.
	Backends map[string]rt.Backend
	// Recorder, if not nil, notes what happens in one call of one job.
	Recorder *etdump.Recorder
}

// Name is "rt" or "rt-optimize".
func (w RT) Name() string {
	if w.Optimize {
		return "rt-optimize"
	}
	return "rt"
}

// Run implements [Way].
func (w RT) Run(ctx context.Context, jobs []Job, done func(int, *Result)) {
	registry := portable.Registry()
	if k := w.Options.Custom; k != nil && len(k.Go) > 0 {
		host, err := k.Start(ctx)
		if err != nil {
			for i := range jobs {
				done(i, &Result{Err: err})
			}
			return
		}
		defer host.Close()
		registry = customRegistry(registry, k, host)
	}
	for i, j := range jobs {
		r := &Result{Err: ctx.Err()}
		if r.Err == nil {
			r.Err = guard(func() error { return w.job(ctx, registry, j, r) })
		}
		done(i, r)
	}
}

func (w RT) job(ctx context.Context, registry *rt.Registry, j Job, r *Result) error {
	m := &machine{registry: registry, backends: w.Backends, recorder: w.Recorder, limit: w.Memory,
		time: w.Limit, most: w.MaxInstructions, warn: w.Options.Show}
	if w.Options.Profile {
		m.tracer = newStepTracer()
	}
	if w.Optimize {
		m.optimizes(w.Options.Custom)
	}
	if j.isProgram() {
		open, err := m.open(ctx, j, r)
		if err != nil {
			return err
		}
		defer open.Close()
	} else if err := w.emit(ctx, m, j, r); err != nil {
		return err
	}
	if len(j.Calls) == 0 { // that it loads is all there is to show
		for i := range m.program.MethodNames() {
			if err := m.load(i); err != nil {
				return err
			}
		}
	}
	for _, c := range j.Calls {
		var cr CallResult
		if c.Keep && m.failed && !c.Anyway {
			cr.Err = errNotRun
		} else {
			cr.Err = guard(func() error {
				if c.Turn != nil {
					c.Turn.Lock()
					defer c.Turn.Unlock()
				}
				return m.call(ctx, c, &cr)
			})
			if errors.Is(cr.Err, rt.ErrInvalidArgument) || errors.Is(cr.Err, rt.ErrNotSupported) {
				cr.Err = inputs(shapeError{cr.Err})
			}
		}
		m.failed = cr.Err != nil
		r.Calls = append(r.Calls, cr)
	}
	return nil
}

// emit gives m the program that a job's model is written as.
func (w RT) emit(ctx context.Context, m *machine, j Job, r *Result) error {
	p, closer, err := j.Open()
	if err != nil {
		return err
	}
	if closer != nil {
		defer closer.Close()
	}
	file, err := w.file(ctx, p, r, m)
	if err != nil {
		return err
	}
	for _, method := range p.Methods {
		m.mutated = append(m.mutated, mutatedInputs(method, method.Outputs))
	}
	m.program, err = rt.Load(bytes.NewReader(file), nil)
	return err
}

// file lowers p and returns its .pte; data outside of it m gets.
func (w RT) file(ctx context.Context, p *ir.Program, r *Result, m *machine) ([]byte, error) {
	opt := w.Options
	opt.Context, opt.Lang = ctx, "pte"
	opt.StackTraces = opt.StackTraces || m.traces // the optimizer knows Python lines from them
	passes, after := lower.ToExecutorch.Passes, opt.After
	before := slices.IndexFunc(passes, func(p lower.Pass) bool {
		return p.Name == lower.OutVariants.Name
	})
	last := passes[before-1].Name // operators have no out arguments yet
	opt.After = func(pass lower.Pass, p *ir.Program) error {
		if pass.Name == last {
			r.Terms = Terms(ops.Standard(), p)
			m.work = macs(ops.Standard(), p)
		}
		if after != nil {
			return after(pass, p)
		}
		return nil
	}
	out, err := compile.PTE(p, opt)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	if err := pte.Write(&file, out.Program); err != nil {
		return nil, err
	}
	r.takes(out.Program)
	r.Code = int64(file.Len()) - r.Weights
	if opt.Profile {
		for i, method := range p.Methods {
			m.work[i].renamed(method, func(n *ir.Node) bool { return n.Op != "memory.alloc" })
		}
		if r.Steps = programSteps(p, out, m.work); m.traces {
			r.Steps = make([][]Step, len(p.Methods))
		}
		m.steps = r.Steps
	}
	if out.Data != nil {
		var data bytes.Buffer
		if err := pte.WriteData(&data, out.Data); err != nil {
			return nil, err
		}
		r.Weights += int64(data.Len())
		outside, err := rt.LoadData(bytes.NewReader(data.Bytes()))
		if err != nil {
			return nil, err
		}
		m.data = append(m.data, outside)
	}
	return file.Bytes(), nil
}

// mutatedInputs returns which of a method's inputs, those that are constants of
// the model counted, the first of some of its outputs are: the ones it changes, in the
// order of its mutations.
func mutatedInputs(m *ir.Method, specs []ir.OutputSpec) []int {
	at := map[string]int{}
	for i, v := range m.Graph.Inputs {
		if k := m.Inputs[i].Kind; k == ir.UserInput || k == ir.ConstantInput {
			at[v.Name] = len(at)
		}
	}
	var all []int
	for _, spec := range specs {
		if spec.Kind == ir.UserInputMutation {
			all = append(all, at[spec.Target])
		}
	}
	return all
}

// machine is a loaded program with the state of its methods.
type machine struct {
	program  *rt.Program
	registry *rt.Registry
	backends map[string]rt.Backend
	optimize rt.Optimizer
	data     []*rt.DataFile
	foreign  bool    // the program is a file's
	mutated  [][]int // by method
	methods  map[int]*rt.Method
	shared   []byte // the memory of state that methods share
	failed   bool
	limit    int64         // of memory
	time     time.Duration // of a call
	most     int           // instructions of a call
	work     []*work       // of each method
	steps    [][]Step      // of each method if they are counted
	tracer   *stepTracer   // likewise
	traces   bool          // steps are those of the optimizer
	recorder *etdump.Recorder
	warn     func(error)
}

// optimizes lets methods be compiled when they are loaded. Their steps are known
// then. K has the custom operators, and may be nil.
func (m *machine) optimizes(k *custom.Kernels) {
	o := optimize.Options{Strict: true,
		Custom: seq.Map(k.Declared(), (*aten.Schema).String)}
	if m.traces = m.tracer != nil; m.traces {
		at := func(method string) int { return slices.Index(m.program.MethodNames(), method) }
		o.Lowered = func(method string, p *ir.Program) {
			m.work[at(method)] = macs(ops.Standard(), p)[0]
		}
		o.Loaded = func(method string, stmts []native.Stmt) {
			i := at(method)
			m.steps[i] = stmtSteps(stmts, m.work[i])
		}
	}
	m.optimize = optimize.With(o)
}

// load loads a method anew, with memory full of junk: a program that etgen wrote
// must not count on what it did not write. Those of others may have state that
// begins with zeros.
func (m *machine) load(i int) error {
	name := m.program.MethodNames()[i]
	meta, err := m.program.MethodMeta(name)
	if err != nil {
		return err
	}
	memory := &rt.MemoryManager{}
	need := int64(0)
	for _, size := range meta.PlannedBuffers {
		need += max(size, 0)
	}
	if err := CheckMemory("the method", need, m.limit); err != nil {
		return err
	}
	if memory.Limit = m.limit; m.limit == 0 {
		memory.Limit = DefaultMemory
	}
	if !m.foreign {
		memory.Limit = max(memory.Limit-need, 1)
		for _, size := range meta.PlannedBuffers {
			memory.Planned = append(memory.Planned, bytes.Repeat([]byte{0xe7}, int(size)))
		}
	}
	if m.shared != nil && len(meta.PlannedBuffers) > sharedBuffer {
		for len(memory.Planned) <= sharedBuffer {
			memory.Planned = append(memory.Planned, nil)
		}
		memory.Planned[sharedBuffer] = m.shared
	}
	backends := payload.Backends()
	maps.Copy(backends, m.backends)
	options := &rt.MethodOptions{Registry: m.registry, Data: m.data, Memory: memory,
		Backends: backends, Optimize: m.optimize, MaxInstructions: m.most}
	if m.tracer != nil {
		options.Tracer = m.tracer
	}
	if m.recorder != nil {
		options.Tracer = m.recorder
	}
	var method *rt.Method
	err = m.recorder.Load(func() (err error) {
		method, err = m.program.LoadMethod(name, options)
		return err
	})
	if err != nil {
		return m.memory(err)
	}
	if m.methods == nil {
		m.methods = map[int]*rt.Method{}
	}
	m.methods[i] = method
	return nil
}

// memory says an error of too much memory in the words of all ways.
func (m *machine) memory(err error) error {
	if errors.Is(err, rt.ErrOutOfMemory) {
		return &MemoryError{What: "the method", Limit: cmp.Or(m.limit, DefaultMemory)}
	}
	return err
}

// sharedBuffer is the planned buffer with the state that methods share, that of
// memory id 2.
const sharedBuffer = 1

// loadShared loads all methods that share state, with one memory for it: loading
// writes what it begins with, so that none may be loaded later.
func (m *machine) loadShared() error {
	m.methods, m.shared = nil, nil
	fill := byte(0xe7)
	if m.foreign {
		fill = 0
	}
	var sharing []int
	for i, name := range m.program.MethodNames() {
		meta, err := m.program.MethodMeta(name)
		if err != nil {
			return err
		}
		if len(meta.PlannedBuffers) <= sharedBuffer ||
			!slices.ContainsFunc(meta.Attributes, func(a rt.ValueMeta) bool { return a.Planned }) {
			continue
		}
		sharing = append(sharing, i)
		if n := meta.PlannedBuffers[sharedBuffer]; n > int64(len(m.shared)) {
			m.shared = bytes.Repeat([]byte{fill}, int(n))
		}
	}
	if len(sharing) < 2 {
		m.shared = nil
		return nil
	}
	for _, i := range sharing {
		if err := m.load(i); err != nil {
			return err
		}
	}
	return nil
}

// maxTimes bounds the repetitions of a call.
const maxTimes = 65536

// call makes a call as often as it asks for. Each repetition has the same
// inputs, and state as the call before it left.
func (m *machine) call(ctx context.Context, c Call, r *CallResult) error {
	if !c.Keep {
		if err := m.loadShared(); err != nil {
			return err
		}
	}
	if m.methods[c.Method] == nil {
		if err := m.load(c.Method); err != nil {
			return err
		}
	}
	method := m.methods[c.Method]
	if m.tracer != nil {
		m.tracer.counts = newStepCounts(len(m.steps[c.Method]))
	}
	timed, cancel := within(ctx, cmp.Or(m.time, DefaultTime)+c.For)
	defer cancel()
	start := time.Now()
	for len(r.Times) < maxTimes && (len(r.Times) < max(c.Repeat, 1) || time.Since(start) < c.For) {
		if err := setInputs(method, c.Inputs); err != nil {
			return inputs(err)
		}
		if m.tracer != nil {
			m.tracer.counts.begin()
		}
		before := time.Now()
		err := m.recorder.Call(func() error { return method.Execute(timed) })
		if err != nil {
			return overtime(timed, m.time, m.memory(err))
		}
		r.Times = append(r.Times, time.Since(before))
		var outs []*rt.EValue
		for i := range method.Meta().Outputs {
			outs = append(outs, method.Output(i))
		}
		m.recorder.Outputs(outs)
	}
	w := m.work[c.Method]
	r.MACs = w.total(c.Inputs)
	if m.tracer != nil {
		r.Steps = m.tracer.counts.of(m.steps[c.Method], 0, w, c.Inputs)
	}
	return m.outputs(method, c, r)
}

// outputs reads what a call gave.
func (m *machine) outputs(method *rt.Method, c Call, r *CallResult) error {
	mutated := m.mutated[c.Method]
	r.Mutated = make([]*tensor.Tensor, len(c.Inputs))
	for i := range method.Meta().Outputs {
		v, err := OutputOf(method.Output(i))
		if err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		if i < len(mutated) {
			r.Mutated[mutated[i]] = v.Tensor
			continue
		}
		r.Outputs = append(r.Outputs, v)
	}
	return nil
}

func setInputs(method *rt.Method, inputs []tensor.Value) error {
	metas := method.Meta().Inputs
	if len(inputs) != len(metas) {
		return fmt.Errorf("%d inputs are given, the model takes %d", len(inputs), len(metas))
	}
	for i, v := range inputs {
		x, err := InputOf(v, &metas[i])
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		if err := method.SetInput(i, x); err != nil {
			return err
		}
	}
	return nil
}

// numberTypes are how a number lies in a tensor that is passed for it.
var numberTypes = map[ir.DType]bool{ir.Int64: true, ir.Float64: true, ir.Bool: true}

// InputOf returns v as an input that meta describes. A number that the program
// takes in a tensor is put into one.
func InputOf(v tensor.Value, meta *rt.ValueMeta) (any, error) {
	if t := v.Tensor; t != nil {
		return rt.NewTensor(t.DType, t.Shape, meta.DimOrder, reorder(t.Data, t.Shape,
			t.DType.Size(), meta.DimOrder, true))
	}
	if meta.Kind == rt.TensorKind && numberTypes[meta.DType] && len(meta.Sizes) == 0 {
		a := v.Scalar
		if n, ok := a.(ir.Int); ok && meta.DType == ir.Float64 {
			a = ir.Float(n)
		}
		data, err := scalarBytes(a)
		if err != nil {
			return nil, err
		}
		return rt.NewTensor(meta.DType, nil, nil, data[:meta.DType.Size()])
	}
	switch a := v.Scalar.(type) {
	case ir.Int:
		if meta.Kind == rt.Double {
			return float64(a), nil
		}
		return int64(a), nil
	case ir.Float:
		return float64(a), nil
	case ir.BoolArg:
		return bool(a), nil
	case ir.Str:
		return string(a), nil
	case ir.None:
		return nil, nil
	}
	return nil, fmt.Errorf("%v cannot be passed to a program", v)
}

// OutputOf returns a copy of what an output's slot holds.
func OutputOf(e *rt.EValue) (tensor.Value, error) {
	switch e.Kind {
	case rt.TensorKind:
		t := e.Tensor
		data := reorder(t.Data, t.Sizes, t.DType.Size(), t.DimOrder, false)
		return tensor.Value{Tensor: &tensor.Tensor{DType: t.DType, Shape: slices.Clone(t.Sizes),
			Data: data}}, nil
	case rt.Int:
		return tensor.Value{Scalar: ir.Int(e.Int)}, nil
	case rt.Double:
		return tensor.Value{Scalar: ir.Float(e.Double)}, nil
	case rt.Bool:
		return tensor.Value{Scalar: ir.BoolArg(e.Bool)}, nil
	case rt.String:
		return tensor.Value{Scalar: ir.Str(e.String)}, nil
	case rt.None:
		return tensor.Value{Scalar: ir.None{}}, nil
	}
	return tensor.Value{}, fmt.Errorf("it is a %v", e.Kind)
}

// reorder returns a copy of the elements, width bytes each, of a row-major
// tensor in another order of dimensions, or the other way round.
func reorder(data []byte, shape []int64, width int, order []uint8, to bool) []byte {
	out := slices.Clone(data)
	if slices.IsSorted(order) || len(data) == 0 {
		return out
	}
	strides := make([]int, len(shape)) // of the dimensions in the other order
	stride := width
	for _, d := range slices.Backward(order) {
		strides[d] = stride
		stride *= int(shape[d])
	}
	index := make([]int64, len(shape))
	for at, other := 0, 0; at < len(data); at += width {
		if to {
			copy(out[other:other+width], data[at:])
		} else {
			copy(out[at:at+width], data[other:])
		}
		for d := len(shape) - 1; d >= 0; d-- {
			index[d]++
			other += strides[d]
			if index[d] < shape[d] {
				break
			}
			other -= strides[d] * int(shape[d])
			index[d] = 0
		}
	}
	return out
}
