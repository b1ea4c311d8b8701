// Package codegen holds what the printers of native form share: the files they
// make, names, the layout of weights, how dynamic sizes are found.
package codegen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/ir/must"
)

// Package is generated output: files of one directory, in the order in which a
// reader best looks at them.
type Package struct {
	Name string
	// Kind is what the files are together, one of the constants below. Files
	// without a kind have names that the user chose, and no record is kept of them.
	Kind  string
	Files []File
	// Replaces says that files of these names are the caller's to write over, whoever wrote them.
	Replaces bool
}

// Kinds of packages. A folder has one Go package of a model at most, one registry
// and one set of outputs: a new one replaces the old one.
const (
	KindC        = "c"
	KindGo       = "go"
	KindPTE      = "pte"
	KindRegistry = "registry"
	KindOutputs  = "outputs" // of a run
)

// File is one file; Name has no directory.
type File struct {
	Name string
	Data []byte
}

// FileOf is a package of one file, of a name that the user chose, with what write writes.
func FileOf(name string, write func(io.Writer) error) (*Package, error) {
	var data bytes.Buffer
	if err := write(&data); err != nil {
		return nil, err
	}
	return &Package{Files: []File{{Name: name, Data: data.Bytes()}}}, nil
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

// Write makes the folder dir hold the package: it writes the files that differ,
// and removes those that earlier packages left which this one replaces. A package
// replaces one of the same name or made from the same inputs, and one that has a
// file of the same name. Other files stay, other packages among them.
//
// Inputs are what the package was made from. They are never written over nor
// removed. Nor is any file that etgen did not write, which RecordFile tells, or
// the first lines: then Write fails with a ConflictError.
//
// Either all changes or nothing does. When ctx ends before the files are complete
// nothing has changed. Runs that write to one folder at the same time do it one
// after the other. What a killed run left is cleaned up: its package was complete,
// and takes its place, or was not, and is removed.
func (p *Package) Write(ctx context.Context, dir string, inputs ...string) (err error) {
	defer must.Catch(&err)
	next := p.entry(ctx, inputs)
	// A folder that holds the package already is not touched, so it may be read-only.
	if clean(dir) {
		if list, err := p.compare(dir, next, inputs); err == nil && len(list) == 0 {
			return nil
		}
	}
	folder := must.Get(openFolder(ctx, dir))
	err = must.Try(func() {
		must.Check(interrupt.Whole(func() error { return recoverFolder(dir) }))
		must.Check(commit(ctx, dir, must.Get(p.compare(dir, next, inputs))))
	})
	return errors.Join(err, folder.close(err != nil))
}

// Displaces returns the names of other models' Go packages that Write would replace: a
// folder has one. The same model under another name and another model under the same name
// are the package itself, as it was before.
func (p *Package) Displaces(ctx context.Context, dir string,
	inputs ...string) (names []string, err error) {
	defer must.Catch(&err)
	next := p.entry(ctx, inputs)
	if next.Kind != KindGo {
		return nil, nil
	}
	for _, e := range readRecord(dir).Packages {
		if e.Kind == KindGo && e.Name != "" && e.Name != next.Name && e.Inputs != next.Inputs {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// Difference is a file in which a folder is not what Write would make of it.
type Difference struct {
	File string // with the folder
	How  string // "is missing", "differs", …
}

func (d Difference) String() string { return d.File + ": " + d.How }

// Check returns what Write would change or refuse to change, nil if it is
// nothing. It writes nothing.
func (p *Package) Check(ctx context.Context, dir string,
	inputs ...string) (list []Difference, err error) {
	defer must.Catch(&err)
	next := p.entry(ctx, inputs)
	must.Check(waitFolder(ctx, dir))
	add := func(name, how string) { list = append(list, Difference{filepath.Join(dir, name), how}) }
	if _, err := os.Lstat(filepath.Join(dir, journalDir)); err == nil {
		add(journalDir, "is what an interrupted run left")
	}
	changes, err := p.compare(dir, next, inputs)
	conflict, isConflict := errors.AsType[*ConflictError](err)
	if err != nil && !isConflict {
		return nil, err
	}
	for _, s := range changes {
		switch {
		case s.New == "":
			add(s.Name, "is stale")
		case s.Old == "":
			add(s.Name, "is missing")
		default:
			add(s.Name, "differs")
		}
	}
	if isConflict {
		list = append(list, conflict.Files...)
	}
	return list, nil
}

// ConflictError says that files are in the way that etgen did not write.
type ConflictError struct{ Files []Difference }

func (e *ConflictError) Error() string {
	text := ""
	for _, f := range e.Files {
		text += fmt.Sprintf("%v: move it away, or write to another folder or under another name\n",
			f)
	}
	return text
}

// change is the change of one file of a folder. Old and New are digests of its
// contents before and after, "" if there is no such file.
type change struct {
	Name string
	Old  string `json:",omitempty"`
	New  string `json:",omitempty"`
	data []byte
}

// compare returns the changes that make dir hold the package. The record of the
// folder is the last of them. With a ConflictError they are those that would be
// fine.
func (p *Package) compare(dir string, next entry, inputs []string) (list []change, err error) {
	defer must.Catch(&err)
	names := map[string]bool{}
	for _, f := range p.Files {
		if f.Name != filepath.Base(f.Name) || IsOwnName(f.Name) {
			must.Fail("generated file name %q is not one of a folder", f.Name)
		}
		if names[f.Name] {
			must.Fail("two generated files are called %s", f.Name)
		}
		names[f.Name] = true
	}
	kept := record{}
	var replaced []entry
	written := map[string]string{} // as the entries have them
	for _, e := range readRecord(dir).Packages {
		maps.Copy(written, e.Files)
		if e.replacedBy(next) && !e.holds(dir, inputs) {
			replaced = append(replaced, e)
		} else {
			kept.Packages = append(kept.Packages, e)
		}
	}
	var conflicts []Difference
	conflict := func(name, how string) {
		conflicts = append(conflicts, Difference{filepath.Join(dir, name), how})
	}
	for _, f := range p.Files {
		s := change{Name: f.Name, New: digestOf(f.Data), data: f.Data}
		owner, path := s.look(dir, written), filepath.Join(dir, f.Name)
		switch input := isInput(path, inputs); {
		case input == 0:
			must.Fail("%s is the model itself: write to another folder, or under another name", path)
		case input > 0:
			must.Fail("%s is an input of this run: write to another folder, or under another name",
				path)
		case s.Old == s.New:
			continue
		case owner != "" && !p.Replaces:
			conflict(f.Name, owner+" and would be written over")
			continue
		case kept.has(f.Name):
			conflict(f.Name, "belongs to a package that stays")
			continue
		}
		list = append(list, s)
	}
	for _, e := range replaced {
		for _, name := range e.names() {
			if names[name] {
				continue
			}
			names[name] = true
			s := change{Name: name}
			switch owner := s.look(dir, written); {
			case s.Old == "":
				continue // somebody has removed it
			case owner != "":
				conflict(name, owner+" and would be removed")
				continue
			}
			list = append(list, s)
		}
	}
	if len(next.Files) > 0 {
		kept.Packages = append(kept.Packages, next)
	}
	s := change{Name: RecordFile}
	if len(kept.Packages) > 0 {
		s.data = kept.format()
		s.New = digestOf(s.data)
	}
	if s.Old = digestFile(filepath.Join(dir, RecordFile)); s.Old != s.New {
		list = append(list, s)
	}
	if len(conflicts) > 0 {
		err = &ConflictError{conflicts}
	}
	return list, err
}

// look sets s.Old and returns why etgen may not change the file, "" if it may.
func (s *change) look(dir string, written map[string]string) (owner string) {
	path := filepath.Join(dir, s.Name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		must.Check(err)
	case !info.Mode().IsRegular():
		s.Old = otherFile
		return "is no regular file"
	}
	s.Old = digestFile(path)
	digest, known := written[s.Name]
	switch {
	case s.Old == s.New, known && s.Old == digest, generatedFrom(path) != nil:
		return ""
	case known:
		return "was changed since etgen wrote it"
	}
	return "was not written by etgen"
}

// isInput returns which of inputs is the file at path, -1 if none is.
func isInput(path string, inputs []string) int {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	for i, in := range inputs {
		if other, err := os.Stat(in); err == nil && os.SameFile(info, other) {
			return i
		}
	}
	return -1
}
