// Package c prints native form as a C99 package that needs nothing but a
// compiler: <stddef.h>, <stdint.h>, <stdbool.h>, no library.
//
// Generate is the door. The package it makes has NAME.h, the interface; NAME.c,
// kernels and methods; and NAME_weights.c, or, for larger weights, NAME_weights.S
// and NAME_weights.bin. Options say otherwise: see WeightForms and SectionKinds. With Separate each
// method has these files, and NAME.h and NAME.c have what they share.
package c

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
	ctext "github.com/etgen/etgen/templates/c"
)

// Options steer Generate.
type Options = codegen.Options

// maxInline is up to how many bytes weights are written as C arrays, which are
// readable but slow to compile.
const maxInline = 64 << 10

func badName(name, why string) error {
	return &codegen.NameError{Name: name, What: "a C package", Why: why}
}

// Generate prints p. The same program gives the same bytes.
func Generate(p *native.Program, opt Options) (_ *codegen.Package, err error) {
	defer must.Catch(&err)
	must.Check(checkName(opt.Name))
	must.Check(opt.CheckSections())
	must.Check(checkBanks(p))
	return must.At(func() *codegen.Package {
		if opt.Separate {
			return separate(p, opt)
		}
		p, events := opt.Begin(p)
		g := newGen(p, opt, events)
		g.reserveNames()
		g.run()
		return g.files()
	}, "%s", p.Source.String()), nil
}

// checkName returns an error if no package may have the name.
func checkName(name string) error {
	if name == "" || codegen.Identifier(name) != name {
		return badName(name, "it must be an identifier")
	}
	if err := codegen.CheckFileName(name); err != nil {
		return err
	}
	if keywords()[name] {
		return badName(name, "the word has a meaning in C or C++ already")
	}
	if isHeader(name) {
		return badName(name, fmt.Sprintf("its header would stand in for <%s.h>", name))
	}
	return nil
}

func newGen(p *native.Program, opt Options, events *codegen.Events) *gen {
	return &gen{
		p: p, opt: opt, prefix: opt.Name, upper: strings.ToUpper(opt.Name),
		names: codegen.NewScope(nil), idx: indexType(p), weights: codegen.LayOut(p),
		macros: map[string]string{}, tunedNames: map[string]bool{},
		results: map[string]bool{}, consts: map[*native.Const]string{},
		kernels: map[*native.Kernel]*kernel{}, backends: map[foreign.Text]string{},
		fields: map[*native.Buffer]string{}, events: events,
	}
}

// gen is the state of one Generate.
type gen struct {
	p      *native.Program
	opt    Options
	prefix string
	upper  string
	names  *codegen.Scope // of the file scope
	locals *codegen.Scope // what no local may be called besides: names of helpers
	idx    ctype

	weights *codegen.Weights
	consts  map[*native.Const]string
	fields  map[*native.Buffer]string // of the state struct
	kernels map[*native.Kernel]*kernel
	methods []*method
	events  *codegen.Events // nil without Options.Profile
	// shared, if not nil, has the kernels of this model, which is separate from others; it has an
	// interfaceText, which declares them.
	shared        *gen
	interfaceText *writer

	macros     map[string]string // constants defined as macros, by name
	macroOrder []string
	support    support
	tunedNames map[string]bool // what the texts of tuned kernels use
	results    map[string]bool // functions of epilogues that are printed
	kernelText writer
	paramsText writer // constants that calls pass
	methodText writer
	threaded   bool // some kernel runs in parts
	rounds     bool // some kernel rounds small numbers
	tiles      bool // some kernel has tiles of vectors
	lanes      bool // some function prints operations of vectors
	divided    bool // some method is

	custom       map[string]*customOp // by the operators' names
	customOrder  []*customOp
	backends     map[foreign.Text]string // what the functions of backends are called by
	backendOrder []foreign.Text
	includes     []string // headers of libraries that kernels call
	restricts    bool     // some parameter is restricted
}

// reserveNames keeps the names that have a meaning from what is named later.
func (g *gen) reserveNames() {
	reserve(g.names)
	for _, name := range ctext.Names() {
		g.names.Reserve(ctext.PrefixedName(name, g.prefix))
	}
	for _, name := range g.ownNames() {
		if reserved()[name] {
			must.Check(badName(g.prefix, name+" is a name of C's library"))
		}
		g.names.Reserve(name)
	}
	if g.opt.Weights == codegen.WeightsBin {
		g.names.Reserve(g.prefix + "_weights")
	}
	if g.opt.CPP {
		g.names.Reserve(g.cppNames()...)
	}
	g.locals = codegen.NewScope(g.names)
	g.locals.Reserve(g.helperWords()...)
}

func (g *gen) run() {
	g.loadSupport()
	g.signatures()
	for _, c := range g.weights.Consts {
		g.consts[c.Const] = g.names.Take(g.prefix + "_" + c.Name)
	}
	g.stateFields()
	for _, m := range g.p.Methods {
		g.divided = g.divided || codegen.Divided(m.Body)
	}
	g.nameCustom()
	g.nameDelegates()
	g.ownKernels()
	for _, m := range g.methods {
		must.Check(eval.Stopped(g.opt.Done))
		must.Do(func() { g.method(m) }, "method %s", m.Name.String())
	}
	if len(g.fields) > 0 {
		g.reset()
		g.rowsBegin(&g.methodText)
	}
}

// ownNames are the names that a package has, or may have, whatever its methods are
// called.
func (g *gen) ownNames() []string {
	var names []string
	for w := range strings.FieldsSeq(
		`status state arenas reset rows_begin parallel_for delegates delegates_init
		profile_event profile_clock profile_reset profile_write`) {
		names = append(names, g.prefix+"_"+w)
	}
	for w := range strings.FieldsSeq(
		`H PAL_H OPS_H ARENA_SIZE ARENA_ALIGN WEIGHTS_SIZE WEIGHTS_FILE WEIGHTS_ADDRESS WEIGHTS_ALIGN WEIGHTS_CRC32
		WEIGHTS_SECTION CODE_SECTION TABLES_SECTION THREADS
		OK ERR_ARGUMENT ERR_SHAPE ERR_ASSERT ERR_INDEX ERR_OPERATOR ERR_DELEGATE
		DELEGATE_H DELEGATES PROFILE_H PROFILE_KERNELS PROFILE_HZ PROFILE_CLOCK WEAK MORE INF NAN INF_F64 NAN_F64`) {
		names = append(names, g.upper+"_"+w)
	}
	for k := range g.p.Banks {
		names = append(names, g.bankMacro(k))
	}
	return names
}

// macro returns the name of the macro for a number that C has no literal for.
func (g *gen) macro(word string, t ctype) string {
	one, zero := "1.0f", "0.0f"
	if t == tF64 {
		word += "_F64"
		one, zero = "1.0", "0.0"
	}
	name := g.upper + "_" + word
	if _, ok := g.macros[name]; !ok {
		value := one
		if strings.HasPrefix(word, "NAN") {
			value = zero
		}
		g.macros[name] = "(" + value + " / " + zero + ")"
		g.macroOrder = append(g.macroOrder, name)
	}
	return name
}

// function returns the name of a scalar function, which from now on is part of
// the package.
func (g *gen) function(fn *expr.Func) string {
	key := "func " + fn.Name
	if c, ok := g.support.names[key]; ok {
		return c
	}
	cname := g.names.TakeAround(g.prefix + "_" + fn.Name)
	g.support.names[key] = cname
	g.support.texts = append(g.support.texts, g.functionText(fn, cname))
	return cname
}
