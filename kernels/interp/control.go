package interp

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// Graph runs g with its inputs set to args and returns its outputs.
func (m *Interpreter) Graph(g *ir.Graph, args []Value) ([]Value, error) {
	if len(args) != len(g.Inputs) {
		return nil, fmt.Errorf("%d values for %d inputs", len(args), len(g.Inputs))
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
		if err := m.Node(n); err != nil {
			return nil, err
		}
	}
	return m.args(g.Outputs)
}

func (m *Interpreter) args(as []ir.Arg) ([]Value, error) {
	var out []Value
	for _, a := range as {
		if list, ok := a.(ir.List); ok {
			vs, err := m.args(list)
			if err != nil {
				return nil, err
			}
			out = append(out, vs...)
			continue
		}
		x, err := m.Arg(a)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// control runs a node that owns regions.
func (m *Interpreter) control(n *ir.Node) (done bool, err error) {
	if len(n.Regions) == 0 {
		return false, nil
	}
	var operands []ir.Arg
	for _, a := range n.Args {
		if _, ok := a.Value.(ir.List); ok || a.Name == "" { // init and xs of a scan may be named
			operands = append(operands, a.Value)
		}
	}
	var outs []Value
	switch kind := strings.TrimPrefix(n.Op, "higher_order."); kind {
	case "cond":
		outs, err = m.cond(n, operands)
	case "while_loop":
		outs, err = m.while(n, operands)
	case "scan":
		outs, err = m.scan(n, operands, n.Arg("reverse") == ir.BoolArg(true))
	case "wrap_with_set_grad_enabled":
		outs, err = m.wrapped(n, operands, 1)
	case "map_impl":
		outs, err = m.scan(n, append([]ir.Arg{ir.List{}}, operands...), false)
	default:
		err = fmt.Errorf("control flow %s is not supported", kind)
	}
	if err != nil {
		return true, err
	}
	for i, v := range n.Outputs {
		if v != nil && i < len(outs) {
			m.Set(v, outs[i])
		}
	}
	return true, nil
}

func (m *Interpreter) cond(n *ir.Node, operands []ir.Arg) ([]Value, error) {
	all, err := m.args(operands)
	if err != nil {
		return nil, err
	}
	if truth(all[0]) {
		return m.Graph(n.Regions[0], all[1:])
	}
	return m.Graph(n.Regions[1], all[1:])
}

func truth(v Value) bool {
	if v.Kind == ir.TensorKind {
		return slices.ContainsFunc(v.Tensor.Data, func(b byte) bool { return b != 0 })
	}
	return v.Scalar.I != 0 || v.Scalar.F != 0
}

func (m *Interpreter) while(n *ir.Node, operands []ir.Arg) ([]Value, error) {
	state, err := m.args(operands)
	if err != nil {
		return nil, err
	}
	for {
		c, err := m.Graph(n.Regions[0], state)
		if err != nil {
			return nil, err
		}
		if !truth(c[0]) {
			return state, nil
		}
		next, err := m.Graph(n.Regions[1], state)
		if err != nil {
			return nil, err
		}
		state = append(slices.Clone(next), state[len(next):]...)
	}
}

func (m *Interpreter) wrapped(n *ir.Node, operands []ir.Arg, plain int) ([]Value, error) {
	all, err := m.args(operands)
	if err != nil {
		return nil, err
	}
	return m.Graph(n.Regions[0], all[plain:])
}

func (m *Interpreter) scan(n *ir.Node, operands []ir.Arg, reverse bool) ([]Value, error) {
	if len(operands) < 2 {
		return nil, fmt.Errorf("scan has %d operands", len(operands))
	}
	carry, err := m.args(operands[:1])
	if err != nil {
		return nil, err
	}
	xs, err := m.args(operands[1:2])
	if err != nil {
		return nil, err
	}
	rest, err := m.args(operands[2:])
	if err != nil {
		return nil, err
	}
	if len(xs) == 0 {
		return nil, fmt.Errorf("scan walks nothing")
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
		outs, err := m.Graph(n.Regions[0], append(args, rest...))
		if err != nil {
			return nil, err
		}
		carry = outs[:len(carry):len(carry)]
		for i, y := range outs[len(carry):] {
			if yields[i].Tensor.Data == nil {
				n := int64(len(y.Tensor.Data) / max(y.Tensor.DType.Size(), 1))
				if n > 0 && steps > math.MaxInt64/n {
					return nil, fmt.Errorf("%d steps of %d elements are too many", steps, n)
				}
				all, err := m.allocate(steps*n, y.Tensor.DType)
				if err != nil {
					return nil, err
				}
				yields[i] = Tensor(y.Tensor.DType, append([]int64{steps}, y.Tensor.Sizes...), all)
			}
			copy(yields[i].Tensor.Data[at*int64(len(y.Tensor.Data)):], y.Tensor.Data)
		}
	}
	return append(carry, yields...), nil
}
