package native

import (
	"fmt"
	"io"
	"strings"

	"github.com/etgen/etgen/ir/sym"
)

// Print writes p as text: for every method its buffers and statements, then
// the kernels.
func Print(w io.Writer, p *Program) error {
	pr := &printer{}
	for _, c := range p.Consts {
		pr.line("const %s: %s[%d]", c.Name, c.DType.Short(), len(c.Data)/c.DType.Size())
	}
	for _, s := range p.State {
		pr.line("state %s", bufferText(s))
	}
	for _, m := range p.Methods {
		pr.method(m)
	}
	for _, k := range p.Kernels {
		pr.kernel(k)
	}
	_, err := io.WriteString(w, pr.b.String())
	return err
}

// String returns the text form.
func (p *Program) String() string {
	var b strings.Builder
	_ = Print(&b, p) // a strings.Builder does not fail
	return b.String()
}

type printer struct {
	b      strings.Builder
	indent int
}

func (pr *printer) line(format string, args ...any) {
	pr.b.WriteString(strings.Repeat("  ", pr.indent))
	fmt.Fprintf(&pr.b, format+"\n", args...)
}

func (pr *printer) method(m *Method) {
	var in, out []string
	for _, p := range m.Inputs {
		in = append(in, portText(p))
	}
	for _, p := range m.Outputs {
		out = append(out, portText(p))
	}
	arena := ""
	if m.Plan != nil {
		arena = fmt.Sprintf(" arena=%d", m.Plan.Size())
	}
	pr.line("method %s(%s) -> (%s)%s {", m.Name, strings.Join(in, ", "), strings.Join(out, ", "), arena)
	pr.indent++
	for _, b := range m.Buffers {
		if b.Storage == Arena && b.Root == nil {
			pr.line("%s at %d", bufferText(b), b.Offset)
		}
	}
	pr.block(m.Body)
	pr.indent--
	pr.line("}")
}

func portText(p Port) string {
	switch {
	case p.Buf != nil:
		return bufferText(p.Buf)
	case p.Value != nil:
		return fmt.Sprintf("%s = %v", p.Name, p.Value)
	case p.Sym != nil:
		return fmt.Sprintf("%s: int %s", p.Name, p.Sym.Name)
	case p.Type.HasExpr:
		return fmt.Sprintf("%s: int = %s", p.Name, p.Type.Expr)
	}
	return p.Name
}

// bufferText is "name: f32[4, s0]".
func bufferText(b *Buffer) string {
	return fmt.Sprintf("%s: %s[%s]", b.Name, b.DType.Short(), exprList(b.Sizes))
}

// operandText is a buffer as an argument: its name, for views "root+at".
func operandText(b *Buffer) string {
	if b.Root == nil {
		return b.Name
	}
	if b.At.IsZero() {
		return fmt.Sprintf("%s:%s", b.Root.Name, b.Name)
	}
	return fmt.Sprintf("%s[%s]:%s", b.Root.Name, b.At, b.Name)
}

func exprList(es []sym.Expr) string {
	list := make([]string, len(es))
	for i, e := range es {
		list[i] = e.String()
	}
	return strings.Join(list, ", ")
}

func (pr *printer) block(stmts []Stmt) {
	for _, s := range stmts {
		pr.stmt(s)
	}
}

func (pr *printer) nested(stmts []Stmt) {
	pr.indent++
	pr.block(stmts)
	pr.indent--
}

func (pr *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Call:
		pr.call(s)
	case *Cond:
		pr.line("if %s {", operandText(s.Pred))
		pr.nested(s.Then)
		pr.line("} else {")
		pr.nested(s.Else)
		pr.line("}")
	case *While:
		pr.line("while {")
		pr.nested(s.Head)
		pr.line("} %s {", operandText(s.Pred))
		pr.nested(s.Body)
		pr.line("}")
	case *For:
		dir := ""
		if s.Reverse {
			dir = " reverse"
		}
		pr.line("for %s < %s%s {", s.Var.Name, s.Extent, dir)
		pr.nested(s.Body)
		pr.line("}")
	case *Let:
		pr.line("let %s", s.Value)
	case *Assert:
		pr.line("assert %s, %q", s.Cond, s.Message)
	case *Poison:
		pr.line("poison %s", operandText(s.Buf))
	}
}

func (pr *printer) call(c *Call) {
	var outs, ins []string
	for i, b := range c.Args {
		if r, w := c.Kernel.uses(i); w && !r && !c.Kernel.IsScratch(i) {
			outs = append(outs, operandText(b))
		} else {
			ins = append(ins, operandText(b))
		}
	}
	for i, e := range c.Ints {
		ins = append(ins, fmt.Sprintf("%s=%s", c.Kernel.Params[i].Name, e))
	}
	for _, x := range c.Scalars {
		ins = append(ins, x.String())
	}
	at := ""
	if len(c.From) > 0 {
		at = "  # " + c.From[0].Loc.String()
	}
	pr.line("%s = %s(%s)%s", strings.Join(outs, ", "), c.Kernel.Name, strings.Join(ins, ", "), at)
}

func (pr *printer) kernel(k *Kernel) {
	if k.Loop != nil {
		pr.line("kernel %s", strings.TrimRight(k.Loop.String(), "\n"))
		return
	}
	params := make([]string, len(k.Tuned.Params))
	for i, p := range k.Tuned.Params {
		params[i] = fmt.Sprintf("%s=%s", p.Name, p.Value)
	}
	ep := ""
	if k.Tuned.Epilogue != nil {
		ep = " then " + k.Tuned.Epilogue.Body.String()
	}
	pr.line("kernel %s: tuned %s(%s)%s", k.Name, k.Tuned.Kernel.Name, strings.Join(params, ", "), ep)
}
