package golang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gokernels"
	"github.com/etgen/etgen/lower/native"
)

// tunedSource is a package of tuned kernels that the output gets a copy of.
type tunedSource struct {
	lib   *library
	names map[string]string // package-level names by what they are called here
	roots []string          // functions called
}

// tunedSource returns the package that has the Go function of a tuned kernel, whose
// source it adds to the output.
func (g *generator) tunedSource(k *tuned.Kernel) *tunedSource {
	dir, _, ok := strings.Cut(k.Go, ".")
	if !ok {
		must.Fail("tuned kernel %s has no Go form", k.Name)
	}
	for _, t := range g.tuned {
		if t.lib.name == dir {
			return t
		}
	}
	src := &tunedSource{lib: openLibrary(gokernels.FS, dir), names: map[string]string{}}
	g.tuned = append(g.tuned, src)
	return src
}

// function returns the name of a function of t that is called.
func (t *tunedSource) function(g *generator, fn string) string {
	if t.names[fn] == "" {
		t.names[fn] = g.unit.scope.TakeAround(camel(t.lib.name + fn))
	}
	if !slices.Contains(t.roots, fn) {
		t.roots = append(t.roots, fn)
	}
	return t.names[fn]
}

// rename returns what a package-level name of t is called in the output.
func (t *tunedSource) rename(g *generator, name string) string {
	if t.names[name] == "" {
		local := unexported(name)
		if g.unit.scope.Has(local) {
			local = camel(t.lib.name + "_" + name)
		}
		t.names[name] = g.unit.scope.TakeAround(local)
	}
	return t.names[name]
}

// tunedFiles prints the functions of a tuned package that are called: those that
// all machines have, and what each of its variants has of its own.
func (g *generator) tunedFiles(t *tunedSource) []codegen.File {
	cases, worth := t.cases(g)
	var own []string
	if worth {
		own = g.unit.assembly()
	}
	common, files := g.unit.copies(&copied{lib: t.lib, roots: t.roots, assembly: own,
		cases: cases, rename: func(name string) string { return t.rename(g, name) },
		head: g.header(), prefix: "kernel_"})
	data := g.unit.file(g.header(), strings.Join(common, "\n\n"))
	return append([]codegen.File{{Name: "kernel_" + t.lib.name + ".go", Data: data}}, files...)
}

// tunedPrinter prints the function of a kernel that calls tuned code.
type tunedPrinter struct {
	*printer
	g       *generator
	src     *tunedSource
	kernel  *native.Kernel
	divided bool
	slots   map[string]string // what buffers are called, by their names in tuned code
	params  []param           // of the function
	vars    string            // package-level variables for it
	extra   []string          // buffers of the epilogue
	after   string            // statements after the call
	rescale string            // statements before these if it has not rescaled
}

// tunedKernel prints the function of a kernel that calls tuned code, with the
// epilogue if it has one, and the constants that it and its callers pass.
func (g *generator) tunedKernel(k *native.Kernel) string {
	src := g.tunedSource(k.Tuned.Kernel)
	p := &tunedPrinter{printer: g.unit.newPrinter(nil), g: g, src: src, kernel: k,
		divided: g.divides(k), slots: map[string]string{}}
	_, fn, _ := strings.Cut(k.Tuned.Kernel.Go, ".")
	if p.divided {
		p.scope.Reserve("s", "c", "step", "part", "parts")
		fn += "Part"
	}
	name := g.names[k]
	p.buffers()
	if len(k.Params) > 0 {
		typ := "*" + p.paramsType()
		if p.divided { // a pointer that goroutines find somewhere is allocated
			typ = typ[1:]
		}
		a := p.scope.Take("a")
		p.params = append(p.params, param{a, typ})
		for _, v := range k.Tuned.Params {
			for _, s := range k.Params {
				if v.Value.Equal(s.Expr()) {
					p.syms[s] = a + "." + k.Tuned.Kernel.Descriptor.Field(v.Name).GoName()
				}
			}
		}
	}
	args := seq.Map(k.Tuned.Kernel.Arguments(p.divided), p.argument)
	call := fmt.Sprintf("%s(%s)\n", src.function(g, fn), strings.Join(args, ", "))
	body := p.declareTemps() + call + p.after
	if p.rescale != "" {
		body = p.declareTemps() + "if !" + strings.TrimSpace(call) + " {\n" + p.rescale + "}\n" + p.after
	}
	vars := p.vars + strings.Join(g.callParams[k], "")
	if p.divided {
		return g.inParts(name, k.Doc, p.params, p.steps(k.Tuned), body) + vars
	}
	return kernelDoc(name, k.Doc) + fmt.Sprintf("func %s(%s) {\n%s}\n%s", name,
		signature(p.params), body, vars)
}

