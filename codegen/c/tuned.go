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
	kmath "github.com/etgen/etgen/kernels/math"
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
	text := g.template(in.Tile)
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
		if used[f.name] {
			for _, m := range f.macros {
				used[m] = true
			}
		} else if f.undo != nil {
			f.undo()
		}
	}
	g.tunedNames[in.FormHead()] = true
	g.tunedHelpers(in.Tile, used)
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

// template is what the templates of kernels with a tile are executed with.
func (g *gen) template(tile tuned.Tile) *ctext.Kernel {
	k := &ctext.Kernel{Prefix: g.prefix, Index: g.idx.String(), Rows: tile.Rows,
		Cols: tile.Cols, Vector: tile.Vector, Scalar: !g.opt.Machine.MayPair(),
		Omits: func(macro string) bool { return !g.opt.Machine.May(macro) }}
	if m := g.opt.Machine; m != nil && m.Undefined != nil {
		k.Lanes, k.Low, k.MVE = m.Vectors/32, m.Low, m.MVE
	}
	return k
}

// tunedHelpers makes the templates that the text of a kernel with a tile, and the names used in it,
// needs before it part of the package, behind the functions of kernels/math that they call.
func (g *gen) tunedHelpers(tile tuned.Tile, used map[string]bool) {
	maps.Copy(g.tunedNames, used)
	for _, h := range ctext.HelpersFor(used, tile.Vector) {
		key := fmt.Sprintf("tuned %s %+v", h, tile)
		if _, done := g.support.names[key]; done {
			continue
		}
		g.support.names[key] = h
		k := g.template(tile)
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
		printed := map[string]bool{}
		for _, h := range g.support.tuned {
			h.k.Used = g.tunedNames
			s, err := ctext.Text(h.name, h.k)
			must.Check(err)
			if s = strings.Trim(s, "\n"); s != "" {
				s += "\n"
			}
			if printed[s] { // another tile's, which makes no difference to it
				s = ""
			}
			printed[s] = true
			g.support.texts[h.at] = s
		}
	}
}

// mathFunction returns the name of a float32 function of kernels/math.
func (g *gen) mathFunction(name string) string {
	return g.function(kmath.Func(name, ir.Float32))
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
