package way

import (
	"errors"
	"fmt"
	"io"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

// File is an ExecuTorch program in a file, for the runtime to execute as it is.
type File struct {
	Bundle  *pte.Bundle // without test cases if the file is no bundle
	program *rt.Program
	data    []*rt.DataFile
	closers []io.Closer
}

// OpenFile opens the .pte or .bpte file at path, with the .ptd files in its
// folder if it needs one.
func OpenFile(path string) (*File, error) {
	f := &File{Bundle: &pte.Bundle{}}
	if err := f.open(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *File) open(path string) error {
	var closer io.Closer
	var err error
	if compile.FormatOf(path) == compile.BundleFile {
		f.Bundle, closer, err = pte.OpenBundle(path)
	} else {
		f.Bundle.Program, closer, err = pte.Open(path)
	}
	if err != nil {
		return err
	}
	f.closers = append(f.closers, closer)
	if f.program, err = rt.NewProgram(f.Bundle.Program, nil); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	names, err := compile.DataBeside(f.Bundle.Program, path)
	if err != nil {
		return err
	}
	for _, name := range names {
		d, err := rt.OpenData(name)
		if err != nil {
			return err
		}
		f.data, f.closers = append(f.data, d), append(f.closers, d)
	}
	return nil
}

// Close closes the files.
func (f *File) Close() error {
	var errs []error
	for _, c := range f.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Methods returns the names of the methods.
func (f *File) Methods() []string { return f.program.MethodNames() }

// Method describes a method; "" is the first.
func (f *File) Method(name string) (*rt.MethodMeta, error) {
	names := f.Methods()
	if name == "" && len(names) > 0 {
		name = names[0]
	}
	meta, err := f.program.MethodMeta(name)
	if errors.Is(err, rt.ErrNotFound) && len(names) > 0 {
		err = &InputError{err}
	}
	return meta, err
}
