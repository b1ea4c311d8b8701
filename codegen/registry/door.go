package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/golang"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
	"github.com/etgen/etgen/lower/native"
)

// door prints the function Registry.
func door(c *collector, p *native.Program, own *customPrinter, one bool) string {
	calls := c.calls
	var order []foreign.Text
	byOp := map[foreign.Text][]int{}
	for i, c := range calls {
		op := foreign.Of(c.op.String())
		if byOp[op] == nil {
			order = append(order, op)
		}
		byOp[op] = append(byOp[op], i)
	}
	seq.Sort(order, foreign.Compare)
	var b strings.Builder
	fmt.Fprintf(&b, "// Registry returns the kernels that %s call%s.\n", p.Source.Comment(),
		map[bool]string{true: "s"}[one])
	for i, op := range slices.Sorted(maps.Keys(c.left)) {
		if i == 0 {
			b.WriteString("//\n// Add kernels of custom operators to it, with its method With:\n")
		}
		fmt.Fprintf(&b, "//   - %s\n", foreign.Of(op).Comment())
	}
	b.WriteString("func Registry() *rt.Registry {\nreturn compiled.Registry(\n")
	for _, op := range order {
		fmt.Fprintf(&b, "compiled.Kernel{Op: %s, Forms: []compiled.Form{\n", op.GoLiteral())
		for _, i := range byOp[op] {
			calls[i].print(&b, p.Methods[i])
		}
		b.WriteString("}},\n")
	}
	b.WriteString(")")
	if own.body.Len() > 0 {
		b.WriteString(".With(CustomKernels()...)")
	}
	b.WriteString("\n}\n")
	return b.String()
}

// print prints a form.
func (c *call) print(b *strings.Builder, m *native.Method) {
	fmt.Fprintf(b, "{\nArgs: %s,\n", foreign.Of(c.form).GoLiteral())
	if c.outs > 0 {
		fmt.Fprintf(b, "Outs: %d,\n", c.outs)
	}
	if c.mutates {
		b.WriteString("Mutates: true,\n")
	}
	g := &glue{call: c, m: m}
	g.gather()
	fmt.Fprintf(b,
		"New: func(c *compiled.Call) func() error {\nm := newModel(%d)\n%sreturn func() error {\n%s",
		codegen.ArenaSize(m), g.once.String(), g.before.String())
	call := fmt.Sprintf("m.%s(%s)", c.name, strings.Join(g.args, ", "))
	if g.after.Len() == 0 {
		fmt.Fprintf(b, "return %s\n", call)
	} else {
		fmt.Fprintf(b, "if err := %s; err != nil {\nreturn err\n}\n%sreturn nil\n", call,
			g.after.String())
	}
	b.WriteString("}\n},\n},\n")
}

// glue is what binds a generated function to a call.
type glue struct {
	*call
	m *native.Method
	// when the call is prepared, before the function is called, after
	once, before, after strings.Builder
	args                []string
}

func (g *glue) gather() {
	for _, p := range g.m.Inputs {
		if p.Packs != nil {
			g.packed(p)
		} else if k := g.numberOf(inputOf(p.Name)); k >= 0 {
			g.number(k)
		} else {
			g.operand(p, g.inputs[inputOf(p.Name)])
		}
	}
	for i, p := range g.m.Outputs {
		g.result(p, i)
	}
	g.impliedNumbers()
	if g.hasSizes() {
		fmt.Fprintf(&g.once, "var sizes %sSizes\n", g.name)
		g.args = append(g.args, "&sizes")
	}
}

// hasSizes reports whether the function has a parameter for dynamic dimensions.
func (g *glue) hasSizes() bool {
	return slices.ContainsFunc(codegen.Ports(g.m), func(p codegen.Port) bool {
		return p.Buf != nil && slices.ContainsFunc(p.Type.Sizes, isDynamic)
	})
}

// packed makes an operand that is packed when the call is prepared.
func (g *glue) packed(p native.Port) {
	typ, n := golang.ElementType(p.Type.DType), p.Packs.Panels.Len()
	name := fmt.Sprintf("packed%d", len(g.args))
	if p.Packs.Of.IsEmpty() {
		fmt.Fprintf(&g.once, "%s := new([%d]%s)\n", name, n, typ)
	} else {
		fmt.Fprintf(&g.once, "%s := (*[%d]%s)(compiled.Pack[%s](c, %d, %s))\n", name, n, typ, typ,
			g.inputs[inputOf(p.Packs.Of)], shape(p.Packs.Panels))
	}
	g.args = append(g.args, name)
}

