package native

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/tuned"
)

// String returns p in the text form, which is for people:
//
//	program "net.pt2"
//
//	const w "lin.weight": f32[32] = data(5fd924625f6ab16a, 128)
//	state n: f32[1] = n
//
//	method forward {
//	  symbol s0 in [1, 64]
//	  input x: f32[s0, 8]
//	  input k: int(s1) binds s1
//	  output out0: f32[s0, 4]
//	  output out1: int = 3
//	  arena 2048 align 16
//	  buffer t: f32[s0, 4] at 0
//	  weight w: f32[4, 8]
//	  view row: f32[4] = t[4]
//
//	  t = linear(x, w, m=s0)  # net.py:12 in lin linear=aten.linear.default
//	  state.n = add(state.n, 0.5f32)
//	  if p {
//	    out0 = copy(t)
//	  } else {
//	  }
//	  do {
//	    p = less(i)
//	  } while p {
//	  }
//	  for i < 4 reverse {
//	  }
//	  let u0 in [0, 9] = k[0]
//	  let v: f64 = x[0]*0.5
//	  assert u0 > 0, "must be positive"
//	}
//
//	# add.Tensor
//	kernel add(inout n: f32[1] from x, x: f32[1], c0: f32) {
//	  …
//	}
//
// Results of a call are the buffers it only writes, scratch left out; a call
// without any begins with "() =". Its arguments are the other buffers in the
// kernel's order, the integers by name, the scalars. A comment behind a
// statement tells where it came from: places in Python, each with the nodes
// there and their operators; one above a kernel what it computes. A view shows
// its root and the element it begins at, which may mention the variable of the loop
// that it is used in. loop.Func.String describes loop kernels, printer.tuned the
// others; ir.Print types and data.
func (p *Program) String() string {
	pr := &printer{}
	pr.program(p)
	return pr.b.String()
}

type printer struct {
	b         strings.Builder
	indent    int
	constants []*Const // the program's
}

// line writes a line, followed by its origins.
func (pr *printer) line(from []Origin, format string, args ...any) {
	pr.b.WriteString(strings.Repeat("  ", pr.indent))
	fmt.Fprintf(&pr.b, format, args...)
	if len(from) > 0 {
		pr.b.WriteString("  # " + originsText(from))
	}
	pr.b.WriteByte('\n')
}

func (pr *printer) program(p *Program) {
	pr.line(nil, "program %s", strconv.Quote(p.Source.Raw()))
	if len(p.Consts)+len(p.State) > 0 {
		pr.line(nil, "")
	}
	pr.constants = p.Consts
	for _, c := range p.Consts {
		from := ""
		if c.From.Raw() != c.Name {
			from = " " + strconv.Quote(c.From.Raw())
		}
		pr.line(nil, "const %s%s: %s[%d] = %s", c.Name, from, c.DType.Short(),
			len(c.Data)/c.DType.Size(), ir.DataString(c.DType, c.Data))
	}
	for _, s := range p.State {
		pr.line(nil, "state %s: %s = %s", s.Name, typeText(s), s.Const.Name)
	}
	for _, m := range p.Methods {
		pr.line(nil, "")
		pr.method(m)
	}
	for _, k := range p.Kernels {
		pr.line(nil, "")
		pr.kernel(k)
	}
}

// nameOf is what statements call a buffer.
func nameOf(b *Buffer) string {
	if b.Root == nil && b.Storage == State {
		return "state." + b.Name
	}
	return b.Name
}

// typeText is "f32[4, s0]".
func typeText(b *Buffer) string {
	return b.DType.Short() + "[" + joined(b.Sizes, sym.Expr.String) + "]"
}

// joined returns the texts of a list between commas.
func joined[T any](list []T, text func(T) string) string {
	all := seq.Map(list, text)
	return strings.Join(all, ", ")
}

// symbolText is "s0 in [1, 64]".
func symbolText(s *sym.Symbol) string { return s.Name + " in " + text.Range(s, nil) }

func (pr *printer) method(m *Method) {
	pr.line(nil, "method %s {", text.Quoted(m.Name.Raw()))
	pr.indent++
	for _, s := range m.Symbols {
		pr.line(nil, "symbol %s", symbolText(s))
	}
	for i := range m.Inputs {
		pr.port("input", &m.Inputs[i])
	}
	for i := range m.Outputs {
		pr.port("output", &m.Outputs[i])
	}
	for _, op := range m.Clamps {
		pr.line(nil, "clamps %s", strconv.Quote(op))
	}
	if m.Plan != nil {
		for k, mem := range m.Plan.Memories {
			pr.line(nil, "arena %s%d align %d", m.bank(k), mem.Size, mem.Align)
		}
	}
	var views []string
	weights := map[string]bool{} // one is a buffer for each node that reads it
	for _, b := range m.Buffers {
		switch {
		case b.Root != nil:
			views = append(views, fmt.Sprintf("view %s: %s = %s[%s]", b.Name, typeText(b),
				nameOf(b.Root), b.At))
		case b.Storage == Arena:
			pr.line(nil, "buffer %s: %s at %s%d", b.Name, typeText(b), m.bank(b.Bank), b.Offset)
		case b.Storage == Weight:
			if w := fmt.Sprintf("weight %s: %s", b.Name, typeText(b)); !weights[w] {
				weights[w] = true
				pr.line(nil, "%s", w)
			}
		}
	}
	for _, s := range views {
		pr.line(nil, "%s", s)
	}
	if len(m.Body) > 0 && len(m.Inputs)+len(m.Outputs)+len(m.Buffers) > 0 {
		pr.b.WriteByte('\n')
	}
	pr.indent--
	pr.stmts(m.Body)
	pr.line(nil, "}")
}

