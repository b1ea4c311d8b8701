// Package testcase reads and writes golden cases: folders with model files, a
// meta.json, and raw tensors of inputs and of the outputs PyTorch gave.
package testcase

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etgen/etgen/golden/tensor"
)

// Case is one folder.
type Case struct {
	Dir    string
	Name   string
	Note   string
	Labels []string // what the model's classes are called, often empty
	Models []string // base names of its model files
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
	Inputs  []tensor.Value
	Outputs []tensor.Value
	// Mutated holds, parallel to Inputs, the tensors after the call; nil where
	// the call does not change them.
	Mutated []*tensor.Tensor
}

// modelFiles are the names a model has in a case.
var modelFiles = []string{"model.pt2", "model.core.pt2", "model.pte", "model.bpte"}

// Find returns the folders at or below each root that hold a case, in path
// order.
func Find(roots ...string) ([]string, error) {
	var dirs []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if !d.IsDir() && d.Name() == "meta.json" {
				if dir := filepath.Dir(path); len(modelsIn(dir)) > 0 {
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

// Read reads a case. Errors name the folder or the file.
func Read(dir string) (*Case, error) {
	text, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		return nil, err
	}
	var m meta
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, "meta.json"), err)
	}
	c := &Case{
		Dir: dir, Name: m.Name, Note: m.Note, Labels: m.Labels, Models: modelsIn(dir),
		Stateful: strings.HasPrefix(m.Note, "stateful"), Slack: m.Slack,
		ByClass: len(m.Labels) > 0 && strings.Contains(m.Note, "argmax"),
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
		c.Calls = append(c.Calls, read)
	}
	return c, nil
}

// ErrExists says that a folder to write a case to is not empty.
var ErrExists = errors.New("the folder exists and is not empty")

// Write writes c's data and meta.json into c.Dir, made if needed; the model
// files are the caller's to put there. torch says what the outputs come from.
func Write(c *Case, torch string) error {
	if entries, err := os.ReadDir(c.Dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s: %w", c.Dir, ErrExists)
	}
	if err := os.MkdirAll(c.Dir, 0o777); err != nil {
		return err
	}
	m := meta{Name: c.Name, Version: torch, Note: c.Note, Labels: c.Labels, Slack: c.Slack}
	for i, call := range c.Calls {
		prefix := ""
		if i > 0 {
			prefix = fmt.Sprintf("run%d_", i)
		}
		written, err := writeCall(c.Dir, prefix, call)
		if err != nil {
			return err
		}
		if i == 0 {
			m.metaCall = written
		} else {
			m.Runs = append(m.Runs, written)
		}
	}
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.Dir, "meta.json"), append(text, '\n'), 0o666)
}
