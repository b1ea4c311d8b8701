package raise

import (
	"fmt"
	"io"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// buffer is a range of memory that the method reads before it writes it: its
// value outlives the call.
type buffer struct {
	chunk *chunk
	name  string
	value *ir.Value
}

// enter puts the method's inputs and state where the program expects them and
// returns the inputs of its graph.
func (r *raiser) enter(sizes *sizes) []*ir.Value {
	var inputs []*ir.Value
	add := func(v *ir.Value, spec ir.InputSpec) {
		inputs = append(inputs, v)
		r.method.Inputs = append(r.method.Inputs, spec)
	}
	var live []int32
	r.live.atEntry().each(func(i int32) {
		if i < int32(len(r.Values)) && r.tensors[i] != nil {
			live = append(live, i)
		}
	})
	for _, c := range r.chunks(live) {
		b := &buffer{chunk: c, name: r.stateName(c)}
		typ, order := ir.StaticTensor(ir.Uint8, c.hi-c.lo), rowMajor(1)
		if c.as != nil {
			typ, order = typeOf(c.as.dtype, ir.Ints(c.as.sizes), c.as.order), c.as.order
		}
		var data ir.Blob = ir.Bytes{}
		r.note(fmt.Sprintf("the initial data of value %d", c.readers[0].slot), func() {
			data = r.initial(c)
		})
		b.value = &ir.Value{Name: r.top.Names.Fresh("state"), Type: typ,
			Const: &ir.Constant{Name: b.name, Type: typ, Data: data}}
		add(b.value, ir.InputSpec{Kind: ir.Buffer, Target: b.name, Persistent: true})
		r.held[b.value] = true
		r.st.put(c.place, b.value, order)
		r.buffers = append(r.buffers, b)
	}
	names := r.inputNames()
	for k, slot := range r.Inputs {
		name := r.top.Names.Fresh(names[k])
		t := r.tensors[slot]
		if t == nil {
			fixed := r.scalarArg(r.scalar(slot))
			add(&ir.Value{Name: name, Type: ir.Type{Kind: kindOf(fixed)}},
				ir.InputSpec{Kind: ir.ConstantInput, Fixed: fixed})
			r.args = append(r.args, nil)
			continue
		}
		v := &ir.Value{Name: name, Type: typeOf(t.dtype, sizes.inputs[k], t.order)}
		add(v, ir.InputSpec{Kind: ir.UserInput})
		r.args = append(r.args, v)
		r.held[v] = true
		if !t.constant {
			r.write(t, v)
		}
	}
	return inputs
}

// inputNames returns what the inputs are called: by the keys of the dicts they
// are in, if the file tells, else by their numbers.
func (r *raiser) inputNames() []string {
	in, _ := r.trees()
	leaves := in.Leaves()
	names := make([]string, len(r.Inputs))
	for k := range names {
		names[k] = fmt.Sprintf("input_%d", k)
		// The outermost step is the pair of args and kwargs.
		if in != nil && len(leaves[k]) > 1 && leaves[k][1:].Keyed() {
			names[k] = leaves[k][1:].Name("input_")
		}
	}
	return names
}

func kindOf(a ir.Arg) ir.Kind {
	switch a.(type) {
	case ir.Int:
		return ir.IntKind
	case ir.Float:
		return ir.FloatKind
	case ir.BoolArg:
		return ir.BoolKind
	case ir.Str:
		return ir.StringKind
	}
	return ir.NoneKind
}

// sharedMemory is the memory id of state that methods share by its name, if the
// host gives them one memory: as ExecuTorch's exporter has it.
const sharedMemory = 2

// stateName returns a name for state: what the file calls it, else where it is.
// In a program of several methods they share what has a name in the memory that
// is for that; all else is each method's own.
func (r *raiser) stateName(c *chunk) string {
	name, named := fmt.Sprintf("memory_%d_%d", c.memory, c.lo), false
	if c.memory < 0 {
		name = fmt.Sprintf("value_%d", c.readers[0].slot)
	}
	for _, t := range c.readers {
		if x := t.def.ExtraInfo; x != nil && x.Name != "" {
			name, named = x.Name, true
			break
		}
	}
	if len(r.file.Plans) > 1 && !(named && c.memory == sharedMemory) {
		name = r.Name + "." + name // no other method's
	}
	for r.named[name] {
		name += "_"
	}
	r.named[name] = true
	return name
}

// maxState bounds the bytes of one state tensor that no data in the file backs.
const maxState = 1 << 30

// initial returns what a range holds before the first call: the data that the
// file has for tensors in it, else zeros.
func (r *raiser) initial(c *chunk) ir.Blob {
	if c.hi-c.lo > maxState {
		must.Fail("%d bytes of state", c.hi-c.lo)
	}
	data := make([]byte, c.hi-c.lo)
	slots := r.lying.covered(c.place)
	slices.Sort(slots)
	for _, slot := range slots {
		t := r.tensors[slot]
		part := data[t.place.lo-c.lo : t.place.hi-c.lo]
		switch {
		case t.place.memory < 0:
		case t.def.IsExternal():
			name := t.def.ExtraInfo.Name
			if n, err := r.external(name).ReadAt(part, 0); n < len(part) {
				must.Fail("the data called %q is too short: %w", name, err)
			}
		default:
			blob := must.Get(r.file.Initial(t.def))
			if blob == nil {
				continue
			}
			if n, err := blob.ReadAt(part, 0); n < len(part) {
				must.Check(err)
			}
		}
	}
	return ir.Bytes(data)
}

// constantKey tells constants apart.
type constantKey struct {
	name  string
	index uint32
	typ   string
}

// constant returns a constant tensor's value. Tensors with the same data are
// one.
func (r *raiser) constant(t *tensor) *ir.Value {
	typ := typeOf(t.dtype, ir.Ints(t.sizes), t.order)
	key := constantKey{index: t.def.DataIndex, typ: typ.String()}
	if x := t.def.ExtraInfo; x != nil {
		key.name = x.Name
	}
	if v := r.constants[key]; v != nil {
		return v
	}
	var blob ir.Blob
	if t.def.IsExternal() {
		blob = r.external(key.name)
	} else {
		blob = r.file.Constants[t.def.DataIndex] // VerifyMeaning has seen to it
	}
	n := t.place.hi - t.place.lo
	if blob == nil || blob.Size() < n {
		must.Fail("value %d: the constant data has no %d bytes for it", t.slot, n)
	}
	if blob.Size() > n {
		blob = r.cut(blob, n)
	}
	base := "constant"
	if key.name != "" {
		base = "weight"
	}
	v := r.top.Constant(base, &ir.Constant{Name: key.name, Type: typ, Data: blob})
	r.held[v] = true
	r.constants[key] = v
	return v
}

// cut returns the first n bytes of a blob: files store no sizes. What is cut the
// same way stays one blob.
func (r *raiser) cut(b ir.Blob, n int64) ir.Blob {
	key := cutKey{b, n}
	if r.cuts[key] == nil {
		r.cuts[key] = io.NewSectionReader(b, 0, n)
	}
	return r.cuts[key]
}

type cutKey struct {
	blob ir.Blob
	n    int64
}

func (r *raiser) external(name string) ir.Blob {
	for _, f := range r.data {
		if e, ok := f.Find(name); ok {
			return e.Data
		}
	}
	if len(r.data) == 0 {
		must.Fail("the data of %q is in a .ptd file, which is not given", name)
	}
	must.Fail("the .ptd file has no data called %q", name)
	return nil
}

// leaveMethod returns the outputs of the graph: what the state and changed
// inputs are now, and what the method returns.
func (r *raiser) leaveMethod() []ir.Arg {
	var outs []ir.Arg
	add := func(a ir.Arg, spec ir.OutputSpec) {
		outs = append(outs, a)
		r.method.Outputs = append(r.method.Outputs, spec)
	}
	for _, b := range r.buffers {
		r.note(fmt.Sprintf("the state %s at the end", b.name), func() {
			if v := r.readChunk(b.chunk); v != b.value {
				add(ir.Ref{Value: v}, ir.OutputSpec{Kind: ir.BufferMutation, Target: b.name})
			}
		})
	}
	r.numbersStay()
	mutations := r.mutations()
	for k, slot := range r.Outputs {
		spec := ir.OutputSpec{Kind: ir.UserOutput}
		if i := slices.Index(r.Inputs, slot); i >= 0 && k < mutations && r.args[i] != nil {
			spec = ir.OutputSpec{Kind: ir.UserInputMutation, Target: r.args[i].Name}
		}
		r.note(fmt.Sprintf("output %d", k), func() {
			if r.tensors[slot] != nil {
				add(ir.Ref{Value: r.read(slot)}, spec)
			} else {
				add(r.scalarArg(r.scalar(slot)), spec)
			}
		})
	}
	// Memory of the caller's that is written to.
	for i, slot := range r.Inputs {
		in := r.args[i]
		if in == nil || r.tensors[slot].place.memory > 0 || r.tensors[slot].constant ||
			slices.Contains(r.Outputs[:mutations], slot) {
			continue
		}
		r.note(fmt.Sprintf("input %d at the end", i), func() {
			if v := r.readTensor(r.tensors[slot]); v != in {
				add(ir.Ref{Value: v}, ir.OutputSpec{Kind: ir.UserInputMutation, Target: in.Name})
			}
		})
	}
	return outs
}

// numbersStay refuses numbers that one call leaves to the next: runtimes never set them
// back, and a graph has no state that is a number.
func (r *raiser) numbersStay() {
	r.live.atEntry().each(func(i int32) {
		if int(i) >= len(r.Values) || r.tensors[i] != nil {
			return
		}
		now, written := r.st.scalars[i]
		delete(r.st.scalars, i)
		if first := r.scalar(i); written && !now.equal(first) {
			r.errs = append(r.errs, fmt.Errorf(
				"value %d, a number, is read before it is set, and the next call would find "+
					"another in it than %s", i, pte.ValueString(r.Values[i])))
		}
		if written {
			r.st.scalars[i] = now
		}
	})
}

// mutations returns how many of the first outputs are inputs that the program
// writes to: exporters return these, each once, before what the model returns. What
// the model returns is known from its container, if the file has it.
func (r *raiser) mutations() int {
	most := len(r.Outputs)
	if _, out := r.trees(); out != nil {
		most = max(0, most-len(out.Leaves()))
	}
	for k, slot := range r.Outputs[:most] {
		i := slices.Index(r.Inputs, slot)
		if i < 0 || r.args[i] == nil || slices.Contains(r.Outputs[:k], slot) {
			return k
		}
		same := false
		if must.Try(func() { same = r.read(slot) == r.args[i] }) != nil || same {
			return k
		}
	}
	return most
}

// trees returns the calling convention, nil where the file does not tell or
// what it says does not fit.
func (r *raiser) trees() (in, out *ir.Tree) {
	if r.Container == nil {
		return nil, nil
	}
	if t, err := ir.ReadTree(r.Container.Input, nil); err == nil &&
		len(t.Leaves()) == len(r.Inputs) {
		in = t
	}
	if t, err := ir.ReadTree(r.Container.Output, nil); err == nil &&
		len(t.Leaves()) <= len(r.Outputs) {
		out = t
	}
	return in, out
}
