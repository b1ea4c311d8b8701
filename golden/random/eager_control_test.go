package random

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
)

// maxTurns bounds loops: a generated one ends by itself.
const maxTurns = 100

// control runs a node that owns regions. What loops carry and what comes out of
// a region is memory of its own; other operands of a region are what they are
// outside.
func (e *eager) control(n *ir.Node) error {
	var groups [][]memory
	for _, a := range n.Args {
		list, ok := a.Value.(ir.List)
		if !ok {
			if _, ok := a.Value.(ir.Ref); !ok {
				continue // reverse
			}
			list = ir.List{a.Value}
		}
		ms, err := e.tensors(list)
		if err != nil {
			return err
		}
		groups = append(groups, ms)
	}
	flat := func(gs [][]memory) (out []memory) {
		for _, g := range gs {
			out = append(out, g...)
		}
		return out
	}
	var outs []memory
	var err error
	switch kind := strings.TrimPrefix(n.Op, "higher_order."); kind {
	case "cond":
		arm := 1
		if truth(groups[0][0]) {
			arm = 0
		}
		outs, err = e.region(n.Regions[arm], nil, flat(groups[1:]))
	case "while_loop":
		outs, err = e.while(n, groups[0], flat(groups[1:]))
	case "scan":
		outs, err = e.scan(n, groups[0], groups[1], flat(groups[2:]), n.Arg("reverse") ==
			ir.BoolArg(true))
	default:
		err = fmt.Errorf("control flow %s is not known", kind)
	}
	for i, v := range n.Outputs {
		if err == nil && v != nil {
			e.env[v] = outs[i].copied()
		}
	}
	return err
}

func (x memory) copied() memory { return fresh(x.dtype, x.sizes, x.data()) }

func truth(x memory) bool {
	return slices.ContainsFunc(x.data(), func(b byte) bool { return b != 0 })
}

// region runs g on copies of some tensors and on others themselves.
func (e *eager) region(g *ir.Graph, copies, shared []memory) ([]memory, error) {
	if len(copies)+len(shared) != len(g.Inputs) {
		return nil, fmt.Errorf("%d values for %d inputs of a region", len(copies)+len(shared),
			len(g.Inputs))
	}
	for _, v := range g.Constants {
		delete(e.env, v) // made anew
	}
	for i, v := range g.Inputs {
		if i < len(copies) {
			e.env[v] = copies[i].copied()
		} else {
			e.env[v] = shared[i-len(copies)]
		}
	}
	outs, err := e.graph(g)
	for i, x := range outs {
		outs[i] = x.copied()
	}
	return outs, err
}

func (e *eager) while(n *ir.Node, carried, rest []memory) ([]memory, error) {
	for range maxTurns {
		c, err := e.region(n.Regions[0], carried, rest)
		if err != nil || !truth(c[0]) {
			return carried, err
		}
		if carried, err = e.region(n.Regions[1], carried, rest); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the loop does not end")
}

func (e *eager) scan(n *ir.Node, carry, xs, rest []memory, reverse bool) ([]memory, error) {
	for i := range xs {
		xs[i] = xs[i].copied() // a write to one in the body comes too late
	}
	steps := xs[0].sizes[0]
	stacked := make([]memory, len(n.Outputs)-len(carry))
	for s := range steps {
		at := s
		if reverse {
			at = steps - 1 - s
		}
		args := slices.Clone(carry)
		for _, x := range xs {
			row := int64(len(x.at)) / steps
			args = append(args, memory{store: x.store, dtype: x.dtype, sizes: x.sizes[1:],
				at: x.at[at*row : (at+1)*row]})
		}
		outs, err := e.region(n.Regions[0], args, rest)
		if err != nil {
			return nil, err
		}
		carry = outs[:len(carry):len(carry)]
		for i, y := range outs[len(carry):] {
			row := len(y.data())
			if stacked[i].store == nil {
				stacked[i] = fresh(y.dtype, append([]int64{steps}, y.sizes...),
					make([]byte, int(steps)*row))
			}
			copy((*stacked[i].store)[int(at)*row:], y.data())
		}
	}
	return append(carry, stacked...), nil
}
