package xnn

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/kernels/ops"
)

// Part is a delegate's part of a program.
type Part struct {
	graph  *xnnpack.Graph
	values map[uint32]*xnnpack.Value
	named  func(key string) (ir.Blob, bool)
}

// Open reads and verifies a payload. Named finds data by its key.
func Open(payload ir.Blob, named func(key string) (ir.Blob, bool)) (*Part, error) {
	g, err := xnnpack.Read(payload)
	if err != nil {
		return nil, err
	}
	if err := xnnpack.Verify(g); err != nil {
		return nil, err
	}
	return &Part{graph: g, values: g.ByID(), named: named}, nil
}

// Outputs returns which of a call's n arguments the part writes. They are behind those that it
// reads.
func (p *Part) Outputs(n int) ([]bool, error) {
	out, named := make([]bool, n), make([]bool, n)
	for i := range p.graph.Values {
		v := &p.graph.Values[i]
		switch {
		case v.External == xnnpack.None:
		case int64(v.External) >= int64(n):
			return nil, fmt.Errorf("value %d is argument %d of %d", i, v.External, n)
		default:
			named[v.External], out[v.External] = true, v.Flags == xnnpack.ExternalOutput
		}
	}
	for i := max(slices.Index(out, true), 0); i < n; i++ { // ExecuTorch 1.4 writes such payloads
		if !named[i] {
			return nil, fmt.Errorf("no value is argument %d, a result", i)
		}
	}
	return out, nil
}

// Into is the graph that a part is raised into.
type Into struct {
	*ops.Builder
	Constant  func(*ir.Constant) *ir.Value // makes a constant of the graph
	At        func(handle uint32)          // nodes that follow are of the one of a debug handle
	Unbounded bool                         // sizes may be larger than the payload says, for trials
	// Doubts are how often a size is another one than a reshape keeps, as it seems: where one
	// of [2, 4, n] makes [2, 4, -1, 1], each size may vary, and most likely n does.
	Doubts int
}

// raiser emits the nodes of a part.
type raiser struct {
	*Part
	*Into
	made   map[uint32]*tensor
	floats map[uint32]*ir.Value // of made, dequantized
	moved  map[*ir.Value]moved
}

// tensor is what a value of the payload is in the graph.
type tensor struct {
	*xnnpack.Value
	ir *ir.Value
	// Of one that the run quantizes: by rows, with these scales and zero points, and seen so
	// with these sizes.
	scale, zero *ir.Value
	rows        *ir.Value
}

// Raise emits what the part does. Args are a call's arguments, nil those that it writes, images
// with channels last where they lie so in memory. It returns those that it writes in their places.
func (p *Part) Raise(into *Into, args []*ir.Value) ([]*ir.Value, error) {
	r := &raiser{p, into, map[uint32]*tensor{}, map[uint32]*ir.Value{},
		map[*ir.Value]moved{}}
	outs := make([]*ir.Value, len(args))
	err := must.Try(func() {
		for i := range p.graph.Values {
			must.Do(func() { r.enter(&p.graph.Values[i], args) }, "value %d", i)
		}
		for i := range p.graph.Nodes {
			n := &p.graph.Nodes[i]
			r.At(n.Handle)
			must.Do(func() { r.node(n) }, "node %d (%v)%s", i, n.Kind, handle(n))
		}
		for i := range p.graph.Values {
			if v := &p.graph.Values[i]; v.Flags == xnnpack.ExternalOutput {
				outs[v.External] = r.made[v.ID].ir
			}
		}
	})
	return outs, err
}

// handle names the node of the model that a node was.
func handle(n *xnnpack.Node) string {
	if n.Handle == xnnpack.NoHandle || n.Handle == 0 {
		return ""
	}
	return fmt.Sprintf(" of debug handle %d", n.Handle)
}

// enter makes an input or constant known.
func (r *raiser) enter(v *xnnpack.Value, args []*ir.Value) {
	switch {
	case v.Constant != 0:
		r.made[v.ID] = &tensor{Value: v, ir: r.data(v)}
	case v.Flags == xnnpack.ExternalInput:
		if int(v.External) >= len(args) || args[v.External] == nil {
			must.Fail("argument %d is none that it reads", v.External)
		}
		x := args[v.External]
		if d := dtypeOf(v.Type); x.Type.DType != d {
			must.Fail("argument %d is %v, not %v", v.External, x.Type, d)
		}
		t := &tensor{Value: v, ir: r.shaped(x, len(v.Dims))}
		r.fits(v, t.ir)
		if v.Dynamic != xnnpack.Invalid { // old files
			q := *v
			q.Type, q.Quant = xnnpack.QDInt8, xnnpack.PerToken{NonBatch: 1}
			t = r.quantizeRows(&q, t.ir)
		}
		r.made[v.ID] = t
	}
}

