package compile

import (
	"bytes"

	"github.com/etgen/etgen/codegen"
	codepte "github.com/etgen/etgen/codegen/pte"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// PTE lowers p and makes an ExecuTorch program of it.
func PTE(p *ir.Program, opt Options) (_ *codepte.Output, err error) {
	defer opt.ended(&err)
	defer internal(p, &err)
	opt.Lang = executorch
	if err := Lower(p, opt); err != nil {
		return nil, err
	}
	return codepte.Generate(p, codepte.Options{
		Planner: opt.planner(), Done: opt.done(), ExternalWeights: opt.ExternalWeights,
		StackTraces: opt.StackTraces,
	})
}

// printPTE writes the files of an ExecuTorch program: NAME.pte, if weights are
// external NAME.ptd, and if it is asked for NAME.debug.json.
func printPTE(out *codepte.Output, name string, debug bool) (*codegen.Package, error) {
	if err := codegen.CheckFileName(name); err != nil {
		return nil, err
	}
	var program, data bytes.Buffer
	if err := pte.Write(&program, out.Program); err != nil {
		return nil, err
	}
	pkg := &codegen.Package{Name: name, Kind: codegen.KindPTE,
		Files: []codegen.File{{Name: name + ".pte", Data: program.Bytes()}}}
	if debug {
		file := name + ".pte"
		text, err := out.DebugMap(file).JSON()
		if err != nil {
			return nil, err
		}
		pkg.Files = append(pkg.Files, codegen.File{Name: codepte.DebugFile(file), Data: text})
	}
	if out.Data == nil {
		return pkg, nil
	}
	if err := pte.WriteData(&data, out.Data); err != nil {
		return nil, err
	}
	pkg.Files = append(pkg.Files, codegen.File{Name: name + ".ptd", Data: data.Bytes()})
	return pkg, nil
}
