package grow

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// Shape is a way in which programs grow.
type Shape struct {
	Name string
	Doc  string // one line
	Make func(n int) (*ir.Program, error)
}

// Shapes lists all shapes. A program of size n has about n nodes.
func Shapes() []Shape {
	return []Shape{
		{"chain", "pointwise operators, each on the result of the one before", program(chain)},
		{"reuse", "x = x·x + x again and again: a tree of exponential size", program(reuse)},
		{"linear", "linear layers with ReLU", program(linear)},
		{"conv", "convolutions with small weights and ReLU", program(conv)},
		{"norm", "residual blocks: layer norm, linear, add", program(norm)},
		{"tree", "a balanced tree of additions", program(tree)},
		{"fan", "one value read by many, all joined by one cat", program(fan)},
		{"skip", "every value is read once more at the end", program(skip)},
		{"outputs", "every value is an output", program(outputs)},
		{"inputs", "a chain of additions of inputs", program(inputs)},
		{"conds", "branches in sequence", program(conds)},
		{"condnest", "branches in branches, 20 deep, in sequence", program(condnest)},
		{"whiles", "loops in sequence", program(whiles)},
		{"whilenest", "loops in loops, 5 deep, in sequence", program(whilenest)},
		{"constants", "a parameter for each node", program(constants)},
		{"states", "mutable buffers, each updated once", program(states)},
		{"views", "slices, permutes, views and what is computed of them", program(views)},
		{"writes", "writes to slices of one tensor, in place", program(writes)},
		{"asserts", "a chain with an assertion after each step", program(asserts)},
		{"sizes", "arithmetic with a dynamic size", program(sizes)},
	}
}

// ByName returns the shape called name.
func ByName(name string) (Shape, error) {
	for _, s := range Shapes() {
		if s.Name == name {
			return s, nil
		}
	}
	return Shape{}, fmt.Errorf("there is no shape %q", name)
}

// maker makes the one method of a program.
type maker struct {
	*ops.Builder
	m     *ir.Method
	graph *ir.Graph
}

// program returns a Shape's Make of what emits the nodes; that returns the
// outputs.
func program(build func(m *maker, n int) []*ir.Value) func(int) (*ir.Program, error) {
	return func(n int) (*ir.Program, error) {
		m := &maker{m: &ir.Method{Name: "forward", Graph: &ir.Graph{}}, graph: &ir.Graph{}}
		names := ir.NewNames(m.m)
		g, err := ir.BuildGraph(names, nil, func(e *ir.Emitter) ([]ir.Arg, error) {
			m.Builder = ops.NewBuilder(ops.Standard(), e)
			var out []ir.Arg
			err := m.Do(func() error {
				for _, v := range build(m, n) {
					out = append(out, ir.Ref{Value: v})
				}
				for len(m.m.Outputs) < len(out) { // else build has told what they are
					m.m.Outputs = append(m.m.Outputs, ir.OutputSpec{})
				}
				return nil
			})
			return out, err
		})
		if err != nil {
			return nil, err
		}
		g.Inputs = m.graph.Inputs
		m.m.Graph = g
		p := &ir.Program{Source: "grow.pt2", Methods: []*ir.Method{m.m}}
		return p, ir.Verify(p)
	}
}

// input adds an input of the method.
func (m *maker) input(d ir.DType, sizes ...sym.Expr) *ir.Value {
	return m.add("x", ir.InputSpec{Kind: ir.UserInput}, ir.TensorOf(d, sizes...))
}

func (m *maker) add(base string, spec ir.InputSpec, t ir.Type) *ir.Value {
	v := &ir.Value{Name: m.Names.Fresh(base), Type: t}
	m.graph.Inputs = append(m.graph.Inputs, v)
	m.m.Inputs = append(m.m.Inputs, spec)
	return v
}

