package compile

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/c"
	"github.com/etgen/etgen/codegen/golang"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/lower/quantize"
)

// Language is a row of the table of output languages: what Options.Lang names.
type Language struct {
	Name string
	// Kernels is the language's row in the table of kernel languages. It is nil for programs
	// of operators, which have no native form: target and optimisation do not affect these.
	Kernels *tuned.Language
	// InFolder says that a package is part of the folder that it is written to, which has a
	// name and may have other files of the package: then none has to be named.
	InFolder bool
	// Placed says that a linker places the parts of a package: weights, code and tables.
	Placed   bool
	pipeline lower.Pipeline
	// of its native form
	print func(np *native.Program, opt codegen.Options) (*codegen.Package, error)
}

// executorch is the language of ExecuTorch programs.
const executorch = "pte"

// languages is the table. The first is the one of Options without any.
func languages() []*Language {
	return []*Language{
		{Name: tuned.C.Name, Kernels: tuned.C, pipeline: lower.Backend, print: c.Generate,
			Placed: true},
		{Name: tuned.Go.Name, Kernels: tuned.Go, pipeline: lower.Backend, print: golang.Generate,
			InFolder: true},
		{Name: executorch, pipeline: lower.ToExecutorch},
	}
}

// Languages are the names that Options.Lang may have.
func Languages() []string {
	return seq.Map(languages(), func(l *Language) string { return l.Name })
}

// LanguageNamed looks an output language up; "" is C. The error lists them.
func LanguageNamed(name string) (*Language, error) {
	for _, l := range languages() {
		if l.Name == name || name == "" {
			return l, nil
		}
	}
	return nil, fmt.Errorf("output language %q is unknown: take %s", name, ListOf(Languages()))
}

// ListOf lists words of which one is to be taken.
func ListOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// target is what a program is compiled for in language l, which has kernels.
func (opt Options) target(l *Language) tuned.Target {
	m := must.Get(tuned.MachineNamed(opt.Target))
	t := tuned.Target{Language: l.Kernels, Machine: m, Threads: opt.Threads,
		Speed: opt.Optimize == "speed" || opt.Optimize == "" && !m.Microcontroller}
	if !opt.DivideAll {
		t.DividedFrom = tuned.WorthThreads
	}
	return t
}

// Requantizations are the arithmetics that Options.Requantize names.
var Requantizations = []string{"float", "fixed", LibraryCMSISNN}

// cmsisNN reports whether quantized networks compute in the fixed point of CMSIS-NN.
func (opt Options) cmsisNN() bool {
	return opt.Library != "" || opt.Requantize == LibraryCMSISNN
}

// fixed reports whether quantized networks compute in fixed point on a machine.
func (opt Options) fixed(m *tuned.Machine) bool {
	return opt.cmsisNN() || opt.Requantize == "fixed" || opt.Requantize == "" && !m.Open && !m.Floats
}

// arithmetic names what p, as it was read, computes with on a machine if it is quantized. The
// operators of cortex_m have that of CMSIS-NN.
func (opt Options) arithmetic(p *ir.Program, m *tuned.Machine) string {
	quantized := opt.Recipe != nil
	for _, method := range p.Methods {
		for n := range method.Graph.All() {
			quantized = quantized || strings.HasPrefix(n.Op, "quantized_decomposed.")
		}
	}
	if !quantized {
		return ""
	}
	switch {
	case opt.cmsisNN():
		return quantize.Arithmetic + " with requantize=" + LibraryCMSISNN
	case opt.fixed(m):
		return quantize.Arithmetic + " with requantize=fixed"
	}
	return quantize.Arithmetic
}

// LibraryCMSISNN is Arm's library of kernels for Cortex-M.
const LibraryCMSISNN = "cmsis-nn"

// library returns the kernels of the library that is asked for.
func (opt Options) library() []*tuned.Kernel {
	if opt.Library == "" {
		return nil
	}
	return tuned.CMSISNN()
}

// checkLibrary fails if p cannot call the library that is asked for.
func (opt Options) checkLibrary(p *ir.Program) {
	l := opt.native()
	switch {
	case opt.Library == "":
	case opt.Library != LibraryCMSISNN:
		must.Fail("the library %q is unknown: take %s", opt.Library, LibraryCMSISNN)
	case l.Kernels != tuned.C:
		must.Fail("%s is a library in C, which packages in %s do not call", opt.Library, l.Name)
	case opt.Requantize != "" && opt.Requantize != LibraryCMSISNN:
		must.Fail("%s computes in a fixed point of its own: leave --requantize=%s away", opt.Library,
			opt.Requantize)
	case opt.Recipe == nil && !lower.IsQuantized(p):
		must.Fail("%s: %s is for quantized models, and this one computes with floats alone: make it "+
			"one with --quantize", foreign.Message(p.Source), opt.Library)
	}
}
