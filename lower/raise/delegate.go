package raise

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/lower/raise/xnn"
)

// lowered is what a delegate runs, as operators of a graph.
type lowered interface {
	// Outputs returns which of a call's n arguments it writes; it reads the others.
	Outputs(n int) ([]bool, error)
	// Raise emits the part. Args are a call's arguments, nil those that it writes, images
	// with channels last where they lie so in memory. It returns those that it writes, in their
	// places.
	Raise(into *xnn.Into, args []*ir.Value) ([]*ir.Value, error)
}

// opener opens a delegate's payload. Named finds data by its key, in the program or in files
// beside it.
type opener func(d *pte.Delegate, named func(key string) (ir.Blob, bool)) (lowered, error)

// backends are the openers of payloads that are known, by the ids of backends.
func backends() map[string]opener {
	return map[string]opener{
		xnnpack.ID: func(d *pte.Delegate, named func(string) (ir.Blob, bool)) (lowered, error) {
			return xnn.Open(d.Processed, named)
		},
		compilerDemo: openDemo,
		mappingDemo:  openMapping,
		executor:     openNested,
	}
}

// Backends returns the ids of the backends whose payloads are known, sorted.
func Backends() []string { return slices.Sorted(maps.Keys(backends())) }

// EventID is the delegate debug id of what a node of a backend's payload does that has a debug
// handle.
func EventID(backend string, handle uint32) string {
	if backend == xnnpack.ID {
		return xnnpack.EventID(handle)
	}
	return fmt.Sprint(handle)
}

// HasHandle reports whether a node with this debug handle has one.
func HasHandle(handle uint32) bool { return handle != 0 && handle != xnnpack.NoHandle }

// CheckDelegate reports what is wrong with a delegate's payload. Named finds data by its key.
func CheckDelegate(d *pte.Delegate, named func(string) (ir.Blob, bool)) error {
	_, err := openDelegate(d, named)
	return err
}

// Results returns which of the n arguments of a delegate's call the delegate writes.
func Results(d *pte.Delegate, named func(string) (ir.Blob, bool), n int) ([]bool, error) {
	p, err := openDelegate(d, named)
	if err != nil {
		return nil, err
	}
	return p.Outputs(n)
}

func openDelegate(d *pte.Delegate, named func(string) (ir.Blob, bool)) (lowered, error) {
	if open := backends()[d.ID]; open != nil {
		return open(d, named)
	}
	return nil, &unreadable{"its payload is of a backend that etgen does not know"}
}

// unreadable says why nobody but the backend knows what a payload computes. It stays a delegate.
type unreadable struct{ reason string }

func (u *unreadable) Error() string { return u.reason }

// opened is a delegate's part, or a delegate that stays one, or why there is neither.
type opened struct {
	lowered
	opaque *opaque
	err    error
}

// openDelegates opens the payloads of the plan's delegates.
func (r *raiser) openDelegates() {
	for i := range r.Delegates {
		part, err := openDelegate(&r.Delegates[i], r.namedData)
		if err == nil {
			err = r.readable(part, int32(i))
		}
		if why, ok := errors.AsType[*unreadable](err); ok {
			r.delegates = append(r.delegates, opened{opaque: r.opaque(r.ExecutionPlan, i, why.reason)})
			continue
		}
		r.delegates = append(r.delegates, opened{lowered: part, err: err})
	}
}

// readable returns why what a payload computes cannot be known of a call of delegate i.
func (r *raiser) readable(part lowered, i int32) error {
	for _, x := range r.code {
		call, ok := x.Instruction.(pte.DelegateCall)
		if !ok || call.Delegate != i {
			continue
		}
		_, err := part.Outputs(len(call.Args))
		if _, ok := errors.AsType[*unreadable](err); ok {
			return err
		}
	}
	return nil
}

// namedData finds data by its key.
func (r *raiser) namedData(key string) (ir.Blob, bool) {
	for _, n := range r.file.Named {
		if n.Key == key && n.Data != nil {
			return n.Data, true
		}
	}
	for _, f := range r.data {
		if e, ok := f.Find(key); ok {
			return e.Data, true
		}
	}
	return nil, false
}

