package xnn

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/kernels/half"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/partition"
)

// The orders of dimensions of images: to channels last, and to channels first.
var (
	toLast  = []uint32{0, 2, 3, 1}
	toFirst = []uint32{0, 3, 1, 2}
)

// layout is a value with its channels last, or as the program has it.
type layout struct {
	v    *ir.Value
	last bool
}

// writer writes the payload of a part.
type writer struct {
	xnnpack.Graph
	table   *ops.Table
	ids     map[layout]uint32
	outputs map[*ir.Value]uint32 // arguments that are results, as far as nobody made them
	readers map[*ir.Value]int
	keys    map[string]uint32 // constants
	named   []ir.NamedData
	skip    map[*ir.Node]bool // what is part of a node before it
	only    map[*ir.Value]*ir.Node
	at      *ir.Node                        // the node that is written
	quant   map[*ir.Value]xnnpack.PerTensor // of integers
	stand   map[*ir.Value]*ir.Value         // integers for floats, in the node that is written
	exact   bool                            // that node has its weight in integers
	handle  uint32
	within  []*ir.Node // that node, and what is part of it
}

// Preprocess implements partition.Backend.
func (Backend) Preprocess(p *partition.Part) (_ *partition.Payload, err error) {
	defer must.Catch(&err)
	m := p.Method()
	w := &writer{table: p.Context.Table, ids: map[layout]uint32{}, outputs: map[*ir.Value]uint32{},
		readers: map[*ir.Value]int{}, keys: map[string]uint32{}, skip: map[*ir.Node]bool{},
		only: map[*ir.Value]*ir.Node{}, quant: map[*ir.Value]xnnpack.PerTensor{},
		stand: map[*ir.Value]*ir.Value{}}
	w.noteQuants(m.Graph)
	w.Version = "0"
	w.Constants = []xnnpack.Constant{{}}
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind == ir.UserInput {
			last := lastInMemory(v.Type) // the run gives sizes in the order of memory
			x := w.tensorOf(v, last)
			x.External, x.Flags = w.Externs, xnnpack.ExternalInput
			id := w.add(x)
			w.ids[layout{v, last}] = id
			w.Inputs = append(w.Inputs, id)
			w.Externs++
		}
	}
	var outs []*ir.Value
	for _, a := range m.Graph.Outputs {
		v := a.(ir.Ref).Value
		outs = append(outs, v)
		w.readers[v]++
		if _, twice := w.outputs[v]; !twice {
			w.outputs[v] = w.Externs
		}
		w.Externs++
	}
	for _, n := range m.Graph.Nodes {
		for _, a := range n.Args {
			ir.EachRef(a.Value, func(v *ir.Value) {
				w.readers[v]++
				w.only[v] = n
			})
		}
	}
	out := &partition.Payload{Specs: p.Specs}
	for i, n := range m.Graph.Nodes {
		if w.skip[n] {
			continue
		}
		w.at, w.handle, w.within = n, uint32(i+1), []*ir.Node{n}
		written := len(w.Nodes)
		must.Do(func() {
			c := must.Get(w.table.Bind(n))
			w.integers(n, c)
			if !choosing[n.Op] { // the layer does it
				rules[n.Op].write(w, c)
			}
			clear(w.stand)
		}, "node %s (%s)", n.Name, n.Op)
		if len(w.Nodes) > written {
			out.Debug = append(out.Debug, ir.DelegateEvent{ID: xnnpack.EventID(w.handle)})
			for _, n := range w.within {
				e := &out.Debug[len(out.Debug)-1]
				e.Nodes = append(e.Nodes, ir.Origin{Node: n.Name, Op: n.Op, Loc: n.Loc})
			}
		}
	}
	w.finish(outs)
	must.Check(xnnpack.Verify(&w.Graph))
	out.Named = w.named
	out.Processed = must.Get(xnnpack.Encode(&w.Graph))
	return out, nil
}

