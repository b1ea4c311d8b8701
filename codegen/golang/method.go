package golang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower/native"
)

// methodPrinter prints one method of Model.
type methodPrinter struct {
	*printer
	g        *generator
	m        *native.Method
	name     string // exported
	binding  *native.Binding
	sizes    codegen.SizeNames // fields of the Sizes struct
	words    *codegen.SizeWords
	ports    map[*native.Buffer]string
	scalars  map[int]string          // parameters for inputs that are numbers
	late     map[*native.Buffer]bool // outputs whose size is only known at run time
	given    []given                 // what sections can have
	numbers  map[any]string          // by symbol or local, fields for numbers read at run time
	count    int                     // of functions
	fails    bool                    // the method has errors to return
	live     map[any]bool            // symbols and locals that are read; nil: not known yet
	sections []jen.Code              // that are printed
	function
}

// function is what holds in the function that is printed: the method's own, or that of a
// section.
type function struct {
	exprs    map[*native.Buffer]string
	declare  map[native.Stmt][]*native.Buffer
	mentions map[*native.Buffer]bool // buffers that are operands themselves
	views    []*native.Buffer        // that have locals here
	viewsAt  map[viewKey][]*native.Buffer
	zero     []jen.Code   // results that stand before an error
	from     foreign.Text // the Python line of the statement around
}

func newFunction(body []native.Stmt) function {
	return function{exprs: map[*native.Buffer]string{}, declare: codegen.Declarations(body),
		mentions: mentioned(body), viewsAt: map[viewKey][]*native.Buffer{}}
}

