package compile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	codepte "github.com/etgen/etgen/codegen/pte"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise"
)

// Read opens a model file: an exported program (.pt2, a folder of its parts), an
// ExecuTorch program (.pte), a bundle of one with test cases (.bpte), or the text form
// of a program, which has the data of small constants alone. The content of the file
// says which it is. Data are .ptd files with external tensors of an
// ExecuTorch program; without any, those in the program's folder are looked
// through if it needs one. The closer holds the weights: close it after
// compiling.
func Read(path string, data ...string) (*ir.Program, io.Closer, error) {
	return ReadCustom(path, nil, data...)
}

// ReadCustom is Read of a program that may call the custom operators declared: an ExecuTorch
// program does not tell their schemas.
func ReadCustom(path string, declared []*aten.Schema, data ...string) (*ir.Program, io.Closer,
	error) {
	switch FormatOf(path) {
	case ProgramFile, BundleFile:
		p, _, open, err := openProgram(path, declared, data)
		if err != nil {
			return nil, nil, err
		}
		return p, open, nil
	}
	if len(data) > 0 {
		return nil, nil, fmt.Errorf("%s is no ExecuTorch program: it has no data beside it", path)
	}
	if isText(path) {
		return readText(path)
	}
	return pt2.Read(path)
}

// Read is [Read] of a program that may call the custom operators of the options.
func (o Options) Read(path string) (*ir.Program, io.Closer, error) {
	return ReadCustom(path, o.Custom.Declared())
}

// isText reports whether the file at path begins as the text form of a program does.
func isText(path string) bool {
	head, err := headOf(path)
	return err == nil && strings.HasPrefix(head, "program ")
}

// textLimit is the length of the longest text form that is read, in bytes.
const textLimit = 1 << 28

// readText reads the text form of a program.
func readText(path string) (*ir.Program, io.Closer, error) {
	text, err := readUpTo(path, textLimit+1)
	if err == nil && len(text) > textLimit {
		err = fmt.Errorf("%s: the text of a program is limited to %d bytes", path, textLimit)
	}
	if err != nil {
		return nil, nil, err
	}
	p, err := ir.Parse(filepath.Base(path), text)
	return p, closers(nil), err
}

// readUpTo returns the first n bytes of a file, fewer if it is shorter.
func readUpTo(path string, n int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, n))
	return string(text), err
}

// openProgram reads and raises an ExecuTorch program.
func openProgram(path string, declared []*aten.Schema, data []string) (*ir.Program,
	[]raise.Memory, closers, error) {
	p, file, err := OpenPTE(path)
	if err != nil {
		return nil, nil, nil, err
	}
	open := closers{file}
	out, memories, err := raised(p, path, declared, data, &open)
	if err != nil {
		return nil, nil, nil, errors.Join(err, open.Close())
	}
	return out, memories, open, nil
}

// OpenPTE opens an ExecuTorch program as it is, or the one of a bundle.
func OpenPTE(path string) (*pte.Program, io.Closer, error) {
	if FormatOf(path) != BundleFile {
		return pte.Open(path)
	}
	b, file, err := pte.OpenBundle(path)
	if err != nil {
		return nil, nil, err
	}
	return b.Program, file, nil
}

// Format tells files of ExecuTorch apart: it is what they have at offset 4.
type Format string

// The formats.
const (
	ProgramFile Format = "ET12" // .pte
	BundleFile  Format = "BP08" // .bpte
	DataFile    Format = "FT01" // .ptd
)

// FormatOf returns the format of the file at path, "" if it is none of
// ExecuTorch's. A file that says nothing of itself is what its name says, so that
// what is wrong with it is told.
func FormatOf(path string) Format {
	head, err := headOf(path)
	if err != nil {
		return ""
	}
	if len(head) == headBytes {
		switch magic := Format(head[4:]); magic {
		case ProgramFile, BundleFile, DataFile:
			return magic
		}
	}
	if strings.HasPrefix(head, "PK") || strings.HasPrefix(head, "{") || isText(path) {
		return "" // an exported program or a text form, whatever it is called
	}
	return map[string]Format{".pte": ProgramFile, ".bpte": BundleFile,
		".ptd": DataFile}[filepath.Ext(path)]
}

// headBytes is how much of a file tells its format.
const headBytes = 8

// headOf returns the first headBytes bytes of a regular file, fewer if it is shorter.
func headOf(path string) (string, error) {
	// Opening a pipe would wait for its writer.
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", path)
	}
	return readUpTo(path, headBytes)
}

func raised(p *pte.Program, path string, declared []*aten.Schema, data []string,
	open *closers) (_ *ir.Program, _ []raise.Memory, err error) {
	source := filepath.Base(path)
	defer internal(&ir.Program{Source: source}, &err)
	defer must.Catch(&err)
	if len(data) == 0 {
		data = must.Get(DataBeside(p, path))
	}
	var files []*pte.DataFile
	for _, d := range data {
		f, closer := must.Get2(pte.OpenData(d))
		*open = append(*open, closer)
		files = append(files, f)
	}
	var schemas []*aten.Schema
	for _, s := range declared { // kernels in C and in Go may both declare an operator
		if !slices.ContainsFunc(schemas, func(x *aten.Schema) bool { return x.Name == s.Name }) {
			schemas = append(schemas, s)
		}
	}
	table := must.Get(ops.Standard().With(schemas...))
	var warnings []error
	warn := func(err error) { warnings = append(warnings, err) }
	origins := must.Get(codepte.LinesBeside(p, path, warn))
	out, memories := must.Get2(raise.Planned(p, source, table, origins, files...))
	out.Warnings = append(out.Warnings, warnings...)
	return out, memories, nil
}

// DataBeside returns the .ptd files in the folder of the program at path, sorted;
// none if the program needs no other files.
func DataBeside(p *pte.Program, path string) ([]string, error) {
	if !external(p) {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.ptd"))
	slices.Sort(files)
	return files, err
}

// external reports whether a program has tensors in other files, or delegates, which may have
// data there.
func external(p *pte.Program) bool {
	for _, plan := range p.Plans {
		if len(plan.Delegates) > 0 {
			return true
		}
		for _, v := range plan.Values {
			if t, ok := v.(*pte.Tensor); ok && t.IsExternal() {
				return true
			}
		}
	}
	return false
}

// closers closes all of a list.
type closers []io.Closer

// Close implements [io.Closer].
func (list closers) Close() error {
	var errs []error
	for _, c := range list {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
