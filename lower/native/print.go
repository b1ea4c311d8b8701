package native

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
	"github.com/etgen/etgen/kernels/expr"
)

// String returns p in the text form:
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
//	  let u0 = k[0]
//	  let v: f64 = x[0]*0.5 using (x, t)
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
// its root and the element it begins at; it is declared as soon as the symbols
// in that are known. "using" lists the buffers of an expression where they are
// not those it reads in the order it reads them. loop.Func.String describes
// loop kernels, tunedText the others; ir.Print types and data.
//
// Names are changed where two of a kind in one place are equal.
func (p *Program) String() string {
	pr := newPrinter()
	pr.program(p)
	return pr.b.String()
}

// statePrefix stands before the names of state in methods.
const statePrefix = "state."

type printer struct {
	b      strings.Builder
	indent int
	// constants are the program's
	constants []*Const
	// of the method
	symbols *text.Names[*sym.Symbol]
	buffers *text.Names[*Buffer]
	values  *text.Names[*expr.Var]
	views   []*Buffer // whose declaration waits for symbols
	weights []*Buffer // declared, each once
	known   map[*sym.Symbol]bool
}

func newPrinter() *printer {
	return &printer{buffers: text.NewNames[*Buffer]()}
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
		name := strings.TrimPrefix(pr.buffers.Declare(s, statePrefix+s.Name), statePrefix)
		pr.line(nil, "state %s: %s = %s", name, pr.typeText(s), s.Const.Name)
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

func (pr *printer) index(x sym.Expr) string { return text.IndexString(x, pr.symbols) }

func (pr *printer) buffer(b *Buffer) string { return pr.buffers.Of(b, b.Name) }

// typeText is "f32[4, s0]".
func (pr *printer) typeText(b *Buffer) string {
	sizes := make([]string, len(b.Sizes))
	for i, n := range b.Sizes {
		sizes[i] = pr.index(n)
	}
	return b.DType.Short() + "[" + strings.Join(sizes, ", ") + "]"
}

func (pr *printer) method(m *Method) {
	pr.symbols, pr.values = text.NewNames[*sym.Symbol](), text.NewNames[*expr.Var]()
	pr.buffers.Open()
	defer pr.buffers.Close()
	pr.known = map[*sym.Symbol]bool{}
	pr.line(nil, "method %s {", text.Quoted(m.Name.Raw()))
	pr.indent++
	for _, s := range m.Symbols {
		pr.line(nil, "symbol %s in %s", pr.symbols.Declare(s, s.Name), text.Range(s, pr.symbols))
		pr.known[s] = true
	}
	for i := range m.Inputs {
		pr.port("input", &m.Inputs[i])
	}
	eachLet(m.Body, func(s *Let) {
		if s.Var != nil {
			pr.values.Declare(s.Var, s.Var.Name)
		}
	})
	for i := range m.Outputs {
		pr.port("output", &m.Outputs[i])
	}
	for _, op := range m.Clamps {
		pr.line(nil, "clamps %s", strconv.Quote(op))
	}
	if m.Plan != nil {
		for _, mem := range m.Plan.Memories {
			pr.line(nil, "arena %d align %d", mem.Size, mem.Align)
		}
	}
	pr.views, pr.weights = nil, nil
	for _, b := range m.Buffers {
		pr.declare(b)
	}
	pr.showViews()
	if len(m.Body) > 0 && len(m.Inputs)+len(m.Outputs)+len(m.Buffers) > 0 {
		pr.b.WriteByte('\n')
	}
	pr.stmts(m.Body)
	pr.indent--
	pr.line(nil, "}")
}

func eachLet(stmts []Stmt, f func(*Let)) {
	for _, s := range stmts {
		if l, ok := s.(*Let); ok {
			f(l)
		}
		for _, nested := range Blocks(s) {
			eachLet(*nested, f)
		}
	}
}

func (pr *printer) port(word string, p *Port) {
	name := text.Quoted(p.Name.Raw())
	if p.Buf != nil {
		name = pr.buffers.Declare(p.Buf, p.Name.Raw())
	}
	s := fmt.Sprintf("%s %s: %s", word, name, p.Type)
	if !p.Path.IsEmpty() {
		s += " " + strconv.Quote(p.Path.Raw())
	}
	if p.Mutated {
		s += " mutated"
	}
	if x := p.Packs; x != nil {
		s += fmt.Sprintf(" packs %q", x.Of.Raw())
		for _, n := range shapeInts(&x.Panels) {
			s += fmt.Sprintf(" %d", *n)
		}
	}
	switch {
	case p.Sym != nil:
		s += " binds " + pr.symbols.Of(p.Sym, p.Sym.Name)
	case p.Var != nil && word == "input":
		s += fmt.Sprintf(" binds %s: %s", pr.values.Declare(p.Var, p.Var.Name), p.Var.DType.Short())
	case p.Var != nil:
		s += " reads " + pr.values.Of(p.Var, p.Var.Name)
	}
	if p.Value != nil {
		s += " = " + ir.ArgString(p.Value)
	}
	pr.line(nil, "%s", s)
}

// declare prints the declaration of a buffer that is no port. That of a view
// may have to wait.
func (pr *printer) declare(b *Buffer) {
	switch {
	case b.Root != nil:
		pr.views = append(pr.views, b)
	case b.Storage == Arena:
		pr.line(nil, "buffer %s: %s at %d", pr.buffers.Declare(b, b.Name), pr.typeText(b), b.Offset)
	case b.Storage == Weight:
		shape := pr.typeText(b)
		for _, w := range pr.weights {
			if w.Const == b.Const && pr.typeText(w) == shape { // one buffer as well
				pr.buffers.Alias(b, w)
				return
			}
		}
		pr.weights = append(pr.weights, b)
		data := ""
		name := pr.buffers.Declare(b, b.Name)
		if b.Const.Name != name {
			data = " = " + b.Const.Name
		}
		pr.line(nil, "weight %s: %s%s", name, shape, data)
	}
}

// showViews prints the declarations of views whose symbols are known by now.
func (pr *printer) showViews() {
	var wait []*Buffer
	for _, b := range pr.views {
		ready := true
		for _, e := range append([]sym.Expr{b.At}, b.Sizes...) {
			for _, s := range e.Symbols() {
				ready = ready && pr.known[s]
			}
		}
		if !ready {
			wait = append(wait, b)
			continue
		}
		pr.line(nil, "view %s: %s = %s[%s]", pr.buffers.Declare(b, b.Name), pr.typeText(b),
			pr.buffer(b.Root), pr.index(b.At))
	}
	pr.views = wait
}
