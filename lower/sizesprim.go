package lower

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
)

// prims are the operators on run-time numbers that have a primitive of the
// same meaning.
var prims = map[string]string{
	"_operator.add": "add", "_operator.sub": "sub", "_operator.mul": "mul",
	"_operator.floordiv": "floordiv",
	"_operator.truediv":  "truediv", "_operator.neg": "neg", "_operator.eq": "eq",
	"_operator.lt": "lt", "_operator.le": "le", "_operator.gt": "gt", "_operator.ge": "ge",
	"math.ceil":  "ceil",
	"math.trunc": "trunc", "torch.sym_int": "sym_int", "torch.sym_float": "sym_float",
	"torch.sym_not": "sym_not",
	"torch.sym_max": "sym_max", "torch.sym_min": "sym_min",
}

// prim makes n, arithmetic on numbers known at run time only, a primitive, after
// those that it takes to say it.
func (s *sizer) prim(n *ir.Node) error {
	if n.Op == "aten.item.default" {
		n.Op = "aten._local_scalar_dense.default"
		return nil
	}
	if !strings.HasPrefix(n.Op, "_operator.") && !strings.HasPrefix(n.Op, "math.") &&
		!strings.HasPrefix(n.Op, "torch.sym_") {
		return nil
	}
	if name := prims[n.Op]; name != "" {
		n.Op = primName(name)
		return nil
	}
	a, b := n.Arg("a"), n.Arg("b")
	become := func(name string, args ...ir.NamedArg) {
		n.Op, n.Args = primName(name), args
	}
	switch n.Op {
	case "_operator.and_":
		become("sym_ite", choiceArgs(a, b, ir.BoolArg(false))...)
	case "_operator.or_":
		become("sym_ite", choiceArgs(a, ir.BoolArg(true), b)...)
	case "_operator.mod": // the primitive truncates
		q, err := s.number("floordiv", primArgs(a, b)...)
		if err != nil {
			return err
		}
		whole, err := s.number("mul", primArgs(q, b)...)
		if err != nil {
			return err
		}
		become("sub", primArgs(a, whole)...)
	case "_operator.ne":
		equal, err := s.number("eq", primArgs(a, b)...)
		if err != nil {
			return err
		}
		become("sym_not", primArgs(equal)...)
	case "math.floor":
		whole, err := s.number("floordiv", primArgs(a, ir.Int(1))...)
		if err != nil {
			return err
		}
		become("sym_int", primArgs(whole)...)
	default:
		return fmt.Errorf("ExecuTorch has no kernel for this arithmetic on numbers")
	}
	return nil
}

func primName(name string) string { return "executorch_prim." + name + ".Scalar" }

// primArgs are the arguments of a primitive.
func primArgs(values ...ir.Arg) []ir.NamedArg {
	args := make([]ir.NamedArg, len(values))
	for i, v := range values {
		args[i] = ir.NamedArg{Name: string(rune('a' + i)), Value: v}
	}
	return args
}

// choiceArgs are the arguments of the primitive that gives yes where cond holds,
// else no.
func choiceArgs(cond, yes, no ir.Arg) []ir.NamedArg {
	return []ir.NamedArg{{Name: "b", Value: cond}, {Name: "t", Value: yes}, {Name: "f", Value: no}}
}

// number appends a primitive whose result is known at run time only.
func (s *sizer) number(name string, args ...ir.NamedArg) (ir.Arg, error) {
	n := &ir.Node{Name: s.names.Fresh(name), Op: primName(name), Args: args, Loc: s.loc}
	c, err := s.table.Bind(n)
	if err != nil {
		return nil, err
	}
	v := &ir.Value{Name: n.Name, Type: c.Outs[0], Def: n}
	n.Outputs = []*ir.Value{v}
	*s.nodes = append(*s.nodes, n)
	return ir.Ref{Value: v}, nil
}
