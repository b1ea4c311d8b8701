package ops

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// bindArgs binds the arguments of n to the schema of op.
func bindArgs(op *Op, n *ir.Node) (*Call, error) {
	s := op.sch
	c := &Call{Op: op, Args: make([]ir.Arg, len(s.Args)), node: n}
	pos := 0
	for _, a := range n.Args {
		i := pos
		if a.Name != "" {
			if i = s.Index(a.Name); i < 0 && a.Name == "self" && n.Op != s.Name {
				i = 0 // dropout_ calls "self" what dropout calls "input"
			}
			if i < 0 {
				return nil, c.Errorf("no argument is called %q", a.Name)
			}
		} else if i >= len(s.Args) {
			return nil, c.Errorf("more than %d arguments", len(s.Args))
		}
		if c.Args[i] != nil {
			return nil, c.Errorf("argument %s is given twice", s.Args[i].Name)
		}
		c.Args[i] = a.Value
		pos = i + 1
	}
	for i := range s.Args {
		p := &s.Args[i]
		if c.Args[i] == nil {
			switch {
			case p.HasDefault:
				c.Args[i] = p.Default
			case p.Type.Optional:
				c.Args[i] = ir.None{}
			default:
				return nil, c.Errorf("argument %s is missing", p.Name)
			}
		}
		arg, err := fit(p.Type, c.Args[i], op.numbers)
		if err != nil {
			return nil, c.Errorf("argument %s: %v", p.Name, err)
		}
		c.Args[i] = arg
	}
	c.collect()
	return c, nil
}

// collect lists the tensor and run-time scalar operands.
func (c *Call) collect() {
	c.first = make([]int, len(c.Args))
	for i, a := range c.Args {
		c.first[i] = -1
		ir.EachRef(a, func(v *ir.Value) {
			switch {
			case v.Type.Kind == ir.TensorKind:
				if c.first[i] < 0 {
					c.first[i] = len(c.operands)
				}
				c.operands = append(c.operands, v)
			case v.Type.Kind == ir.FloatKind, v.Type.Kind == ir.BoolKind, v.Type.Kind ==
				ir.IntKind && !v.Type.HasExpr:
				c.scalars = append(c.scalars, v)
			}
		})
	}
}

// Takes returns why a must not be an argument of the operator, nil if it may.
func (op *Op) Takes(p *aten.Param, a ir.Arg) error {
	if _, err := fit(p.Type, a, op.numbers); err != nil {
		return fmt.Errorf("argument %s: %w", p.Name, err)
	}
	return nil
}

// fit checks that a may stand for an argument of type t. One number for a
// list of fixed size stands for that many.
func fit(t *aten.Type, a ir.Arg, numbers bool) (ir.Arg, error) {
	if _, none := a.(ir.None); none {
		if t.Optional {
			return a, nil
		}
		return nil, fmt.Errorf("a None is no %s", t)
	}
	if !t.IsList() {
		if !fits(t, a, numbers) {
			return nil, fmt.Errorf("%s is no %s", describe(a), t)
		}
		return a, nil
	}
	elem := t.Elems[0]
	list, ok := a.(ir.List)
	if !ok {
		if t.Size == 0 || !fits(elem, a, numbers) {
			return nil, fmt.Errorf("%s is no %s", describe(a), t)
		}
		list = make(ir.List, t.Size)
		for i := range list {
			list[i] = a
		}
		return list, nil
	}
	for i, x := range list {
		if _, none := x.(ir.None); none && elem.Optional {
			continue
		}
		if !fits(elem, x, numbers) {
			return nil, fmt.Errorf("element %d: %s is no %s", i, describe(x), elem)
		}
	}
	return list, nil
}

// fits tells whether a may stand for an argument of a type that is no list. In
// elementwise operators (numbers) a number may stand for a Tensor: PyTorch makes
// it a tensor without dimensions that counts as a Python number in promotion.
func fits(t *aten.Type, a ir.Arg, numbers bool) bool {
	kind := ir.NoneKind
	if r, ok := a.(ir.Ref); ok {
		kind = r.Value.Type.Kind
	}
	isInt, isFloat, isBool := kind == ir.IntKind, kind == ir.FloatKind, kind == ir.BoolKind
	isComplex := false
	switch a.(type) {
	case ir.Int:
		isInt = true
	case ir.Float:
		isFloat = true
	case ir.BoolArg:
		isBool = true
	case ir.Complex:
		isComplex = true
	}
	ok := true
	switch t.Name {
	case "Tensor":
		ok = kind == ir.TensorKind || numbers && (isInt || isFloat || isBool || isComplex)
	case "Scalar", "number":
		ok = isInt || isFloat || isBool || isComplex
	case "int", "SymInt":
		ok = isInt || isBool
	case "float", "SymFloat":
		ok = isFloat || isInt
	case "bool", "SymBool":
		ok = isBool || isInt
	case "str":
		_, ok = a.(ir.Str)
	case "ScalarType":
		_, ok = a.(ir.DTypeArg)
	case "Layout":
		_, ok = a.(ir.LayoutArg)
	case "Device":
		_, ok = a.(ir.Device)
	case "MemoryFormat":
		_, ok = a.(ir.MemoryFormat)
	}
	return ok
}

func describe(a ir.Arg) string {
	switch a := a.(type) {
	case ir.Ref:
		kinds := [...]string{"a None", "a tensor", "an int", "a float", "a bool", "a string",
			"a token", "an object"}
		if k := int(a.Value.Type.Kind); k < len(kinds) {
			return kinds[k]
		}
	case ir.List:
		return "a list"
	}
	return fmt.Sprintf("%v (%s)", a,
		strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", a), "ir.")))
}
