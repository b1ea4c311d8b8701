package c

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
	ctext "github.com/etgen/etgen/templates/c"
)

// resultFunction is a function of an epilogue, printed before the first kernel that uses it. Undo,
// if there is one, takes away what has become part of the package for it.
type resultFunction struct {
	name, text string
	undo       func()
	macros     []string // of templates, that it uses
}

// epilogue returns the functions of an instance's epilogue, and how they are called; none if there
// is nothing to do. They have the parameters they use of: acc, o, c and the extra operands.
func (g *gen) epilogue(in *tuned.Instance, info *kernel, names []string) (list []resultFunction,
	result ctext.Result) {
	ep := in.Epilogue
	if ep == nil {
		return nil, result
	}
	p, params, dropped := g.epiloguePrinter(in, names)
	acc, ret := typeOf(ep.Acc.DType), storageOf(ep.DType)
	fn := &expr.Func{Name: info.name, Params: []*expr.Var{ep.Acc}, Body: ep.Body}
	stmts, value := schedule.Function(fn)
	stmts, value = settled(stmts), new(ranges).settle(value)
	if value.Op == expr.OpLocal && value.Var == ep.Acc && acc == ret {
		return nil, result
	}
	stmts = loop.WithoutDead(stmts, value)
	extras := names[in.First(tuned.Extra):][:len(ep.Extra)]
	given := append([]string{"acc", "o", "channel"}, extras...)
	for i := range ep.Numbers {
		given = append(given, scalarName(i))
	}
	list = g.epilogueLanes(in, names, given, stmts, value, &result)
	whole, wholeValue, plain := stmts, value, slices.Clone(given)
	undo := g.support.mark()
	for _, k := range p.ofChannel(ep, &stmts, &value) {
		t := typeOf(ep.Extra[k])
		n := name(p.scope.Take(extras[k]+"_c"), t)
		p.scalars = append(p.scalars, n)
		given, dropped = append(given, n.s), dropped[:len(dropped)+1]
		params = append(params, parameter{t.String() + " ", n.s, &dropped[len(dropped)-1]})
		result.Read = append(result.Read, ctext.Read{Arg: n.s, Type: t.String(), Buffer: extras[k]})
	}
	p.block(stmts)
	p.returns(value, ret)
	body := p.w.b.String()
	kept := g.needed(params, p.used())
	result.Name = g.epilogueName("result",
		in.FormHead()+" "+ret.String()+" "+paramList(kept)+" "+body)
	result.Args = keptArguments(given, dropped)
	w := &writer{}
	w.raw("/* What is stored for a sum. */")
	head := "static inline"
	var macros []string
	if h := "TILE_FUSED"; in.FormHead() == h {
		switch { // gcc inlines what has the same mode, and what has no mode of its own
		case !rounds(stmts, value):
			head, macros = ctext.PrefixedName(h, g.prefix)+" static inline", []string{h}
		case g.contracts(ep, stmts, value):
			head = g.noInline() + " static"
		}
	}
	w.function(body, "%s %s %s(%s)", head, ret, result.Name, paramList(kept))
	list = append(list, resultFunction{result.Name, w.b.String(), undo, macros})
	return append(list, g.epilogueBytes(in, names, plain, whole, wholeValue, &result)...), result
}

// rounds reports whether a body makes whole numbers of floats, which contraction may change.
func rounds(stmts []loop.Stmt, value *expr.Expr) bool {
	whole := func(e *expr.Expr) bool {
		switch e.Op {
		case expr.OpCast:
			return e.DType.IsInt() && e.Args[0].DType.IsFloat()
		case expr.OpRound, expr.OpFloor, expr.OpCeil, expr.OpTrunc:
			return true
		}
		return e.Fn != nil && rounds(nil, e.Fn.Body)
	}
	return expr.Any(value, whole) || slices.ContainsFunc(stmts, func(s loop.Stmt) bool {
		return loop.AnyNode(s, whole)
	})
}

// contracts reports whether a body that rounds has a product that the compiler may contract with a
// sum. On hosts rounding adds a number.
func (g *gen) contracts(ep *tuned.Epilogue, stmts []loop.Stmt, value *expr.Expr) bool {
	if m := g.opt.Machine; m == nil || !m.Microcontroller {
		return true
	}
	sum := func(e *expr.Expr) bool {
		return (e.Op == expr.OpAdd || e.Op == expr.OpSub) && e.DType.IsFloat() &&
			slices.ContainsFunc(e.Args, func(a *expr.Expr) bool {
				return a.Op == expr.OpMul || a.Op == expr.OpLocal && a.Var != ep.Acc
			})
	}
	return expr.Any(value, sum) || slices.ContainsFunc(stmts, func(s loop.Stmt) bool {
		return loop.AnyNode(s, sum)
	})
}