// delegateEffect is that of instruction i, a call. Arguments of a part that cannot be read count
// as written, so that they do not look like state.
func (r *raiser) delegateEffect(i int, in pte.DelegateCall) (e effect) {
	written, err := r.resultsOf(i, in)
	r.delegates[in.Delegate].err = err
	for k, a := range in.Args {
		if err != nil || written[k] {
			e.writes = append(e.writes, r.slots(a)...)
		} else {
			e.reads = append(e.reads, r.slots(a)...)
		}
	}
	return e
}

// delegateCall raises instruction i, a call.
func (r *raiser) delegateCall(i int, in pte.DelegateCall) {
	name := fmt.Sprintf("delegate %d (%s)", in.Delegate,
		foreign.Message(r.Delegates[in.Delegate].ID))
	err := must.Try(func() { saying(name, func() { r.delegated(i, in) }) })
	if err != nil {
		for _, a := range in.Args {
			r.standIn(a)
		}
	}
	must.Check(err)
}

func (r *raiser) delegated(i int, in pte.DelegateCall) {
	d := r.delegates[in.Delegate]
	written := must.Get(r.resultsOf(i, in))
	if d.opaque != nil {
		r.opaqueCall(d.opaque, in.Args, written)
		return
	}
	args := make([]*ir.Value, len(in.Args))
	for i, a := range in.Args {
		t := r.tensors[a]
		if t == nil {
			must.Fail("argument %d, value %d, is no tensor", i, a)
		}
		if written[i] {
			continue
		}
		x := r.read(a)
		if order := r.resolveOrder(a); channelsLast(order) {
			x = r.b.Op("aten.permute_copy.default", x, wide(order))
		}
		args[i] = x
	}
	call := r.b.Loc
	defer func() { r.b.Loc = call }()
	into := &xnn.Into{Builder: r.b, Constant: r.delegateConstant, Unbounded: r.unbounded,
		At: func(handle uint32) {
			r.b.Loc = cmp.Or(r.origin(r.index, i, handle), call)
		}}
	outs := must.Get(d.Raise(into, args))
	r.doubts += into.Doubts
	for i, v := range outs {
		if v == nil {
			continue
		}
		saying(fmt.Sprintf("argument %d", i), func() { r.result(in.Args[i], v) })
	}
}

// resolveOrder is the order in memory of the tensor that a value means.
func (r *raiser) resolveOrder(slot int32) []uint8 {
	if b, ok := r.st.bound[slot]; ok && b.slot < 0 {
		return r.tensors[slot].order
	}
	return r.resolve(slot).order
}

// result writes what a part has computed.
func (r *raiser) result(slot int32, v *ir.Value) {
	order := r.resolveOrder(slot)
	switch {
	case len(order) == 0 && v.Type.Rank() == 1 && v.Type.Sizes[0].Is(1):
		v = r.b.Op("aten.view.default", v, []int64{})
	case len(order) == v.Type.Rank() && channelsLast(order):
		back := make([]int64, len(order))
		for i, d := range order {
			back[d] = int64(i)
		}
		v = r.b.Op("aten.permute_copy.default", v, back)
	}
	if d := r.tensors[slot].dtype; v.Type.DType == ir.Int32 && d == ir.Int64 {
		v = r.b.Op("aten._to_copy.default", v, kwDType(d)) // indices, which runtimes widen
	}
	r.assign(slot, v)
}

// channelsLast reports whether a tensor with its dimensions in an order is handed to a backend
// with its dimensions so: ExecuTorch's runtime does with any order, and for others its
// exporter's payloads have the dimensions in the tensor's order, so that it refuses them.
func channelsLast(order []uint8) bool {
	n := len(order)
	return n > 2 && order[0] == 0 && order[n-1] == 1 && slices.IsSorted(order[1:n-1])
}

func wide(order []uint8) []int64 {
	return seq.Map(order, func(d uint8) int64 { return int64(d) })
}

// delegateConstant returns a constant of the graph. Those of one name and type are one.
func (r *raiser) delegateConstant(c *ir.Constant) *ir.Value {
	key := constantKey{name: c.Name, index: ^uint32(0), typ: c.Type.String()}
	if v := r.constants[key]; v != nil && c.Name != "" {
		return v
	}
	base := "constant"
	if c.Name != "" {
		base = "weight"
	}
	v := r.top.Constant(base, c)
	r.held[v] = true
	r.constants[key] = v
	return v
}
