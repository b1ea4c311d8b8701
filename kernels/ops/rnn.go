package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// cell is a recurrent cell: gates tells how many rows of the weights there are
// for each hidden element, state how many carried tensors.
type cell struct {
	gates int64
	state int
	// merge says that the biases of input and hidden state may be added up
	// beforehand.
	merge bool
	// step gives the new state from the input's part of the gates, the state,
	// and the transposed hidden weight and its bias (nil if merged or absent).
	step func(b *Builder, x *ir.Value, state []*ir.Value, weight, bias *ir.Value) []*ir.Value
}

// hidden adds the hidden state's part to x, the input's.
func hidden(b *Builder, x, h, weight *ir.Value) *ir.Value { return b.aten("addmm", x, h, weight) }

// split cuts dimension 1 into n parts of equal size.
func split(b *Builder, x *ir.Value, n int64) []*ir.Value {
	return b.Ops("aten.split.Tensor", x, sym.FloorDiv(x.Type.Sizes[1], sym.Int(n)), 1)
}

func lstmStep(b *Builder, x *ir.Value, state []*ir.Value, weight, _ *ir.Value) []*ir.Value {
	g := split(b, hidden(b, x, state[0], weight), 4)
	in, forget, out := b.aten("sigmoid", g[0]), b.aten("sigmoid", g[1]), b.aten("sigmoid", g[3])
	c := b.aten("add.Tensor", b.aten("mul.Tensor", forget, state[1]), b.aten("mul.Tensor",
		in, b.aten("tanh", g[2])))
	return []*ir.Value{b.aten("mul.Tensor", out, b.aten("tanh", c)), c}
}

func gruStep(b *Builder, x *ir.Value, state []*ir.Value, weight, bias *ir.Value) []*ir.Value {
	h := state[0]
	var y *ir.Value
	if bias != nil {
		y = hidden(b, bias, h, weight)
	} else {
		y = b.aten("mm", h, weight)
	}
	gx, gh := split(b, x, 3), split(b, y, 3)
	reset := b.aten("sigmoid", b.aten("add.Tensor", gx[0], gh[0]))
	update := b.aten("sigmoid", b.aten("add.Tensor", gx[1], gh[1]))
	n := b.aten("tanh", b.aten("add.Tensor", gx[2], b.aten("mul.Tensor", reset, gh[2])))
	return []*ir.Value{b.aten("add.Tensor", n, b.aten("mul.Tensor", update,
		b.aten("sub.Tensor", h, n)))}
}

func simpleStep(activation string) func(*Builder, *ir.Value, []*ir.Value, *ir.Value,
	*ir.Value) []*ir.Value {
	return func(b *Builder, x *ir.Value, state []*ir.Value, weight, _ *ir.Value) []*ir.Value {
		return []*ir.Value{b.Op(activation, hidden(b, x, state[0], weight))}
	}
}

// rnnOps are the recurrent networks.
func rnnOps() []entry {
	return []entry{
		recurrent("aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, "+
			"int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "+
			"Tensor, Tensor)",
			cell{gates: 4, state: 2, merge: true, step: lstmStep}),
		recurrent("aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, "+
			"int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "+
			"Tensor)",
			cell{gates: 3, state: 1, step: gruStep}),
		recurrent("aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, "+
			"int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "+
			"Tensor)",
			cell{gates: 1, state: 1, merge: true, step: simpleStep("aten.tanh.default")}),
		recurrent("aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, "+
			"int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "+
			"Tensor)",
			cell{gates: 1, state: 1, merge: true, step: simpleStep("aten.relu.default")}),
	}
}

// network is a call of a recurrent network, checked.
type network struct {
	cell
	layers, dirs int
	biases       bool
	first        bool // the input's dimension 0 is the batch
	x            ir.Type
	state0       []*ir.Value // initial state: [layers·dirs, batch, size]
	// by layer and direction: weights of input and hidden state, their biases, projection
	params [][]*ir.Value
}

