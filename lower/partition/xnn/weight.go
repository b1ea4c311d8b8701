package xnn

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/half"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/partition"
)

// stored is what a node that dequantizes int8 says of its operand: one scale and zero point for
// all, or constants of them for each index of a dimension, or for each group of a row.
type stored struct {
	one           xnnpack.PerTensor // if scales is nil
	scales, zeros *ir.Value         // zeros is nil if there are none
	axis          int               // -1 if there is one scale
	group         int               // the size of a group, 0 if there are none
	four          bool              // integers are of four bits
}

// storedOf returns what a call says that dequantizes; nil for other calls, and for other blocks.
func storedOf(c *ops.Call) *stored {
	name := c.Op.Name()
	if name != dequantizeOp && name != channelsOp && name != groupsOp && name != affineOp ||
		c.Tensor("input").DType != ir.Int8 {
		return nil
	}
	s := &stored{axis: -1}
	sizes, _ := c.Tensor("input").StaticSizes()
	switch name {
	case dequantizeOp:
		var ok bool
		if s.one, ok = quantOf(c); !ok {
			return nil
		}
		return s
	case channelsOp:
		s.scales, s.zeros, s.axis = c.Value("scales"), c.Value("zero_points"), axis(c, "axis", len(sizes))
	case groupsOp:
		n, err := c.Int("group_size")
		if err != nil {
			return nil
		}
		s.scales, s.zeros, s.axis, s.group = c.Value("scales"), c.Value("zero_points"), 0, int(n)
	case affineOp:
		s.scales, s.zeros = c.Value("scale"), c.Value("zero_point")
		block, err := c.Ints("block_size")
		if err != nil || len(block) != len(sizes) {
			return nil
		}
		for d, n := range block {
			switch {
			case n == sizes[d] && n > 1:
			case n == 1 && s.axis < 0:
				s.axis = d
			case n > 1 && d == 1 && len(sizes) == 2 && s.axis == 0:
				s.group = int(n)
			case n != sizes[d]:
				return nil
			}
		}
		if s.zeros != nil && s.zeros.Type.Numel().IsZero() {
			s.zeros = nil
		}
	}
	if s.axis < 0 || s.scales == nil {
		return nil
	}
	count := sizes[s.axis]
	if s.group > 0 {
		if len(sizes) != 2 || sizes[1]%int64(s.group) != 0 {
			return nil
		}
		if count *= sizes[1] / int64(s.group); s.group == int(sizes[1]) {
			s.group = 0
		}
	}
	if !s.scales.Type.Numel().Is(count) || s.zeros != nil && !s.zeros.Type.Numel().Is(count) {
		return nil
	}
	least, _ := c.Int("quant_min")
	most, _ := c.Int("quant_max")
	s.four = least == -8 && most == 7
	return s
}

// weightOf returns the nodes that make a weight of constant integers, nil if v is none such: one
// that dequantizes it, and perhaps one that transposes it.
func weightOf(g *partition.Graph, v *ir.Value) []*ir.Node {
	if v == nil || v.Def == nil || !g.Free(v.Def) {
		return nil
	}
	c, err := g.Bind(v.Def)
	if err != nil {
		return nil
	}
	if isPermute(v.Def) {
		if inner := c.Value("self"); inner.Type.Rank() == 2 {
			if nodes := weightOf(g, inner); len(nodes) == 1 {
				return append(nodes, v.Def)
			}
		}
		return nil
	}
	s := storedOf(c)
	if s == nil || !g.Constant(c.Value("input")) || s.scales != nil && !g.Constant(s.scales) ||
		s.zeros != nil && !g.Constant(s.zeros) {
		return nil
	}
	return []*ir.Node{v.Def}
}

// hasGroups reports whether a layer has a weight of groups with a scale each.
func hasGroups(g *partition.Graph, c *ops.Call) bool {
	known := inIntegers[c.Op.Name()]
	if known.weight == "" {
		return false
	}
	made := weightOf(g, c.Value(known.weight))
	return made != nil && storedOf(must.Get(g.Bind(made[0]))).group > 0
}

func isPermute(n *ir.Node) bool {
	return n.Op == "aten.permute.default" || n.Op == "aten.permute_copy.default"
}

// isWeight reports whether v is made of constant integers.
func (w *writer) isWeight(v *ir.Value) bool {
	if v.Def != nil && isPermute(v.Def) {
		v = must.Get(w.table.Bind(v.Def)).Value("self")
	}
	if v.Def == nil {
		return false
	}
	c := must.Get(w.table.Bind(v.Def))
	return storedOf(c) != nil && c.Value("input").Const != nil
}

// weight is a constant operand: floats, or integers of a scale for all, for each index of a
// dimension, or for each group of a row.
type weight struct {
	data   []byte
	dims   []uint32
	dtype  ir.DType  // of floats
	scales []float32 // nil for floats
	axis   int       // of scales, -1 if there is one
	group  int       // the size of a group, 0 if there are none
	four   bool      // integers are of four bits
}

