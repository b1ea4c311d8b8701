package golang

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/strip"
	"github.com/etgen/etgen/kernels/strip/lower"
)

// temp is an array for vectors between primitives. It is declared at the top
// of the function, so that it is cleared once.
type temp struct {
	name  string
	dtype ir.DType
	len   int64
}

// strips writes an innermost loop as calls of vector primitives if it can be.
func (p *printer) strips(s *loop.For) bool {
	code := lower.Loop(s, lower.Options{Length: func(k int) (sym.Expr, bool) {
		if k < 0 || k >= len(p.lens) {
			return sym.Expr{}, false
		}
		return p.lens[k], true
	}})
	if code == nil {
		return false
	}
	outer := p.scope
	p.scope = codegen.NewScope(outer)
	defer func() { p.scope = outer }()
	v := &vectors{printer: p, code: code, temps: p.takeTemps(code)}
	if code.Whole {
		v.count = code.Extent
		lo, _ := code.Extent.Bounds()
		if lo <= 0 {
			p.line("if %s > 0 {", p.index(code.Extent, precCompare+1))
		}
		v.calls()
		if lo <= 0 {
			p.line("}")
		}
		return true
	}
	n := p.index(code.Extent, precAdd)
	i := p.scope.Take(camel(code.Var.Name))
	p.syms[code.Var] = i
	k := sym.NewSymbol("n", 1, strip.Size)
	p.syms[k] = p.scope.Take("n")
	v.count = k.Expr()
	p.line("for %s := 0; %s < %s; %s += %d {", i, i, n, i, strip.Size)
	p.line("%s := min(%d, %s-%s)", p.syms[k], strip.Size, p.index(code.Extent, precAdd), i)
	v.calls()
	p.line("}")
	return true
}

// transposes writes two loops that only copy from rows to columns as a call. Either
// may be divided.
func (p *printer) transposes(s *loop.For) bool {
	if len(s.Body) != 1 {
		return false
	}
	if in, ok := s.Body[0].(*loop.For); ok && p.parts != nil && in.Divided {
		outer := *s
		outer.Body = []loop.Stmt{p.own(in)}
		s = &outer
	}
	t := lower.Transposes(s)
	if t == nil {
		return false
	}
	from := func(k int, at sym.Expr) string {
		if at.IsZero() {
			return p.buf(k)
		}
		return p.buf(k) + "[" + p.index(at, precAny) + ":]"
	}
	p.line("%s(%s, %d, %s, %d, %s, %s)", p.unit.helperAs("Transpose", "vecTranspose"),
		from(t.Dst, t.To), t.DstStep,
		from(t.Src, t.From), t.SrcStep, p.index(t.Rows, precAny), p.index(t.Cols, precAny))
	return true
}

// takeTemps returns the names of the temporaries of code.
func (p *printer) takeTemps(code *lower.Code) []string {
	var names []string
	used := map[int]bool{}
	for _, d := range code.Temps {
		found := -1
		for i, t := range p.temps {
			if goType(t.dtype) == goType(d) && !used[i] {
				found = i
				break
			}
		}
		if found < 0 {
			found = len(p.temps)
			p.temps = append(p.temps, temp{p.tempName(), d, 0})
		}
		used[found] = true
		p.temps[found].len = max(p.temps[found].len, code.TempLen)
		names = append(names, p.temps[found].name)
	}
	return names
}

// tempName returns a name that no local has or gets.
func (p *printer) tempName() string {
	for base := "tmp"; ; base += "x" {
		if !p.used.names[base] {
			return p.top.Take(base)
		}
	}
}

// declareTemps returns the declarations of all temporaries.
func (p *printer) declareTemps() string {
	var b strings.Builder
	for _, t := range p.temps {
		fmt.Fprintf(&b, "var %s [%d]%s\n", t.name, t.len, goType(t.dtype))
	}
	return b.String()
}

// vectors writes the calls of a strip.
type vectors struct {
	*printer
	code  *lower.Code
	temps []string
	count sym.Expr // iterations of the strip
}

func (v *vectors) calls() {
	for _, c := range v.code.Calls {
		switch {
		case c.Let != nil:
			v.let(c.Let)
		case c.Acc != nil:
			acc := v.varName(c.Acc)
			v.line("%s = %s(%s, %s)", acc, v.vector(c.Prim), acc, v.list(c.Args, true))
		case c.Prim == "Copy":
			v.line("copy(%s, %s)", v.operand(c.Dst, true), v.operand(c.Args[0], false))
		case c.Prim == "Apply":
			v.line("%s(%s, %s)", v.unit.vectorFunction(c.Fn), v.operand(c.Dst, true),
				v.list(c.Args, false))
		case c.Prim == "Store":
			v.line("%s(%s, %s, %s)", v.vector(c.Prim), v.operand(c.Dst, false),
				v.list(c.Args[:2], false), v.operand(c.Args[2], true))
		default:
			args := v.list(c.Args, false)
			v.line("%s(%s, %s)", v.vector(c.Prim), v.operand(c.Dst, true), args)
		}
	}
}

// vector returns the name of a primitive, and sees to it that it is there.
func (v *vectors) vector(prim string) string { return v.unit.helperAs(prim, "vec"+prim) }

// list writes operands; exact says that the length of the first matters.
func (v *vectors) list(args []lower.Operand, exact bool) string {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = v.operand(a, exact && i == 0)
	}
	return strings.Join(list, ", ")
}

// operand writes an operand. exact says that a vector must not be longer than
// the strip.
func (v *vectors) operand(o lower.Operand, exact bool) string {
	switch o.Kind {
	case lower.Temp:
		if n, ok := v.count.Const(); ok && n == v.tempLen(o.Temp) {
			return v.temps[o.Temp] + "[:]"
		}
		return v.temps[o.Temp] + "[:" + v.index(v.count, precAny) + "]"
	case lower.Run:
		name, at := v.buf(o.Buf), v.at(o.At)
		from := ""
		if !at.IsZero() {
			from = v.index(at, precAny)
		}
		switch {
		case exact && !(from == "" && o.Buf < len(v.lens) && v.lens[o.Buf].Equal(v.count)):
			return name + "[" + from + ":" + v.index(sym.Add(at, v.count), precAny) + "]"
		case from == "":
			return name
		}
		return name + "[" + from + ":]"
	case lower.Whole:
		return v.buf(o.Buf)
	case lower.Scalar:
		return v.arg(o.Value)
	case lower.Index:
		return v.index(v.at(o.At), precAny)
	}
	fail("a vector operand of kind %d", o.Kind)
	return ""
}

func (v *vectors) tempLen(k int) int64 {
	for _, t := range v.printer.temps {
		if t.name == v.temps[k] {
			return t.len
		}
	}
	return 0
}

// at is a position for the first iteration of the strip.
func (v *vectors) at(x sym.Expr) sym.Expr {
	if !v.code.Whole {
		return x
	}
	return x.Subst(func(s *sym.Symbol) (sym.Expr, bool) { return sym.Int(0), s == v.code.Var })
}
