package ops

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// delegateOp is the operator that n calls, a call of a delegate: it takes what n gives it, and its
// results are what the node says of them. What computes it is no kernel of etgen's.
func delegateOp(t *Table, n *ir.Node) (*Op, error) {
	s := &aten.Schema{Name: ir.CallDelegate}
	for i, a := range n.Args {
		p := aten.Param{Name: delegateArg(i), Type: typeOfArg(a.Value)}
		if p.Type.IsList() {
			return nil, fmt.Errorf("%s: argument %d is a list", ir.CallDelegate, i)
		}
		s.Args = append(s.Args, p)
	}
	for range n.Outputs {
		s.Returns = append(s.Returns, aten.Param{Type: &aten.Type{Name: "Tensor"}})
	}
	e := customEntry(s, s)
	e.Effect = true
	return e.op(t, s), nil
}

// delegateArg names the arguments of a delegate's call: its name, then what it is given.
func delegateArg(i int) string {
	if i == 0 {
		return "delegate"
	}
	return "arg" + itoa(i-1)
}

// anyDelegate is what is known of the calls of delegates without a node.
var anyDelegate = func() *Op {
	s := &aten.Schema{Name: ir.CallDelegate, VarArgs: true,
		Args: []aten.Param{{Name: delegateArg(0), Type: &aten.Type{Name: "str"}}}}
	e := customEntry(s, s)
	e.Effect = true
	return e.op(nil, s)
}()