func shape(s panels.Shape) string {
	text := fmt.Sprintf("%#v", s)
	return "compiled.Shape" + text[strings.IndexByte(text, '{'):]
}

// operand is an argument for a tensor that is read.
func (g *glue) operand(p native.Port, k int) {
	g.args = append(g.args, view(p, fmt.Sprintf("compiled.In[%s](c, %d)",
		golang.ElementType(p.Type.DType), k)))
	for axis, size := range p.Type.Sizes {
		if isDynamic(size) {
			fmt.Fprintf(&g.before, "sizes.%s = c.Size(%d, %d)\n", golang.SizeField(p.Name, axis), k,
				logical(g.operands[k].order, axis))
		}
	}
	if !g.operands[k].dynamic {
		return
	}
	for axis, size := range p.Type.Sizes {
		if n, ok := size.Const(); ok {
			fmt.Fprintf(&g.before,
				"if err := c.WantSize(%d, %d, %d); err != nil {\nreturn err\n}\n", k,
				logical(g.operands[k].order, axis), n)
		}
	}
}

// number is an argument that instructions compute.
func (g *glue) number(k int) {
	n := g.numbers[k]
	switch {
	case n.fixed:
		fmt.Fprintf(&g.before, "if err := c.Want(%d, %d); err != nil {\nreturn err\n}\n",
			k, n.value)
	case n.at >= 0:
		g.args = append(g.args, fmt.Sprintf("int(c.Int(%d))", k))
	default:
		name, read := fmt.Sprintf("number%d", k), map[ir.DType]string{ir.Int64: "Int",
			ir.Float64: "Float", ir.Bool: "Bool"}[n.kind]
		fmt.Fprintf(&g.once, "%s := new([1]%s)\n", name, golang.ElementType(n.kind))
		fmt.Fprintf(&g.before, "%s[0] = c.%s(%d)\n", name, read, k)
		g.args = append(g.args, name)
	}
}

// impliedNumbers holds the sizes that followed without them against numbers.
func (g *glue) impliedNumbers() {
	for k, n := range g.numbers {
		if n.input >= 0 || len(g.results) != 1 || n.at >= g.results[0].rank {
			continue
		}
		fmt.Fprintf(&g.after, "if err := c.WantResult(%d, 0, %d); err != nil {\nreturn err\n}\n", k,
			n.at)
	}
}

// result is an argument for a tensor that is written.
func (g *glue) result(p native.Port, k int) {
	g.args = append(g.args, view(p, fmt.Sprintf("compiled.Out[%s](c, %d)",
		golang.ElementType(p.Type.DType), k)))
	if n := p.Buf.MaxLen; n > g.results[k].most {
		fmt.Fprintf(&g.once, "c.Least(%d, %d)\n", k, n)
	}
	name := codegen.OutputName(g.m, k)
	for axis, size := range p.Type.Sizes {
		d := logical(g.results[k].order, axis)
		if isDynamic(size) {
			fmt.Fprintf(&g.after, "c.SetSize(%d, %d, sizes.%s)\n", k, d,
				golang.SizeField(name, axis))
		} else if n, _ := size.Const(); g.results[k].dynamic {
			fmt.Fprintf(&g.once, "c.SetSize(%d, %d, %d)\n", k, d, n)
		}
	}
}

// view makes a slice what the function takes: a pointer to an array if the size
// is fixed.
func view(p native.Port, slice string) string {
	if n, ok := p.Buf.Len.Const(); ok {
		return fmt.Sprintf("(*[%d]%s)(%s)", n, golang.ElementType(p.Type.DType), slice)
	}
	return slice
}

func isDynamic(size sym.Expr) bool {
	_, ok := size.Const()
	return !ok
}

// logical returns the dimension of a tensor that lies at an axis of its memory.
func logical(order []uint8, axis int) int {
	if order == nil {
		return axis
	}
	return int(order[axis])
}
