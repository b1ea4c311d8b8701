package inspect

import (
	"os"
	"path/filepath"

	"github.com/etgen/etgen/codegen/compile"
	codepte "github.com/etgen/etgen/codegen/pte"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
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
	defer must.Catch(&err)
	format := compile.FormatOf(path)
	if format == compile.DataFile {
		return dataFile(path), nil
	}
	if format == "" || opt.Compiled {
		p, closer := must.Get2(opt.Compile.Read(path))
		defer closer.Close()
		return Graph(p, opt.Compile)
	}
	f := must.Get(os.Open(path))
	defer f.Close()
	info := newInfo(path, "ExecuTorch program")
	bundle := &pte.Bundle{}
	if format == compile.BundleFile {
		info.Format = "ExecuTorch bundle"
		bundle, err = pte.ReadBundle(f, info.Bytes)
	} else {
		bundle.Program, err = pte.Read(f, info.Bytes)
	}
	must.In(err, "%s", foreign.Message(info.File))
	parts, err := bundle.Parts(f, info.Bytes)
	must.In(err, "%s", foreign.Message(info.File))
	info.Parts = &parts
	info.program(bundle.Program, info.beside(bundle.Program, path), opt.HasKernel)
	if len(info.Problems) == 0 {
		info.locate(bundle.Program, path, opt.Compile.Show)
	}
	info.tests(bundle)
	return info, nil
}

// newInfo begins to describe the file at path.
func newInfo(path, format string) *Info {
	return &Info{File: filepath.Base(path), Format: format, Bytes: must.Get(os.Stat(path)).Size()}
}

// locate adds to the names of instructions the Python lines they come from.
func (info *Info) locate(p *pte.Program, path string, warn func(error)) {
	origins := must.Get(codepte.OriginsBeside(p, path, warn))
	for i := range info.Methods {
		m := info.Methods[i].Memory
		if m == nil {
			continue
		}
		for k, o := range origins[i] {
			if o.Loc != (ir.Location{}) {
				m.Steps[k+1] += " from " + o.Loc.String() // the first is the entry
			}
			for _, n := range o.Inside() {
				m.Steps[k+1] += ", " + n.Op + " from " + n.Loc.String()
			}
		}
	}
}

// beside reads the files of external data in the folder of the program at path.
func (info *Info) beside(p *pte.Program, path string) (files []*pte.DataFile) {
	return seq.Map(must.Get(compile.DataBeside(p, path)), info.entries)
}

// dataFile describes a .ptd file.
func dataFile(path string) *Info {
	info := newInfo(path, "ExecuTorch tensor data")
	info.entries(path)
	return info
}

// entries describes what the .ptd file at path holds.
func (info *Info) entries(path string) *pte.DataFile {
	d, closer := must.Get2(pte.OpenData(path))
	must.Check(closer.Close()) // its data is not looked at
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
	return d
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
