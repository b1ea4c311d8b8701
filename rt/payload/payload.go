// Package payload runs delegates whose payloads etgen knows, as XNNPACK's, without their
// backends: a payload is raised to a graph and compiled as rt/optimize compiles methods.
//
//	method, err := program.LoadMethod("forward", &rt.MethodOptions{
//		Registry: portable.Registry(),
//		Backends: payload.Backends(),
//	})
//
// It is for methods that are interpreted. One that is loaded with rt/optimize is compiled whole,
// its delegates with it, and needs no backends.
package payload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/lower/raise"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/optimize"
)

// Backends returns a backend for each id that delegates with known payloads have.
func Backends() map[string]rt.Backend {
	all := map[string]rt.Backend{}
	for _, id := range raise.Backends() {
		all[id] = backend(id)
	}
	return all
}

// backend is one of an id.
type backend string

// Init implements [rt.Backend]. The payload is read and verified; it is compiled when it is
// executed, for the sizes that its arguments have then.
func (b backend) Init(init *rt.DelegateInit) (rt.Delegate, error) {
	d := &delegate{backend: string(b), init: init, made: map[string]*form{}}
	err := raise.CheckDelegate(d.file(), init.Named)
	if err == nil {
		d.data, err = d.named()
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// delegate is one that has been loaded.
type delegate struct {
	backend string
	init    *rt.DelegateInit
	data    *rt.DataFile
	made    map[string]*form // by the forms of arguments
	keys    []string         // of made, the oldest first
	written []bool           // which arguments it writes, once it is executed
}

// form does what a delegate does with arguments of some sizes.
type form struct {
	*rt.Method
	nodes *nodes // nil unless somebody reads what they give
}

// maxMade is for how many forms of arguments methods are kept.
const maxMade = 8

func (d *delegate) file() *pte.Delegate {
	return &pte.Delegate{ID: d.backend, Processed: d.init.Processed, Specs: d.init.Specs}
}

// named returns the data by name that the payload refers to.
func (d *delegate) named() (*rt.DataFile, error) {
	file := &pte.DataFile{}
	if d.backend == xnnpack.ID {
		g, err := xnnpack.Read(d.init.Processed)
		if err != nil {
			return nil, err
		}
		for _, c := range g.Constants {
			if c.Data != nil {
				continue
			}
			if data, ok := d.init.Named(c.Key); ok {
				file.Entries = append(file.Entries, pte.DataEntry{Key: c.Key, Data: data})
			}
		}
	}
	return rt.NewDataFile(file), nil
}

// Execute implements [rt.Delegate].
func (d *delegate) Execute(ctx context.Context, args []*rt.EValue) error {
	for i, a := range args {
		if a.Kind != rt.TensorKind || a.Tensor == nil {
			return fmt.Errorf("%w: argument %d is no tensor", rt.ErrInvalidArgument, i)
		}
	}
	if d.written == nil {
		written, err := raise.Results(d.file(), d.init.Named, len(args))
		if err != nil {
			return fmt.Errorf("%w: %w", rt.ErrInvalidProgram, err)
		}
		d.written = written
	}
	written := d.written
	m, err := d.form(args)
	if err != nil {
		return err
	}
	var inputs []any
	for i, a := range args {
		if !written[i] {
			inputs = append(inputs, a.Tensor)
		}
	}
	if m.nodes != nil {
		if err := m.nodes.run(ctx, d.init, inputs); err != nil {
			return err
		}
	}
	if _, err := m.Forward(ctx, inputs...); err != nil {
		return err
	}
	out := 0
	for i, a := range args {
		if !written[i] {
			continue
		}
		t, err := m.OutputTensor(out)
		if err == nil {
			err = a.Tensor.Resize(t.Sizes)
		}
		if err == nil && copy(a.Tensor.Data, t.Data) != len(t.Data) {
			err = fmt.Errorf("%w: it has %d bytes of memory for %d", rt.ErrInternal,
				len(a.Tensor.Data), len(t.Data))
		}
		if err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
		out++
	}
	return nil
}

// form returns what does what the delegate does with arguments of these forms.
func (d *delegate) form(args []*rt.EValue) (*form, error) {
	var key bytes.Buffer
	for i, a := range args {
		if !d.written[i] {
			fmt.Fprint(&key, a.Tensor.Sizes)
		}
	}
	if m := d.made[key.String()]; m != nil {
		return m, nil
	}
	file, err := d.program(args)
	if err != nil {
		return nil, err
	}
	m := &form{}
	if m.Method, err = d.compile(file); err != nil {
		if errors.Is(err, optimize.ErrRefused) {
			err = fmt.Errorf("%w: %w", rt.ErrNotSupported, err)
		}
		return nil, err
	}
	if d.init.ReadsValues() {
		if m.nodes, err = nodesOf(file, d.data.File()); err != nil {
			return nil, err
		}
	}
	if len(d.keys) == maxMade {
		delete(d.made, d.keys[0])
		d.keys = slices.Delete(d.keys, 0, 1)
	}
	d.made[key.String()] = m
	d.keys = append(d.keys, key.String())
	return m, nil
}

// program is one of the delegate's call alone.
func (d *delegate) program(args []*rt.EValue) (*pte.Program, error) {
	plan := &pte.ExecutionPlan{Name: d.init.Method, BufferSizes: []int64{0},
		Delegates: []pte.Delegate{*d.file()}}
	call := pte.DelegateCall{}
	for i, a := range args {
		t := &pte.Tensor{DimOrder: slices.Clone(a.Tensor.DimOrder)}
		var ok bool
		if t.ScalarType, ok = pte.ScalarTypeOf(a.Tensor.DType); !ok {
			return nil, fmt.Errorf("%w: argument %d is %v", rt.ErrNotSupported, i, a.Tensor.DType)
		}
		sizes, v := a.Tensor.Sizes, int32(i)
		if d.written[i] {
			if b := a.Tensor.Bound(); !slices.Equal(b, sizes) || a.Tensor.Resizable() {
				sizes, t.Dynamism = b, pte.DynamicBound
			}
			plan.Outputs = append(plan.Outputs, v)
		} else {
			plan.Inputs = append(plan.Inputs, v)
		}
		for _, n := range sizes {
			t.Sizes = append(t.Sizes, int32(n))
		}
		plan.Values = append(plan.Values, t)
		call.Args = append(call.Args, v)
	}
	plan.Chains = []*pte.Chain{{Instructions: []pte.Instruction{call}}}
	return &pte.Program{Plans: []*pte.ExecutionPlan{plan}, Constants: []ir.Blob{nil}}, nil
}

// compile loads the program of the call.
func (d *delegate) compile(file *pte.Program) (*rt.Method, error) {
	p, err := rt.NewProgram(file, nil)
	if err != nil {
		return nil, err
	}
	options := &rt.MethodOptions{Data: []*rt.DataFile{d.data}}
	how := optimize.Options{Strict: true}
	if d.init.Traced() {
		t := &tracer{init: d.init}
		options.Tracer = t
		how.Parts = func(parts []optimize.Part) {
			t.steps = seq.Map(parts, func(p optimize.Part) string { return eventOf(d.backend, p) })
		}
	}
	options.Optimize = optimize.With(how)
	return p.LoadMethod(file.Plans[0].Name, options)
}

// tracer tells of the steps of a delegate's method as events of the delegate's own.
type tracer struct {
	init  *rt.DelegateInit
	steps []string // their delegate debug ids
	end   func(error)
}

// Begin implements [rt.EventTracer].
func (t *tracer) Begin(e *rt.Event) { t.end = t.init.Begin(t.steps[e.Instruction]) }

// End implements [rt.EventTracer].
func (t *tracer) End(_ *rt.Event, err error) { t.end(err) }

// eventOf is the delegate debug id of a part: that of the first node of the payload that has one,
// or the name of its kernel.
func eventOf(backend string, p optimize.Part) string {
	for _, h := range p.Handles {
		if raise.HasHandle(h) {
			return raise.EventID(backend, h)
		}
	}
	return p.Kernel
}

// Close implements [io.Closer].
func (d *delegate) Close() error {
	var errs []error
	for _, m := range d.made {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
