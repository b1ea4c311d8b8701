// Package codegen holds what the printers of native form share: the files they
// make, names, the layout of weights, how dynamic sizes are found.
package codegen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Package is generated output: files of one directory, in the order in which a
// reader best looks at them.
type Package struct {
	Name  string
	Files []File
}

// File is one file; Name has no directory.
type File struct {
	Name string
	Data []byte
}

// File returns the contents of the file called name, nil if there is none.
func (p *Package) File(name string) []byte {
	for _, f := range p.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// Write writes the files into dir, which is made if it does not exist. Every
// file is written aside first, and only when all are complete are they renamed
// into place: a failed run leaves the old output intact. The files of keep, what
// the package was made from, are never written over. When ctx ends nothing has
// changed.
func (p *Package) Write(ctx context.Context, dir string, keep ...string) (err error) {
	if err := p.spare(dir, keep); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var aside []string
	defer func() {
		for _, name := range aside {
			os.Remove(name) // those that were renamed are gone
		}
	}()
	for _, f := range p.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.Name != filepath.Base(f.Name) {
			return fmt.Errorf("generated file name %q has a directory", f.Name)
		}
		t, err := os.CreateTemp(dir, "."+f.Name+".*")
		if err != nil {
			return err
		}
		aside = append(aside, t.Name())
		_, err = t.Write(f.Data)
		if err == nil {
			err = t.Chmod(0o666 &^ umask)
		}
		if cerr := t.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, f := range p.Files {
		if err := os.Rename(aside[i], filepath.Join(dir, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// spare returns an error if the package in dir has a file of keep.
func (p *Package) spare(dir string, keep []string) error {
	for _, f := range p.Files {
		path := filepath.Join(dir, f.Name)
		old, err := os.Stat(path)
		if err != nil {
			continue // it does not exist
		}
		for _, k := range keep {
			if info, err := os.Stat(k); err == nil && os.SameFile(old, info) {
				return fmt.Errorf("%s is the model itself: write to another folder, or under another name", path)
			}
		}
	}
	return nil
}

// umask is what generated files do not allow to others than their owner.
const umask = 0o022
