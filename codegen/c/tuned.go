package c

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	kmath "github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
	ctext "github.com/etgen/etgen/templates/c"
)

// tuned prints the function of a tuned kernel: its template with signature,
// integers and epilogue filled in.
func (g *gen) tuned(k *native.Kernel, info *kernel) {
	in := k.Tuned
	g.tiles = g.tiles || in.Tile.Vector
	slots := in.Slots()
	if len(slots) != len(info.dtypes) {
		must.Fail("%d operands for %d names", len(info.dtypes), len(slots))
	}
	text := g.template(in)
	text.Func, text.Known = g.mathFunction, map[string]int64{}
	for _, v := range in.Params {
		if n, ok := v.Value.Const(); ok {
			text.Known[v.Name] = n
		}
	}
	names := seq.Map(slots, func(s tuned.Slot) string { return s.Name })
	var results []resultFunction
	results, text.Result = g.epilogue(in, info, names)

	var params []parameter
	for i, s := range slots {
		typ := g.operandDecl(info, i, written(k, i))
		if s.Kind == tuned.Scratch {
			typ = "void *"
		}
		params = append(params, parameter{typ, s.Name, &info.dropArg[i]})
	}
	phases := g.phases(in, text)
	used := map[string]bool{}
	for _, ph := range phases {
		maps.Copy(used, ph.used)
	}
	for _, f := range slices.Backward(results) { // each takes away what came behind it, too
		for _, m := range f.macros {
			used[m] = used[m] || used[f.name]
		}
		if !used[f.name] && f.undo != nil {
			f.undo()
		}
	}
	g.tunedHelpers(in, used)
	integers, given := g.integers(k, info, used)
	for i, ph := range phases {
		var declared []string
		for _, d := range integers {
			if ph.used[d.name] {
				declared = append(declared, d.line)
				phases[i].used[d.given] = true
				used[d.given] = true
			}
		}
		phases[i].body = text.WithIntegers(ph.body, declared)
	}
	kept := g.needed(append(params, given...), used)
	w := &g.kernelText
	for _, f := range results {
		if used[f.name] && !g.results[f.name] {
			g.results[f.name] = true
			w.blank()
			w.b.WriteString(f.text)
		}
	}
	g.paramsType(info)
	w.blank()
	if !k.Doc.IsEmpty() {
		w.comment(k.Doc.Comment())
	}
	head := g.static()
	if k.Fails() {
		head = strings.TrimSuffix(head, "void") + "bool"
	}
	if in.Kernel.Include != "" && !slices.Contains(g.includes, in.Kernel.Include) {
		g.includes = append(g.includes, in.Kernel.Include)
	}
	if in.Kernel.Apart && in.Form == "" && info.calls > 1 && !g.divided {
		head = g.noCopies() + " " + head
	}
	if h := in.FormHead(); h != "" {
		head = ctext.PrefixedName(h, g.prefix) + " " + head
	}
	if len(phases) == 1 && text.Phase == "" {
		w.line("%s", g.kernelHead(head, info.name, kept))
		w.raw(strings.Trim(phases[0].body, "\n"))
		return
	}
	g.parts(info.name, head, phases, kept)
}

// phases returns the text of a kernel, or that of each of its phases if threads
// share them.
func (g *gen) phases(in *tuned.Instance, text *ctext.Kernel) (phases []phase) {
	names := in.Phases()
	if g.opt.Threads < 2 || !in.Divided || len(names) > 1 && !text.One("batch") {
		names = []string{""}
	}
	for _, text.Phase = range names {
		text.Used = map[string]bool{}
		body, err := ctext.Text(in.Name(), text)
		must.Check(err)
		phases = append(phases, phase{text.Phase, body, text.Used})
	}
	return phases
}

// template is what the templates of an instance are executed with.
func (g *gen) template(in *tuned.Instance) *ctext.Kernel {
	k := &ctext.Kernel{Prefix: g.prefix, Index: g.idx.String(), Rows: in.Tile.Rows,
		Cols: in.Tile.Cols, Vector: in.Tile.Vector, Scalar: !g.opt.Machine.MayPair(),
		Omits: func(macro string) bool { return !g.opt.Machine.May(macro) }}
	if m := g.opt.Machine; m != nil && m.Undefined != nil {
		k.Lanes, k.Low, k.MVE = m.Vectors/32, m.Low, m.MVE
	}
	return k
}