// ofChannel replaces what a body reads of extra operands at the result's channel by further
// numbers, one for each operand it returns. So what stores several results of a channel reads it
// once: compilers have bytes overlap with anything. Others they leave as they find them.
func (p *printer) ofChannel(ep *tuned.Epilogue, stmts *[]loop.Stmt,
	value **expr.Expr) (read []int) {
	if ep.DType.Size() > 1 {
		return nil
	}
	return p.apart(ep, stmts, value, func(e *expr.Expr) (tuned.Number, bool) {
		most := float64(math.MaxInt32) + 1
		if e.DType == ir.Float32 {
			most = ep.Largest[e.Buf]
		}
		return tuned.Number{DType: e.DType, Low: -most, High: most},
			e.Coords[0].Equal(ep.C.Expr()) && ep.Extra[e.Buf] == e.DType &&
				(e.DType == ir.Float32 || e.DType == ir.Int32)
	})
}

// apart replaces loads of which of returns true by further numbers, one for each operand it
// returns. All loads of an operand that are replaced are of one element.
func (p *printer) apart(ep *tuned.Epilogue, stmts *[]loop.Stmt, value **expr.Expr,
	of func(*expr.Expr) (tuned.Number, bool)) (read []int) {
	numbers := slices.Clip(ep.Numbers)
	scalars := map[int]int{}
	replace := func(e *expr.Expr) *expr.Expr {
		return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
			if e.Op != expr.OpLoad {
				return e
			}
			n, ok := of(e)
			if !ok {
				return e
			}
			at, done := scalars[e.Buf]
			if !done {
				at = len(numbers)
				scalars[e.Buf] = at
				read = append(read, e.Buf)
				numbers = append(numbers, n)
			}
			return expr.ScalarRef(at, e.DType)
		})
	}
	body := seq.Map(*stmts, func(s loop.Stmt) loop.Stmt {
		return loop.Map(s, replace, func(x sym.Expr) sym.Expr { return x })
	})
	*stmts, *value, p.ranges.numbers = body, replace(*value), numbers
	return read
}

// epiloguePrinter prints in a function of an instance's epilogue that has these parameters: acc,
// o, c, the extra operands and numbers. Dropped will say of each whether nothing uses it.
func (g *gen) epiloguePrinter(in *tuned.Instance, names []string) (p *printer, params []parameter,
	dropped []bool) {
	ep := in.Epilogue
	p = g.newPrinter(g.locals)
	p.vars[ep.Acc] = p.scope.Take("acc")
	p.syms[ep.O], p.syms[ep.C] = p.scope.Take("o"), p.scope.Take("c")
	n := 3 + len(ep.Extra) + len(ep.Numbers)
	dropped = make([]bool, n, n+len(ep.Extra)) // which parameters point into
	params = []parameter{{typeOf(ep.Acc.DType).String() + " ", p.vars[ep.Acc], &dropped[0]},
		{g.idx.String() + " ", p.syms[ep.O], &dropped[1]},
		{g.idx.String() + " ", p.syms[ep.C], &dropped[2]}}
	extras := names[in.First(tuned.Extra):]
	for i, d := range ep.Extra {
		n := p.scope.Take(extras[i])
		p.bufs = append(p.bufs, operand{n, d, []string{n}})
		t := storageOf(d)
		params = append(params, parameter{"const " + t.String() + " *", n, &dropped[3+i]})
	}
	for i, x := range ep.Numbers {
		t := typeOf(x.DType)
		n := name(p.scope.Take(scalarName(i)), t)
		p.scalars = append(p.scalars, n)
		params = append(params, parameter{t.String() + " ", n.s, &dropped[3+len(ep.Extra)+i]})
	}
	p.ranges.largest, p.ranges.numbers = ep.Largest, ep.Numbers
	if ep.Sum > 0 {
		p.ranges.acc, p.ranges.sum = ep.Acc, ep.Sum
	}
	return p, params, dropped
}

