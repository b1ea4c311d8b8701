// Package testcase reads and writes golden cases: folders with model files, a
// meta.json, and raw tensors of inputs and of the outputs PyTorch gave.
package testcase

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
)

// Case is one folder.
type Case struct {
	Dir    string
	Name   string
	Note   string
	Labels []string // what the model's classes are called, often empty
	// Models are the base names of its model files. Where each method has a file
	// of its own, a name has a * in place of the method's.
	Models []string
	// Methods are the names of the methods if there are several, in the order of
	// the program that they are, or that their files make; Share tells whether they
	// share their mutable buffers.
	Methods []string
	Share   bool
	// Unrecorded is set if nobody recorded what the model gives: then the outputs
	// of Calls are empty and only that it runs can be checked.
	Unrecorded bool
	Calls      []Call // in the order they are made
	Stateful   bool   // the calls follow one another and state carries over
	// ByClass is set if the outputs are those of a model that this one
	// approximates: both are to name the same class.
	ByClass bool
	// Slack is what PyTorch's own exported program deviates from eager mode.
	Slack float64
}

// Call is one call of the model: what goes in, and what PyTorch answered.
type Call struct {
	Label   string // what it stands for, often empty
	Method  int    // index among the program's methods
	Inputs  []tensor.Value
	Outputs []tensor.Value
	// Limits, if there are any, are parallel to Outputs: nil is the usual tolerance.
	Limits []*compare.Limits
	// Refused says how PyTorch's exported program refuses the call, which the model
	// it was made of takes: by a guard. Then there are no outputs.
	Refused string
	// Mutated holds, parallel to Inputs, the tensors after the call; nil where
	// the call does not change them.
	Mutated []*tensor.Tensor
}

// modelFiles are the names a model has in a case.
var modelFiles = []string{"model.pt2", "model.core.pt2", "model.pte", "model.bpte"}

// methodFiles are likewise the names of the models' methods.
var methodFiles = []string{"*.pt2", "*.core.pt2"}

// Files returns the paths of a model's files: one, or one for each method.
func (c *Case) Files(model string) []string {
	if !strings.Contains(model, "*") {
		return []string{filepath.Join(c.Dir, model)}
	}
	var files []string
	for _, m := range c.Methods {
		files = append(files, filepath.Join(c.Dir, strings.Replace(model, "*", m, 1)))
	}
	return files
}

// Error says what is wrong with the folders of cases, or with the files in one.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Find returns the folders at or below each root that hold a case, in path
// order.
func Find(roots ...string) ([]string, error) {
	var dirs []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return &Error{unreadable(path, err)}
			}
			if !d.IsDir() && d.Name() == "meta.json" {
				if dir := filepath.Dir(path); len(modelsIn(dir)) > 0 || hasMethods(path) {
					dirs = append(dirs, dir)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

func modelsIn(dir string) []string {
	var models []string
	for _, name := range modelFiles {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			models = append(models, name)
		}
	}
	return models
}

// hasMethods reports whether a meta.json is of a case with files for methods.
func hasMethods(path string) bool {
	var m struct {
		Methods []string `json:"methods"`
	}
	text, err := readFile(path, mostMeta)
	return err == nil && json.Unmarshal(text, &m) == nil && len(m.Methods) > 0
}

// mostMeta is how many bytes of a meta.json are read.
const mostMeta = 64 << 20

// readFile returns what is in a file of at most most bytes. Others than regular files
// are not opened: a device has no end, and to open a pipe is to wait for who writes to it.
func readFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: it is no regular file", path)
	case info.Size() > most:
		return nil, fmt.Errorf("%s: it has %d bytes, more than %d", path, info.Size(), most)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return data, nil
}