// tunedHelpers makes the templates that a kernel's text, with the names used in it, needs
// before it part of the package, behind the functions of kernels/math that they call.
func (g *gen) tunedHelpers(in *tuned.Instance, used map[string]bool) {
	maps.Copy(g.tunedNames, used)
	g.tunedNames[in.FormHead()] = true
	for _, h := range ctext.HelpersFor(used, in.Tile.Vector) {
		key := fmt.Sprintf("tuned %s %+v", h, in.Tile)
		if _, done := g.support.names[key]; done {
			continue
		}
		g.support.names[key] = h
		k := g.template(in)
		k.Func = g.mathFunction
		_, err := ctext.Text(h, k)
		must.Check(err)
		g.support.tuned = append(g.support.tuned, tunedHelper{len(g.support.texts), h, k})
		g.support.texts = append(g.support.texts, "")
	}
}

// tunedTexts prints those templates when all names are known that are used: they define no
// other macros.
func (g *gen) tunedTexts() {
	for known := -1; known != len(g.tunedNames); {
		known = len(g.tunedNames)
		for _, h := range g.support.tuned {
			h.k.Used = g.tunedNames
			s, err := ctext.Text(h.name, h.k)
			must.Check(err)
			if s = strings.Trim(s, "\n"); s != "" {
				s += "\n"
			}
			g.support.texts[h.at] = s
		}
	}
}

// mathFunction returns the name of a float32 function of kernels/math.
func (g *gen) mathFunction(name string) string {
	return g.function(kmath.Func(name, ir.Float32))
}

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
	result.Name = g.epilogueName("result", in.FormHead()+" "+ret.String()+" "+paramList(kept)+" "+body)
	result.Args = keptArguments(given, dropped)
	w := &writer{}
	w.raw("/* What is stored for a sum. */")
	head := "static inline"
	var macros []string
	if h := "TILE_FUSED"; in.FormHead() == h && ep.DType.IsFloat() { // else gcc would not inline it
		head = ctext.PrefixedName(h, g.prefix) + " " + head
		macros = []string{h}
	}
	w.function(body, "%s %s %s(%s)", head, ret, result.Name, paramList(kept))
	list = append(list, resultFunction{result.Name, w.b.String(), undo, macros})
	return append(list, g.epilogueBytes(in, names, plain, whole, wholeValue, &result)...), result
}

