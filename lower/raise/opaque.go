package raise

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// opaque is a delegate of the file whose payload etgen does not read: it stays a delegate.
type opaque struct {
	*ir.Delegate
	called bool // by a node
}

// opaque returns delegate i of a plan as one.
func (in *input) opaque(ep *pte.ExecutionPlan, i int, why string) *opaque {
	n := i
	for _, p := range in.file.Plans {
		if p == ep {
			break
		}
		n += len(p.Delegates)
	}
	if o := in.opaques[n]; o != nil {
		return o
	}
	if in.named == nil {
		in.named = in.allNamed()
	}
	from := &ep.Delegates[i]
	o := &opaque{Delegate: &ir.Delegate{Name: loweredModule + strconv.Itoa(n),
		Backend: from.ID, Processed: from.Processed, Specs: from.Specs, Named: in.named, Unread: why}}
	in.opaques[n] = o
	return o
}

// loweredModule is before the number of a delegate in its name.
const loweredModule = "lowered_module_"

// DelegateNumber returns which delegate of the file, counted over all methods, a graph calls so.
func DelegateNumber(name string) (int, error) {
	number, ok := strings.CutPrefix(name, loweredModule)
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return 0, fmt.Errorf("%s is no delegate of an ExecuTorch program", foreign.Message(name))
	}
	return n, nil
}

// allNamed is what delegates find by name, in the program and in files beside it.
func (in *input) allNamed() []ir.NamedData {
	all := []ir.NamedData{}
	seen := map[string]bool{}
	add := func(key string, data ir.Blob) {
		if !seen[key] && data != nil {
			seen[key] = true
			all = append(all, ir.NamedData{Key: key, Data: data})
		}
	}
	for _, n := range in.file.Named {
		if !pte.IsLeastSizes(n.Key) {
			add(n.Key, n.Data)
		}
	}
	for _, file := range in.data {
		for _, e := range file.Entries {
			if e.Layout == nil {
				add(e.Key, e.Data)
			}
		}
	}
	return all
}

// calledDelegates are those that nodes call, in the order of the file.
func (in *input) calledDelegates() (all []*ir.Delegate) {
	for _, n := range slices.Sorted(maps.Keys(in.opaques)) {
		if o := in.opaques[n]; o.called {
			all = append(all, o.Delegate)
		}
	}
	return all
}

// findResults notes which arguments of calls of opaque delegates, the last ones, are results: the
// program does not say. They are the tensors that nothing else fills: the caller does not, nor has
// the program data for them, nor does a kernel, a move or a delegate with a known payload write
// them. Of several delegates that take such a tensor the first gives it. A delegate has a result at
// least, so the last of these is one wherever it lies.
func (r *raiser) findResults() {
	filled := seq.Set(r.Inputs)
	r.stored = nil
	for s, t := range r.tensors {
		if t != nil && (t.constant || t.def.DataIndex > 0) {
			filled[int32(s)] = true
			if !t.constant {
				r.stored = append(r.stored, int32(s))
			}
		}
	}
	for i := range r.code {
		switch in := r.code[i].Instruction.(type) {
		case pte.KernelCall:
			for _, s := range r.callEffect(in).writes {
				filled[s] = true
			}
		case pte.MoveCall:
			filled[in.To] = true
		case pte.DelegateCall:
			if r.delegates[in.Delegate].opaque != nil {
				continue
			}
			// What is wrong with a call, raising it tells.
			written, _ := r.resultsOf(i, in)
			for k, w := range written {
				if w {
					filled[in.Args[k]] = true
				}
			}
		}
	}
	r.results = map[int]int{}
	effects := make([]effect, len(r.code))
	for i := range r.code {
		effects[i] = r.effectOf(i)
		if m := effects[i].move; m != nil {
			effects[i].reads, effects[i].writes = r.slots(m.From), r.slots(m.To)
		}
	}
	for i := range r.code {
		in, ok := r.code[i].Instruction.(pte.DelegateCall)
		if !ok || r.delegates[in.Delegate].opaque == nil {
			continue
		}
		for _, s := range slices.Backward(in.Args) {
			if r.tensors[s] == nil || filled[s] || r.results[i] > 0 && r.alias(effects, i, s) {
				break
			}
			r.results[i]++
		}
		for _, s := range in.Args[len(in.Args)-r.results[i]:] {
			filled[s] = true
		}
		effects[i] = r.effectOf(i)
	}
}