// held adds a parameter or buffer, all different.
func (m *maker) held(kind ir.InputKind, sizes ...int64) *ir.Value {
	v := m.add("p", ir.InputSpec{Kind: kind}, ir.StaticTensor(ir.Float32, sizes...))
	count, _ := v.Type.Numel().Const()
	var data []byte
	for i := range count {
		x := float32(len(m.graph.Inputs))/4096 + float32(i)/64
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	m.m.Inputs[len(m.m.Inputs)-1].Target = v.Name
	v.Const = &ir.Constant{Name: v.Name, Type: v.Type, Data: ir.Bytes(data)}
	return v
}

func (m *maker) parameter(sizes ...int64) *ir.Value { return m.held(ir.Parameter, sizes...) }

func vector(m *maker) *ir.Value { return m.input(ir.Float32, sym.Int(16)) }

// step is the i-th of a mixture of pointwise operators.
func (m *maker) step(i int, x *ir.Value) *ir.Value {
	switch i % 5 {
	case 0:
		return m.Op("aten.sin.default", x)
	case 1:
		return m.Op("aten.mul.Scalar", x, 1.0+float64(i)/1024)
	case 2:
		return m.Op("aten.relu.default", x)
	case 3:
		return m.Op("aten.add.Scalar", x, float64(i)/1024)
	}
	return m.Op("aten.sigmoid.default", x)
}

func chain(m *maker, n int) []*ir.Value {
	x := vector(m)
	for i := range n {
		x = m.step(i, x)
	}
	return []*ir.Value{x}
}

func reuse(m *maker, n int) []*ir.Value {
	x := vector(m)
	for range n / 2 {
		x = m.Op("aten.add.Tensor", m.Op("aten.mul.Tensor", x, x), x)
	}
	return []*ir.Value{x}
}

func linear(m *maker, n int) []*ir.Value {
	x := m.input(ir.Float32, sym.Int(1), sym.Int(8))
	for range n / 2 {
		x = m.Op("aten.relu.default", m.Op("aten.linear.default", x, m.parameter(8, 8),
			m.parameter(8)))
	}
	return []*ir.Value{x}
}

func conv(m *maker, n int) []*ir.Value {
	x := m.input(ir.Float32, ir.Ints([]int64{1, 4, 6, 6})...)
	for range n / 2 {
		x = m.Op("aten.relu.default", m.Op("aten.conv2d.default", x, m.parameter(4, 4, 3, 3),
			m.parameter(4), []int64{1, 1}, []int64{1, 1}))
	}
	return []*ir.Value{x}
}

func norm(m *maker, n int) []*ir.Value {
	x := m.input(ir.Float32, sym.Int(4), sym.Int(8))
	for range n / 3 {
		y := m.Op("aten.layer_norm.default", x, []int64{8}, m.parameter(8), m.parameter(8))
		x = m.Op("aten.add.Tensor", x, m.Op("aten.linear.default", y, m.parameter(8, 8)))
	}
	return []*ir.Value{x}
}

func tree(m *maker, n int) []*ir.Value {
	x := vector(m)
	var level []*ir.Value
	for i := range max(n/2, 1) {
		level = append(level, m.Op("aten.mul.Scalar", x, float64(i)))
	}
	for len(level) > 1 {
		var up []*ir.Value
		for i := 0; i < len(level); i += 2 {
			if i+1 == len(level) {
				up = append(up, level[i])
				continue
			}
			up = append(up, m.Op("aten.add.Tensor", level[i], level[i+1]))
		}
		level = up
	}
	return level
}

func fan(m *maker, n int) []*ir.Value {
	x := vector(m)
	var all []*ir.Value
	for i := range n {
		all = append(all, m.step(i, x))
	}
	return []*ir.Value{m.Op("aten.cat.default", all)}
}

func skip(m *maker, n int) []*ir.Value {
	x := m.input(ir.Float32, sym.Int(2), sym.Int(8))
	w := m.parameter(8, 8)
	var all []*ir.Value
	for range n / 2 {
		x = m.Op("aten.linear.default", x, w)
		all = append(all, x)
	}
	for i := len(all) - 1; i >= 0; i-- {
		x = m.Op("aten.add.Tensor", x, all[i])
	}
	return []*ir.Value{x}
}

func outputs(m *maker, n int) []*ir.Value {
	x := vector(m)
	var all []*ir.Value
	for i := range n {
		x = m.step(i, x)
		all = append(all, x)
	}
	return all
}

func inputs(m *maker, n int) []*ir.Value {
	x := vector(m)
	for range n {
		x = m.Op("aten.add.Tensor", x, vector(m))
	}
	return []*ir.Value{x}
}

func refs(vs ...*ir.Value) ir.List {
	list := make(ir.List, len(vs))
	for i, v := range vs {
		list[i] = ir.Ref{Value: v}
	}
	return list
}

// region builds a graph whose inputs are of the types of vs. A failure ends the
// enclosing Do.
func (m *maker) region(vs []*ir.Value, f func(in []*ir.Value) []*ir.Value) *ir.Graph {
	var in []*ir.Value
	for _, v := range vs {
		in = append(in, &ir.Value{Name: m.Names.Fresh("r"), Type: v.Type})
	}
	outer := m.Builder
	defer func() { m.Builder = outer }()
	g, _ := outer.Region(in, func(e *ir.Emitter) ([]ir.Arg, error) {
		m.Builder = ops.NewBuilder(outer.Table, e)
		return refs(f(in)...), nil
	})
	return g
}

func (m *maker) cond(pred, x *ir.Value, then, otherwise func(*ir.Value) *ir.Value) *ir.Value {
	arm := func(f func(*ir.Value) *ir.Value) *ir.Graph {
		return m.region([]*ir.Value{pred, x}, func(in []*ir.Value) []*ir.Value {
			return []*ir.Value{f(in[1])}
		})
	}
	regions := []*ir.Graph{arm(then), arm(otherwise)}
	c := m.Emit("higher_order.cond", []ir.NamedArg{{Value: ir.Ref{Value: pred}},
		{Value: refs(pred, x)}}, x.Type)
	c.Regions = regions
	return c.Outputs[0]
}

func conds(m *maker, n int) []*ir.Value {
	x, p := vector(m), m.input(ir.Bool)
	for i := range n / 3 {
		x = m.cond(p, x,
			func(x *ir.Value) *ir.Value { return m.step(i, x) },
			func(x *ir.Value) *ir.Value { return m.step(i+1, x) })
	}
	return []*ir.Value{x}
}

func condnest(m *maker, n int) []*ir.Value {
	x, p := vector(m), m.input(ir.Bool)
	var nest func(depth int, p, x *ir.Value) *ir.Value
	nest = func(depth int, p, x *ir.Value) *ir.Value {
		x = m.step(depth, x)
		if depth == 0 {
			return x
		}
		arm := func(f func(p, x *ir.Value) *ir.Value) *ir.Graph {
			return m.region([]*ir.Value{p, x}, func(in []*ir.Value) []*ir.Value {
				return []*ir.Value{f(in[0], in[1])}
			})
		}
		regions := []*ir.Graph{
			arm(func(p, x *ir.Value) *ir.Value { return nest(depth-1, p, x) }),
			arm(func(_, x *ir.Value) *ir.Value { return m.step(depth+1, x) }),
		}
		c := m.Emit("higher_order.cond", []ir.NamedArg{{Value: ir.Ref{Value: p}},
			{Value: refs(p, x)}}, x.Type)
		c.Regions = regions
		return c.Outputs[0]
	}
	for range max(n/60, 1) {
		x = nest(20, p, x)
	}
	return []*ir.Value{x}
}

// loop emits a loop of three rounds that carries x.
func (m *maker) loop(x *ir.Value, body func(*ir.Value) *ir.Value) *ir.Value {
	zero := m.Op("aten.full.default", []int64{}, 0, ops.Kw("dtype", ir.Int64))
	carried := []*ir.Value{zero, x}
	regions := []*ir.Graph{
		m.region(carried, func(in []*ir.Value) []*ir.Value {
			return []*ir.Value{m.Op("aten.lt.Scalar", in[0], 3)}
		}),
		m.region(carried, func(in []*ir.Value) []*ir.Value {
			return []*ir.Value{m.Op("aten.add.Scalar", in[0], 1), body(in[1])}
		}),
	}
	n := m.Emit("higher_order.while_loop", []ir.NamedArg{{Value: refs(carried...)},
		{Value: refs()}}, zero.Type, x.Type)
	n.Regions = regions
	return n.Outputs[1]
}

func whiles(m *maker, n int) []*ir.Value {
	x := vector(m)
	for i := range n / 5 {
		x = m.loop(x, func(x *ir.Value) *ir.Value { return m.step(i, x) })
	}
	return []*ir.Value{x}
}

func whilenest(m *maker, n int) []*ir.Value {
	x := vector(m)
	var nest func(depth int, x *ir.Value) *ir.Value
	nest = func(depth int, x *ir.Value) *ir.Value {
		if depth == 0 {
			return m.step(depth, x)
		}
		return m.loop(x, func(x *ir.Value) *ir.Value { return m.step(depth, nest(depth-1, x)) })
	}
	for range max(n/25, 1) {
		x = nest(5, x)
	}
	return []*ir.Value{x}
}

func constants(m *maker, n int) []*ir.Value {
	x := vector(m)
	for i := range n {
		op := "aten.add.Tensor"
		if i%2 == 0 {
			op = "aten.mul.Tensor"
		}
		x = m.Op(op, x, m.parameter(16))
	}
	return []*ir.Value{x}
}

func states(m *maker, n int) []*ir.Value {
	x := vector(m)
	var out []*ir.Value
	for range n {
		b := m.held(ir.Buffer, 16)
		x = m.Op("aten.add.Tensor", b, x)
		m.m.Outputs = append(m.m.Outputs, ir.OutputSpec{Kind: ir.BufferMutation, Target: b.Name})
		out = append(out, x)
	}
	return out
}

func views(m *maker, n int) []*ir.Value {
	x := m.input(ir.Float32, sym.Int(8), sym.Int(16))
	for i := range n / 5 {
		y := m.Op("aten.slice.Tensor", x, 1, i%8, i%8+8)
		y = m.Op("aten.permute.default", y, []int64{1, 0})
		y = m.Op("aten.view.default", m.Op("aten.clone.default", y, ops.Kw("memory_format",
			ir.ContiguousFormat)), []int64{8, 8})
		x = m.Op("aten.cat.default", []*ir.Value{y, m.Op("aten.slice.Tensor", x, 1, 8, 16)}, 1)
	}
	return []*ir.Value{x}
}

func writes(m *maker, n int) []*ir.Value {
	x := m.Op("aten.clone.default", m.input(ir.Float32, sym.Int(64), sym.Int(4)))
	for i := range n / 3 {
		y := m.Op("aten.select.int", x, 0, i%64)
		z := m.Op("aten.select.int", x, 0, (i+7)%64)
		m.Emit("aten.add_.Tensor", []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: y}},
			{Name: "other", Value: ir.Ref{Value: z}}}, y.Type)
	}
	return []*ir.Value{x}
}