// shaped gives a number without dimensions one, where payloads say so.
func (r *raiser) shaped(x *ir.Value, rank int) *ir.Value {
	if x.Type.Rank() == 0 && rank == 1 {
		return r.Op("aten.view.default", x, []int64{1})
	}
	return x
}

// fits checks that an argument is no larger than the payload says. Of values inside XNNPACK knows
// the sizes from the operands: ExecuTorch writes others where it lays out images after it has typed
// them.
func (r *raiser) fits(v *xnnpack.Value, x *ir.Value) {
	if x.Type.Rank() != len(v.Dims) {
		must.Fail("it is %v, in the payload it has sizes %d", x.Type, v.Dims)
	}
	for d, size := range x.Type.Sizes {
		if n, ok := size.Const(); ok && n > int64(v.Dims[d]) && !r.Unbounded {
			must.Fail("it is %v, in the payload it has sizes %d", x.Type, v.Dims)
		}
	}
}

// dtypeOf returns the type of elements of a value that is none of half bytes.
func dtypeOf(t xnnpack.DataType) ir.DType {
	switch t {
	case xnnpack.FP32:
		return ir.Float32
	case xnnpack.FP16:
		return ir.Float16
	case xnnpack.BF16:
		return ir.BFloat16
	case xnnpack.QInt8, xnnpack.QCInt8, xnnpack.QDInt8, xnnpack.QCInt4, xnnpack.QBInt4:
		return ir.Int8
	case xnnpack.QUInt8:
		return ir.Uint8
	case xnnpack.QInt32, xnnpack.QCInt32, xnnpack.Int32:
		return ir.Int32
	}
	must.Fail("values of %v are not supported", t)
	return ir.InvalidDType
}

// bytesOf returns constant data of a size.
func (r *raiser) bytesOf(index uint32, size uint64) ir.Blob {
	b := must.Get(r.graph.Data(index, r.named))
	if uint64(b.Size()) < size {
		must.Fail("constant %d: %d bytes of data, want %d", index, b.Size(), size)
	}
	return b
}

// data returns the constant that a value is.
func (r *raiser) data(v *xnnpack.Value) *ir.Value {
	n, ok := v.Bytes()
	if !ok {
		must.Fail("no constant has %v of sizes %d", v.Type, v.Dims)
	}
	blob := r.bytesOf(v.Constant, n)
	sizes := make([]int64, len(v.Dims))
	for i, d := range v.Dims {
		sizes[i] = int64(d)
	}
	name := r.graph.Constants[v.Constant].Key
	switch v.Type {
	case xnnpack.QCInt4, xnnpack.QBInt4:
		blob = ir.Bytes(unpacked(must.Get(read(blob, n)), v.Dims))
	default:
		if uint64(blob.Size()) > n {
			blob = ir.Bytes(must.Get(read(blob, n)))
		}
	}
	return r.Constant(&ir.Constant{Name: name, Type: ir.StaticTensor(dtypeOf(v.Type), sizes...),
		Data: blob})
}

func read(b ir.Blob, n uint64) ([]byte, error) {
	data := make([]byte, n)
	if k, err := b.ReadAt(data, 0); k < len(data) {
		return nil, err
	}
	return data, nil
}

// unpacked returns integers of four bits as bytes: the low half of a byte is the first, and
// rows begin with a byte. What is stored is the integer + 8.
func unpacked(data []byte, dims []uint32) []byte {
	if len(dims) == 0 {
		return nil
	}
	width := int(dims[len(dims)-1])
	if width == 0 {
		return nil
	}
	stride := (width + 1) / 2
	out := make([]byte, 0, len(data)*2)
	for row := range slices.Chunk(data, stride) {
		for i := range width {
			out = append(out, byte(int8(row[i/2]>>(4*(i%2))&15)-8))
		}
	}
	return out
}
