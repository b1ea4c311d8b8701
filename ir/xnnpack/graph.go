package xnnpack

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
)

// ID is what programs call the backend.
const ID = "XnnpackBackend"

// None stands for a value that a node does not have, and for the place among the delegate's
// arguments of a value that is none of them.
const None = 0xFFFFFFFF

// Graph is what a payload holds.
type Graph struct {
	Version string
	Nodes   []Node
	Values  []Value
	Externs uint32 // how many arguments the delegate has
	// Inputs and Outputs are the ids of external values. Runtimes go by the values' flags.
	Inputs, Outputs []uint32
	// Constants are what values refer to; entry 0 is reserved.
	Constants []Constant
}

// Constant is data of values: in the payload, or with a key in the program's named data or a
// data file.
type Constant struct {
	Key  string
	Size uint64  // of data with a key, as the payload says
	Data ir.Blob // nil for that with a key
}

// Value is a tensor. A delegate's arguments are external values.
type Value struct {
	Type     DataType
	Dims     []uint32 // of those that the run decides, bounds
	Constant uint32   // index into Constants, 0 for a value that is none
	External uint32   // index of the delegate's argument, else None
	Flags    uint32   // ExternalInput, ExternalOutput
	ID       uint32   // what nodes call it
	Dynamic  DataType // of old files: the external input is quantized to this type
	Quant    Quant    // nil for one that is not quantized
}

// The flags of values.
const (
	ExternalInput  = 1
	ExternalOutput = 2
)

// DataType is the type of a value's elements.
type DataType int16

// The types that payloads have. Of QInt8 all elements share scale and zero point, of QCInt8,
// QCInt4 and QCInt32 those of a channel, of QBInt4 those of a group in a channel; of QDInt8
// the run chooses them.
const (
	Invalid DataType = iota
	FP32
	FP16
	QInt8
	QUInt8
	QInt32
	QCInt8
	QCInt32
	QCInt4
	QDInt8
	QBInt4
	QPInt8
	Int32
	PFP32
	BF16
)

var dataTypes = [...]string{"invalid", "fp32", "fp16", "qint8", "quint8", "qint32", "qcint8",
	"qcint32", "qcint4", "qdint8", "qbint4", "qpint8", "int32", "pfp32", "bf16"}

// String returns XNNPACK's name of the type.
func (d DataType) String() string {
	if d < 0 || int(d) >= len(dataTypes) {
		return fmt.Sprintf("datatype %d", int16(d))
	}
	return dataTypes[d]
}

// bits is the size of an element, 0 for types that constants do not have.
func (d DataType) bits() uint64 {
	switch d {
	case FP32, QInt32, QCInt32, Int32:
		return 32
	case FP16, BF16:
		return 16
	case QInt8, QUInt8, QCInt8:
		return 8
	case QCInt4, QBInt4:
		return 4
	}
	return 0
}

// Quant says what the integers of a value stand for: PerTensor, PerChannel, PerToken or
// PerGroup.
type Quant interface{ quant() }

// PerTensor is a scale and a zero point for all elements.
type PerTensor struct {
	Scale     float32
	ZeroPoint int32
}

// Scales are in the payload's flatbuffer (old files), or are a constant, Buffer, of Count
// numbers.
type Scales struct {
	List   []float32
	Buffer uint32
	Count  uint32
}

// PerChannel is a scale for each index of dimension Dim.
type PerChannel struct {
	Scales
	Dim int32
}

// PerToken says that the run chooses scale and zero point for each row: for each index of all
// dimensions but the last NonBatch.
type PerToken struct{ NonBatch int32 }

// PerGroup is a bfloat16 scale for every Size elements of a channel, which is an index of
// dimension Dim. Old files have float32 scales in a list.
type PerGroup struct {
	Scales
	Dim, Size int32
}

func (PerTensor) quant()  {}
func (PerChannel) quant() {}
func (PerToken) quant()   {}
func (PerGroup) quant()   {}

// Node is an operation. What it has besides its operands tells the [Form] of its kind.
type Node struct {
	Kind    Kind
	Handle  uint32 // its debug handle, NoHandle if a pass of the exporter made it
	Clamp   *Clamp // nil if the result is not limited
	Inputs  []uint32
	Outputs []uint32
	Ints    []uint32
	Lists   [][]uint32
	Float   float32
}

// NoHandle is the debug handle of nodes that are none of the model's.
const NoHandle = 65535

// EventID is the delegate debug id of what a node does that has a debug handle. XNNPACK itself
// calls its events after its kernels.
func EventID(handle uint32) string { return fmt.Sprintf("debug handle %d", handle) }

// Clamp limits the elements of a result.
type Clamp struct{ Min, Max float32 }

// Kind is the type of a node, by its number in the payload.
type Kind uint8

// Form says what the nodes of a kind have, by the names of the payload's fields.
type Form struct {
	Inputs, Outputs []string
	Ints            []string
	Lists           []string
	Float           string // "" for none
}

var (
	oneOperand  = &Form{Inputs: names("input_id"), Outputs: names("output_id"), Ints: names("flags")}
	twoOperands = &Form{Inputs: names("input1_id", "input2_id"), Outputs: names("output_id"),
		Ints: names("flags")}
	filtered = names("input1_id", "filter_id", "bias_id")
	conv     = &Form{Inputs: filtered, Outputs: names("output_id"),
		Ints: names("padding_top", "padding_right", "padding_bottom", "padding_left",
			"kernel_height", "kernel_width", "subsampling_height", "subsampling_width",
			"dilation_height", "dilation_width", "group_input_channels",
			"group_output_channels", "groups", "adjustment_height", "adjustment_width",
			"flags")}
	pooling = &Form{Inputs: names("input_id"), Outputs: names("output_id"),
		Ints: names("padding_top", "padding_right", "padding_bottom", "padding_left",
			"pooling_height", "pooling_width", "stride_height", "stride_width",
			"dilation_height", "dilation_width", "flags")}
)

