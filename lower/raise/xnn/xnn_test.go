package xnn

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/kernels/ops"
)

// net makes payloads for tests.
type net struct {
	xnnpack.Graph
}

func newNet() *net {
	return &net{xnnpack.Graph{Version: "0", Constants: []xnnpack.Constant{{}}}}
}

func (n *net) value(v xnnpack.Value) uint32 {
	v.ID = uint32(len(n.Values))
	if v.Flags == 0 {
		v.External = xnnpack.None
	} else {
		v.External = n.Externs
		n.Externs++
	}
	n.Values = append(n.Values, v)
	return v.ID
}

func (n *net) float(flags uint32, dims ...uint32) uint32 {
	return n.value(xnnpack.Value{Type: xnnpack.FP32, Dims: dims, Flags: flags})
}

func (n *net) data(raw []byte) uint32 {
	n.Constants = append(n.Constants, xnnpack.Constant{Data: ir.Bytes(raw)})
	return uint32(len(n.Constants) - 1)
}

// constant is a constant of floats that count up.
func (n *net) constant(dims ...uint32) uint32 {
	size := uint32(1)
	for _, d := range dims {
		size *= d
	}
	var raw []byte
	for i := range size {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(i)/8-1))
	}
	return n.value(xnnpack.Value{Type: xnnpack.FP32, Dims: dims, Constant: n.data(raw)})
}

func (n *net) node(kind string, ints map[string]uint32, lists [][]uint32,
	ids ...uint32) *xnnpack.Node {
	k := xnnpack.KindOf(kind)
	f := k.Form()
	node := xnnpack.Node{Kind: k, Inputs: ids[:len(f.Inputs)], Outputs: ids[len(f.Inputs):],
		Lists: lists, Handle: 7}
	for _, name := range f.Ints {
		node.Ints = append(node.Ints, ints[name])
	}
	n.Nodes = append(n.Nodes, node)
	return &n.Nodes[len(n.Nodes)-1]
}

// sample is a small network with what has the most to check: windows, lists, quantized values
// and weights, several results.
func sample() *net {
	n := newNet()
	x := n.float(xnnpack.ExternalInput, 1, 2, 6, 6)
	last := n.float(0, 1, 6, 6, 2)
	n.node("XNNStaticTranspose", map[string]uint32{"num_dims": 4}, [][]uint32{{0, 2, 3, 1}}, x, last)
	conv := n.float(0, 1, 6, 6, 4)
	n.node("XNNConv2d", map[string]uint32{"padding_top": 1, "padding_right": 1, "padding_bottom": 1,
		"padding_left": 1, "kernel_height": 3, "kernel_width": 3, "subsampling_height": 1,
		"subsampling_width": 1, "dilation_height": 1, "dilation_width": 1, "groups": 1,
		"group_input_channels": 2, "group_output_channels": 4}, nil, last, n.constant(4, 3, 3, 2),
		n.constant(4), conv).Clamp = &xnnpack.Clamp{Max: 6}
	pool := n.float(0, 1, 3, 3, 4)
	n.node("XNNMaxPooling2d", map[string]uint32{"pooling_height": 2, "pooling_width": 2,
		"stride_height": 2, "stride_width": 2, "dilation_height": 1, "dilation_width": 1}, nil, conv,
		pool)
	padded := n.float(0, 1, 4, 3, 4)
	n.node("XNNStaticConstantPad", nil, [][]uint32{{0, 1, 0, 0}, {0, 0, 0, 0}}, pool, padded)
	part := n.float(0, 1, 2, 3, 4)
	n.node("XNNStaticSlice", map[string]uint32{"num_dims": 4},
		[][]uint32{{0, 1, 0, 0}, {1, 2, 3, 4}}, padded, part)
	flat := n.float(0, 1, 24)
	n.node("XNNStaticReshape", map[string]uint32{"num_dims": 2}, [][]uint32{{0, 24}}, part, flat)
	q := n.value(xnnpack.Value{Type: xnnpack.QInt8, Dims: []uint32{1, 24},
		Quant: xnnpack.PerTensor{Scale: 0.25, ZeroPoint: 3}})
	n.node("XNNConvert", nil, nil, flat, q)
	w := n.value(xnnpack.Value{Type: xnnpack.QCInt8, Dims: []uint32{2, 24},
		Constant: n.data(make([]byte, 48)),
		Quant:    xnnpack.PerChannel{Scales: xnnpack.Scales{List: []float32{0.5, 0.25}}}})
	y := n.value(xnnpack.Value{Type: xnnpack.QInt8, Dims: []uint32{1, 2},
		Flags: xnnpack.ExternalOutput, Quant: xnnpack.PerTensor{Scale: 0.5, ZeroPoint: -3}})
	n.node("XNNFullyConnected", nil, nil, q, w, xnnpack.None, y)
	rows := n.value(xnnpack.Value{Type: xnnpack.QDInt8, Dims: []uint32{1, 24},
		Quant: xnnpack.PerToken{NonBatch: 1}})
	n.node("XNNConvert", nil, nil, flat, rows)
	groups := n.value(xnnpack.Value{Type: xnnpack.QBInt4, Dims: []uint32{2, 24},
		Constant: n.data(make([]byte, 24)), Quant: xnnpack.PerGroup{Size: 12,
			Scales: xnnpack.Scales{List: []float32{1, 2, 3, 4}}}})
	z := n.float(0, 1, 2)
	n.node("XNNFullyConnected", nil, nil, rows, groups, xnnpack.None, z)
	both := n.float(xnnpack.ExternalOutput, 1, 4)
	n.node("XNNConcatenate2", map[string]uint32{"axis": 1}, nil, z, z, both)
	return n
}

