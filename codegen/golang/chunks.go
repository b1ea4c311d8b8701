package golang

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
)

// temp is an array for vectors between primitives. It is declared at the top
// of the function, so that it is cleared once.
type temp struct {
	name  string
	dtype ir.DType
	len   int64
}

// vectorized returns what is printed of f: its loops as vectors where that is
// worth it. Divided loops are those of a part.
func (p *printer) vectorized(f *loop.Func) []loop.Stmt {
	to := schedule.VectorReader{}
	if p.parts != nil {
		to.Share = p.own
	}
	body := schedule.Vectorize(f, to)
	p.used.find(body, nil)
	return body
}

// chunks writes chunks of a loop as calls of vector primitives.
func (p *printer) chunks(s *loop.Chunks) {
	if p.clears(s) {
		return
	}
	outer := p.scope
	p.scope = codegen.NewScope(outer)
	defer func() { p.scope = outer }()
	v := &vectors{printer: p, code: s, temps: p.takeTemps(s)}
	if s.Whole {
		v.count = s.Extent
		lo, _ := s.Extent.Bounds()
		if lo <= 0 {
			p.line("if %s > 0 {", p.index(s.Extent, precCompare+1))
		}
		v.calls()
		if lo <= 0 {
			p.line("}")
		}
		return
	}
	n := p.index(s.Extent, precAdd)
	i := p.scope.Take(camel(s.Var.Name))
	p.syms[s.Var] = i
	k := sym.NewSymbol("n", 1, s.Size)
	p.syms[k] = p.scope.Take("n")
	v.count = k.Expr()
	p.line("for %s := 0; %s < %s; %s += %d {", i, i, n, i, s.Size)
	p.line("%s := min(%d, %s-%s)", p.syms[k], s.Size, p.index(s.Extent, precAdd), i)
	v.calls()
	p.line("}")
}

// clears writes a chunk that is set to zero.
func (p *printer) clears(s *loop.Chunks) bool {
	fill, ok := s.Body[0].(*loop.Vector)
	lo, _ := s.Extent.Bounds()
	if !ok || fill.Prim != "Fill" || fill.Dst.Kind != loop.RunOperand || len(s.Body) > 1 ||
		lo < 0 || !expr.IsZero(fill.Args[0].Value) {
		return false
	}
	_, first, _ := fill.Dst.At.Coef(s.Var)
	from, to := "", ""
	if !first.IsZero() {
		from = p.index(first, precAny)
	}
	end := sym.Add(first, s.Extent)
	if k := fill.Dst.Buf; k >= len(p.lens) || !p.lens[k].Equal(end) {
		to = p.index(end, precAny)
	}
	dst := p.buf(fill.Dst.Buf)
	if from+to != "" {
		dst += "[" + from + ":" + to + "]"
	}
	p.line("clear(%s)", dst)
	return true
}

// transpose writes a copy of rows to columns as a call.
func (p *printer) transpose(t *loop.Transpose) {
	from := func(k int, at sym.Expr) string {
		if at.IsZero() {
			return p.buf(k)
		}
		return p.buf(k) + "[" + p.index(at, precAny) + ":]"
	}
	p.line("%s(%s, %d, %s, %d, %s, %s)", p.unit.helperAs("Transpose", "vecTranspose"),
		from(t.Dst, t.To), t.DstStep,
		from(t.Src, t.From), t.SrcStep, p.index(t.Rows, precAny), p.index(t.Cols, precAny))
}

// takeTemps returns the names of the temporaries of code.
func (p *printer) takeTemps(code *loop.Chunks) []string {
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
		p.temps[found].len = max(p.temps[found].len, code.Size)
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

// vectors writes the calls of a chunk.
type vectors struct {
	*printer
	code  *loop.Chunks
	temps []string
	count sym.Expr // iterations of the chunk
}

func (v *vectors) calls() {
	for _, s := range v.code.Body {
		c, ok := s.(*loop.Vector)
		switch {
		case !ok:
			v.stmt(s)
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
func (v *vectors) list(args []loop.Operand, exact bool) string {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = v.operand(a, exact && i == 0)
	}
	return strings.Join(list, ", ")
}

// operand writes an operand. exact says that a vector must not be longer than
// the chunk.
func (v *vectors) operand(o loop.Operand, exact bool) string {
	switch o.Kind {
	case loop.TempOperand:
		if n, ok := v.count.Const(); ok && n == v.tempLen(o.Temp) {
			return v.temps[o.Temp] + "[:]"
		}
		return v.temps[o.Temp] + "[:" + v.index(v.count, precAny) + "]"
	case loop.RunOperand:
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
	case loop.BufferOperand:
		return v.buf(o.Buf)
	case loop.ScalarOperand:
		return v.arg(o.Value)
	case loop.IndexOperand:
		return v.index(v.at(o.At), precAny)
	}
	must.Fail("a vector operand of kind %d", o.Kind)
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

// at is a position for the first iteration of the chunk.
func (v *vectors) at(x sym.Expr) sym.Expr {
	if !v.code.Whole {
		return x
	}
	return x.Subst(func(s *sym.Symbol) (sym.Expr, bool) { return sym.Int(0), s == v.code.Var })
}
