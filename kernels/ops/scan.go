package ops

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// ScanOp is the operator of a counted loop: its arguments are init, the list of
// carried values, xs, the list of tensors walked along dimension 0, and the
// bool reverse. Its region takes the carried values and an element of each
// walked tensor, captures what else it needs, and returns new carried values
// and what each step yields; the node's results are the last carried values
// and what was yielded stacked along dimension 0.
const ScanOp = "higher_order.scan"

// Scan emits a loop over dimension 0 of xs, from the end if reverse (what it
// yields is then in place of the elements it was made from). The body may use
// any value in sight. It must give carried values of the types of init.
func (b *Builder) Scan(init, xs []*ir.Value, reverse bool, body func(b *Builder, carry,
	x []*ir.Value) (next, yields []*ir.Value)) (last, yields []*ir.Value, err error) {
	if len(xs) == 0 {
		return nil, nil, fmt.Errorf("a scan without tensors to walk")
	}
	var inputs, carry, elems []*ir.Value
	input := func(base string, t ir.Type) *ir.Value {
		v := &ir.Value{Name: b.Names.Fresh(base), Type: t}
		inputs = append(inputs, v)
		return v
	}
	for _, v := range init {
		carry = append(carry, input("carry", v.Type.Dense()))
	}
	var steps sym.Expr
	for i, v := range xs {
		if v.Type.Rank() == 0 {
			return nil, nil, fmt.Errorf("a scan cannot walk a tensor without dimensions")
		}
		if i == 0 {
			steps = v.Type.Sizes[0]
		}
		elems = append(elems, input("x", ir.TensorOf(v.Type.DType, v.Type.Sizes[1:]...)))
	}
	var types []ir.Type
	g, err := b.Region(inputs, func(e *ir.Emitter) ([]ir.Arg, error) {
		inner := NewBuilder(b.Table, e)
		var outs []ir.Arg
		err := inner.Do(func() error {
			next, ys := body(inner, carry, elems)
			if len(next) != len(init) {
				return fmt.Errorf("a scan body gives %d carried values for %d",
					len(next), len(init))
			}
			for _, v := range next {
				outs = append(outs, ir.Ref{Value: v})
				types = append(types, v.Type.Dense())
			}
			for _, v := range ys {
				outs = append(outs, ir.Ref{Value: v})
				types = append(types, ir.TensorOf(v.Type.DType, append([]sym.Expr{steps},
					v.Type.Sizes...)...))
			}
			return nil
		})
		return outs, err
	})
	if err != nil {
		return nil, nil, err
	}
	refs := func(vs []*ir.Value) ir.List {
		list := make(ir.List, len(vs))
		for i, v := range vs {
			list[i] = ir.Ref{Value: v}
		}
		return list
	}
	args := []ir.NamedArg{
		{Name: "init", Value: refs(init)}, {Name: "xs", Value: refs(xs)},
		{Name: "reverse", Value: ir.BoolArg(reverse)},
	}
	n := b.Emit(ScanOp, args, types...)
	n.Regions = []*ir.Graph{g}
	return n.Outputs[:len(init)], n.Outputs[len(init):], nil
}