// raised returns the results of a payload for a method with its inputs.
func raised(g *xnnpack.Graph) (outs []*ir.Value, err error) {
	raw, err := xnnpack.Encode(g)
	if err != nil {
		return nil, err
	}
	p, err := Open(ir.Bytes(raw), func(string) (ir.Blob, bool) { return nil, false })
	if err != nil {
		return nil, err
	}
	args := make([]*ir.Value, 3)
	for i := range args {
		args[i] = &ir.Value{Name: "x", Type: ir.StaticTensor(ir.Float32, 1, 2, 6, 6)}
	}
	if _, err := p.Outputs(len(args)); err != nil {
		return nil, err
	}
	m := &ir.Method{Graph: &ir.Graph{}}
	_, err = ir.BuildGraph(ir.NewNames(m), nil, func(e *ir.Emitter) (_ []ir.Arg, err error) {
		outs, err = p.Raise(&Into{Builder: ops.NewBuilder(ops.Standard(), e),
			Constant: func(c *ir.Constant) *ir.Value { return e.Constant("c", c) },
			At:       func(uint32) {}}, args)
		return nil, err
	})
	return outs, err
}

// What a payload says of sizes inside has no effect.
func TestSample(t *testing.T) {
	inside := sample()
	inside.Values[2].Dims = []uint32{1, 4, 6, 5}
	for _, n := range []*net{sample(), inside} {
		outs, err := raised(&n.Graph)
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, v := range outs {
			if v != nil {
				types = append(types, v.Type.String())
			}
		}
		if got := strings.Join(types, " "); got != "i8[1, 2] f32[1, 4]" {
			t.Error(got)
		}
	}
}

