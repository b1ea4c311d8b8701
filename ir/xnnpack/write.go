package xnnpack

import (
	"fmt"
	"math"

	flatbuffers "github.com/google/flatbuffers/go"

	"encoding/binary"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte/flat"
	"github.com/etgen/etgen/ir/seq"
)

// tables are the tables of a payload, each with its fields in the order in which they are
// written.
var tables = flat.Layouts(schema, fixedTables+nodeTables())

const fixedTables = `
	PerChannelQuant scale channel_dim scale_buffer_idx num_scales
	PerTensorQuant scale zero_point
	PerTokenDynamicQuant num_nonbatch_dims
	PerChannelGroupQuant scale channel_dim group_size scale_buffer_idx num_scales
	XNNTensorValue dims num_dims constant_buffer_idx external_id flags id_out datatype
		dq_datatype
	XNNQuantizedTensorValue tensor_value quant_params quant_params_type
	XValue xvalue_union xvalue_union_type
	OutputMinMax output_min output_max
	XNode xnode_union output_min_max debug_handle xnode_union_type
	ConstantDataOffset offset size named_key
	XNNGraph version xnodes xvalues input_ids output_ids constant_data num_externs
`

// nodeTables are the tables of the kinds of nodes: lists, operands, results, integers, a float.
func nodeTables() (text string) {
	for k := range kinds {
		f := kinds[k].form
		if f == nil {
			continue
		}
		text += kinds[k].name
		for _, list := range [][]string{f.Lists, f.Inputs, f.Outputs, f.Ints, {f.Float}, f.unused()} {
			for _, name := range list {
				text += " " + name
			}
		}
		text += "\n"
	}
	return text
}

// unused are the operands of the table that nodes of the kind do not have.
func (f *Form) unused() []string {
	if len(f.Ints) > 0 && f.Ints[0] == "axis" {
		return cat(5).Inputs[len(f.Inputs):]
	}
	return nil
}

type offset = flatbuffers.UOffsetT

type encoder struct{ *flat.Encoder }

// maxData bounds the constants that a payload holds itself.
const maxData = 1 << 30

// Encode returns the payload of a graph: the header, the flatbuffer, and behind it the
// constants without a key.
func Encode(g *Graph) (_ []byte, err error) {
	defer must.Catch(&err)
	e := &encoder{flat.NewEncoder(tables())}
	var data []byte
	constants := make([]offset, len(g.Constants))
	for i := range constants {
		c := &g.Constants[i]
		if c.Data == nil {
			constants[i] = e.Table("ConstantDataOffset", math.MaxUint64, c.Size,
				uint64(e.CreateString(c.Key)))
			continue
		}
		data = append(data, make([]byte, -len(data)&15)...)
		if c.Data.Size() > int64(maxData-len(data)) {
			must.Fail("constant %d: more than %d bytes of constants without a key", i, maxData)
		}
		constants[i] = e.Table("ConstantDataOffset", uint64(len(data)), uint64(c.Data.Size()))
		data = append(data, must.Get(ReadBytes(c.Data))...)
	}
	nodes, values := make([]offset, len(g.Nodes)), make([]offset, len(g.Values))
	for i := range nodes {
		must.Do(func() { nodes[i] = e.node(&g.Nodes[i]) }, "node %d", i)
	}
	for i := range values {
		must.Do(func() { values[i] = e.value(&g.Values[i]) }, "value %d", i)
	}
	e.FinishWithFileIdentifier(e.Table("XNNGraph", uint64(e.CreateString(g.Version)),
		uint64(e.CreateVectorOfTables(nodes)), uint64(e.CreateVectorOfTables(values)),
		e.list(g.Inputs), e.list(g.Outputs), uint64(e.CreateVectorOfTables(constants)),
		uint64(g.Externs)), []byte(schema().Identifier))
	return frame(e.FinishedBytes(), data), nil
}