// method prints a method and its Sizes type. Go does not accept variables that
// nobody reads, so it is printed again without those that turn out to be some.
func (g *generator) method(m *native.Method) []jen.Code {
	binding := must.Get(native.Bind(m))
	name := g.methods[m]
	var live map[any]bool
	for {
		p := &methodPrinter{
			printer: g.unit.newPrinter(nil), g: g, m: m, name: name, binding: binding, live: live,
			ports:   map[*native.Buffer]string{},
			scalars: map[int]string{}, late: map[*native.Buffer]bool{},
			numbers: map[any]string{}, count: 1, function: newFunction(m.Body),
		}
		p.scope.Reserve("m", "w", "sizes")
		code := p.print()
		if live != nil && maps.Equal(live, p.reads) {
			return code
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
	if p.m.Rows != nil {
		body = append(body, p.awaits(p.m.Body)...)
	} else {
		body = append(body, p.steps(p.m.Body)...)
		body = append(body, p.finish()...)
	}
	code = append(code, jen.Op(p.doc()).Func().Params(jen.Id("m").Op("*").Id(p.g.door("Model"))).Id(
		p.name).
		Params(jen.Op(signature(params))).Add(results).Block(body...))
	return append(code, p.sections...)
}

// finish sets the sizes that were not known before and returns.
func (p *methodPrinter) finish() []jen.Code {
	var out []jen.Code
	for _, d := range p.binding.Out {
		if name := p.sizes.Name(true, d.Port, d.Axis); name != "" {
			out = append(out, jen.Id("sizes").Dot(name).Op("=").Op(p.index(d.Size, precAny)))
		}
	}
	var results []jen.Code
	if p.m.Rows != nil {
		results = append(results, jen.True())
	}
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
		for _, b := range native.Operands(s) {
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

// doc is the method's documentation.
func (p *methodPrinter) doc() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s runs the model's method %s.\n//\n", p.name, p.m.Name.Comment())
	var halves []ir.DType
	for _, port := range codegen.Ports(p.m) {
		var notes []string
		note := func(text string) {
			if text != "" {
				notes = append(notes, text)
			}
		}
		note(port.Path.Comment())
		note(codegen.Stands(port.Quantized))
		name := "result"
		switch {
		case port.Buf != nil:
			name = strings.TrimSuffix(p.ports[port.Buf], "[:]")
			if d := port.Buf.DType; d.IsHalf() && !slices.Contains(halves, d) {
				halves = append(halves, d)
			}
			switch {
			case p.rowsInput(port):
				note(p.rowsText())
			case port.Output:
				note("written")
			case port.Mutated:
				note("updated in place")
			}
			if port.Output && p.late[port.Buf] {
				note(fmt.Sprintf("must have room for %d elements", port.Buf.MaxLen))
			}
		case numberType(port.Port) == "" || port.Value != nil && !port.Output:
			continue
		default:
			if !port.Output {
				name = p.scalars[port.Index]
			}
			if port.Value == nil {
				note(p.words.Number(port))
			}
		}
		text := codegen.TypeText(port.Type, p.sizes.Text(port.Output, port.Index, port.Type.Sizes))
		if len(notes) > 0 {
			text += " (" + strings.Join(notes, "; ") + ")"
		}
		fmt.Fprintf(&b, "//   - %s: %s\n", name, text)
	}
	b.WriteString("//\n")
	notes := "Tensors are row-major and must not overlap."
	for _, d := range halves {
		if p.g.opt.Internal {
			break
		}
		notes += fmt.Sprintf(" Elements of %s are given by their bits: %s and %s convert.", d,
			p.halfFunc(d, true), p.halfFunc(d, false))
	}
	for _, text := range []string{codegen.Requirements(p.m, p.words), codegen.ClampText(p.m)} {
		if text != "" {
			notes += " " + text
		}
	}
	if p.m.Rows != nil {
		notes += p.rowsNotes()
	}
	if !p.fails {
		notes += " The error is always nil."
	}
	b.WriteString(comment(notes))
	return b.String()
}

// halfFunc makes an exported function of the conversion between d and float32.
func (p *methodPrinter) halfFunc(d ir.DType, to bool) string {
	short, long := halfName(d), pascal(d.String())
	internal, public := "F32To"+short, long+"FromFloat32"
	if to {
		internal, public = short+"ToF32", long+"ToFloat32"
	}
	p.unit.helpers[internal] = public
	return public
}

// declaration gives a buffer a local variable; buffers that are nowhere but in
// views have none.
func (p *methodPrinter) declaration(b *native.Buffer) jen.Code {
	if !p.mentions[b] {
		return nil
	}
	if same := p.sameView(b); same != "" {
		p.exprs[b] = same
		return nil
	}
	n, start := p.index(b.Len, precAny), ""
	var value string
	switch root := native.Root(b); {
	case root.Storage != native.Arena:
		start = p.index(b.At, precAny)
		end := p.index(sym.Add(b.At, b.Len), precAny)
		value = fmt.Sprintf("%s[%s:%s]", p.rootExpr(root), start, end)
		if b.DType != root.DType {
			must.Fail("buffer %s of %s is a view of %s", b.Name, b.DType, root.DType)
		}
	case root.MaxLen == 0: // it has no place in the arena
		value = fmt.Sprintf("[]%s(nil)", goType(b.DType))
	case !p.g.views():
		start = ""
		at := sym.Add(sym.Int(root.Offset/int64(b.DType.Size())), b.At)
		if !at.IsZero() {
			start = p.index(at, precAny)
		}
		value = fmt.Sprintf("m.arena[%s:%s]", start, p.index(sym.Add(at, b.Len), precAny))
	default:
		value = fmt.Sprintf("view[%s](m.arena, %s, %s)", goType(b.DType), p.offset(b), n)
	}
	name := camel(b.Name)
	if p.g.unit.scope.Has(name) {
		name += "Out" // beside the function that computes it
	}
	name = p.scope.Take(name)
	p.exprs[b] = name
	p.views = append(p.views, b)
	p.viewsAt[viewKeyOf(b)] = append(p.viewsAt[viewKeyOf(b)], b)
	return jen.Id(name).Op(":=").Op(value).Comment(elements(b.DType) + codegen.ShapeText(
		b.Sizes, p.sizeText))
}

// sizeText words a dynamic size in a comment by the names of variables.
func (p *methodPrinter) sizeText(e sym.Expr) string {
	return e.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
		name, ok := p.syms[s]
		lo, hi := s.Expr().Bounds()
		return sym.NewSymbol(name, lo, hi).Expr(), ok
	}).String()
}

// viewKey is the same for buffers that begin at the same element.
type viewKey struct {
	root *native.Buffer
	at   string
}

func viewKeyOf(b *native.Buffer) viewKey { return viewKey{native.Root(b), b.At.Key()} }

// sameView returns what a buffer that is exactly b is called, "" if there is
// none in sight.
func (p *methodPrinter) sameView(b *native.Buffer) string {
	if b.Root == nil {
		return ""
	}
	if r := b.Root; b.At.IsZero() && b.Len.Equal(r.Len) && b.DType == r.DType &&
		r.Storage != native.Arena {
		return p.operand(r)
	}
	for _, v := range p.viewsAt[viewKeyOf(b)] {
		if v.At.Equal(b.At) && v.Len.Equal(b.Len) && v.DType == b.DType {
			return p.exprs[v]
		}
	}
	return ""
}

// rootExpr is a caller's tensor, a state or a weight as something to slice.
func (p *methodPrinter) rootExpr(b *native.Buffer) string {
	switch b.Storage {
	case native.State:
		return "m." + p.g.state[b]
	case native.Weight:
		return "w." + p.g.fields[b.Const]
	}
	s := p.port(b)
	if len(s) > 3 && s[len(s)-3:] == "[:]" {
		return s[:len(s)-3]
	}
	return s
}

// mentioned tells which buffers are operands themselves in a function of stmts.
func mentioned(stmts []native.Stmt) map[*native.Buffer]bool {
	found := map[*native.Buffer]bool{}
	codegen.WalkFunction(stmts, func(s native.Stmt) {
		for _, b := range native.Operands(s) {
			found[b] = true
		}
	})
	return found
}

// offset is where b begins in the arena, in bytes.
func (p *methodPrinter) offset(b *native.Buffer) string {
	root := native.Root(b)
	return p.index(sym.Add(sym.Int(root.Offset), sym.Mul(b.At, sym.Int(int64(b.DType.Size())))),
		precAny)
}

// operand is a buffer as an argument.
func (p *methodPrinter) operand(b *native.Buffer) string {
	if s, ok := p.exprs[b]; ok {
		return s
	}
	if _, ok := p.ports[b]; ok {
		s := p.port(b)
		if p.late[b] {
			s += "[:" + p.index(b.Len, precAny) + "]"
		}
		return s
	}
	switch {
	case b.Root != nil || b.Storage == native.Arena:
		must.Fail("buffer %s is used before it is declared", b.Name)
	case b.Storage == native.State:
		return p.rootExpr(b) + "[:]"
	}
	return p.rootExpr(b)
}

// port is a caller's tensor as it is.
func (p *methodPrinter) port(b *native.Buffer) string {
	p.reads[b] = true
	return p.ports[b]
}
