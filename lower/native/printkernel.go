package native

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/tuned"
)

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
	pr.symbols = text.NewNames[*sym.Symbol]()
	params := make([]string, len(k.Params))
	for i, s := range k.Params {
		params[i] = pr.symbols.Declare(s, s.Name) + " in " + text.Range(s, pr.symbols)
	}
	pr.line(nil, "%s(%s) = %s {", k.Name, strings.Join(params, ", "), k.Tuned.Kernel.Name)
	pr.indent++
	pr.tuned(k.Tuned)
	pr.indent--
	pr.line(nil, "}")
}

// tuned prints the body of a tuned kernel:
//
//	symbol s0 in [1, 64]          the sizes mentioned that are no parameters
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
	pr.foreign(in)
	params := make([]string, len(in.Params))
	for i, p := range in.Params {
		params[i] = p.Name + "=" + pr.index(p.Value)
	}
	if len(params) > 0 {
		pr.line(nil, "params %s", strings.Join(params, ", "))
	}
	if len(in.Operands) > 0 {
		pr.line(nil, "operands %s", intList(in.Operands))
	}
	for _, p := range in.Packed {
		from := ""
		if len(p.From) > 0 {
			from = " from " + intList(p.From)
		}
		pr.line(nil, "packed %s = %s%s", p.Name, pr.packed(p), from)
	}
	run := ""
	if in.RunChannels {
		run = " run"
	}
	pr.line(nil, "channels %s, %s%s", pr.index(in.Channels.Inner), pr.index(in.Channels.Count), run)
	if !in.Scratch.IsZero() {
		pr.line(nil, "scratch %s", pr.index(in.Scratch))
	}
	vector := ""
	if in.Tile.Vector {
		vector = " vector"
	}
	pr.line(nil, "tile %d, %d%s", in.Tile.Rows, in.Tile.Cols, vector)
	pr.line(nil, "macs %s", pr.index(in.MACs))
	pr.line(nil, "cost %s", strconv.FormatFloat(in.Cost, 'g', -1, 64))
	if in.Epilogue != nil {
		pr.epilogue(in.Epilogue)
	}
}

// foreign declares the symbols of the methods that call in.
func (pr *printer) foreign(in *tuned.Instance) {
	list := []sym.Expr{in.Channels.Inner, in.Channels.Count, in.Scratch, in.MACs}
	own := map[*sym.Symbol]bool{}
	if ep := in.Epilogue; ep != nil {
		list = append(list, ep.O.Lo, ep.O.Hi, ep.C.Lo, ep.C.Hi)
		own[ep.O], own[ep.C] = true, true
	}
	for _, p := range in.Params {
		list = append(list, p.Value)
	}
	var declare func(sym.Expr)
	declare = func(e sym.Expr) {
		for _, s := range e.Symbols() {
			if own[s] || pr.symbols.Has(s) {
				continue
			}
			declare(s.Lo)
			declare(s.Hi)
			pr.line(nil, "symbol %s in %s", pr.symbols.Declare(s, s.Name),
				text.Range(s, pr.symbols))
		}
	}
	for _, e := range list {
		declare(e)
	}
}

func intList(xs []int) string {
	list := make([]string, len(xs))
	for i, x := range xs {
		list[i] = strconv.Itoa(x)
	}
	return strings.Join(list, ", ")
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

func (pr *printer) epilogue(ep *tuned.Epilogue) {
	pr.symbols.Open()
	defer pr.symbols.Close()
	values := text.NewNames[*expr.Var]()
	acc := values.Declare(ep.Acc, ep.Acc.Name)
	head := fmt.Sprintf("%s: %s", acc, ep.Acc.DType.Short())
	for _, s := range []*sym.Symbol{ep.O, ep.C} {
		bounds := text.Range(s, pr.symbols)
		head += fmt.Sprintf(", %s in %s", pr.symbols.Declare(s, s.Name), bounds)
	}
	extra := func(k int) string { return fmt.Sprintf("x%d", k) }
	for i, d := range ep.Extra {
		head += fmt.Sprintf(", %s: %s", extra(i), d.Short())
	}
	body := ep.Body.Format(expr.Names{
		Operand: extra,
		Scalar:  func(k int) string { return fmt.Sprintf("scalar_%d", k) }, // there are none
		Local:   func(v *expr.Var) string { return values.Of(v, v.Name) },
		Index:   pr.index,
	}, true)
	pr.line(nil, "epilogue %s(%s) = %s", ep.DType.Short(), head, body)
}

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
