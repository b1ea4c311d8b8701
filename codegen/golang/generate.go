// Package golang prints programs in native form as Go packages that import the
// standard library only.
package golang

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/lower/native"
)

// Options steer Generate.
type Options = codegen.Options

// Generate prints p as a Go package: NAME.go with the type Model and its
// methods, kernels.go, the files of tuned kernels, threads.go, support.go with what kernels
// call, memory.go, weights.go and weights.bin, as far as there is something to
// put in them. It fails if p has something that Go cannot express, such as
// elements of a type that Go output does not know.
func Generate(p *native.Program, opt Options) (pkg *codegen.Package, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", p.Source, err)
		}
	}()
	defer must.Catch(&err)
	g := newGenerator(p, opt)
	name := packageName(opt.Name)
	pkg = &codegen.Package{Name: name, Kind: codegen.KindGo}
	add := func(name string, data []byte) {
		if data != nil {
			pkg.Files = append(pkg.Files, codegen.File{Name: name, Data: data})
		}
	}
	add(name+".go", g.api())
	add("kernels.go", g.kernels())
	for _, t := range g.tuned {
		pkg.Files = append(pkg.Files, g.tunedFiles(t)...)
	}
	add("threads.go", g.threadsFile())
	pkg.Files = append(pkg.Files, g.unit.support(g.header())...)
	add("memory.go", g.memory())
	add("delegates.go", g.delegates())
	add("profile.go", g.profile())
	if len(g.weights.Consts) > 0 {
		add("weights.go", g.weightsFile())
		add("weights.bin", g.weights.Block())
	}
	return pkg, nil
}

// generator prints one program.
type generator struct {
	opt     Options
	p       *native.Program
	unit    *unit
	weights *codegen.Weights
	fields  map[*native.Const]string  // of the weights struct
	state   map[*native.Buffer]string // fields of Model
	names   map[*native.Kernel]string
	tuned   []*tunedSource // in order of first use
	// of all buffers in the arena; Uint8 if they differ: then they are views
	arena   ir.DType
	errors  map[string]bool
	events  *codegen.Events // nil without Options.Profile
	divided []string        // functions of kernels that are done in parts
	// Constants that calls of tuned kernels pass: declarations, and names by what they
	// hold; and what holds the functions on slices that attention is given.
	callParams map[*native.Kernel][]string
	callNames  map[*native.Kernel]map[string]string
	vectors    map[string]string
	methods    map[*native.Method]string
	sections   map[any]string
	numbers    map[*native.Method]string // types of their numbers
}

func newGenerator(p *native.Program, opt Options) *generator {
	p, events := opt.Begin(p)
	u := newUnit(cmp.Or(opt.Package, packageName(opt.Name)))
	u.machine = opt.Machine
	u.custom.kernels = opt.Custom
	g := &generator{
		opt: opt, p: p, unit: u, events: events, weights: codegen.LayOut(p),
		fields: map[*native.Const]string{},
		state:  map[*native.Buffer]string{}, names: map[*native.Kernel]string{},
		callParams: map[*native.Kernel][]string{},
		callNames:  map[*native.Kernel]map[string]string{}, vectors: map[string]string{},
		errors:  map[string]bool{},
		methods: map[*native.Method]string{}, sections: map[any]string{},
		numbers: map[*native.Method]string{},
	}
	u.scope.Reserve("Model", "New", "ErrShape", "ErrAssert", "ErrIndex", "model", "newModel",
		"errShape", "errAssert", "errIndex", "element", "weights", "weightData", "loadWeights",
		"elements", "littleEndian", "newArena", "view", "poison", "NewThreads", "threads",
		"divided", "task", "shared")
	if len(p.Delegates) > 0 {
		u.scope.Reserve(delegateNames...)
	}
	if events != nil {
		u.scope.Reserve(profileNames...)
	}
	g.nameMethods()
	g.arena = g.arenaType()
	fields := codegen.NewScope(newScope())
	for _, w := range g.weights.Consts {
		g.fields[w.Const] = fields.Take(camel(w.Name))
	}
	fields = codegen.NewScope(newScope())
	fields.Reserve("arena", "weights", "scratch", "shared", "runners", "profile")
	for _, b := range p.State {
		g.state[b] = fields.Take(camel(b.Name))
	}
	// Ports are part of the API and keep their names; a kernel of the same name is renamed.
	ports := map[string]bool{}
	for _, m := range p.Methods {
		for _, in := range m.Inputs {
			ports[camel(in.Name.Identifier())] = true
		}
		for i := range m.Outputs {
			ports[camel(codegen.OutputName(m, i).Identifier())] = true
		}
	}
	for _, k := range p.Kernels {
		name := camel(k.Name)
		if ports[name] {
			name += "Kernel"
		}
		if !k.Copy {
			g.names[k] = u.scope.Take(name)
		}
	}
	return g
}

// nameMethods names the methods: none is called like another or like a field of
// Model, and in the package nothing is called like one, or like its sizes.
func (g *generator) nameMethods() {
	scope := codegen.NewScope(nil)
	if g.opt.Internal {
		scope = codegen.NewScope(newScope())
	}
	scope.Reserve("Reset", "BeginRows", "ProfileEvent", "profileEvent", "WriteProfile", "profile",
		"arena", "weights", "shared", "runners")
	for _, m := range g.p.Methods {
		name := pascal(m.Name.Identifier())
		if m.Rows != nil {
			name += "Rows"
		}
		if g.opt.Internal {
			name = camel(m.Name.Identifier())
		}
		g.methods[m] = scope.Take(name)
		g.unit.scope.Reserve(g.methods[m], g.methods[m]+"Sizes")
	}
}

// door returns the name of something that a package exports: as it is, or of a
// package that exports nothing, unexported.
func (g *generator) door(name string) string {
	switch {
	case !g.opt.Internal:
		return name
	case name == "New":
		return "newModel"
	}
	return unexported(name)
}

// banner says in the form that Go tools know where a file comes from.
func (g *generator) banner() string {
	return fmt.Sprintf("Code generated by %s from %s. DO NOT EDIT.",
		foreign.Of(g.opt.Generator).Comment(), g.p.Source.Comment())
}

// header is the first line of every file.
func (g *generator) header() string {
	return "// " + g.banner() + "\n\n"
}

// kernels prints kernels.go, nil if there are none.
func (g *generator) kernels() []byte {
	var text strings.Builder
	for _, k := range g.p.Kernels {
		must.Check(eval.Stopped(g.opt.Done))
		switch {
		case k.Copy:
		case k.Loop != nil:
			f := *k.Loop
			f.Syms = k.Params
			if g.divides(k) {
				params, body := g.unit.loopFunction(&f, g.opt.Threads)
				text.WriteString(g.inParts(g.names[k], k.Doc, params, "1", body) + "\n")
				continue
			}
			text.WriteString(g.unit.loopKernel(g.names[k], k.Doc, &f) + "\n")
			text.WriteString(g.unit.custom.take())
		default:
			text.WriteString(g.tunedKernel(k) + "\n")
		}
	}
	if text.Len() == 0 {
		return nil
	}
	return g.unit.file(g.header(), text.String())
}
