package native

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
	"github.com/etgen/etgen/kernels/expr"
)

func (pr *printer) stmts(list []Stmt) {
	for _, s := range list {
		pr.stmt(s)
	}
}

// nested prints the statements of a block; what they declare ends with it.
func (pr *printer) nested(list []Stmt) {
	pr.symbols.Open()
	pr.buffers.Open()
	pr.indent++
	pr.stmts(list)
	pr.indent--
	pr.buffers.Close()
	pr.symbols.Close()
}

func (pr *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Call:
		pr.line(s.From, "%s", pr.call(s))
	case *Cond:
		pr.line(s.From, "if %s {", pr.buffer(s.Pred))
		pr.nested(s.Then)
		pr.line(nil, "} else {")
		pr.nested(s.Else)
		pr.line(nil, "}")
	case *While:
		pr.line(s.From, "do {")
		pr.nested(s.Head)
		pr.line(nil, "} while %s {", pr.buffer(s.Pred))
		pr.nested(s.Body)
		pr.line(nil, "}")
	case *For:
		pr.loop(s)
	case *Let:
		pr.let(s)
	case *Assert:
		word := "assert"
		switch {
		case s.Given:
			word = "require"
		case s.Index:
			word = "assert_index"
		}
		pr.line(s.From, "%s %s, %s%s", word, pr.value(s.Cond, s.Args, true),
			strconv.Quote(s.Message.Raw()), pr.using(s.Cond, s.Args))
	case *Poison:
		pr.line(nil, "poison %s", pr.buffer(s.Buf))
	}
}

func (pr *printer) loop(s *For) {
	head := "< " + pr.index(s.Extent)
	if !s.Var.Lo.IsZero() || !s.Var.Hi.Equal(sym.Sub(s.Extent, sym.Int(1))) {
		head += " in " + text.Range(s.Var, pr.symbols)
	}
	if s.Reverse {
		head += " reverse"
	}
	pr.symbols.Open()
	pr.buffers.Open()
	pr.line(s.From, "for %s %s {", pr.symbols.Declare(s.Var, s.Var.Name), head)
	pr.known[s.Var] = true
	pr.indent++
	pr.showViews()
	pr.indent--
	pr.nested(s.Body)
	pr.line(nil, "}")
	pr.buffers.Close()
	pr.symbols.Close()
}

func (pr *printer) let(s *Let) {
	if s.Var != nil {
		pr.line(s.From, "let %s: %s = %s%s", pr.values.Of(s.Var, s.Var.Name), s.Var.DType.Short(),
			pr.value(s.Value, s.Args, true), pr.using(s.Value, s.Args))
		return
	}
	value := pr.value(s.Value, s.Args, false)
	bounds := ""
	if !pr.known[s.Sym] {
		pr.symbols.Declare(s.Sym, s.Sym.Name)
		bounds = " in " + text.Range(s.Sym, pr.symbols)
		pr.known[s.Sym] = true
	}
	pr.line(s.From, "let %s%s = %s%s", pr.symbols.Of(s.Sym, s.Sym.Name), bounds, value,
		pr.using(s.Value, s.Args))
	pr.showViews()
}

// value returns the text of an expression whose loads index args.
func (pr *printer) value(e *expr.Expr, args []*Buffer, typed bool) string {
	return e.Format(expr.Names{
		Operand: func(k int) string { return pr.buffer(args[k]) },
		Scalar:  func(k int) string { return fmt.Sprintf("scalar_%d", k) }, // methods have none
		Local:   func(v *expr.Var) string { return pr.values.Of(v, v.Name) },
		Index:   pr.index,
	}, typed)
}

// using returns what must be said about the buffers of e.
func (pr *printer) using(e *expr.Expr, args []*Buffer) string {
	if slices.Equal(loadOrder(e, args), args) {
		return ""
	}
	return " using (" + pr.bufferList(args) + ")"
}

// loadOrder returns the buffers that e reads in the order of its text.
func loadOrder(e *expr.Expr, args []*Buffer) []*Buffer {
	var out []*Buffer
	var walk func(*expr.Expr)
	walk = func(e *expr.Expr) {
		if e.Op == expr.OpLoad && !slices.Contains(out, args[e.Buf]) {
			out = append(out, args[e.Buf])
		}
		for _, a := range e.Args {
			walk(a)
		}
	}
	walk(e)
	return out
}

func (pr *printer) bufferList(list []*Buffer) string {
	names := make([]string, len(list))
	for i, b := range list {
		names[i] = pr.buffer(b)
	}
	return strings.Join(names, ", ")
}

// isResult reports whether operand i of k stands on the left of a call.
func (k *Kernel) isResult(i int) bool {
	r, w := k.Uses(i)
	return w && !r && !k.IsScratch(i)
}

func (pr *printer) call(c *Call) string {
	var outs []*Buffer
	var ins []string
	for i, b := range c.Args {
		if c.Kernel.isResult(i) {
			outs = append(outs, b)
		} else {
			ins = append(ins, pr.buffer(b))
		}
	}
	for i, e := range c.Ints {
		ins = append(ins, c.Kernel.Params[i].Name+"="+pr.index(e))
	}
	for _, x := range c.Scalars {
		ins = append(ins, pr.value(x, nil, true))
	}
	results := "()"
	if len(outs) > 0 {
		results = pr.bufferList(outs)
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