// finish gives results that nobody wrote where they belong to their arguments.
func (w *writer) finish(outs []*ir.Value) {
	first := w.Externs - uint32(len(outs))
	made := map[uint32]bool{}
	for _, v := range w.Values {
		if v.Flags == xnnpack.ExternalOutput {
			made[v.External] = true
		}
	}
	w.handle = xnnpack.NoHandle
	for k, v := range outs {
		at := first + uint32(k)
		if made[at] {
			continue
		}
		x := w.tensorOf(v, false)
		x.External, x.Flags = at, xnnpack.ExternalOutput
		to := w.add(x)
		if id, ok := w.ids[layout{v, false}]; ok {
			w.node("XNNCopy", []uint32{id}, to)
		} else {
			w.permuted(w.ids[layout{v, true}], to, toFirst)
		}
	}
	for _, v := range w.Values {
		if v.Flags == xnnpack.ExternalOutput {
			w.Outputs = append(w.Outputs, v.ID)
		}
	}
}

// add adds a value and returns its id.
func (w *writer) add(v xnnpack.Value) uint32 {
	v.ID = uint32(len(w.Values))
	w.Values = append(w.Values, v)
	return v.ID
}

// dimsOf returns sizes, of those that vary the most that they are.
func dimsOf(t ir.Type, last bool) []uint32 {
	dims := []uint32{}
	for _, s := range t.Sizes {
		dims = append(dims, uint32(known(s)))
	}
	if len(dims) == 0 {
		return []uint32{1}
	}
	if last {
		dims = []uint32{dims[0], dims[2], dims[3], dims[1]}
	}
	return dims
}

// node adds a node; the ints that are not given are 0.
func (w *writer) node(kind string, inputs []uint32, output uint32) *xnnpack.Node {
	k := xnnpack.KindOf(kind)
	f := k.Form()
	w.Nodes = append(w.Nodes, xnnpack.Node{Kind: k, Handle: w.handle, Inputs: inputs,
		Outputs: []uint32{output}, Ints: make([]uint32, len(f.Ints))})
	return &w.Nodes[len(w.Nodes)-1]
}

func set(n *xnnpack.Node, name string, x int64) {
	if x < 0 || x > math.MaxUint32 {
		must.Fail("%s is %d", name, x)
	}
	n.Ints[slices.Index(n.Kind.Form().Ints, name)] = uint32(x)
}

func (w *writer) permuted(from, to uint32, order []uint32) {
	n := w.node("XNNStaticTranspose", []uint32{from}, to)
	set(n, "num_dims", int64(len(order)))
	n.Lists = [][]uint32{order}
}

// value returns the id of a value in a layout; a transposition makes it if need be.
func (w *writer) value(v *ir.Value, last bool) uint32 {
	v = w.stands(v)
	if id, ok := w.ids[layout{v, last}]; ok {
		return id
	}
	if v.Const != nil {
		id := w.constant(v.Const, last)
		w.ids[layout{v, last}] = id
		return id
	}
	if x, _ := runQuantizes(w.table, v); x != nil {
		return w.inRun(v, x, last)
	}
	from, ok := w.ids[layout{v, !last}]
	if !ok && v.Def != nil && v.Def.Op == dequantizeOp { // floats that somebody wants after all
		ints := w.value(must.Get(w.table.Bind(v.Def)).Value("input"), last)
		id := w.add(w.tensorOf(v, last))
		w.node("XNNConvert", []uint32{ints}, id)
		w.ids[layout{v, last}] = id
		return id
	}
	if !ok {
		must.Fail("%s is not made", v.Name)
	}
	id := w.add(w.tensorOf(v, last))
	order := toFirst
	if last {
		order = toLast
	}
	handle := w.handle
	w.handle = xnnpack.NoHandle
	w.permuted(from, id, order)
	w.handle = handle
	w.ids[layout{v, last}] = id
	return id
}

// isLast reports whether a value is there with its channels last alone.
func (w *writer) isLast(v *ir.Value) bool {
	v = w.stands(v)
	_, made := w.ids[layout{v, false}]
	if !made && v.Def != nil && v.Def.Op == dequantizeOp {
		if _, made = w.ids[layout{v, true}]; !made {
			v = must.Get(w.table.Bind(v.Def)).Value("input")
		}
	}
	_, first := w.ids[layout{v, false}]
	_, last := w.ids[layout{v, true}]
	return last && !first
}

