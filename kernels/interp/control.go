package interp

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
)

// Graph runs g with its inputs set to args and returns its outputs.
func (m *Interpreter) Graph(g *ir.Graph, args []Value) (outs []Value, err error) {
	defer must.Catch(&err)
	return m.graph(g, args), nil
}

func (m *Interpreter) graph(g *ir.Graph, args []Value) []Value {
	if len(args) != len(g.Inputs) {
		must.Fail("%d values for %d inputs", len(args), len(g.Inputs))
	}
	outer := m.fixed
	defer func() { m.fixed = outer }()
	if m.fixed = maps.Clone(outer); outer == nil {
		m.fixed = map[*sym.Symbol]bool{}
	}
	for i, v := range g.Inputs {
		m.Set(v, args[i])
		m.fix(v)
	}
	for _, n := range g.Nodes {
		m.node(n)
	}
	return m.args(g.Outputs)
}

func (m *Interpreter) args(as []ir.Arg) (out []Value) {
	for _, a := range as {
		if list, ok := a.(ir.List); ok {
			out = append(out, m.args(list)...)
		} else {
			out = append(out, m.arg(a))
		}
	}
	return out
}

// control runs a node that owns regions.
func (m *Interpreter) control(n *ir.Node) {
	var operands []ir.Arg
	for _, a := range n.Args {
		if _, ok := a.Value.(ir.List); ok || a.Name == "" { // init and xs of a scan may be named
			operands = append(operands, a.Value)
		}
	}
	if m.Kept == nil { // a region may run many times
		m.Kept = NewKept()
		defer func() { m.Kept = nil }()
	}
	var outs []Value
	switch kind := strings.TrimPrefix(n.Op, "higher_order."); kind {
	case "cond":
		all := m.args(operands)
		arm := n.Regions[1]
		if truth(all[0]) {
			arm = n.Regions[0]
		}
		outs = m.graph(arm, all[1:])
	case "while_loop":
		outs = m.while(n, m.args(operands))
	case "scan":
		outs = m.scan(n, operands, n.Arg("reverse") == ir.BoolArg(true))
	case "wrap_with_set_grad_enabled":
		outs = m.graph(n.Regions[0], m.args(operands)[1:])
	case "map_impl":
		outs = m.scan(n, append([]ir.Arg{ir.List{}}, operands...), false)
	default:
		must.Fail("control flow %s is not supported", kind)
	}
	for i, v := range n.Outputs {
		if v != nil && i < len(outs) {
			m.Set(v, outs[i])
		}
	}
}

func truth(v Value) bool {
	if v.Kind == ir.TensorKind {
		return slices.ContainsFunc(v.Tensor.Data, func(b byte) bool { return b != 0 })
	}
	return v.Scalar.I != 0 || v.Scalar.F != 0
}

func (m *Interpreter) while(n *ir.Node, state []Value) []Value {
	for truth(m.graph(n.Regions[0], state)[0]) {
		next := m.graph(n.Regions[1], state)
		state = append(slices.Clone(next), state[len(next):]...)
	}
	return state
}

func (m *Interpreter) scan(n *ir.Node, operands []ir.Arg, reverse bool) []Value {
	if len(operands) < 2 {
		must.Fail("scan has %d operands", len(operands))
	}
	carry, xs, rest := m.args(operands[:1]), m.args(operands[1:2]), m.args(operands[2:])
	if len(xs) == 0 {
		must.Fail("scan walks nothing")
	}
	steps := xs[0].Tensor.Sizes[0]
	yields := make([]Value, len(n.Outputs)-len(carry))
	for s := range steps {
		at := s
		if reverse {
			at = steps - 1 - s
		}
		args := slices.Clone(carry)
		for _, x := range xs {
			row := int64(len(x.Tensor.Data)) / steps
			args = append(args, Tensor(x.Tensor.DType, x.Tensor.Sizes[1:],
				x.Tensor.Data[at*row:(at+1)*row]))
		}
		outs := m.graph(n.Regions[0], append(args, rest...))
		carry = outs[:len(carry):len(carry)]
		for i, y := range outs[len(carry):] {
			if yields[i].Tensor.Data == nil {
				n := int64(len(y.Tensor.Data) / max(y.Tensor.DType.Size(), 1))
				if n > 0 && steps > math.MaxInt64/n {
					must.Fail("%d steps of %d elements are too many", steps, n)
				}
				yields[i] = Tensor(y.Tensor.DType, append([]int64{steps}, y.Tensor.Sizes...),
					m.allocate(steps*n, y.Tensor.DType))
			}
			copy(yields[i].Tensor.Data[at*int64(len(y.Tensor.Data)):], y.Tensor.Data)
		}
	}
	return append(carry, yields...)
}
