package xnnpack

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte/flat"
	"github.com/etgen/etgen/ir/seq"
)

// ReadExpansion bounds what Read allocates: at most ReadExpansion times the bytes of the
// payload's flatbuffer, and a constant.
const ReadExpansion = 256

//go:embed xnnpack.fbs
var schemaText string

var schema = flat.Once(&schemaText)

// The header before the flatbuffer.
const (
	headerSize  = 30
	headerMagic = "XH00" // at 4
	oldVersion  = "XN00" // what files of earlier exporters, and some of today's, begin with
)

// payload is what the header says: where the flatbuffer and the constants lie.
type payload struct {
	data ir.Blob
	flat []byte
	at   int64   // of the flatbuffer
	rest ir.Blob // the constants; nil in old files, which have none behind the flatbuffer
}

// Read reads a payload. The graph's constants are ranges of it, which has to stay readable.
func Read(data ir.Blob) (_ *Graph, err error) {
	defer must.Catch(&err)
	return must.At(func() *Graph { return open(data).graph() }, "XNNPACK payload"), nil
}

// open finds the parts of a payload.
func open(data ir.Blob) *payload {
	head := make([]byte, min(headerSize, max(data.Size(), 0)))
	must.Get(io.ReadFull(io.NewSectionReader(data, 0, data.Size()), head))
	if len(head) < 8 {
		must.Fail("%d bytes", len(head))
	}
	p := &payload{data: data}
	first, size := uint64(0), uint64(data.Size())
	if string(head[4:8]) == headerMagic {
		le := binary.LittleEndian
		if len(head) < headerSize || le.Uint16(head[8:]) < headerSize {
			must.Fail("a header that ends early")
		}
		first, size = uint64(le.Uint32(head[10:])), uint64(le.Uint32(head[14:]))
		at, n := uint64(le.Uint32(head[18:])), le.Uint64(head[22:])
		all := uint64(data.Size())
		switch {
		case first < headerSize || first > all || size > all-first:
			must.Fail("a flatbuffer of %d bytes at %d of %d", size, first, all)
		case at > all || n > all-at || n > 0 && at < first+size:
			must.Fail("%d bytes of constants at %d of %d", n, at, all)
		}
		p.rest = io.NewSectionReader(data, int64(at), int64(n))
	}
	if size > math.MaxInt32 {
		must.Fail("a flatbuffer of %d bytes", size)
	}
	p.at, p.flat = int64(first), make([]byte, size)
	must.Get(io.ReadFull(io.NewSectionReader(data, p.at, int64(size)), p.flat))
	return p
}

// graph reads the flatbuffer.
func (p *payload) graph() *Graph {
	s := schema()
	if len(p.flat) >= 8 && string(p.flat[4:8]) == oldVersion {
		old := *s
		old.Identifier = oldVersion
		s = &old
	}
	must.Check(s.Check(p.flat))
	root := s.Root(p.flat)
	g := &Graph{Version: string(root.Bytes("version")), Externs: uint32(root.Number("num_externs")),
		Inputs: flat.List[uint32](root, "input_ids"), Outputs: flat.List[uint32](root, "output_ids")}
	g.Nodes = flat.Each(root, "xnodes", func(t flat.Table) Node { return node(t) })
	g.Values = flat.Each(root, "xvalues", func(t flat.Table) Value { return value(t) })
	if p.rest == nil {
		g.Constants = flat.Each(root, "constant_buffer", func(t flat.Table) Constant {
			first, end := t.Extent("storage")
			return Constant{Data: io.NewSectionReader(p.data, p.at+int64(first),
				int64(end-first))}
		})
		return g
	}
	g.Constants = flat.Each(root, "constant_data", p.constant)
	return g
}

func (p *payload) constant(t flat.Table) Constant {
	offset, size := t.Number("offset"), t.Number("size")
	if t.Has("named_key") {
		return Constant{Key: string(t.Bytes("named_key")), Size: size}
	}
	if all := uint64(p.rest.Size()); offset > all || size > all-offset {
		must.Fail("%d bytes at %d of %d bytes of constants", size, offset, all)
	}
	return Constant{Data: io.NewSectionReader(p.rest, int64(offset), int64(size))}
}

func node(t flat.Table) Node {
	x, name, ok := t.Union("xnode_union")
	if !ok {
		must.Fail("a node of no kind")
	}
	n := Node{Kind: KindOf(name), Handle: uint32(t.Number("debug_handle"))}
	if c, ok := t.Sub("output_min_max"); ok {
		n.Clamp = &Clamp{float(c, "output_min"), float(c, "output_max")}
	}
	f := n.Kind.Form()
	numbers := func(names []string) []uint32 {
		return seq.Map(names, func(name string) uint32 { return uint32(x.Number(name)) })
	}
	n.Inputs, n.Outputs, n.Ints = numbers(f.Inputs), numbers(f.Outputs), numbers(f.Ints)
	for _, name := range f.Lists {
		n.Lists = append(n.Lists, flat.List[uint32](x, name))
	}
	if f.Float != "" {
		n.Float = float(x, f.Float)
	}
	return n
}

func float(t flat.Table, name string) float32 {
	return math.Float32frombits(uint32(t.Number(name)))
}

func value(t flat.Table) Value {
	x, kind, ok := t.Union("xvalue_union")
	if !ok {
		must.Fail("a value of no kind")
	}
	var q Quant
	if kind == "XNNQuantizedTensorValue" {
		q = quant(x)
		if x, ok = x.Sub("tensor_value"); !ok {
			must.Fail("tensor_value is absent")
		}
	}
	v := Value{Type: DataType(x.Number("datatype")), Dims: flat.List[uint32](x, "dims"),
		Constant: uint32(x.Number("constant_buffer_idx")),
		External: uint32(x.Number("external_id")), Flags: uint32(x.Number("flags")),
		ID: uint32(x.Number("id_out")), Dynamic: DataType(x.Number("dq_datatype")), Quant: q}
	if n := x.Number("num_dims"); n != uint64(len(v.Dims)) {
		must.Fail("num_dims is %d, there are %d dims", n, len(v.Dims))
	}
	return v
}

func quant(t flat.Table) Quant {
	x, kind, ok := t.Union("quant_params")
	if !ok {
		must.Fail("quant_params are absent")
	}
	number := func(name string) int32 { return int32(x.Number(name)) }
	scales := func() Scales {
		return Scales{flat.List[float32](x, "scale"), uint32(x.Number("scale_buffer_idx")),
			uint32(x.Number("num_scales"))}
	}
	switch kind {
	case "PerTensorQuant":
		return PerTensor{float(x, "scale"), number("zero_point")}
	case "PerChannelQuant":
		return PerChannel{scales(), number("channel_dim")}
	case "PerTokenDynamicQuant":
		return PerToken{number("num_nonbatch_dims")}
	}
	return PerGroup{scales(), number("channel_dim"), number("group_size")}
}

// ReadBytes returns a blob's bytes.
func ReadBytes(b ir.Blob) ([]byte, error) {
	data := make([]byte, b.Size())
	if n, err := b.ReadAt(data, 0); n < len(data) {
		return nil, fmt.Errorf("reading %d bytes: %w", len(data), err)
	}
	return data, nil
}