// buffers makes the buffers of a call parameters of the function.
func (p *tunedPrinter) buffers() {
	in := p.kernel.Tuned
	for _, s := range in.Slots() {
		name, typ := s.Name, "[]float32"
		switch {
		case s.Bool():
			typ = "[]bool"
		case s.Kind == tuned.Extra:
			name = extraName(s.Index, len(in.Epilogue.Extra))
			typ = "[]" + goType(in.Epilogue.Extra[s.Index])
		}
		name = p.scope.Take(camel(name))
		p.params = append(p.params, param{name, typ})
		p.slots[s.Name] = name
		if s.Kind == tuned.Extra {
			p.extra = append(p.extra, name)
		}
	}
}

// argument returns what is passed for an argument of tuned code.
func (p *tunedPrinter) argument(a tuned.Argument) string {
	switch a.Kind {
	case tuned.Piece:
		return p.src.rename(p.g, a.Name) + "{step, part, parts}"
	case tuned.Inputs:
		var values []string
		for _, f := range a.Fields {
			if p.slots[f] != "" {
				values = append(values, f+": "+p.slots[f])
			}
		}
		return "&" + p.src.rename(p.g, a.Name) + "{" + strings.Join(values, ", ") + "}"
	case tuned.Integers:
		return p.integers()
	case tuned.Vectors:
		return p.vectors()
	case tuned.EpilogueSlot:
		return p.epilogueValue()
	case tuned.OnRuns:
		return cmp.Or(p.runs(false), "nil")
	}
	return cmp.Or(p.slots[a.Name], "nil") // an operand that not all calls have
}

// integers returns the argument for the integers: a constant if they are the same in
// all calls, else what the function is given.
func (p *tunedPrinter) integers() string {
	k := p.kernel
	if len(k.Params) > 0 {
		a := p.params[len(p.params)-1]
		if p.divided {
			return "&" + a.name
		}
		return a.name
	}
	name := p.unit.scope.TakeAround(p.g.names[k] + "Args")
	p.vars = variable(name, p.paramsType(), p.fields(k.Tuned, (&native.Call{Kernel: k}).Fields()))
	return "&" + name
}

// paramsType is the type of the kernel's integers.
func (p *tunedPrinter) paramsType() string {
	return p.src.rename(p.g, p.kernel.Tuned.Kernel.Descriptor.GoName())
}

// fields are the fields of the integers of an instance with their values.
func (p *printer) fields(in *tuned.Instance, values []sym.Expr) (list []string) {
	for i, value := range values {
		f := in.Kernel.Descriptor.Fields[i]
		text := ""
		n, known := value.Const()
		switch {
		case !f.Flag():
			text = p.index(value, precAny)
		case known:
			text = fmt.Sprint(n != 0)
		default:
			text = p.index(value, precAdd) + " != 0"
		}
		list = append(list, f.GoName()+": "+text)
	}
	return list
}

// variable declares a struct with constant fields.
func variable(name, typ string, fields []string) string {
	if all := strings.Join(fields, ", "); len(name)+len(typ)+len(all) < 85 {
		return fmt.Sprintf("\nvar %s = %s{%s}\n", name, typ, all)
	}
	text, line := "", "\n\t"
	for _, f := range fields {
		if len(line)+len(f) > 88 {
			text += strings.TrimRight(line, " ")
			line = "\n\t"
		}
		line += f + ", "
	}
	return "\nvar " + name + " = " + typ + "{" + text + strings.TrimRight(line, " ") + "\n}\n"
}