// alias reports whether a tensor that nothing fills is another view of what one holds that is
// filled before instruction i: the exporter leaves out the calls that make views. It is read
// before; or it lies where state does; or it lies in the same bytes and has the same type, and what
// is in them has no reader before, or none behind but by its own name. Else a result reuses the
// memory of something that is no longer needed.
func (r *raiser) alias(effects []effect, i int, s int32) bool {
	at := r.tensors[s].place
	in := func(slots []int32, is func(place) bool) (int32, bool) {
		for _, k := range slots {
			if t := r.tensors[k]; t != nil && is(t.place) {
				return k, true
			}
		}
		return 0, false
	}
	same := func(p place) bool { return p == at }
	read, from, found := false, int32(0), false
	for _, e := range slices.Backward(effects[:i]) {
		if slices.Contains(e.reads, s) {
			return true
		}
		if from, found = in(e.writes, at.overlaps); found {
			break
		}
		_, here := in(e.reads, same)
		read = read || here
	}
	if !found {
		from, found = in(r.Inputs, at.overlaps)
	}
	if _, held := in(r.stored, same); !found && held {
		return true
	}
	switch {
	case !found || r.tensors[from].place != at || r.tensors[from].dtype != r.tensors[s].dtype:
		return false
	case !read:
		return true
	}
	for _, e := range effects[i+1:] {
		if slices.Contains(e.reads, from) {
			return true
		}
		if _, here := in(e.reads, same); here {
			return false
		}
		if _, here := in(e.writes, at.overlaps); here {
			return true
		}
	}
	_, returned := in(r.ExecutionPlan.Outputs, same)
	return !returned || slices.Contains(r.ExecutionPlan.Outputs, from)
}

// resultsOf returns which arguments of instruction i, a call of a delegate, are results.
func (r *raiser) resultsOf(i int, in pte.DelegateCall) ([]bool, error) {
	d := &r.delegates[in.Delegate]
	switch {
	case d.err != nil:
		return nil, d.err
	case d.opaque == nil:
		return d.Outputs(len(in.Args))
	}
	written := make([]bool, len(in.Args))
	for k := len(in.Args) - r.results[i]; k < len(in.Args); k++ {
		written[k] = true
	}
	return written, nil
}

// opaqueCall raises a call of a delegate that stays one. It knows its tensors as they lie in
// memory, so the call takes and gives them with their dimensions in that order. Of results whose
// sizes the run decides it gives as much as there is room for, and behind all results their sizes.
func (r *raiser) opaqueCall(o *opaque, slots []int32, written []bool) {
	args := []ir.NamedArg{{Value: ir.Str(o.Name)}}
	var outs []int32
	var types, told []ir.Type
	for k, s := range slots {
		switch {
		case written[k]:
			t := r.resolve(s)
			if t.dynamic {
				told = append(told, ir.StaticTensor(ir.Int64, int64(len(t.sizes))))
			}
			sizes := seq.Map(t.order, func(d uint8) sym.Expr { return sym.Int(t.sizes[d]) })
			outs, types = append(outs, s), append(types, ir.TensorOf(t.dtype, sizes...))
		case r.tensors[s] != nil:
			v := r.inMemoryOrder(r.read(s), r.resolveOrder(s))
			args = append(args, ir.NamedArg{Value: ir.Ref{Value: v}})
		case isScalar(r.Values[s]):
			args = append(args, ir.NamedArg{Value: r.scalarArg(r.scalar(s))})
		default:
			must.Fail("argument %d, value %d, is a list", k, s)
		}
	}
	if len(outs) == 0 {
		must.Fail("none of its arguments is a result")
	}
	o.called, o.Told = true, len(told)
	results := r.b.Emit(ir.CallDelegate, args, append(types, told...)...).Outputs
	told = told[:0]
	for i, v := range results[:len(outs)] {
		t := r.resolve(outs[i])
		sizes := ir.Ints(t.sizes)
		if t.dynamic {
			v, sizes = r.within(v, results[len(outs)+len(told)], t)
			told = append(told, v.Type)
		}
		r.assign(outs[i], r.fromMemoryOrder(v, typeOf(t.dtype, sizes, t.order), t.order))
	}
}

// within returns what a delegate gives of a result, v, of which it has told the sizes in the order
// of memory, and the sizes in the order of dimensions. Their ranges, which those of t bound, are
// checked where they are read.
func (r *raiser) within(v, told *ir.Value, t *tensor) (_ *ir.Value, sizes []sym.Expr) {
	sizes, given := make([]sym.Expr, len(t.order)), make([]sym.Expr, len(t.order))
	for i, d := range t.order {
		n := r.b.Op("aten.item.default", r.b.Op("aten.select.int", told, 0, int64(i)))
		s := sym.NewSymbol("u"+strconv.Itoa(r.unbacked), 0, t.sizes[d])
		r.unbacked++
		n.Type = ir.SymInt(s.Expr())
		sizes[d], given[i] = s.Expr(), s.Expr()
	}
	v = r.b.Op("aten.slice.Tensor", r.flat(v), 0, 0, sym.Mul(given...))
	return r.b.Op("aten.view.default", v, given), sizes
}