func (cl cell) of(c *Call) *network {
	n := &network{cell: cl, dirs: 1, biases: c.Bool("has_biases"), first: c.Bool("batch_first"),
		x: c.Tensor("input")}
	layers := must(c.Int("num_layers"))
	if c.Bool("bidirectional") {
		n.dirs = 2
	}
	n.layers = int(layers)
	c.errorIf(c.Bool("train") && n.layers > 1 && must(c.Float("dropout")) != 0,
		"dropout in training mode is random; export the model after model.eval()")
	values := func(name string) []*ir.Value {
		k := c.Operand(name)
		if k < 0 {
			return nil
		}
		if list, ok := c.Arg(name).(ir.List); ok {
			return c.operands[k : k+len(list)]
		}
		return c.operands[k : k+1]
	}
	n.state0 = values("hx")
	params := values("params")
	per := 2
	if n.biases {
		per = 4
	}
	switch total := int(layers) * n.dirs; {
	case layers < 1 || n.x.Rank() != 3 || len(n.state0) != cl.state:
		panic(c.Errorf("%d layers, an input with %d dimensions, %d tensors of state", layers,
			n.x.Rank(), len(n.state0)))
	case len(params) == total*(per+1) && cl.state == 2:
		per++
	case len(params) != total*per:
		panic(c.Errorf("%d parameters for %d layers in %d directions", len(params), layers, n.dirs))
	}
	steps, batch := n.x.Sizes[0], n.x.Sizes[1]
	if n.first {
		steps, batch = batch, steps
	}
	c.need(steps)
	for _, s := range n.state0 {
		if t := s.Type; t.Rank() != 3 || t.DType != n.x.DType ||
			!t.Sizes[0].Is(int64(n.dirs)*layers) || differ(t.Sizes[1], batch) {
			panic(c.Errorf("a state of %s and %s for %d layers in %d directions over %s and %s",
				t.DType, sizesOf{t}, layers, n.dirs, n.x.DType, sizesOf{n.x}))
		}
	}
	for p := range slices.Chunk(params, per) {
		h := n.state0[0].Type
		c.errorIf(h.Rank() != 3 || p[0].Type.Rank() != 2 || p[1].Type.Rank() != 2 ||
			differ(p[0].Type.Sizes[0], p[1].Type.Sizes[0]) ||
			differ(p[1].Type.Sizes[1], h.Sizes[2]), "weights of %s for a state of %s",
			sizesOf{p[0].Type, p[1].Type}, sizesOf{h})
		// A gate has as many rows as the last state; a projection gives the first one
		// another size.
		size := n.state0[cl.state-1].Type.Sizes[2]
		bad := differ(p[0].Type.Sizes[0], sym.Mul(sym.Int(cl.gates), size))
		if per%2 == 1 {
			t := p[per-1].Type
			bad = bad || t.Rank() != 2 || differ(t.Sizes[0], h.Sizes[2]) || differ(t.Sizes[1], size)
		} else {
			bad = bad || differ(h.Sizes[2], size)
		}
		c.errorIf(bad, "weights of %s for states of %s and %s",
			sizesOf{p[0].Type, p[1].Type}, h.Sizes[2], size)
		n.params = append(n.params, p)
	}
	return n
}

// recurrent is the entry of a network of cells. The input's part of the gates
// of all steps is one matrix product; a scan over the steps does the rest.
//
//go:noinline
func recurrent(schema string, cl cell) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			n := cl.of(c)
			t := n.x
			last := n.state0[0].Type.Sizes[2]
			out := ir.TensorOf(t.DType, t.Sizes[0], t.Sizes[1],
				sym.Mul(last, sym.Int(int64(n.dirs))))
			if n.first {
				out = swapped(ir.TensorOf(t.DType, t.Sizes[1], t.Sizes[0], out.Sizes[2]), 0, 1).Type
			}
			ts := []ir.Type{out}
			for _, s := range n.state0 {
				ts = append(ts, s.Type.Dense())
			}
			return ts
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			n := cl.of(c)
			return n.build(b, c.Value("input"))
		},
	}
}

// build emits the network over input.
func (n *network) build(b *Builder, input *ir.Value) []*ir.Value {
	seq := input
	if n.first {
		seq = b.aten("transpose.int", seq, 0, 1)
	}
	finals := make([][]*ir.Value, n.state) // by kind of state, then layer and direction
	for l := range n.layers {
		var ys []*ir.Value
		for d := range n.dirs {
			at := l*n.dirs + d
			y, last := n.layer(b, seq, at, d == 1)
			ys = append(ys, y)
			for i, v := range last {
				finals[i] = append(finals[i], v)
			}
		}
		seq = ys[0]
		if n.dirs > 1 {
			seq = b.aten("cat", ys, 2)
		}
	}
	if n.first {
		seq = b.aten("transpose.int", seq, 0, 1)
	}
	out := []*ir.Value{seq}
	for _, vs := range finals {
		out = append(out, b.aten("stack", vs, 0))
	}
	return out
}