// What does not fit is an error that names the node.
func TestErrors(t *testing.T) {
	for want, damage := range map[string]func(n *net){
		"node 0 (XNNStaticTranspose) of debug handle 7": func(n *net) { n.Nodes[0].Lists[0][1] = 3 },
		"perm [0 2 3] of 4 dimensions": func(n *net) {
			n.Nodes[0].Lists[0] = []uint32{0,
				2, 3}
		},
		"the filter is":    func(n *net) { n.Nodes[1].Ints[4] = 2 },
		"a window of 0 by": func(n *net) { n.Nodes[2].Ints[4] = 0 },
		"flags 2":          func(n *net) { n.Nodes[1].Ints[15] = 2 },
		"f32[1, 2, 6, 6], in the payload it has sizes": func(n *net) { n.Values[0].Dims[2] = 5 },
		"f32[1, 4], in the payload it has sizes": func(n *net) {
			n.Values[len(n.Values)-1].Dims[1] = 3
		},
		"elements 1 to 9 of dimension 1": func(n *net) { n.Nodes[4].Lists[1][1] = 8 },
		"node 5 (XNNStaticReshape)":      func(n *net) { n.Nodes[5].Lists[0][1] = 23 },
		"bytes of data, want": func(n *net) {
			n.Constants[1].Data = ir.Bytes("x")
		},
		"axis 2 of": func(n *net) {
			n.Nodes[len(n.Nodes)-1].Ints[0] = 2
		},
		"it is not supported": func(n *net) {
			n.Nodes[0] = xnnpack.Node{Kind: xnnpack.KindOf("XNNScaledDotProductAttention"),
				Inputs: []uint32{0, 0, 0, 0, 0}, Outputs: n.Nodes[0].Outputs, Ints: []uint32{0}}
		},
		"its operand is fp32, its result qint8": func(n *net) {
			v := &n.Values[n.Nodes[0].Outputs[0]]
			v.Type, v.Quant = xnnpack.QInt8, xnnpack.PerTensor{Scale: 1}
		},
		"argument 5 of 3": func(n *net) { n.Externs, n.Values[0].External = 6, 5 },
	} {
		n := sample()
		damage(n)
		if _, err := raised(&n.Graph); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// ExecuTorch 1.4 leaves the value out of what is dequantized and then padded, for example. XNNPACK
// refuses the payload.
func TestMissingResult(t *testing.T) {
	n := sample()
	raw, err := xnnpack.Encode(&n.Graph)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(ir.Bytes(raw), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = p.Outputs(4); err == nil || err.Error() != "no value is argument 3, a result" {
		t.Error(err)
	}
}

// Payloads whose parts are changed at random are raised or refused.
func TestMutants(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	good := 0
	n := tier.Of(1000, 4000, 4000)
	for range n {
		s := sample()
		for range 1 + r.IntN(3) {
			mutate(r, &s.Graph)
		}
		if _, err := raised(&s.Graph); err == nil {
			good++
		}
	}
	if good == 0 || good == n {
		t.Errorf("%d of %d are raised", good, n)
	}
}

// mutate changes a number of the graph.
func mutate(r *rand.Rand, g *xnnpack.Graph) {
	number := func() uint32 {
		return [...]uint32{0, 1, 2, 3, 4, 7, 8, 24, math.MaxInt32, math.MaxUint32,
			uint32(r.IntN(40))}[r.IntN(11)]
	}
	n, v := &g.Nodes[r.IntN(len(g.Nodes))], &g.Values[r.IntN(len(g.Values))]
	switch r.IntN(9) {
	case 0:
		n.Ints[r.IntN(len(n.Ints))] = number()
	case 1:
		n.Inputs[r.IntN(len(n.Inputs))] = uint32(r.IntN(len(g.Values)))
	case 2:
		n.Outputs[r.IntN(len(n.Outputs))] = uint32(r.IntN(len(g.Values)))
	case 3:
		if len(n.Lists) > 0 {
			l := n.Lists[r.IntN(len(n.Lists))]
			l[r.IntN(len(l))] = number()
		}
	case 4:
		if len(v.Dims) > 0 {
			v.Dims[r.IntN(len(v.Dims))] = number()
		}
	case 5:
		v.Type = xnnpack.DataType(r.IntN(16))
	case 6:
		v.Flags = uint32(r.IntN(4))
	case 7:
		v.Constant = uint32(r.IntN(len(g.Constants)))
	case 8: // of another kind with the same members
		k := xnnpack.Kind(1 + r.IntN(47))
		if f, is := k.Form(), n.Kind.Form(); len(f.Inputs) == len(is.Inputs) &&
			len(f.Outputs) == len(is.Outputs) && len(f.Ints) == len(is.Ints) &&
			len(f.Lists) == len(is.Lists) {
			n.Kind = k
		}
	}
}
