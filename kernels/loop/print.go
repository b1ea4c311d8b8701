package loop

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
	"github.com/etgen/etgen/kernels/expr"
)

var roleNames = [...]string{In: "in", Out: "out", InOut: "inout", Scratch: "scratch"}

// String returns the role's name in dumps.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// String returns f as text:
//
//	func row_max(s0 in [1, 64], out y: f32[s0], x: f32[8*s0], c0: f32) {
//	  for i < s0 vectorizable {
//	    var m: f32 = x[8*i]
//	    for j < 7 {
//	      m = max(m, x[8*i + j + 1])
//	    }
//	    if m > c0 {
//	      y[i] = m*exp_f32(c0 - m)
//	    } else {
//	      y[i] = 0.0
//	    }
//	  }
//	}
//
// The parameters are the integers with their ranges, the buffers with their
// roles (none: in; "inout y: f32[8] from x") and lengths (? where it is not
// known), and the scalars. Expressions are as of expr.Format. More statements
// are "while c {", "let t: f32 = x", "var a: f32[4]" (an array), "a[i] = x",
// "index p in [0, 9] = x[i]" and "break". A loop variable whose range is not
// what the extent says shows it: "for i < n in [0, 7] {". Vectors are
//
//	chunks i < 1000 by 512 t0:f32 {
//	  t0 = Mul(x[i..], x[i..])
//	  y[i..] = AddScalar(t0, 1.0f32)
//	}
//
// A name that is taken where it would be declared gets a number.
func (f *Func) String() string { return "func " + f.Format() }

// Format is String without the word in front.
func (f *Func) Format() string {
	p := &printer{f: f, symbols: text.NewNames[*sym.Symbol](), elements: text.NewNames[any](),
		values: text.NewNames[any]()}
	p.head()
	p.block(f.Body)
	p.b.WriteString("\n")
	return p.b.String()
}

type printer struct {
	b      strings.Builder
	f      *Func
	indent int
	// Three name spaces, told apart by where a name stands: index expressions,
	// before an index, alone. Buffers and scalar parameters are their number,
	// locals their *expr.Var.
	symbols  *text.Names[*sym.Symbol]
	elements *text.Names[any]
	values   *text.Names[any]
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

func (p *printer) head() {
	params := seq.Map(p.f.Syms, func(s *sym.Symbol) string {
		return p.symbols.Declare(s, s.Name) + " in " + p.rangeOf(s)
	})
	for i, b := range p.f.Bufs {
		p.elements.Declare(i, b.Name)
	}
	for i, b := range p.f.Bufs {
		s := fmt.Sprintf("%s: %s[%s]", p.operand(i), b.DType.Short(), p.length(b.Len))
		if b.Role != In {
			s = b.Role.String() + " " + s
		}
		if b.Role == InOut && b.Init != Filled {
			s += " from " + p.operand(b.Init)
		}
		params = append(params, s)
	}
	for i, v := range p.f.Scalars {
		params = append(params, fmt.Sprintf("%s: %s", p.values.Declare(i, v.Name), v.DType.Short()))
	}
	p.printf("%s(%s)", text.Quoted(p.f.Name), strings.Join(params, ", "))
}

func (p *printer) operand(k int) string { return p.elements.Of(k, fmt.Sprintf("operand_%d", k)) }
func (p *printer) scalar(k int) string  { return p.values.Of(k, fmt.Sprintf("scalar_%d", k)) }

func (p *printer) local(v *expr.Var) string {
	if v.Len > 0 {
		return p.elements.Of(v, v.Name)
	}
	return p.values.Of(v, v.Name)
}

func (p *printer) length(n sym.Expr) string {
	if n.Equal(sym.Inf()) {
		return "?"
	}
	return p.index(n)
}

func (p *printer) index(x sym.Expr) string { return text.IndexString(x, p.symbols) }

func (p *printer) rangeOf(s *sym.Symbol) string { return text.Range(s, p.symbols) }

func (p *printer) value(e *expr.Expr, typed bool) string {
	return e.Format(expr.Names{Operand: p.operand, Scalar: p.scalar, Local: p.local,
		Index: p.index}, typed)
}

// block prints " {", the statements and "}"; what they declare ends with it.
func (p *printer) block(body []Stmt) {
	p.symbols.Open()
	p.elements.Open()
	p.values.Open()
	p.printf(" {\n")
	p.indent++
	for _, s := range body {
		p.line()
		p.stmt(s)
		p.printf("\n")
	}
	p.indent--
	p.line()
	p.printf("}")
	p.symbols.Close()
	p.elements.Close()
	p.values.Close()
}

func (p *printer) line() { p.printf("%s", strings.Repeat("  ", p.indent)) }

func (p *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *For:
		p.loop(s)
	case *While:
		p.printf("while %s", p.value(s.Cond, true))
		p.block(s.Body)
	case *If:
		p.printf("if %s", p.value(s.Cond, true))
		p.block(s.Then)
		p.otherwise(s.Else)
	case *Let:
		p.let(s)
	case *Assign:
		at := ""
		if s.Var.Len > 0 {
			at = "[" + p.index(s.At) + "]"
		}
		p.printf("%s%s = %s", p.local(s.Var), at, p.value(s.Value, true))
	case *LetIndex:
		value := p.value(s.Value, false)
		p.printf("index %s in %s = %s", p.symbols.Declare(s.Sym, s.Sym.Name),
			p.rangeOf(s.Sym), value)
	case *Store:
		p.printf("%s[%s] = %s", p.operand(s.Buf), p.index(s.At), p.value(s.Value, true))
	case *Break:
		p.printf("break")
	case *Invoke:
		p.invoke(s)
	case *Chunks:
		p.chunks(s)
	case *Vector:
		p.vector(s)
	case *Transpose:
		p.printf("transpose %s[%s] by %d = %s[%s] by %d, %s x %s", p.operand(s.Dst), p.index(s.To),
			s.DstStep, p.operand(s.Src), p.index(s.From), s.SrcStep, p.index(s.Rows),
			p.index(s.Cols))
		p.otherwise(s.Else)
	}
}