func (pr *printer) port(word string, p *Port) {
	s := fmt.Sprintf("%s %s: %s", word, text.Quoted(p.Name.Raw()), p.Type)
	if !p.Path.IsEmpty() {
		s += " " + strconv.Quote(p.Path.Raw())
	}
	if p.Mutated {
		s += " mutated"
	}
	if x := p.Packs; x != nil {
		s += fmt.Sprintf(" packs %q %v", x.Of.Raw(), x.Panels)
	}
	switch {
	case p.Sym != nil:
		s += " binds " + p.Sym.Name
	case p.Var != nil && word == "input":
		s += fmt.Sprintf(" binds %s: %s", p.Var.Name, p.Var.DType.Short())
	case p.Var != nil:
		s += " reads " + p.Var.Name
	}
	if p.Value != nil {
		s += " = " + ir.ArgString(p.Value)
	}
	pr.line(nil, "%s", s)
}

func (pr *printer) stmts(list []Stmt) {
	pr.indent++
	for _, s := range list {
		pr.stmt(s)
	}
	pr.indent--
}

func (pr *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Call:
		pr.line(s.From, "%s", callText(s))
	case *Cond:
		pr.line(s.From, "if %s {", nameOf(s.Pred))
		pr.stmts(s.Then)
		pr.line(nil, "} else {")
		pr.stmts(s.Else)
		pr.line(nil, "}")
	case *While:
		pr.line(s.From, "do {")
		pr.stmts(s.Head)
		pr.line(nil, "} while %s {", nameOf(s.Pred))
		pr.stmts(s.Body)
		pr.line(nil, "}")
	case *For:
		head := s.Extent.String()
		if !s.Var.Lo.IsZero() || !s.Var.Hi.Equal(sym.Sub(s.Extent, sym.Int(1))) {
			head += " in " + text.Range(s.Var, nil)
		}
		if s.Reverse {
			head += " reverse"
		}
		pr.line(s.From, "for %s < %s {", s.Var.Name, head)
		pr.stmts(s.Body)
		pr.line(nil, "}")
	case *Await:
		step, times := "", ""
		if s.Var != nil {
			step = fmt.Sprintf(" + %d*%s", s.Step, s.Var.Name)
			times = fmt.Sprintf(" for %s < %d", s.Var.Name, s.Extent)
		}
		pr.line(s.Origins, "await rows %d%s to %d%s in %s%s {", s.From, step, s.Until, step,
			nameOf(s.Window), times)
		pr.stmts(s.Body)
		pr.line(nil, "}")
	case *Let:
		if s.Var != nil {
			pr.line(s.From, "let %s: %s = %s", s.Var.Name, s.Var.DType.Short(),
				valueText(s.Value, s.Args, true))
			return
		}
		pr.line(s.From, "let %s = %s", symbolText(s.Sym), valueText(s.Value, s.Args, false))
	case *Assert:
		word := "assert"
		switch {
		case s.Given:
			word = "require"
		case s.Index:
			word = "assert_index"
		}
		pr.line(s.From, "%s %s, %s", word, valueText(s.Cond, s.Args, true),
			strconv.Quote(s.Message.Raw()))
	case *Poison:
		pr.line(nil, "poison %s", nameOf(s.Buf))
	}
}

// valueText returns the text of an expression whose loads index args.
func valueText(e *expr.Expr, args []*Buffer, typed bool) string {
	return e.Format(namesOf(func(k int) string { return nameOf(args[k]) }), typed)
}

// namesOf are the names in an expression without scalars.
func namesOf(operand func(int) string) expr.Names {
	return expr.Names{
		Operand: operand,
		Scalar:  func(k int) string { return fmt.Sprintf("scalar_%d", k) },
		Local:   func(v *expr.Var) string { return v.Name },
		Index:   sym.Expr.String,
	}
}

