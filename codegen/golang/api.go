package golang

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
)

// api prints the file with the type Model.
func (g *generator) api() []byte {
	var methods []jen.Code
	for _, m := range g.p.Methods {
		must.Check(eval.Stopped(g.opt.Done))
		must.Do(func() {
			methods = append(append(methods, g.rowsBegin(m)...), g.method(m)...)
		}, "method %s", m.Name.String())
	}
	f := jen.NewFile(g.unit.name)
	f.HeaderComment(g.banner())
	if !g.opt.Internal && g.opt.Package == "" {
		g.packageComment(f)
	}
	g.errorVars(f)
	g.modelType(f)
	for _, m := range methods {
		f.Add(m)
	}
	var b bytes.Buffer
	must.In(f.Render(&b), "generated Go does not parse, which is a defect of etgen")
	return must.Get(withImports(b.Bytes()))
}

func (g *generator) packageComment(f *jen.File) {
	f.PackageComment(fmt.Sprintf("Package %s runs the model %s.", g.unit.name,
		g.p.Source.Comment()))
	about := "A Model owns the memory it works in, so that its methods allocate nothing. One " +
		"goroutine at a time may use it; several goroutines take a Model each"
	if len(g.weights.Consts) > 0 {
		about += ", which share the weights"
	}
	if g.p.Arithmetic != "" {
		about += ". The model is quantized; its integers are computed as etgen defines " +
			g.p.Arithmetic
	}
	f.PackageComment("//\n" + strings.TrimSuffix(comment(about+"."), "\n"))
}

func (g *generator) errorVars(f *jen.File) {
	var defs []jen.Code
	for _, e := range []struct{ name, text string }{{"ErrShape", "wrong shape"},
		{"ErrAssert", "assertion failed"}, {"ErrIndex", "index out of range"}} {
		if g.errors[e.name] {
			defs = append(defs, jen.Id(g.door(e.name)).Op("=").Qual("errors", "New").Call(
				jen.Lit(g.unit.name+": "+e.text)))
		}
	}
	switch len(defs) {
	case 0:
	case 1:
		f.Comment("What methods return, wrapped in a description.")
		f.Var().Add(defs...)
	default:
		f.Comment("What methods return, wrapped in a description.")
		f.Var().Defs(defs...)
	}
}

// modelType prints Model, New and Reset.
func (g *generator) modelType(f *jen.File) {
	var fields []jen.Code
	var inits []jen.Code
	if size := codegen.ArenaBytes(g.p); size > 0 {
		elem, count := "byte", jen.Lit(int(size))
		if !g.views() {
			elem = goType(g.arena)
			count = jen.Lit((int(size) + g.arena.Size() - 1) / g.arena.Size())
		}
		if g.opt.Internal {
			count = jen.Id("arena")
			if n := g.arena.Size(); n > 1 {
				count = jen.Params(jen.Id("arena").Op("+").Lit(n - 1)).Op("/").Lit(n)
			}
		}
		alloc := jen.Id("newArena").Call(count)
		if !g.views() {
			alloc = jen.Make(jen.Index().Id(elem), count)
		}
		fields = append(fields, jen.Id("arena").Index().Id(elem).Comment(
			"what tensors share between calls of kernels"))
		inits = append(inits, jen.Id("arena").Op(":").Add(alloc))
	}
	if len(g.weights.Consts) > 0 {
		fields = append(fields, jen.Id("weights").Op("*").Id("weights"))
		inits = append(inits, jen.Id("weights").Op(":").Id("loadWeights").Call())
	}
	if n := len(g.p.Delegates); n > 0 {
		fields = append(fields, jen.Id("runners").Index(jen.Lit(n)).Id("Runner").Comment(
			"of the delegates"))
	}
	if len(g.p.State) > 0 && len(fields) > 0 {
		fields = append(fields, jen.Line())
	}
	for _, b := range g.p.State {
		n, ok := b.Len.Const()
		if !ok {
			must.Fail("state %s has a dynamic size", b.Name)
		}
		fields = append(fields, jen.Id(g.state[b]).Index(jen.Lit(int(n))).Id(goType(b.DType)).
			Comment(elements(b.DType)+codegen.ShapeText(b.Sizes, nil)))
	}
	if g.anyDivided() {
		fields = append(fields, jen.Id("shared").Id("shared"))
	}
	if g.events != nil {
		fields = append(fields, jen.Id("ProfileEvent").Func().Params(jen.Id("event").Int()).Comment(
			"if not nil, called instead of what sums up times: with 2*k before the k-th kernel, "+
				"2*k+1 after"),
			jen.Id("profile").Id("profile"))
	}
	name := g.door("Model")
	f.Commentf("%s is an instance of the model with the memory it needs.", name)
	f.Type().Id(name).Struct(fields...)
	if g.opt.Internal {
		f.Commentf("newModel returns a %s with so many bytes of arena.", name)
	}
	model := jen.Op("&").Id(name).Values(inits...)
	switch {
	case len(g.p.Delegates) > 0:
		g.newDelegates(f, model)
	case g.opt.Threads > 1:
		g.newThreads(f, model)
	case len(g.p.State) == 0:
		var params []jen.Code
		if g.opt.Internal {
			arena := jen.Id("arena").Int()
			if codegen.ArenaBytes(g.p) == 0 {
				arena = jen.Id("_").Int()
			}
			params = append(params, arena)
		} else {
			f.Comment("New returns a Model.")
		}
		f.Func().Id(g.door("New")).Params(params...).Op("*").Id(name).Block(jen.Return(model))
	case g.opt.Internal:
		must.Fail("a package without a door of its own has state")
	default:
		f.Comment("New returns a Model in its initial state.")
		f.Func().Id("New").Params().Op("*").Id("Model").Block(
			jen.Id("m").Op(":=").Add(model), jen.Id("m").Dot("Reset").Call(),
			jen.Return(jen.Id("m")))
	}
	if len(g.p.State) == 0 {
		return
	}
	g.reset(f)
}