// tunedParams returns the argument for the integers of a call of a tuned kernel: a
// constant, or a struct that is made for the call.
func (p *methodPrinter) tunedParams(c *native.Call) string {
	k := c.Kernel
	src := p.g.tunedSource(k.Tuned.Kernel)
	constant := true
	for _, e := range c.Ints {
		_, known := e.Const()
		constant = constant && known
	}
	typ := src.rename(p.g, k.Tuned.Kernel.Descriptor.GoName())
	fields := p.fields(k.Tuned, c.Fields())
	address := "&"
	if p.g.divides(k) {
		address = ""
	}
	if !constant {
		return address + typ + "{" + strings.Join(fields, ", ") + "}"
	}
	key := strings.Join(fields, " ")
	names := p.g.callNames[k]
	if names == nil {
		names = map[string]string{}
		p.g.callNames[k] = names
	}
	if names[key] == "" {
		names[key] = p.g.unit.scope.TakeAround(fmt.Sprintf("%sArgs%d", p.g.names[k],
			len(names)+1))
		p.g.callParams[k] = append(p.g.callParams[k], variable(names[key], typ, fields))
	}
	return address + names[key]
}

// epilogueValue returns what becomes of sums.
func (p *tunedPrinter) epilogueValue() string {
	bounds, all := tuned.Unbounded(), false
	if e := p.kernel.Tuned.Epilogue; e != nil {
		if bounds, all = e.Bounds(); !all {
			bounds = tuned.Unbounded()
		}
	}
	limit := func(x float64) string {
		text, _ := literal(&expr.Expr{Op: expr.OpConst, DType: ir.Float32, Float: x})
		return text
	}
	fields := fmt.Sprintf("low: %s, high: %s", limit(bounds.Low), limit(bounds.High))
	if bounds.Add >= 0 {
		fields = "add: " + p.extra[bounds.Add] + ", " + fields
	}
	f := p.runs(all)
	if f != "" {
		fields += ", apply: " + f
	}
	if r, ok := p.kernel.Tuned.Rescaling(); ok && p.rescale != "" {
		fields += fmt.Sprintf(", shift: %s, scale: %s, least: %s, most: %s, plus: %s",
			p.extra[r.Shift], p.extra[r.Scale], limit(r.Least), limit(r.Most), limit(r.Plus))
	}
	return "&" + p.src.rename(p.g, "Epilogue") + "{" + fields + "}"
}

// runs returns a function that is applied to runs of results, "" if there is nothing to
// do for them: or it is done behind the call, for all at once.
func (p *tunedPrinter) runs(all bool) string {
	in := p.kernel.Tuned
	e := in.Epilogue
	if e == nil || all || e.Body.Op == expr.OpLocal && e.Body.Var == e.Acc {
		return ""
	}
	typ := p.params[0].typ
	if !p.divided && p.behind(in, typ) {
		return ""
	}
	return p.epilogue(in, typ, p.extra)
}

// behind makes the epilogue statements behind the call, or reports that it cannot.
func (p *tunedPrinter) behind(in *tuned.Instance, typ string) bool {
	y, rest, rescale := p.params[0].name, in.Epilogue, ""
	if r, ok := in.Rescaling(); ok {
		if rescale = p.afterwards(in, r.First, typ, y, p.extra); rescale == "" {
			return false
		}
		rescale, p.temps, rest = p.declareTemps()+rescale, nil, r.Rest
	}
	if rest != nil {
		if p.after = p.afterwards(in, rest, typ, y, p.extra); p.after == "" {
			return false
		}
	}
	p.rescale = rescale
	return true
}

// vectors returns the functions on slices that a kernel is given, those for masks only if
// it has one.
func (p *tunedPrinter) vectors() string {
	k := p.kernel.Tuned.Kernel
	names := slices.Clone(k.Primitives)
	for _, mask := range [][2]string{{"mask", "Add"}, {"keep", "SelectScalar"}} {
		if p.slots[mask[0]] == "" {
			names = slices.DeleteFunc(names, func(name string) bool { return name == mask[1] })
		}
	}
	key := strings.Join(names, " ")
	if p.g.vectors[key] == "" {
		name := p.unit.scope.TakeAround("vectorFunctions")
		p.g.vectors[key] = name
		var fields []string
		for _, name := range names {
			fn := p.unit.primitive(name)
			if math.Func(name, ir.Float32) == nil {
				fn += "[float32]"
			}
			fields = append(fields, unexported(name)+": "+fn)
		}
		p.vars += variable(name, p.src.rename(p.g, "Vectors"), fields)
	}
	return "&" + p.g.vectors[key]
}

// primitive returns the name of a function that a tuned kernel is given: a primitive of
// package strip, or one of kernels/math on vectors.
func (u *unit) primitive(name string) string {
	if fn := math.Func(name, ir.Float32); fn != nil {
		return u.vectorFunction(fn)
	}
	return u.helperAs(name, "vec"+name)
}
