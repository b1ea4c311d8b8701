package rt

import (
	"context"
	"fmt"
	"io"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// Backend runs the parts of programs that were lowered to it. Programs name it,
// as "XnnpackBackend"; MethodOptions.Backends says which one that is.
type Backend interface {
	// Init prepares a delegate when a method is loaded.
	Init(*DelegateInit) (Delegate, error)
}

// DelegateInit is what a backend makes a delegate of.
type DelegateInit struct {
	Method    string
	Processed ir.Blob // what the backend's compiler wrote
	Specs     []ir.CompileSpec
	// Named finds data by name, in the program and in the data files given.
	Named func(key string) (ir.Blob, bool)

	tracer  EventTracer
	backend string
	at      func() *Event // the call that executes
	events  map[delegateEvent]*Event
}

// delegateEvent is an event of a delegate's own within a call.
type delegateEvent struct {
	call *Event
	id   string
}

// Traced reports whether anybody listens to Trace.
func (d *DelegateInit) Traced() bool { return d.tracer != nil }

// ReadsValues reports whether somebody reads what Gave tells.
func (d *DelegateInit) ReadsValues() bool {
	t, ok := d.tracer.(ValueTracer)
	return ok && t.ReadsValues()
}

// Gave tells what the part of an id gave, as an event of the delegate's own that has values, if
// somebody reads them. ID is as Begin has it.
func (d *DelegateInit) Gave(id string, values ...*EValue) {
	if !d.ReadsValues() {
		return
	}
	e := d.event(id)
	e.Values = values
	d.tracer.Begin(e)
	d.tracer.End(e, nil)
	e.Values = nil
}

// Trace runs f, a part of the delegate's Execute, between Begin and the end that Begin returns.
func (d *DelegateInit) Trace(id string, f func() error) error {
	end := d.Begin(id)
	err := f()
	end(err)
	return err
}

// Begin tells that a part of the delegate's Execute begins; what it returns tells the end. If the
// method is traced, the tracer is told of it as an event of the delegate's own. ID is the delegate
// debug id, in decimal if it is a number: the debug map that the backend's compiler wrote says
// what it stands for.
func (d *DelegateInit) Begin(id string) (end func(error)) {
	if d.tracer == nil {
		return func(error) {}
	}
	e := d.event(id)
	d.tracer.Begin(e)
	return func(err error) { d.tracer.End(e, err) }
}

// event is the event of an id in the call that executes.
func (d *DelegateInit) event(id string) *Event {
	key := delegateEvent{d.at(), id}
	e := d.events[key]
	if e == nil {
		e = &Event{Method: d.Method, DebugHandle: -1}
		if key.call != nil {
			*e = *key.call
		}
		e.Op, e.Delegate = d.backend+" "+id, id
		if d.events == nil {
			d.events = map[delegateEvent]*Event{}
		}
		d.events[key] = e
	}
	return e
}

// Delegate is a part of a method. If it is an io.Closer too, Method.Close
// closes it.
type Delegate interface {
	// Execute reads and writes the tensors in args, which are inputs and
	// outputs in the order that the backend's compiler wrote. It is called by
	// one goroutine at a time.
	Execute(ctx context.Context, args []*EValue) error
}

// initDelegates initialises the delegates that are called.
func (b *binder) initDelegates() {
	b.delegates = make([]Delegate, len(b.plan.Delegates))
	called := make([]bool, len(b.plan.Delegates))
	for _, chain := range b.plan.Chains {
		for _, in := range chain.Instructions {
			if call, ok := in.(pte.DelegateCall); ok {
				called[call.Delegate] = true
			}
		}
	}
	for i := range b.plan.Delegates {
		if called[i] {
			b.delegates[i] = b.newDelegate(i)
		}
	}
}

// newDelegate initialises delegate i.
func (b *binder) newDelegate(i int) Delegate {
	d := &b.plan.Delegates[i]
	backend := b.options.Backends[d.ID]
	if backend == nil {
		panic(fmt.Errorf(
			"%w: %q runs a part of the method; export the model without it, or give the backend to the "+
				"runtime", ErrMissingBackend, d.ID))
	}
	made, err := initDelegate(backend, &DelegateInit{
		Method: b.plan.Name, Processed: d.Processed, Specs: d.Specs, Named: b.namedData,
		tracer: b.options.Tracer, backend: d.ID, at: b.at,
	})
	must.In(err, "delegate %d (%s)", i, d.ID)
	return made
}

// initDelegate calls the backend; a panic is an error.
func initDelegate(backend Backend, init *DelegateInit) (d Delegate, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrInternal, r)
		}
	}()
	d, err = backend.Init(init)
	if err == nil && d == nil {
		err = fmt.Errorf("%w: the backend returned no delegate", ErrInternal)
	}
	return d, err
}

// Delegate initialises delegate i of the plan, by the backend that the options have for it. At
// returns the event of the call that executes, for traces. Method.Close closes the delegate.
func (b *Boundary) Delegate(i int, at func() *Event) (d Delegate, err error) {
	defer must.Catch(&err)
	if i < 0 || i >= len(b.Plan.Delegates) {
		return nil, fmt.Errorf("%w: there is no delegate %d", ErrInvalidArgument, i)
	}
	d = (&binder{program: b.Program, data: b.data, plan: b.Plan, options: b.Options,
		at: at}).newDelegate(i)
	if c, ok := d.(io.Closer); ok {
		b.closers = append(b.closers, c)
	}
	return d, nil
}