// frame puts the header before the flatbuffer, and the constants behind it.
func frame(buffer, data []byte) []byte {
	const first = (headerSize + 15) &^ 15
	size := (len(buffer) + 15) &^ 15
	out := make([]byte, first+size, first+size+len(data))
	le := binary.LittleEndian
	copy(out[4:], headerMagic)
	le.PutUint16(out[8:], headerSize)
	le.PutUint32(out[10:], first)
	le.PutUint32(out[14:], uint32(len(buffer)))
	le.PutUint32(out[18:], uint32(first+size))
	le.PutUint64(out[22:], uint64(len(data)))
	copy(out[first:], buffer)
	return append(out, data...)
}

func (e *encoder) list(v []uint32) uint64 {
	return uint64(e.Vector(4, len(v), func(i int) uint64 { return uint64(v[i]) }))
}

func (e *encoder) node(n *Node) offset {
	if n.Kind == 0 || int(n.Kind) >= len(kinds) {
		must.Fail("no kind of node: %d", n.Kind)
	}
	f := n.Kind.Form()
	if len(n.Inputs) != len(f.Inputs) || len(n.Outputs) != len(f.Outputs) ||
		len(n.Ints) != len(f.Ints) || len(n.Lists) != len(f.Lists) {
		must.Fail("it does not have what %v has", n.Kind)
	}
	fields := seq.Map(n.Lists, e.list)
	for _, list := range [][]uint32{n.Inputs, n.Outputs, n.Ints} {
		for _, x := range list {
			fields = append(fields, uint64(x))
		}
	}
	if f.Float != "" {
		fields = append(fields, uint64(math.Float32bits(n.Float)))
	}
	for range f.unused() {
		fields = append(fields, None)
	}
	name, clamp := n.Kind.String(), offset(0)
	if c := n.Clamp; c != nil {
		clamp = e.Table("OutputMinMax", uint64(math.Float32bits(c.Min)),
			uint64(math.Float32bits(c.Max)))
	}
	return e.Table("XNode", uint64(e.Table(name, fields...)), uint64(clamp), uint64(n.Handle),
		e.Tables["XNode"].Selector(name))
}

func (e *encoder) value(v *Value) offset {
	kind := "XNNTensorValue"
	at := e.Table(kind, e.list(v.Dims), uint64(len(v.Dims)), uint64(v.Constant),
		uint64(v.External), uint64(v.Flags), uint64(v.ID), uint64(uint16(v.Type)),
		uint64(uint16(v.Dynamic)))
	if v.Quant != nil {
		name, q := e.quant(v.Quant)
		kind = "XNNQuantizedTensorValue"
		at = e.Table(kind, uint64(at), uint64(q), e.Tables[kind].Selector(name))
	}
	return e.Table("XValue", uint64(at), e.Tables["XValue"].Selector(kind))
}

func (e *encoder) quant(q Quant) (name string, at offset) {
	word := func(x int32) uint64 { return uint64(uint32(x)) }
	scales := func(s []float32) uint64 {
		return uint64(e.Vector(4, len(s), func(i int) uint64 {
			return uint64(math.Float32bits(s[i]))
		}))
	}
	switch q := q.(type) {
	case PerTensor:
		name = "PerTensorQuant"
		return name, e.Table(name, uint64(math.Float32bits(q.Scale)), word(q.ZeroPoint))
	case PerChannel:
		name = "PerChannelQuant"
		return name, e.Table(name, scales(q.List), word(q.Dim), uint64(q.Buffer), uint64(q.Count))
	case PerToken:
		name = "PerTokenDynamicQuant"
		return name, e.Table(name, word(q.NonBatch))
	case PerGroup:
		name = "PerChannelGroupQuant"
		return name, e.Table(name, scales(q.List), word(q.Dim), word(q.Size), uint64(q.Buffer),
			uint64(q.Count))
	}
	panic(fmt.Errorf("no kind of quantization: %T", q))
}