// reset prints Reset, in several functions if there are many states.
func (g *generator) reset(f *jen.File) {
	alike := codegen.Alike(g.opt.FunctionWeight)
	var parts []string
	f.Comment("Reset gives the state its initial values.")
	f.Func().Params(jen.Id("m").Op("*").Id("Model")).Id("Reset").Params().BlockFunc(
		func(b *jen.Group) {
			if len(g.p.State) <= alike {
				g.resetStates(b, g.p.State)
				return
			}
			for range (len(g.p.State) + alike - 1) / alike {
				parts = append(parts, g.unit.scope.TakeAround(fmt.Sprintf("reset%d", len(parts)+2)))
				b.Id(parts[len(parts)-1]).Call(jen.Id("m"))
			}
		})
	for i, name := range parts {
		f.Commentf("%s is a part of Reset.", name)
		f.Func().Id(name).Params(jen.Id("m").Op("*").Id("Model")).BlockFunc(func(b *jen.Group) {
			g.resetStates(b, g.p.State[i*alike:min((i+1)*alike, len(g.p.State))])
		})
	}
}

func (g *generator) resetStates(b *jen.Group, states []*native.Buffer) {
	for _, s := range states {
		field := jen.Id("m").Dot(g.state[s])
		elem, uniform := codegen.Uniform(s.Const)
		switch {
		case len(s.Const.Data) == 0:
		case uniform && allZero(elem):
			b.Clear(field.Index(jen.Op(":")))
		case uniform:
			b.For(jen.Id("i").Op(":=").Range().Add(field)).Block(
				field.Clone().Index(jen.Id("i")).Op("=").Op(g.element(s.DType, elem)))
		default:
			b.Copy(field.Index(jen.Op(":")), jen.Id("m").Dot("weights").Dot(g.fields[s.Const]))
		}
	}
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// element returns one element, given by its bytes, as a Go constant.
func (g *generator) element(d ir.DType, b []byte) string {
	var bits uint64
	for i, x := range b {
		bits |= uint64(x) << (8 * i)
	}
	u := map[int]ir.DType{1: ir.Uint8, 2: ir.Uint16, 4: ir.Uint32, 8: ir.Uint64}[len(b)]
	if d == ir.Bool {
		return typedLiteral(expr.Bool(bits != 0))
	}
	return typedLiteral(expr.Bitcast(d, expr.Int(u, int64(bits))))
}

// elements words a dtype in comments where the Go type does not tell it.
func elements(d ir.DType) string {
	if d.IsHalf() {
		return d.String() + " "
	}
	return ""
}
