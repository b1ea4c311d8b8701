package pte

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
)

// operator is the entry of the operator table for what nodes call op: the
// default overload has no name there, but with the prim ops.
func operator(op string) pte.Operator {
	space, rest, _ := strings.Cut(op, ".")
	name, overload, _ := strings.Cut(rest, ".")
	if overload == noOverload && space != primFamily {
		overload = ""
	}
	return pte.Operator{Name: space + "::" + name, Overload: overload}
}

// call emits an operator. Its results are its out arguments, the arguments it
// writes to, or numbers, which get slots of their own.
func (b *builder) call(n *ir.Node) {
	c := &call{op: n.Op, node: n.Name, loc: n.Loc}
	schema, ok := b.table.Schema(n.Op)
	if !ok {
		b.prim(n, c)
		return
	}
	var outs []*slot
	outArguments := false
	for i := range schema.Args {
		p := &schema.Args[i]
		a := n.Arg(p.Name)
		if a == nil && i < len(n.Args) && n.Args[i].Name == "" {
			a = n.Args[i].Value
		}
		if a == nil {
			if !p.HasDefault {
				panic(fmt.Errorf("its argument %s is missing", p.Name))
			}
			a = p.Default
		}
		s := must.At(func() *slot { return b.arg(a, p.Type) }, "its argument %s", p.Name)
		c.args = append(c.args, s)
		if p.Scratch() {
			c.writes = append(c.writes, tensorsIn(s)...)
			continue
		}
		if !p.Type.Mutates() || !p.KwOnly { // no out argument
			c.reads = append(c.reads, tensorsIn(s)...)
		}
		if p.Type.Mutates() {
			c.writes = append(c.writes, tensorsIn(s)...)
			if p.KwOnly && !outArguments { // what comes before is no result
				outs, outArguments = nil, true
			}
			if p.KwOnly == outArguments && len(schema.Returns) > 0 {
				outs = append(outs, tensorsIn(s)...)
			}
		}
	}
	for _, a := range n.Args {
		if a.Name != "" && schema.Index(a.Name) < 0 {
			panic(fmt.Errorf("it has no argument %s", a.Name))
		}
	}
	if len(schema.Returns) == 0 && len(c.writes) > 0 { // the runtime expects a result behind them
		c.args = append(c.args, b.arg(ir.None{}, nil))
	}
	b.finish(n, c, outs)
}

// prim emits an operator without a schema: one on numbers, which takes its
// arguments as they stand and the slot of its result.
func (b *builder) prim(n *ir.Node, c *call) {
	for i, a := range n.Args {
		s := must.At(func() *slot { return b.arg(a.Value, nil) }, "its argument %d", i)
		c.args = append(c.args, s)
		c.reads = append(c.reads, tensorsIn(s)...)
	}
	b.finish(n, c, nil)
}

// finish adds the slot of the result to a call's arguments and emits it. outs
// are the tensors it writes.
func (b *builder) finish(n *ir.Node, c *call, outs []*slot) {
	if len(outs) > 0 {
		if len(n.Outputs) > len(outs) {
			panic(fmt.Errorf("it has %d results but writes %d tensors", len(n.Outputs), len(outs)))
		}
		for i, v := range n.Outputs {
			if v != nil {
				b.vals[v] = outs[i]
			}
		}
		ret := outs[0]
		if len(outs) > 1 {
			ret = b.listOf(tensorList, outs)
		}
		c.args = append(c.args, ret)
		b.emit(c)
		return
	}
	for _, v := range n.Outputs {
		if v == nil {
			continue
		}
		if v.Type.Kind == ir.TensorKind {
			panic(fmt.Errorf("it gives a new tensor: only out variants can be called"))
		}
		s := b.number(v.Name, zeroOf(v.Type))
		b.vals[v] = s
		c.args = append(c.args, s)
	}
	b.emit(c)
}

// tensorsIn returns the tensors that an argument consists of.
func tensorsIn(s *slot) []*slot {
	switch {
	case s == nil:
		return nil
	case s.tensor != nil:
		return []*slot{s}
	}
	var all []*slot
	for _, e := range s.elems {
		all = append(all, tensorsIn(e)...)
	}
	return all
}