// ofChannel replaces what a body reads of extra operands at the result's channel by further
// numbers, one for each operand it returns. So what stores several results of a channel reads it
// once: compilers have bytes overlap with anything. Others they leave as they find them.
func (p *printer) ofChannel(ep *tuned.Epilogue, stmts *[]loop.Stmt, value **expr.Expr) (read []int) {
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
// compute in vectors of the size that bytes fill. There is none for machines without AVX2.
func (g *gen) epilogueBytes(in *tuned.Instance, names, given []string, stmts []loop.Stmt,
	value *expr.Expr, result *ctext.Result) []resultFunction {
	ep := in.Epilogue
	if !g.opt.Machine.May("__AVX2__") || !in.Tile.Vector || ep.DType.Size() > 1 ||
		ep.Acc.DType.Size() != 4 {
		return nil
	}
	undo := g.support.mark()
	p, params, dropped := g.epiloguePrinter(in, names)
	macro := func(name string) string { return ctext.PrefixedName(name, g.prefix) }
	sums, first, lane := p.vars[ep.Acc], p.scope.Take("first"), p.scope.Take("k")
	at, channel := p.syms[ep.O], p.syms[ep.C]
	p.vars[ep.Acc], p.syms[ep.O], p.syms[ep.C] = p.scope.Take("sum"), p.scope.Take("i"),
		p.scope.Take("j")
	if value.Op == expr.OpCast && value.Args[0].DType == ir.Int32 {
		value = value.Args[0] // each lane's low bits are stored
	}
	macros := []string{"BYTES_LANES", "BYTES_STORE", "bytes_vec"}
	wide, lanes := p.scope.Take("wide"), macro("BYTES_LANES")
	head := &writer{indent: 1}
	head.line("int32_t %s[%s];", wide, lanes)
	read := p.widened(ep, &stmts, &value)
	for _, k := range read {
		n := p.scope.Take(names[in.First(tuned.Extra)+k] + "_i")
		p.scalars = append(p.scalars, name(n+"["+lane+"]", tI32))
		head.line("int32_t %s[%s];", n, lanes)
	}
	head.blank()
	for i, k := range read {
		n, _, _ := strings.Cut(p.scalars[len(p.scalars)-len(read)+i].s, "[")
		head.line("*(%s *)%s = %s(%s + %s);", macro("bytes_vec"), n, macro("BYTES_WIDEN"),
			p.bufs[k].name, at)
		p.use(at, p.bufs[k].name)
		macros = append(macros, "BYTES_WIDEN")
	}
	p.w.indent = 2
	p.block(stmts)
	p.w.line("%s[%s] = %s;", wide, lane, convert(p.expr(value), tI32).s)
	body := &writer{indent: 1}
	body.b.WriteString(head.b.String())
	body.line("%s", g.rolled())
	body.line("for (int %s = 0; %s < %s; %s++) {", lane, lane, lanes, lane)
	body.indent++
	body.line("const %s %s = %s[%s];", typeOf(ep.Acc.DType), p.vars[ep.Acc], sums, lane)
	for _, n := range [][2]string{{p.syms[ep.O], at}, {p.syms[ep.C], channel}} {
		if p.used()[n[0]] {
			body.line("const %s %s = %s + %s;", g.idx, n[0], n[1], lane)
			p.use(n[1])
		}
	}
	body.b.WriteString(p.w.b.String())
	body.indent--
	body.line("}")
	body.line("%s(%s, *(const %s *)%s);", macro("BYTES_STORE"), first, macro("bytes_vec"), wide)
	p.use(first, sums)
	params[0].typ = "const " + typeOf(ep.Acc.DType).String() + " *"
	params = append([]parameter{{storageOf(ep.DType).String() + " *", first, new(bool)}}, params...)
	kept := g.needed(params, p.used())
	result.Bytes = g.epilogueName("results", paramList(kept)+" "+body.b.String())
	result.BytesArgs = keptArguments(given, dropped)
	w := &writer{}
	w.raw("#if defined(" + lanes + ")")
	w.raw("/* Stores what becomes of the sums of so many channels beside each other. */")
	w.function(body.b.String(), "static inline void %s(%s)", result.Bytes, paramList(kept))
	w.raw("#endif")
	return []resultFunction{{result.Bytes, w.b.String(), undo, macros}}
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

// scalarName is what number i of an epilogue is called.
func scalarName(i int) string { return fmt.Sprint("scalar", i) }

// paramsName is the parameter of a tuned kernel that points to its integers.
const paramsName = "params"

// mostArguments is how many parameters a function has at most, buffers and all.
const mostArguments = 8

// tunedParams are the integers of a tuned kernel that differ between its calls: the
// members of a struct, of which each call passes one.
type tunedParams struct {
	typ    string // of the struct; "" if they are parameters by themselves
	fields []paramsField
	named  map[string]string // constants, by what they hold
}

// paramsField is a member of the struct. Fields that are the same number in each call are
// one member.
type paramsField struct {
	*tuned.Field
	also []string // other fields that it stands for
	typ  string
	at   int // which field of the descriptor it is, or behind those which number of the epilogue
}

// integer declares a field in the body of a kernel. Given is the parameter that it
// comes from, "" if it is a constant.
type integer struct{ name, line, given string }

// integers returns the declarations of the fields of k that its text uses, and the
// parameters that they come from: the fields themselves, or a struct if with the buffers
// they would be too many.
func (g *gen) integers(k *native.Kernel, info *kernel, used map[string]bool) (list []integer,
	given []parameter) {
	in := k.Tuned
	at := g.idx.String()
	ps := &tunedParams{named: map[string]string{}}
	info.params = ps
	ps.fields = info.fieldsOf(k, used, at)
	from := map[string]string{}
	others := len(in.Slots())
	if g.divides(k) {
		others += 2 // part and parts
	}
	if len(ps.fields) > 0 && others+len(ps.fields) > mostArguments {
		ps.typ = g.names.TakeAround(g.prefix + "_" + in.Kernel.Descriptor.Name)
		given = []parameter{{"const " + ps.typ + " *", paramsName, new(bool)}}
	}
	for _, f := range ps.fields {
		source := f.Name
		if ps.typ == "" {
			typ := at
			if f.at >= len(in.Params) {
				typ = f.typ
			}
			given = append(given, parameter{typ + " ", f.Name, new(bool)})
		} else {
			source = paramsName + "->" + f.Name
			from[f.Name] = source
		}
		for _, name := range f.also {
			from[name] = source
		}
	}
	for _, v := range in.Params {
		line, parameter := fmt.Sprintf("const %s %s = ", at, v.Name), ""
		source, ok := from[v.Name]
		n, constant := v.Value.Const()
		switch {
		case !used[v.Name]:
			continue
		case constant:
			line += fmt.Sprint(n)
		case ok:
			line += source
			parameter, _, _ = strings.Cut(source, "->")
		default:
			continue // the parameter has its name
		}
		list = append(list, integer{v.Name, line + ";", parameter})
	}
	for _, f := range ps.fields {
		if f.at >= len(in.Params) && ps.typ != "" {
			list = append(list, integer{f.Name, fmt.Sprintf("const %s %s = %s;", f.typ, f.Name,
				from[f.Name]), paramsName})
		}
	}
	return list, given
}

// fieldsOf returns the fields that a kernel's text uses and that differ between calls.
func (info *kernel) fieldsOf(k *native.Kernel, used map[string]bool,
	at string) (fields []paramsField) {
	same := map[string]int{} // fields by their values
	for i, v := range k.Tuned.Params {
		if _, constant := v.Value.Const(); constant || !used[v.Name] {
			continue
		}
		values := ""
		for _, call := range info.fields {
			values += call[i].Key() + ","
		}
		if n, ok := same[values]; ok {
			fields[n].also = append(fields[n].also, v.Name)
			continue
		}
		typ := at
		if lo, hi := v.Value.Bounds(); !info.dynamic && lo >= 0 && hi <= math.MaxUint16 {
			typ = tU16.String()
		}
		same[values] = len(fields)
		fields = append(fields, paramsField{k.Tuned.Kernel.Descriptor.Fields[i], nil, typ, i})
	}
	if ep := k.Tuned.Epilogue; ep != nil {
		for i, n := range ep.Numbers {
			if f := (tuned.Field{Name: scalarName(i), Doc: "Number of what is stored."}); used[f.Name] {
				fields = append(fields, paramsField{&f, nil, typeOf(n.DType).String(),
					len(k.Tuned.Params) + i})
			}
		}
	}
	return fields
}

// paramsType declares the struct of a kernel's integers, if it has one.
func (g *gen) paramsType(info *kernel) {
	if info.params.typ == "" {
		return
	}
	w := &g.kernelText
	if g.interfaceText != nil {
		w = g.interfaceText
	}
	w.blank()
	w.raw("/* What differs between the calls of " + info.name + ". */")
	w.raw("typedef struct {")
	for _, f := range info.params.fields {
		also := ""
		if f.also != nil {
			also = "; also " + strings.Join(f.also, ", ")
		}
		w.line("    %s %s; /* %s%s */", f.typ, f.Name, f.Comment(), also)
	}
	w.raw("} " + info.params.typ + ";")
}

// initialiser returns that of a struct, in lines if it is long.
func initialiser(values []string) string {
	text, line := "", ""
	for i, v := range values {
		if i > 0 {
			v = " " + v
			line += ","
		}
		if len(line)+len(v) > 90 {
			text += "\n    " + strings.TrimSpace(line)
			line = ""
		}
		line += v
	}
	if text == "" {
		return "{ " + line + " }"
	}
	return "{" + text + "\n    " + strings.TrimSpace(line) + "\n}"
}

// params returns the arguments for the integers of a call: a constant, or a local
// variable that it declares, or the integers themselves.
func (b *body) params(c *native.Call, info *kernel) []string {
	ps := info.params
	constant := true
	var values []string
	given := c.Fields()
	for _, f := range ps.fields {
		if n := f.at - len(given); n >= 0 {
			value := b.assign(c.Scalars[n], typeOf(c.Scalars[n].DType)).s
			if ps.typ != "" {
				value = "/* " + f.Name + " */ " + value
			}
			values = append(values, value)
			continue
		}
		_, known := given[f.at].Const()
		constant = constant && known
		value := b.index(given[f.at]).s
		if ps.typ != "" {
			value = "/* " + f.Name + " */ " + value
		}
		values = append(values, value)
	}
	if ps.typ == "" {
		return values
	}
	text := initialiser(values)
	if !constant {
		name := b.scope.Take(c.Kernel.Name + "_" + paramsName)
		margin := "\n" + strings.Repeat("    ", b.w.indent)
		b.w.line("const %s %s = %s;", ps.typ, name, strings.ReplaceAll(text, "\n", margin))
		return []string{"&" + name}
	}
	name, ok := ps.named[text]
	if !ok {
		name = b.g.names.TakeAround(fmt.Sprintf("%s_args_%d", info.name, len(ps.named)+1))
		ps.named[text] = name
		b.g.paramsText.raw(fmt.Sprintf("static const %s %s = %s;", ps.typ, name, text))
	}
	return []string{"&" + name}
}