// weight returns a constant operand; floats if integers are of no use.
func (w *writer) weight(v *ir.Value, integers bool) *weight {
	if v.Const != nil {
		return &weight{data: tensor(v.Const), dims: dimsOf(v.Const.Type, false),
			dtype: v.Type.DType, axis: -1}
	}
	c := must.Get(w.table.Bind(v.Def))
	if isPermute(v.Def) {
		k := w.weight(c.Value("self"), integers)
		if dims := must.Get(c.Ints("dims")); k != nil && (dims[0] == 1 || dims[0] == -1) {
			k.permute([]uint32{1, 0})
		}
		return k
	}
	s := storedOf(c)
	k := &weight{data: tensor(c.Value("input").Const), dims: dimsOf(v.Type, false),
		axis: s.axis, group: s.group, four: s.four}
	zeros := []int64{int64(s.one.ZeroPoint)}
	if k.scales = []float32{s.one.Scale}; s.scales != nil {
		n := int(known(s.scales.Type.Numel()))
		k.scales, zeros = make([]float32, n), make([]int64, n)
		for i := range n {
			k.scales[i] = float32(element(s.scales.Const, i))
			if s.zeros != nil {
				zeros[i] = int64(element(s.zeros.Const, i))
			}
		}
	}
	symmetric := !slices.ContainsFunc(zeros, func(z int64) bool { return z != 0 })
	switch {
	case integers && symmetric:
		return k
	case integers:
		return nil
	}
	inner := max(k.group, 1) // elements in a row that share a scale
	if k.group == 0 {
		for _, d := range k.dims[k.axis+1:] {
			inner *= int(d)
		}
	}
	var data []byte
	for i, b := range k.data {
		at := i / inner % len(k.scales)
		x := float32(int64(int8(b))-zeros[at]) * k.scales[at]
		data = appendFloat(data, v.Type.DType, x)
	}
	return &weight{data: data, dims: k.dims, dtype: v.Type.DType, axis: -1}
}

// element returns an element of a constant of scales or zero points.
func element(k *ir.Constant, i int) float64 {
	d := k.Type.DType
	x := eval.Get(d, tensor(k), int64(i))
	switch {
	case d.IsFloat():
		return x.F
	case d.IsInt():
		return float64(x.I)
	}
	must.Fail("scales or zero points of %v", k.Type)
	return 0
}

// widen makes float32 of floats.
func (k *weight) widen() *weight {
	if k == nil || k.scales != nil || k.dtype == ir.Float32 {
		return k
	}
	var data []byte
	for b := range slices.Chunk(k.data, k.dtype.Size()) {
		x := half.ToFloat32(k.dtype, binary.LittleEndian.Uint16(b))
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	k.data, k.dtype = data, ir.Float32
	return k
}

// permute gives a weight its dimensions in another order.
func (k *weight) permute(order []uint32) {
	size := 1
	if k.scales == nil {
		size = k.dtype.Size()
	}
	k.data = transposed(k.data, k.dims, order, size)
	dims := make([]uint32, len(order))
	for i, d := range order {
		dims[i] = k.dims[d]
	}
	k.dims = dims
	if k.axis >= 0 {
		k.axis = slices.Index(order, uint32(k.axis))
	}
}

// constantOf returns the id of a weight.
func (w *writer) constantOf(k *weight) uint32 {
	data, each := k.data, xnnpack.QCInt8
	if k.four { // two in a byte, the first one low, 8 added to each
		data, each = make([]byte, len(k.data)/2), xnnpack.QCInt4
		for i, b := range k.data {
			data[i/2] |= (b + 8) & 15 << (4 * (i % 2))
		}
	}
	v := xnnpack.Value{Type: floats[k.dtype], Dims: k.dims, Constant: w.blob(data, ""),
		External: xnnpack.None}
	w.scaled(&v, k, xnnpack.QInt8, each)
	return w.add(v)
}

// scaled makes a value one of integers with the scales of k.
func (w *writer) scaled(v *xnnpack.Value, k *weight, one, each xnnpack.DataType) {
	if k.scales == nil {
		return
	}
	if k.axis < 0 {
		v.Type, v.Quant = one, xnnpack.PerTensor{Scale: k.scales[0]}
		return
	}
	d := ir.Float32
	if k.group > 0 {
		d = ir.BFloat16
	}
	var raw []byte
	for _, s := range k.scales {
		raw = appendFloat(raw, d, s)
	}
	scales := xnnpack.Scales{Buffer: w.blob(raw, "scale_"), Count: uint32(len(k.scales))}
	v.Type, v.Quant = each, xnnpack.PerChannel{Dim: int32(k.axis), Scales: scales}
	if k.group > 0 {
		v.Type = xnnpack.QBInt4
		v.Quant = xnnpack.PerGroup{Dim: int32(k.axis), Size: int32(k.group), Scales: scales}
	}
}
