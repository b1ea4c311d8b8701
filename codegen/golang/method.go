package golang

import (
	"fmt"
	"maps"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/lower/native"
)

// methodPrinter prints one method of Model.
type methodPrinter struct {
	*printer
	g       *generator
	m       *native.Method
	name    string // exported
	binding *native.Binding
	sizes   map[dimKey]string // fields of the Sizes struct
	words   *codegen.SizeWords
	ports   map[*native.Buffer]string
	scalars map[int]string          // parameters for inputs that are numbers
	late    map[*native.Buffer]bool // outputs whose size is only known at run time
	given   []given                 // what sections can have
	numbers map[any]string          // by symbol or local, fields for numbers read at run time
	count   int                     // of functions
	fails   bool                    // the method has errors to return
	live    map[any]bool            // symbols and locals that are read; nil: not known yet

	// Of the function that is printed: the method's own, or that of a section.
	exprs    map[*native.Buffer]string
	declare  map[native.Stmt][]*native.Buffer
	mentions map[*native.Buffer]bool // buffers that are operands themselves
	views    []*native.Buffer        // that have locals here
	viewsAt  map[viewKey][]*native.Buffer
	zero     []jen.Code   // results that stand before an error
	from     foreign.Text // the Python line of the statement around
	sections []jen.Code   // that are printed
}

// method prints a method and its Sizes type. Go does not accept variables that
// nobody reads, so it is printed again without those that turn out to be some.
func (g *generator) method(m *native.Method) (code []jen.Code, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("method %s: %w", m.Name, err)
		}
	}()
	defer catch(&err)
	binding, err := native.Bind(m)
	if err != nil {
		return nil, err
	}
	name := g.methods[m]
	var live map[any]bool
	for {
		p := &methodPrinter{
			printer: g.unit.newPrinter(nil), g: g, m: m, name: name, binding: binding, live: live,
			sizes: map[dimKey]string{}, ports: map[*native.Buffer]string{},
			scalars: map[int]string{}, late: map[*native.Buffer]bool{},
			numbers: map[any]string{}, count: 1,
			exprs: map[*native.Buffer]string{}, declare: codegen.Declarations(m.Body),
			mentions: mentioned(m.Body),
			viewsAt:  map[viewKey][]*native.Buffer{},
		}
		p.scope.Reserve("m", "w", "sizes")
		code = p.print()
		if live != nil && maps.Equal(live, p.reads) {
			return code, nil
		}
		live = p.reads
	}
}

// alive reports whether a symbol or local is worth a variable.
func (p *methodPrinter) alive(x any) bool { return p.live == nil || p.live[x] }

func (p *methodPrinter) print() []jen.Code {
	p.nameSizes()
	code := p.sizesType()
	params, results := p.signature()
	body := p.bind()
	if readsWeights(p.m.Body) {
		body = append(body, jen.Id("w").Op(":=").Id("m").Dot("weights"))
	}
	if p.dividedCalls() {
		body = append(body, jen.Id("m").Dot("shared").Dot("start").Call(),
			jen.Defer().Id("m").Dot("shared").Dot("stop").Call())
	}
	if codegen.Divided(p.m.Body) {
		typ, made := p.shareNumbers()
		code, body = append(code, typ...), append(body, made...)
	}
	if len(body) > 0 {
		body = append(body, jen.Line())
	}
	body = append(body, p.steps(p.m.Body)...)
	body = append(body, p.finish()...)
	code = append(code, jen.Op(p.doc()).Func().Params(jen.Id("m").Op("*").Id(p.g.door("Model"))).Id(
		p.name).
		Params(jen.Op(signature(params))).Add(results).Block(body...))
	return append(code, p.sections...)
}

// finish sets the sizes that were not known before and returns.
func (p *methodPrinter) finish() []jen.Code {
	var out []jen.Code
	for _, d := range p.binding.Out {
		if name := p.sizes[dimKey{true, d.Port, d.Axis}]; name != "" {
			out = append(out, jen.Id("sizes").Dot(name).Op("=").Op(p.index(d.Size, precAny)))
		}
	}
	var results []jen.Code
	for _, port := range p.m.Outputs {
		t := numberType(port)
		if t == "" {
			continue
		}
		results = append(results, jen.Op(p.number(port)))
	}
	return append(out, jen.Return(append(results, jen.Nil())...))
}

// lines writes code that may need statements before it: f's text, after those.
func (p *methodPrinter) lines(f func() jen.Code) []jen.Code {
	outer := p.b
	p.b = &strings.Builder{}
	code := f()
	before := strings.TrimSuffix(p.b.String(), "\n")
	p.b = outer
	if before == "" {
		return []jen.Code{code}
	}
	return []jen.Code{jen.Op(before), code}
}

// readsWeights reports whether a function of stmts reads weights; sections in it
// get at theirs.
func readsWeights(stmts []native.Stmt) bool {
	found := false
	codegen.WalkFunction(stmts, func(s native.Stmt) {
		for _, b := range codegen.Operands(s) {
			found = found || native.Root(b).Storage == native.Weight
		}
	})
	return found
}

// errorf returns an error that wraps one of the package's.
func (p *methodPrinter) errorf(kind, format string, args ...string) jen.Code {
	p.g.errors[kind], p.fails = true, true
	list := []jen.Code{jen.Lit("%w: " + format), jen.Id(p.g.door(kind))}
	for _, a := range args {
		list = append(list, jen.Op(a))
	}
	return jen.Return(append(append([]jen.Code(nil), p.zero...), jen.Qual("fmt", "Errorf").Call(
		list...))...)
}