// arg returns the slot of an argument of type t; without a type the argument
// tells.
func (b *builder) arg(a ir.Arg, t *aten.Type) *slot {
	if list, ok := a.(ir.List); ok {
		return b.listArg(list, t)
	}
	if t != nil && t.IsList() {
		if _, none := a.(ir.None); !none { // one number stands for as many as there are
			list := make(ir.List, max(t.Size, 1))
			for i := range list {
				list[i] = a
			}
			return b.listArg(list, t)
		}
	}
	if ref, ok := a.(ir.Ref); ok {
		if e := ref.Value.Type.Expr; ref.Value.Type.HasExpr && ref.Value.Type.Kind == ir.IntKind {
			if n, ok := e.Const(); ok {
				return b.literal(pte.Int(n))
			}
		}
		return b.slotOf(ref.Value)
	}
	v := literalOf(a)
	if n, ok := v.(pte.Int); ok && t != nil && t.Name == "float" {
		v = pte.Double(n)
	}
	return b.literal(v)
}

// listArg returns the slot of a list.
func (b *builder) listArg(list ir.List, t *aten.Type) *slot {
	kind, elem := "int", (*aten.Type)(nil)
	if t != nil {
		elem = t.Base()
		kind = elem.Name
	}
	switch kind {
	case "float":
		out := make(pte.DoubleList, len(list))
		for i, a := range list {
			switch a := a.(type) {
			case ir.Float:
				out[i] = float64(a)
			case ir.Int:
				out[i] = float64(a)
			default:
				panic(fmt.Errorf("element %d is %s, not a literal number", i, ir.ArgString(a)))
			}
		}
		return b.literal(out)
	case "bool":
		out := make(pte.BoolList, len(list))
		for i, a := range list {
			x, ok := a.(ir.BoolArg)
			if !ok {
				panic(fmt.Errorf("element %d is %s, not a literal bool", i, ir.ArgString(a)))
			}
			out[i] = bool(x)
		}
		return b.literal(out)
	}
	elems := make([]*slot, len(list))
	for i, a := range list {
		if _, none := a.(ir.None); none && kind == "Tensor" {
			continue
		}
		elems[i] = must.At(func() *slot { return b.arg(a, elem) }, "element %d", i)
	}
	switch {
	case kind != "Tensor":
		return b.listOf(intList, elems)
	case elem.Optional:
		return b.listOf(optionalTensorList, elems)
	}
	return b.listOf(tensorList, elems)
}

// literalOf returns a literal as a program holds it.
func literalOf(a ir.Arg) pte.EValue {
	switch a := a.(type) {
	case ir.None:
		return pte.Null{}
	case ir.Int:
		return pte.Int(a)
	case ir.Float:
		return pte.Double(a)
	case ir.BoolArg:
		return pte.Bool(a)
	case ir.Str:
		return pte.String(a)
	case ir.DTypeArg:
		if n, ok := pte.ScalarTypeOf(ir.DType(a)); ok {
			return pte.Int(n)
		}
	case ir.MemoryFormat:
		if n := slices.Index(aten.MemoryFormats, a); n >= 0 {
			return pte.Int(n)
		}
	case ir.LayoutArg:
		return pte.Int(0) // torch.strided
	}
	panic(fmt.Errorf("a .pte cannot hold %s", ir.ArgString(a)))
}

// container returns how the inputs and outputs of m nest, nil if the model does
// not say.
func container(m *ir.Method) *pte.ContainerMeta {
	if m.In == nil && m.Out == nil {
		return nil
	}
	return &pte.ContainerMeta{Input: treeSpec(m.In), Output: treeSpec(m.Out)}
}

// treeSpec returns t as PyTorch writes a TreeSpec: the version of the form and
// the tree, in which a leaf has no type.
func treeSpec(t *ir.Tree) string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("[1, ")
	writeTree(&b, t)
	b.WriteString("]")
	return b.String()
}

func writeTree(b *strings.Builder, t *ir.Tree) {
	kind, context := "null", "null"
	if t.Type != "" {
		var keyed bool
		kind, keyed = containerType(t)
		kind, context = quote(kind), quote("null")
		if keyed {
			keys := seq.Map(t.Keys, quote)
			context = quote("[" + strings.Join(keys, ", ") + "]")
		}
	}
	b.WriteString(`{"type": ` + kind + `, "context": ` + context + `, "children_spec": [`)
	for i, c := range t.Children {
		if i > 0 {
			b.WriteString(", ")
		}
		writeTree(b, c)
	}
	b.WriteString("]}")
}

// containerType returns the type that t is written as and whether the names of
// its children go with it. Types of the model's own, which a reader would have
// to have, become plain ones that nest in the same way.
func containerType(t *ir.Tree) (name string, keyed bool) {
	switch {
	case t.Type == "builtins.tuple" || t.Type == "builtins.list":
		return t.Type, false
	case t.Type == "collections.defaultdict":
		return "builtins.dict", true
	case ir.IsDict(t.Type):
		return t.Type, true
	}
	return "builtins.tuple", false
}

// quote returns s as a JSON string.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""` // no string fails
	}
	return string(text)
}