func names(list ...string) []string { return list }

// of is a form of one operand and one result with more members.
func of(ints []string, lists []string, float string) *Form {
	return &Form{Inputs: names("input_id"), Outputs: names("output_id"),
		Ints: append(ints, "flags"), Lists: lists, Float: float}
}

// cat is the form of a concatenation of n.
func cat(n int) *Form {
	all := names("input1_id", "input2_id", "input3_id", "input4_id", "input5_id")
	return &Form{Inputs: all[:n], Outputs: names("output_id"), Ints: names("axis", "flags")}
}

// kinds are the types of nodes by their numbers.
var kinds = [...]struct {
	name string
	form *Form
}{
	{"", nil},
	{"XNNAdd", twoOperands},
	{"XNNFullyConnected", &Form{Inputs: filtered, Outputs: names("output_id"),
		Ints: names("flags")}},
	{"XNNSoftmax", oneOperand},
	{"XNNSigmoid", oneOperand},
	{"XNNStaticTranspose", of(names("num_dims"), names("perm"), "")},
	{"XNNClamp", oneOperand},
	{"XNNConv2d", conv},
	{"XNNDiv", twoOperands},
	{"XNNStaticResizeBilinear2D", of(names("new_height", "new_width"), nil, "")},
	{"XNNStaticConstantPad", of(nil, names("pre_paddings", "post_paddings"), "padding_value")},
	{"XNNAvgPooling2d", pooling},
	{"XNNMinimum", twoOperands},
	{"XNNDepthwiseConv2d", conv},
	{"XNNMaxPooling2d", pooling},
	{"XNNMultiply", twoOperands},
	{"XNNSubtract", twoOperands},
	{"XNNFloor", oneOperand},
	{"XNNConvert", oneOperand},
	{"XNNGlobalAvgPooling2d", oneOperand},
	{"XNNStaticReshape", of(names("num_dims"), names("new_shape"), "")},
	{"XNNArgMaxPooling2d", &Form{Inputs: names("input_id"),
		Outputs: names("output_value_id", "output_index_id"),
		Ints: names("padding_top", "padding_right", "padding_bottom", "padding_left",
			"pooling_height", "pooling_width", "flags")}},
	{"XNNSquareRoot", oneOperand},
	{"XNNCeiling", oneOperand},
	{"XNNHardswish", oneOperand},
	{"XNNLeakyReLU", of(nil, nil, "negative_slope")},
	{"XNNMaximum", twoOperands},
	{"XNNNegate", oneOperand},
	{"XNNSquare", oneOperand},
	{"XNNELU", of(nil, nil, "alpha")},
	{"XNNAbs", oneOperand},
	{"XNNPReLU", twoOperands},
	{"XNNConcatenate2", cat(2)},
	{"XNNConcatenate3", cat(3)},
	{"XNNConcatenate4", cat(4)},
	{"XNNStaticSlice", of(names("num_dims"), names("offsets", "sizes"), "")},
	{"XNNScaledDotProductAttention", &Form{
		Inputs:  names("query_id", "key_id", "value_id", "scale_id", "mask_id"),
		Outputs: names("output_id"), Ints: names("flags")}},
	{"XNNBatchMatrixMultiply", twoOperands},
	{"XNNConcatenate5", cat(5)},
	{"XNNConvTranspose2d", conv},
	{"XNNReciprocalSquareRoot", oneOperand},
	{"XNNLog", oneOperand},
	{"XNNGelu", oneOperand},
	{"XNNTanh", oneOperand},
	{"XNNExp", oneOperand},
	{"XNNSin", oneOperand},
	{"XNNCopy", oneOperand},
	{"XNNCos", oneOperand},
}

// KindOf returns the kind with a name, "XNNAdd"; 0 if there is none.
func KindOf(name string) Kind {
	for i := range kinds {
		if i > 0 && kinds[i].name == name {
			return Kind(i)
		}
	}
	return 0
}

// String returns the payload's name of the kind.
func (k Kind) String() string { return kinds[k].name }

// Form returns what nodes of the kind have.
func (k Kind) Form() *Form { return kinds[k].form }

// Int returns a member of the node.
func (n *Node) Int(name string) int64 {
	return int64(n.Ints[slices.Index(n.Kind.Form().Ints, name)])
}

// List returns a member of the node.
func (n *Node) List(name string) []int64 {
	return seq.Map(n.Lists[slices.Index(n.Kind.Form().Lists, name)], func(x uint32) int64 {
		return int64(x)
	})
}

// ByID returns the values by what nodes call them.
func (g *Graph) ByID() map[uint32]*Value {
	m := make(map[uint32]*Value, len(g.Values))
	for i := range g.Values {
		m[g.Values[i].ID] = &g.Values[i]
	}
	return m
}

// Data returns a constant's data. Named finds data by its key.
func (g *Graph) Data(i uint32, named func(key string) (ir.Blob, bool)) (ir.Blob, error) {
	if i == 0 || uint64(i) >= uint64(len(g.Constants)) {
		return nil, fmt.Errorf("constant %d of %d", i, len(g.Constants))
	}
	c := &g.Constants[i]
	if c.Data != nil {
		return c.Data, nil
	}
	b, ok := named(c.Key)
	if !ok {
		return nil, fmt.Errorf("constant %d: there is no data %.80q", i, c.Key)
	}
	return b, nil
}
