package compile

import (
	"bytes"
	"slices"

	"github.com/etgen/etgen/codegen"
	codepte "github.com/etgen/etgen/codegen/pte"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/partition"
)

// DialectCortexM is that of ExecuTorch's operators for microcontrollers.
const DialectCortexM = "cortex_m"

// Dialects are what Options.Dialect names.
var Dialects = []string{DialectCortexM}

// checkDialect fails if a program in language l cannot be in the dialect asked for.
func (opt Options) checkDialect(p *ir.Program, l *Language) {
	switch {
	case !slices.Contains(Dialects, opt.Dialect):
		must.Fail("the dialect %q is unknown: take %s", opt.Dialect, DialectCortexM)
	case l.Kernels != nil:
		must.Fail("the dialect %s is one of ExecuTorch programs, not of %s", opt.Dialect, l.Name)
	case opt.Recipe == nil && !lower.IsQuantized(p):
		must.Fail("%s: the dialect %s is for quantized models, and this one computes with floats "+
			"alone: make it one with --quantize", foreign.Message(p.Source), opt.Dialect)
	}
}

// PTE lowers p and makes an ExecuTorch program of it.
func PTE(p *ir.Program, opt Options) (_ *codepte.Output, err error) {
	defer opt.ended(&err)
	defer internal(p, &err)
	defer must.Catch(&err)
	opt.Lang = executorch
	var edge *ir.Program
	if opt.ETRecord {
		// The nodes that instructions stand for are those before out variants. What backends take
		// is in it as it was, as in ExecuTorch's records.
		end, step := lower.OutVariants.Name, opt.Step
		if len(opt.Backends) > 0 {
			end = partition.PassName
		}
		opt.Step = func(name string) {
			if name == end {
				edge = ir.Clone(p)
			}
			if step != nil {
				step(name)
			}
		}
	}
	must.Check(Lower(p, opt))
	out, err := codepte.Generate(p, codepte.Options{
		Planner: opt.planner(), Banks: opt.Banks, Done: opt.done(), ExternalWeights: opt.ExternalWeights,
		StackTraces: opt.StackTraces,
	})
	if out != nil {
		out.Edge = edge
	}
	return out, err
}

// printPTE writes the files of an ExecuTorch program: NAME.pte, if weights are
// external NAME.ptd, and if they are asked for NAME.debug.json and NAME.etrecord.
func printPTE(out *codepte.Output, name string, debug bool) *codegen.Package {
	must.Check(codegen.CheckFileName(name))
	var program, data bytes.Buffer
	must.Check(pte.Write(&program, out.Program))
	pkg := &codegen.Package{Name: name, Kind: codegen.KindPTE,
		Files: []codegen.File{{Name: name + ".pte", Data: program.Bytes()}}}
	if debug {
		file := name + ".pte"
		pkg.Files = append(pkg.Files, codegen.File{Name: codepte.DebugFile(file),
			Data: must.Get(out.DebugMap(file).JSON())})
	}
	if out.Edge != nil {
		var record bytes.Buffer
		must.Check(pt2.WriteRecord(&record, out.Edge, out.Record()))
		pkg.Files = append(pkg.Files, codegen.File{Name: name + ".etrecord", Data: record.Bytes()})
	}
	if out.Data != nil {
		must.Check(pte.WriteData(&data, out.Data))
		pkg.Files = append(pkg.Files, codegen.File{Name: name + ".ptd", Data: data.Bytes()})
	}
	return pkg
}