func asserts(m *maker, n int) []*ir.Value {
	x := vector(m)
	for range n / 4 {
		x = m.Op("aten.add.Scalar", x, 1.0)
		small := m.Op("aten.lt.Scalar", m.Op("aten.select.int", x, 0, 0), 1e6)
		m.Emit("aten._assert_async.msg", []ir.NamedArg{{Value: ir.Ref{Value: small}},
			{Value: ir.Str("too large")}})
	}
	return []*ir.Value{x}
}

func sizes(m *maker, n int) []*ir.Value {
	s := sym.NewSymbol("s0", 2, 64)
	m.m.Symbols = []*sym.Symbol{s}
	x := m.input(ir.Float32, s.Expr(), sym.Int(4))
	for i := range n / 4 {
		size := m.Op("aten.sym_size.int", x, 0)
		switch i % 2 {
		case 0:
			y := m.Op("aten.cat.default", []*ir.Value{x, m.Op("aten.mul.Scalar", x, 2.0)})
			x = m.Op("aten.slice.Tensor", y, 0, 0, size)
		default:
			flat := m.Op("aten.reshape.default", x, ir.List{ir.Int(4), ir.Ref{Value: size}})
			x = m.Op("aten.reshape.default", m.Op("aten.relu.default", flat),
				ir.List{ir.Ref{Value: size}, ir.Int(4)})
		}
	}
	return []*ir.Value{x}
}

// nodes counts the nodes of a program, those in regions included.
func nodes(p *ir.Program) (n int) {
	for _, m := range p.Methods {
		m.Graph.Walk(func(g *ir.Graph) { n += len(g.Nodes) })
	}
	return n
}