// epilogueLanes returns the function that stores what becomes of the sums of neighbouring channels,
// a vector of them, and says in result how it is called; none if the machine has no vectors, or
// not all functions for them.
func (g *gen) epilogueLanes(in *tuned.Instance, names, given []string, stmts []loop.Stmt,
	value *expr.Expr, result *ctext.Result) []resultFunction {
	ep := in.Epilogue
	if m := g.opt.Machine; m == nil || !m.MVE || g.idx != tI32 {
		return nil
	}
	p, params, dropped := g.epiloguePrinter(in, names)
	acc, known := vectorTypes[ep.Acc.DType]
	l := p.lanes(ep.Acc, ep.O, ep.C)
	l.statements(stmts)
	first := p.scope.Take("first")
	stored := l.store(ep.DType, first, l.stored(value))
	if l.failed || !known {
		return nil
	}
	g.lanes = true
	params[0].typ = acc + " "
	p.w.line("%s", stored)
	body := p.w.b.String()
	params = append([]parameter{{storageOf(ep.DType).String() + " *", first, new(bool)}}, params...)
	p.use(first)
	kept := g.needed(params, p.used())
	result.Lanes = g.epilogueName("results", paramList(kept)+" "+body)
	result.LanesArgs = keptArguments(given, dropped)
	w := &writer{}
	w.raw("/* Stores what becomes of the sums of channels beside each other. */")
	w.function(body, "static inline void %s(%s)", result.Lanes, paramList(kept))
	return []resultFunction{{name: result.Lanes, text: w.b.String()}}
}

// epilogueBytes returns that function for vectors of BYTES_LANES sums, and bytes as results. The
// compiler finds the vectors, in a loop that has nothing but 32 bits: with bytes in it gcc would
// compute in vectors of the size that bytes fill. There is none for machines without SSE2.
func (g *gen) epilogueBytes(in *tuned.Instance, names, given []string, stmts []loop.Stmt,
	value *expr.Expr, result *ctext.Result) []resultFunction {
	ep := in.Epilogue
	if !g.opt.Machine.May("__SSE2__") || !in.Tile.Vector || ep.DType.Size() > 1 ||
		ep.Acc.DType.Size() != 4 {
		return nil
	}
	undo := g.support.mark()
	p, params, dropped := g.epiloguePrinter(in, names)
	macro := func(name string) string { return ctext.PrefixedName(name, g.prefix) }
	sums, first, lane := p.vars[ep.Acc], p.scope.Take("first"), p.scope.Take("k")
	at, channel := p.syms[ep.O], p.syms[ep.C]
	p.vars[ep.Acc], p.syms[ep.O], p.syms[ep.C] = p.scope.Take("acc_k"), p.scope.Take("i"),
		p.scope.Take("j")
	if value.Op == expr.OpCast && value.Args[0].DType == ir.Int32 {
		value = value.Args[0] // each lane's low bits are stored
	}
	macros := []string{"BYTES_LANES", "BYTES_INLINE", "BYTES_ROWS"}
	wide, lanes := p.scope.Take("wide"), macro("BYTES_LANES")
	rows, row := p.scope.Take("rows"), p.scope.Take("r")
	apart, next := p.scope.Take("apart"), p.scope.Take("next")
	reads := &writer{indent: 2}
	for _, k := range p.widened(ep, &stmts, &value) {
		n := p.scope.Take(names[in.First(tuned.Extra)+k] + "_i")
		p.scalars = append(p.scalars, name(n+"["+lane+"]", tI32))
		reads.line("int32_t %s[%s];", n, lanes)
		reads.line("*(%s *)%s = %s(%s + %s + %s * %s);", macro("bytes_vec"), n, macro("BYTES_WIDEN"),
			p.bufs[k].name, at, row, next)
		p.use(p.bufs[k].name)
		macros = append(macros, "BYTES_WIDEN", "bytes_vec")
	}
	p.w.indent = 3
	p.block(stmts)
	as, store := tI32, &writer{indent: 1}
	if r, ok := p.roundedBytes(ep, value); ok {
		// Vectors have the processor's own rounding, which is quicker than that in bits.
		as, value = tF32, r.of
		store.line("%s(%s, false, %s + %s, %s, %s, %d, %d, %d);", macro("bytes_nearest"), rows, first, at,
			next, wide, r.zero, r.lo, r.hi)
		macros = append(macros, "bytes_nearest")
	} else {
		store.line("for (int %[1]s = 0; %[1]s < %[2]s; %[1]s++) {", row, rows)
		store.line("    %s(%s + %s + %s * %s, *(const %s *)%s[%[4]s]);", macro("BYTES_STORE"), first, at,
			row, next, macro("bytes_vec"), wide)
		store.line("}")
		macros = append(macros, "BYTES_STORE", "bytes_vec")
	}
	p.w.line("%s[%s][%s] = %s;", wide, row, lane, convert(p.expr(value), as).s)
	body := &writer{indent: 1}
	body.line("%s %s[%s][%s];", as, wide, macro("BYTES_ROWS"), lanes)
	body.blank()
	body.line("for (int %[1]s = 0; %[1]s < %[2]s; %[1]s++) {", row, rows)
	body.b.WriteString(reads.b.String())
	body.indent++
	body.line("%s", g.rolled())
	body.line("for (int %[1]s = 0; %[1]s < %[2]s; %[1]s++) {", lane, lanes)
	body.indent++
	body.line("const %s %s = %s[%s * %s + %s];", typeOf(ep.Acc.DType), p.vars[ep.Acc], sums, row,
		apart, lane)
	if p.used()[p.syms[ep.O]] {
		body.line("const %s %s = %s + %s * %s + %s;", g.idx, p.syms[ep.O], at, row, next, lane)
	}
	if p.used()[p.syms[ep.C]] {
		body.line("const %s %s = %s + %s;", g.idx, p.syms[ep.C], channel, lane)
		p.use(channel)
	}
	body.b.WriteString(p.w.b.String())
	body.indent--
	body.line("}")
	body.indent--
	body.line("}")
	body.b.WriteString(store.b.String())
	result.BytesOnce = p.used()[p.syms[ep.O]] || reads.b.Len() > 0
	p.use(rows, first, sums, apart, at, next)
	params[0].typ = "const " + typeOf(ep.Acc.DType).String() + " *"
	index := g.idx.String() + " "
	params = slices.Concat([]parameter{{"const int ", rows, new(bool)},
		{storageOf(ep.DType).String() + " *", first, new(bool)}}, params[:1],
		[]parameter{{index, apart, new(bool)}}, params[1:2], []parameter{{index, next, new(bool)}},
		params[2:])
	kept := g.needed(params, p.used())
	result.Bytes = g.epilogueName("results", paramList(kept)+" "+body.b.String())
	args := keptArguments(given, dropped)
	result.BytesArgs = slices.Concat([]string{args[0], "apart", args[1], "next"}, args[2:])
	w := &writer{}
	w.raw("#if defined(" + lanes + ")")
	w.raw("/* Stores what becomes of the sums of so many channels beside each other, in rows. */")
	w.function(body.b.String(), "%s void %s(%s)", macro("BYTES_INLINE"), result.Bytes, paramList(kept))
	w.raw("#endif")
	return []resultFunction{{result.Bytes, w.b.String(), undo, macros}}
}