func callText(c *Call) string {
	var outs, ins []string
	for i, b := range c.Args {
		if c.Kernel.Role(i) == loop.Out {
			outs = append(outs, nameOf(b))
		} else {
			ins = append(ins, nameOf(b))
		}
	}
	for i, e := range c.Ints {
		ins = append(ins, c.Kernel.Params[i].Name+"="+e.String())
	}
	for _, x := range c.Scalars {
		ins = append(ins, valueText(x, nil, true))
	}
	results := "()"
	if len(outs) > 0 {
		results = strings.Join(outs, ", ")
	}
	return fmt.Sprintf("%s = %s(%s)", results, c.Kernel.Name, strings.Join(ins, ", "))
}

// originsText returns origins grouped by place: "net.py:12 in lin
// a=aten.add.Tensor b=aten.mul.Tensor net.py:13 …".
func originsText(from []Origin) string {
	var words []string
	for i, o := range from {
		if i == 0 || o.Loc != from[i-1].Loc {
			if loc := o.Loc.String(); loc != "" {
				words = append(words, loc)
			} else if i > 0 {
				words = append(words, "-")
			}
		}
		words = append(words, text.Quoted(o.Node.Raw())+"="+text.Quoted(o.Op.Raw()))
	}
	return strings.Join(words, " ")
}

func (pr *printer) kernel(k *Kernel) {
	if !k.Doc.IsEmpty() {
		pr.line(nil, "# %s", strings.Join(strings.Fields(k.Doc.Raw()), " "))
	}
	word := "kernel "
	if k.Copy {
		word = "copy kernel "
	}
	pr.b.WriteString(word)
	if k.Loop != nil {
		pr.b.WriteString(k.Loop.Format())
		return
	}
	pr.line(nil, "%s(%s) = %s {", k.Name, joined(k.Params, symbolText), k.Tuned.Name())
	pr.indent++
	pr.tuned(k.Tuned)
	pr.indent--
	pr.line(nil, "}")
}

// tuned prints the body of a tuned kernel:
//
//	params m=n0, n=4, k=8
//	operands 0, 2
//	packed w = lin_weight from 1  a constant of the program, or its data
//	channels 1, 4 run             tuned.Channels' Inner and Count, RunChannels
//	scratch 1024
//	tile 6, 16 vector
//	macs 32*s0
//	cost 2048
//	epilogue f32(acc: f32, o in [0, 4*s0 - 1], c in [0, 3], x0: f32) = max(acc + x0[c], 0.0)
func (pr *printer) tuned(in *tuned.Instance) {
	flag := func(set bool, word string) string {
		if set {
			return word
		}
		return ""
	}
	if len(in.Params) > 0 {
		pr.line(nil, "params %s", joined(in.Params, func(p tuned.Param) string {
			return p.Name + "=" + p.Value.String()
		}))
	}
	if len(in.Operands) > 0 {
		pr.line(nil, "operands %s", joined(in.Operands, strconv.Itoa))
	}
	for _, p := range in.Packed {
		pr.line(nil, "packed %s = %s%s%s", p.Name, pr.packed(p), flag(len(p.From) > 0, " from "),
			joined(p.From, strconv.Itoa))
	}
	pr.line(nil, "channels %s, %s%s", in.Channels.Inner, in.Channels.Count,
		flag(in.RunChannels, " run"))
	if !in.Scratch.IsZero() {
		pr.line(nil, "scratch %s", in.Scratch)
	}
	pr.line(nil, "tile %d, %d%s", in.Tile.Rows, in.Tile.Cols, flag(in.Tile.Vector, " vector"))
	pr.line(nil, "macs %s", in.MACs)
	pr.line(nil, "cost %s", strconv.FormatFloat(in.Cost, 'g', -1, 64))
	if ep := in.Epilogue; ep != nil {
		extra := func(k int) string { return fmt.Sprintf("x%d", k) }
		head := fmt.Sprintf("%s: %s, %s, %s", ep.Acc.Name, ep.Acc.DType.Short(), symbolText(ep.O),
			symbolText(ep.C))
		for i, d := range ep.Extra {
			head += fmt.Sprintf(", %s: %s", extra(i), d.Short())
		}
		for i, n := range ep.Numbers {
			head += fmt.Sprintf(", scalar_%d: %s in [%v, %v]", i, n.DType.Short(), n.Low, n.High)
		}
		pr.line(nil, "epilogue %s(%s) = %s", ep.DType.Short(), head,
			ep.Body.Format(namesOf(extra), true))
	}
}

// packed names the constant of the program that has p's data.
func (pr *printer) packed(p tuned.Packed) string {
	if p.Data == nil {
		return "later " + p.DType.Short()
	}
	for _, c := range pr.constants {
		if c.DType == p.DType && bytes.Equal(c.Data, p.Data) {
			return c.Name
		}
	}
	return p.DType.Short() + " " + ir.DataString(p.DType, p.Data)
}

// bank is the name of a bank and a space, "" if the arena is one.
func (m *Method) bank(k int) string {
	if m.Problem == nil || m.Problem.Banks == nil {
		return ""
	}
	return m.Problem.Banks[k].Name + " "
}