// layer walks seq, [steps, batch, features], in one direction and returns the
// hidden states of all steps and the last state.
func (n *network) layer(b *Builder, seq *ir.Value, at int,
	reverse bool) (y *ir.Value, last []*ir.Value) {
	p := n.params[at]
	var bias, hiddenBias, proj *ir.Value
	rest := p[2:]
	if n.biases {
		bias, hiddenBias, rest = rest[0], rest[1], rest[2:]
		if n.merge {
			bias, hiddenBias = b.aten("add.Tensor", bias, hiddenBias), nil
		}
	}
	if len(rest) > 0 {
		proj = b.aten("permute", rest[0], []int{1, 0})
	}
	x := b.aten("linear", seq, p[0], bias)
	weight := b.aten("permute", p[1], []int{1, 0})
	var init []*ir.Value
	for _, s := range n.state0 {
		init = append(init, b.aten("select.int", s, 0, at))
	}
	last, ys := must2(b.Scan(init, []*ir.Value{x}, reverse, func(b *Builder, carry,
		x []*ir.Value) (next, yields []*ir.Value) {
		next = n.step(b, x[0], carry, weight, hiddenBias)
		if proj != nil {
			next[0] = b.aten("mm", next[0], proj)
		}
		return next, next[:1]
	}))
	return ys[0], last
}

// cellOps are single steps of recurrent networks.
func cellOps() []entry {
	return []entry{
		cellStep("aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, "+
			"Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
			cell{gates: 4, state: 2, merge: true, step: lstmStep}),
		cellStep("aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "+
			"Tensor? b_hh=None) -> Tensor", cell{gates: 3, state: 1, step: gruStep}),
		cellStep("aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, "+
			"Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
			cell{gates: 1, state: 1, merge: true, step: simpleStep("aten.tanh.default")}),
		cellStep("aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, "+
			"Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
			cell{gates: 1, state: 1, merge: true, step: simpleStep("aten.relu.default")}),
	}
}

//go:noinline
func cellStep(schema string, cl cell) entry {
	state := func(c *Call) []*ir.Value {
		k := c.Operand("hx")
		if k < 0 {
			return nil
		}
		if list, ok := c.Arg("hx").(ir.List); ok {
			return c.operands[k : k+len(list)]
		}
		return c.operands[k : k+1]
	}
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			x, wi, wh, hs := c.Tensor("input"), c.Tensor("w_ih"), c.Tensor("w_hh"), state(c)
			c.errorIf(len(hs) != cl.state || x.Rank() != 2 || wi.Rank() != 2 || wh.Rank() != 2,
				"%d tensors of state, an input with %d dimensions", len(hs), x.Rank())
			var out []ir.Type
			for _, h := range hs {
				t := h.Type
				c.errorIf(t.Rank() != 2 || differ(t.Sizes[0], x.Sizes[0]) || differ(t.Sizes[1],
					wh.Sizes[1]) || differ(x.Sizes[1], wi.Sizes[1]) || differ(wi.Sizes[0],
					wh.Sizes[0]) || differ(wh.Sizes[0], sym.Mul(t.Sizes[1], sym.Int(cl.gates))),
					"%s do not fit as input, state and weights", sizesOf{x, t, wi, wh})
				out = append(out, t.Dense())
			}
			return out
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			bias, hiddenBias := c.Value("b_ih"), c.Value("b_hh")
			if cl.merge && hiddenBias != nil {
				if bias != nil {
					hiddenBias = b.aten("add.Tensor", bias, hiddenBias)
				}
				bias, hiddenBias = hiddenBias, nil
			}
			x := b.aten("linear", c.Value("input"), c.Value("w_ih"), bias)
			weight := b.aten("permute", c.Value("w_hh"), []int{1, 0})
			return cl.step(b, x, state(c), weight, hiddenBias)
		},
	}
}