// roundedBytes reads a result that is a rounded number in constant limits.
func (p *printer) roundedBytes(ep *tuned.Epilogue, value *expr.Expr) (r roundedNumber, ok bool) {
	if value.Op != expr.OpCast || ep.DType != ir.Int8 {
		return r, false
	}
	r, ok = p.roundedTo(value.Args[0], tI8)
	return r, ok && r.constant() && r.inShorts()
}

// widened replaces what a body reads of bytes at the result's position by further numbers, which
// have 32 bits, one for each operand it returns.
func (p *printer) widened(ep *tuned.Epilogue, stmts *[]loop.Stmt, value **expr.Expr) (read []int) {
	return p.apart(ep, stmts, value, func(e *expr.Expr) (tuned.Number, bool) {
		return tuned.Number{DType: ir.Int8, Low: -128, High: 127},
			e.Coords[0].Equal(ep.O.Expr()) && e.DType == ir.Int8 && ep.Extra[e.Buf] == ir.Int8
	})
}

// epilogueName names a function, by its text.
func (g *gen) epilogueName(word, text string) string {
	key := word + " " + text
	name, done := g.support.names[key]
	if !done {
		name = g.names.TakeAround(g.prefix + "_" + word)
		g.support.names[key] = name
	}
	return name
}

// keptArguments returns those that are not dropped.
func keptArguments(given []string, dropped []bool) (args []string) {
	for i, a := range given {
		if !dropped[i] {
			args = append(args, a)
		}
	}
	return args
}