// unreadable says err of path without the name of a system call.
func unreadable(path string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// Read reads a case. Errors are an [*Error] that names the folder or the file.
func Read(dir string) (*Case, error) {
	c, err := read(dir)
	if err != nil {
		return nil, &Error{err}
	}
	return c, nil
}

func read(dir string) (*Case, error) {
	path := filepath.Join(dir, "meta.json")
	text, err := readFile(path, mostMeta)
	if err != nil {
		return nil, err
	}
	var m meta
	if err := json.Unmarshal(text, &m); err != nil {
		if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			err = fmt.Errorf("%s is of a kind that does not belong there: %s",
				cmp.Or(other.Field, "it"), other.Value)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c := &Case{
		Dir: dir, Name: m.Name, Note: m.Note, Labels: m.Labels, Models: modelsIn(dir),
		Stateful: strings.HasPrefix(m.Note, "stateful"), Slack: m.slack(),
		ByClass: len(m.Labels) > 0 && strings.Contains(m.Note, "argmax"),
	}
	if c.Methods, c.Share = m.Methods, m.Share; len(c.Methods) > 0 {
		if len(c.Models) == 0 {
			c.Models = methodFiles
		} else if err := c.ordered(); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		for _, name := range c.Methods {
			if name != filepath.Base(name) {
				return nil, fmt.Errorf("%s: %q is no method's name", dir, name)
			}
		}
	}
	if len(c.Models) == 0 {
		return nil, fmt.Errorf("%s: neither %s is there", dir, strings.Join(modelFiles, " nor "))
	}
	if m.Inputs == nil && m.Outputs == nil {
		return c, c.own()
	}
	for i, call := range append([]metaCall{m.metaCall}, m.Runs...) {
		read, err := call.read(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: call %d: %w", dir, i, err)
		}
		if len(c.Methods) > 0 {
			if read.Method = slices.Index(c.Methods, call.Method); read.Method < 0 {
				return nil, fmt.Errorf("%s: call %d: there is no method %q", dir, i, call.Method)
			}
		}
		c.Calls = append(c.Calls, read)
	}
	return c, nil
}

// ErrExists says that a folder to write a case to is not empty.
var ErrExists = errors.New("the folder exists and is not empty")

// Write writes c's data and meta.json, and the model's files, into c.Dir, made if
// needed. torch says what the outputs come from.
func Write(ctx context.Context, c *Case, torch string, models ...codegen.File) error {
	entries, err := os.ReadDir(c.Dir)
	for _, e := range entries {
		// What a killed run left is cleaned up when files are written.
		if err == nil && !codegen.IsOwnName(e.Name()) {
			return fmt.Errorf("%s: %w", c.Dir, ErrExists)
		}
	}
	pkg, err := files(c, torch, models)
	if err != nil {
		return err
	}
	return pkg.Write(ctx, c.Dir)
}

// Own is how the note of a case begins whose outputs etgen computed itself.
const Own = "recorded by etgen itself"

// Update writes c, a case that etgen recorded, over what is in its folder: its calls have other
// outputs now. It returns the files that differ.
func Update(ctx context.Context, c *Case) ([]string, error) {
	if !strings.HasPrefix(c.Note, Own) {
		return nil, &Error{fmt.Errorf("%s: others recorded its outputs, and etgen does not replace them",
			c.Dir)}
	}
	pkg, err := files(c, "", nil)
	if err != nil {
		return nil, err
	}
	var differ []string
	for _, f := range pkg.Files {
		was, err := os.ReadFile(filepath.Join(c.Dir, f.Name))
		if err != nil || !bytes.Equal(was, f.Data) {
			differ = append(differ, f.Name)
		}
	}
	if len(differ) == 0 {
		return nil, nil
	}
	pkg.Replaces = true
	return differ, pkg.Write(ctx, c.Dir)
}

// files are c's data and meta.json, behind the model's files.
func files(c *Case, torch string, models []codegen.File) (*codegen.Package, error) {
	pkg := &codegen.Package{Files: models}
	m := meta{Name: c.Name, Version: torch, Note: c.Note, Labels: c.Labels, Slack: c.Slack}
	for i, call := range c.Calls {
		prefix := ""
		if i > 0 {
			prefix = fmt.Sprintf("run%d_", i)
		}
		written, err := addCall(pkg, prefix, call)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			m.metaCall = written
		} else {
			m.Runs = append(m.Runs, written)
		}
	}
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, err
	}
	pkg.Files = append(pkg.Files, codegen.File{Name: "meta.json", Data: append(text, '\n')})
	return pkg, nil
}