// result makes the value that a node gives: an argument of the call where it is one.
func (w *writer) result(v *ir.Value, last bool) uint32 {
	v = w.stands(v)
	x := w.tensorOf(v, last)
	if at, ok := w.outputs[v]; ok && !last {
		x.External, x.Flags = at, xnnpack.ExternalOutput
		delete(w.outputs, v)
	}
	id := w.add(x)
	w.ids[layout{v, last}] = id
	return id
}

// constant returns the id of a constant, with its channels last if it has four dimensions.
func (w *writer) constant(k *ir.Constant, last bool) uint32 {
	data := must.Get(ir.Tensor(k))
	dims := dimsOf(k.Type, false)
	if last {
		data = transposed(data, dims, toLast, k.Type.DType.Size())
		dims = dimsOf(k.Type, true)
	}
	return w.data(data, k.Type.DType, dims...)
}

// data returns the id of a constant of floats.
func (w *writer) data(data []byte, d ir.DType, dims ...uint32) uint32 {
	return w.add(xnnpack.Value{Type: floats[d], Dims: dims, Constant: w.blob(data, ""),
		External: xnnpack.None})
}

// inner makes a value with the elements of what stands for v, that is none of the program's.
func (w *writer) inner(v *ir.Value, dims ...uint32) uint32 {
	x := w.tensorOf(w.stands(v), false)
	x.Dims = dims
	return w.add(x)
}

// blob returns the number of a constant's data, whose key is its digest behind a prefix.
func (w *writer) blob(data []byte, prefix string) uint32 {
	key := fmt.Sprintf("%s%x", prefix, sha256.Sum256(data))
	if i, ok := w.keys[key]; ok {
		return i
	}
	w.Constants = append(w.Constants, xnnpack.Constant{Key: key, Size: uint64(len(data))})
	w.named = append(w.named, ir.NamedData{Key: key, Data: ir.Bytes(data)})
	w.keys[key] = uint32(len(w.Constants) - 1)
	return w.keys[key]
}

// number returns the id of a constant number.
func (w *writer) number(x float64, d ir.DType) uint32 {
	return w.data(appendFloat(nil, d, float32(x)), d, 1)
}

func appendFloat(data []byte, d ir.DType, x float32) []byte {
	if d == ir.Float32 {
		return binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return binary.LittleEndian.AppendUint16(data, half.FromFloat32(d, x))
}

// transposed returns elements of a size with their dimensions in another order.
func transposed(data []byte, dims, order []uint32, size int) []byte {
	strides := make([]int, len(dims))
	stride := 1
	for i := len(dims) - 1; i >= 0; i-- {
		strides[i] = stride
		stride *= int(dims[i])
	}
	out := make([]byte, 0, len(data))
	var walk func(d, at int)
	walk = func(d, at int) {
		if d == len(order) {
			out = append(out, data[size*at:size*at+size]...)
			return
		}
		for range dims[order[d]] {
			walk(d+1, at)
			at += strides[order[d]]
		}
	}
	walk(0, 0)
	return out
}

// take makes a later node part of the one that is written.
func (w *writer) take(n *ir.Node) {
	w.skip[n], w.within = true, append(w.within, n)
}

// limited gives the node's result the limits of the relu, hardtanh or clamp that alone reads it,
// and returns the value that the node makes then.
func (w *writer) limited(v *ir.Value) (*ir.Value, *xnnpack.Clamp) {
	next := w.only[v]
	if w.readers[v] != 1 || next == nil || !isLimit(next) {
		return v, nil
	}
	c := must.Get(w.table.Bind(next))
	lo, hi, ok := limitsOf(c)
	if !ok || lo >= hi {
		return v, nil
	}
	w.take(next)
	return next.Outputs[0], &xnnpack.Clamp{Min: float32(lo), Max: float32(hi)}
}
