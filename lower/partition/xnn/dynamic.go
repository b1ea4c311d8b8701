package xnn

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/partition"
)

// chosen are the nodes that quantize an operand by what the run finds in it, by what dequantizes
// it: what quantizes it, and what chooses scale and zero point.
var chosen = map[string]struct{ quantize, choose, scale, zero string }{
	"quantized_decomposed.dequantize_per_tensor.tensor": {
		"quantized_decomposed.quantize_per_tensor.tensor",
		"quantized_decomposed.choose_qparams.tensor", "scale", "zero_point"},
	"quantized_decomposed.dequantize_per_token.default": {
		"quantized_decomposed.quantize_per_token.default",
		"quantized_decomposed.choose_qparams_per_token_asymmetric.default", "scales", "zero_points"},
	affineOp: {"torchao.quantize_affine.default", "torchao.choose_qparams_affine.default", "scale",
		"zero_point"},
}

// inInt8 reports whether a call quantizes to all integers of int8, or dequantizes them, and each
// row as one or all rows as one.
func inInt8(c *ops.Call) bool {
	has := func(name string) bool { return c.Op.ParsedSchema().Index(name) >= 0 }
	for _, name := range []string{"dtype", "input_dtype", "output_dtype", "target_dtype"} {
		if has(name) && c.DType(name, ir.Int8) != ir.Int8 && !c.DType(name, ir.Int8).IsFloat() {
			return false
		}
	}
	for name, want := range map[string]int64{"quant_min": math.MinInt8, "quant_max": math.MaxInt8} {
		if has(name) && c.Has(name) {
			if x, err := c.Int(name); err != nil || x != want {
				return false
			}
		}
	}
	if has("block_size") {
		block, err := c.SymInts("block_size")
		sizes := c.Tensor("input").Sizes
		if n := len(sizes) - 1; err != nil || len(block) != len(sizes) || n < 0 ||
			!block[n].Equal(sizes[n]) || !slices.EqualFunc(block, sizes, sym.Expr.Equal) &&
			slices.ContainsFunc(block[:n], func(b sym.Expr) bool { return !b.Is(1) }) {
			return false
		}
	}
	return !has("mapping_type") || c.Str("mapping_type") == "ASYMMETRIC"
}

// choosing are the operators of chosen; layers that read what they give have them.
var choosing = func() map[string]bool {
	all := map[string]bool{}
	for name, k := range chosen {
		all[name], all[k.quantize], all[k.choose] = true, true, true
	}
	return all
}()

// runQuantizes returns what v is quantized from by the run, and the nodes that do it, of which the
// last gives v; nil if v is none such.
func runQuantizes(table *ops.Table, v *ir.Value) (x *ir.Value, nodes []*ir.Node) {
	if v == nil || v.Def == nil {
		return nil, nil
	}
	known, ok := chosen[v.Def.Op]
	bind := func(n *ir.Node, op string) *ops.Call {
		if !ok || n == nil || n.Op != op {
			return nil
		}
		c, err := table.Bind(n)
		if err != nil || !inInt8(c) {
			return nil
		}
		return c
	}
	d := bind(v.Def, v.Def.Op)
	if d == nil {
		return nil, nil
	}
	q := bind(d.Value("input").Def, known.quantize)
	if q == nil {
		return nil, nil
	}
	c := bind(d.Value(known.scale).Def, known.choose)
	for k, name := range []string{known.scale, known.zero} {
		if c == nil || d.Value(name) != q.Value(name) ||
			d.Value(name) != d.Value(known.scale).Def.Outputs[k] {
			return nil, nil
		}
	}
	if x = q.Value("input"); c.Value("input") != x || unfit(x.Type) != "" || x.Type.Rank() < 2 {
		return nil, nil
	}
	return x, []*ir.Node{d.Value(known.scale).Def, d.Value("input").Def, v.Def}
}

// operandOf are the operands of layers that the run may quantize.
var operandOf = map[string]string{"aten.convolution.default": "input",
	"aten.linear.default": "input", "aten.addmm.default": "mat1", "aten.mm.default": "self"}

// operand returns what the run may quantize of a call, nil for none.
func operand(c *ops.Call) *ir.Value {
	if name := operandOf[c.Op.Name()]; name != "" {
		return c.Value(name)
	}
	return nil
}

// ofRun returns the nodes that quantize the operand of a layer by what the run finds in it, if
// XNNPACK can do it: all that read what they give are layers whose weights have a scale for each
// channel.
func ofRun(g *partition.Graph, c *ops.Call) []*ir.Node {
	_, nodes := runQuantizes(g.Context.Table, operand(c))
	if nodes == nil || slices.ContainsFunc(nodes, func(n *ir.Node) bool { return !g.Free(n) }) {
		return nil
	}
	for _, n := range nodes {
		for _, v := range n.Outputs {
			readers, elsewhere := g.Readers(v)
			for _, r := range readers {
				elsewhere = elsewhere || !slices.Contains(nodes, r) && (n != nodes[2] || !byChannel(g, r))
			}
			if elsewhere {
				return nil
			}
		}
	}
	return nodes
}

// groupUnit divides the sizes of groups that XNNPACK has kernels for.
const groupUnit = 32

// byChannel reports whether a node is a layer that XNNPACK computes with an operand that the run
// quantizes.
func byChannel(g *partition.Graph, n *ir.Node) bool {
	known, ok := inIntegers[n.Op]
	if !ok || known.weight == "" || !g.Free(n) {
		return false
	}
	c, err := g.Bind(n)
	if err != nil || refusal(g, n, c) != "" {
		return false
	}
	v := c.Value(known.weight)
	made := weightOf(g, v)
	if made == nil {
		return false
	}
	d, err := g.Bind(made[0])
	if err != nil {
		return false
	}
	s := storedOf(d)
	if s.axis < 0 || s.zeros != nil && !isZero(s.zeros.Const) ||
		s.group > 0 && (!s.four || s.group%groupUnit != 0) {
		return false
	}
	at := s.axis
	if len(made) == 2 {
		at = 1 - at
	}
	if n.Op == "aten.convolution.default" {
		of := 1
		if c.Bool("transposed") {
			of = 0
		}
		if v.Type.Rank() != 4 || v.Type.Sizes[of].Is(1) {
			return false
		}
	}
	return at == channelsOf(c)
}

// isZero reports whether a constant is 0 everywhere.
func isZero(k *ir.Constant) bool {
	if k == nil {
		return true
	}
	data, err := ir.Tensor(k)
	return err == nil && !slices.ContainsFunc(data, func(b byte) bool { return b != 0 })
}

// inRun returns the id of a value that the run quantizes by rows, of which a layer on images has
// one for each image.
func (w *writer) inRun(v, x *ir.Value, images bool) uint32 {
	q := w.tensorOf(v, images)
	q.Type, q.Quant = xnnpack.QDInt8, xnnpack.PerToken{NonBatch: 1}
	if images {
		q.Quant = xnnpack.PerToken{NonBatch: 3}
	}
	from := w.value(x, images)
	id := w.add(q)
	w.node("XNNConvert", []uint32{from}, id)
	w.ids[layout{v, images}] = id
	return id
}