// otherwise prints a block that need not be there.
func (p *printer) otherwise(body []Stmt) {
	if len(body) > 0 {
		p.printf(" else")
		p.block(body)
	}
}

func (p *printer) chunks(s *Chunks) {
	p.symbols.Open()
	p.printf("chunks")
	if s.Rows != nil {
		count := p.index(s.RowCount)
		p.printf(" %s < %s,", p.symbols.Declare(s.Rows, s.Rows.Name), count)
	}
	extent := p.index(s.Extent)
	p.printf(" %s < %s", p.symbols.Declare(s.Var, s.Var.Name), extent)
	if !s.Whole {
		p.printf(" by %d", s.Size)
	}
	for k, d := range s.Temps {
		p.printf(" t%d:%s", k, d.Short())
	}
	p.block(s.Body)
	p.symbols.Close()
	p.otherwise(s.Else)
}

func (p *printer) vector(s *Vector) {
	operand := func(o Operand) string {
		switch o.Kind {
		case TempOperand:
			return fmt.Sprintf("t%d", o.Temp)
		case RunOperand:
			return fmt.Sprintf("%s[%s..]", p.operand(o.Buf), p.index(o.At))
		case BufferOperand:
			return p.operand(o.Buf)
		case ScalarOperand:
			return p.value(o.Value, false)
		}
		return p.index(o.At)
	}
	dst := operand(s.Dst)
	if s.Acc != nil {
		dst = p.local(s.Acc)
	}
	args := seq.Map(s.Args, operand)
	name := s.Prim
	if s.Fn != nil {
		name += " " + s.Fn.Name
	}
	p.printf("%s = %s(%s)", dst, name, strings.Join(args, ", "))
}

func (p *printer) loop(s *For) {
	extent := p.index(s.Extent)
	bounds := ""
	if !s.Var.Lo.IsZero() || !s.Var.Hi.Equal(sym.Sub(s.Extent, sym.Int(1))) {
		bounds = " in " + p.rangeOf(s.Var)
	}
	p.symbols.Open()
	p.printf("for %s < %s%s", p.symbols.Declare(s.Var, s.Var.Name), extent, bounds)
	if s.Vectorizable {
		p.printf(" vectorizable")
	}
	if s.InOrder {
		p.printf(" in order")
	}
	if s.Rolled {
		p.printf(" rolled")
	}
	if s.Divided {
		p.printf(" divided")
	}
	p.block(s.Body)
	p.symbols.Close()
}

func (p *printer) let(s *Let) {
	value := ""
	if s.Value != nil {
		value = " = " + p.value(s.Value, true)
	}
	word, names, length := "let", p.values, ""
	if s.Mutable {
		word = "var"
	}
	if s.Var.Len > 0 {
		names, length = p.elements, fmt.Sprintf("[%d]", s.Var.Len)
	}
	p.printf("%s %s: %s%s%s", word, names.Declare(s.Var, s.Var.Name), s.Var.DType.Short(),
		length, value)
}
