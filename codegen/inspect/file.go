package inspect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/etgen/etgen/codegen/compile"
	codepte "github.com/etgen/etgen/codegen/pte"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/pte"
)

// Options are how files are looked at.
type Options struct {
	// Compile is how an exported program would be compiled.
	Compile compile.Options
	// Compiled describes an ExecuTorch program, too, as what it is compiled to.
	Compiled bool
	// HasKernel tells for which operators etgen's runtime has kernels, by the names
	// that ExecuTorch programs have: "aten::add.out".
	HasKernel func(string) bool
}

// File describes the file, or folder, at path.
func File(path string, opt Options) (_ *Info, err error) {
	format := compile.FormatOf(path)
	if format == compile.DataFile {
		return dataFile(path)
	}
	if format == "" || opt.Compiled {
		p, closer, err := compile.Read(path)
		if err != nil {
			return nil, err
		}
		defer closer.Close()
		return Graph(p, opt.Compile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	stat, err := f.Stat()
	if err != nil {
		return nil, err
	}
	info := &Info{File: filepath.Base(path), Format: "ExecuTorch program", Bytes: stat.Size()}
	bundle := &pte.Bundle{}
	if format == compile.BundleFile {
		info.Format = "ExecuTorch bundle"
		bundle, err = pte.ReadBundle(f, info.Bytes)
	} else {
		bundle.Program, err = pte.Read(f, info.Bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", foreign.Message(info.File), err)
	}
	parts, err := bundle.Parts(f, info.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", foreign.Message(info.File), err)
	}
	info.Parts = &parts
	files, err := info.beside(bundle.Program, path)
	if err != nil {
		return nil, err
	}
	info.program(bundle.Program, files, opt.HasKernel)
	if len(info.Problems) == 0 {
		if err := info.locate(bundle.Program, path); err != nil {
			return nil, err
		}
	}
	info.tests(bundle)
	return info, nil
}

// locate adds to the names of instructions the Python lines they come from.
func (info *Info) locate(p *pte.Program, path string) error {
	origins, err := codepte.OriginsBeside(p, path)
	if err != nil {
		return err
	}
	for i := range info.Methods {
		m := info.Methods[i].Memory
		if m == nil {
			continue
		}
		for k, o := range origins[i] {
			if o.Loc != (ir.Location{}) {
				m.Steps[k+1] += " from " + o.Loc.String() // the first is the entry
			}
		}
	}
	return nil
}

// beside reads the files of external data in the folder of the program at path.
func (info *Info) beside(p *pte.Program, path string) ([]*pte.DataFile, error) {
	names, err := compile.DataBeside(p, path)
	if err != nil {
		return nil, err
	}
	var files []*pte.DataFile
	for _, name := range names {
		d, closer, err := pte.OpenData(name)
		if err != nil {
			return nil, err
		}
		files = append(files, d)
		info.entries(d)
		if err := closer.Close(); err != nil { // its data is not looked at
			return nil, err
		}
	}
	return files, nil
}

// dataFile describes a .ptd file.
func dataFile(path string) (*Info, error) {
	d, closer, err := pte.OpenData(path)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	stat, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	info := &Info{File: filepath.Base(path), Format: "ExecuTorch tensor data", Bytes: stat.Size()}
	info.entries(d)
	return info, nil
}

func (info *Info) entries(d *pte.DataFile) {
	for i := range d.Entries {
		e := &d.Entries[i]
		t := Tensor{Name: e.Key, Bytes: e.Data.Size(), Kind: "named data"}
		if l := e.Layout; l != nil {
			t.Kind = "external"
			t.Type = (&pte.Tensor{ScalarType: l.ScalarType, Sizes: l.Sizes,
				DimOrder: l.DimOrder}).TypeString()
		}
		info.Data = append(info.Data, t)
	}
	largestFirst(info.Data)
}

// tests describes the test cases of a bundle.
func (info *Info) tests(b *pte.Bundle) {
	text := func(values []pte.TestValue) []string {
		all := []string{}
		for _, v := range values {
			switch v := v.(type) {
			case *pte.TestTensor:
				all = append(all, (&pte.Tensor{ScalarType: v.ScalarType, Sizes: v.Sizes,
					DimOrder: v.DimOrder}).TypeString())
			case pte.EValue:
				all = append(all, pte.ValueString(v))
			}
		}
		return all
	}
	for _, s := range b.Suites {
		t := Tests{Method: s.Method}
		for _, c := range s.Cases {
			t.Cases = append(t.Cases, TestCase{text(c.Inputs), text(c.Outputs)})
		}
		info.Tests = append(info.Tests, t)
	}
}
