// Package record runs a user's model on the user's files and makes cases of it.
package record

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// Given are a model's inputs, constants included.
type Given struct {
	Method int // the index of the method that they are for
	Values []tensor.Value
	NPY    bool // one was a .npy file
}

// Opener reads a model anew. The closer, which may be nil, holds its weights.
type Opener func() (*ir.Program, io.Closer, error)

// File opens a model file. An ExecuTorch program does not tell the schemas of custom operators:
// they are declared.
func File(path string, declared ...*aten.Schema) Opener {
	return func() (*ir.Program, io.Closer, error) { return compile.ReadCustom(path, declared) }
}

// signature is the user inputs of a method, whose index is at; "" is the first.
func signature(open Opener, method string) (values []*ir.Value, specs []ir.InputSpec, at int,
	err error) {
	p, closer, err := open()
	if err != nil {
		return nil, nil, 0, err
	}
	if closer != nil {
		defer closer.Close()
	}
	if at, err = methodIndex(p, method); err != nil {
		return nil, nil, 0, err
	}
	m := p.Methods[at]
	for i, v := range m.Graph.Inputs {
		if k := m.Inputs[i].Kind; k == ir.UserInput || k == ir.ConstantInput {
			values, specs = append(values, v), append(specs, m.Inputs[i])
		}
	}
	return values, specs, at, nil
}

// methodIndex finds a method of a program by its name; "" is the first.
func methodIndex(p *ir.Program, name string) (int, error) {
	var names []string
	for _, m := range p.Methods {
		names = append(names, m.Name)
	}
	return indexOf(name, names)
}

func indexOf(name string, names []string) (int, error) {
	if name == "" {
		return 0, nil
	}
	if i := slices.Index(names, name); i >= 0 {
		return i, nil
	}
	return 0, inputError("there is no method %s: take %s", name, strings.Join(names, ", "))
}

// inputError is a [way.InputError].
func inputError(format string, args ...any) error {
	return &way.InputError{Err: fmt.Errorf(format, args...)}
}

// Inputs reads the inputs of a model's method from words: file names and numbers. "" is the first
// method. They take no more than limit bytes, or way.DefaultMemory if it is 0.
func Inputs(open Opener, method string, words []string, limit int64) (*Given, error) {
	values, specs, at, err := signature(open, method)
	if err != nil {
		return nil, err
	}
	given, budget, all := &Given{Method: at}, newBudget(limit), len(words)
	for i, v := range values {
		if specs[i].Kind == ir.ConstantInput {
			given.Values = append(given.Values, tensor.Value{Scalar: specs[i].Fixed})
			continue
		}
		if len(words) == 0 {
			return nil, inputError("input %s (%v) is not given", v.Name, v.Type)
		}
		word := words[0]
		words = words[1:]
		read, npy, err := readInput(v.Type.RealParts(), word, budget)
		if err != nil {
			return nil, inputFault(v.Name, err)
		}
		given.Values = append(given.Values, read)
		given.NPY = given.NPY || npy
	}
	if len(words) > 0 {
		return nil, tooMuch(words[0], "model", all-len(words), len(given.Values))
	}
	if err := tensor.Fit(values, given.Values); err != nil {
		return nil, &way.InputError{Err: err}
	}
	return given, nil
}

// Run makes one call of a model's first method.
func Run(ctx context.Context, w way.Way, model string,
	inputs []tensor.Value) (*way.CallResult, error) {
	return RunMethod(ctx, w, model, "", inputs)
}

// RunMethod is Run for the method of a name; "" is the first.
func RunMethod(ctx context.Context, w way.Way, model, method string,
	inputs []tensor.Value) (*way.CallResult, error) {
	r, _, err := Trace(ctx, w, model, method, inputs)
	return r, err
}

// Trace is RunMethod that also returns the calls of kernels, or instructions, of
// the method, to which the result's Steps are parallel; nil if w counts none.
func Trace(ctx context.Context, w way.Way, model, method string,
	inputs []tensor.Value) (*way.CallResult, []way.Step, error) {
	at, err := methodOf(model, method)
	if err != nil {
		return nil, nil, err
	}
	job := way.Job{
		Name:  filepath.Base(model),
		File:  model,
		Open:  func() (*ir.Program, io.Closer, error) { return compile.Read(model) },
		Calls: []way.Call{{Method: at, Inputs: inputs}},
	}
	var result *way.Result
	w.Run(ctx, []way.Job{job}, func(_ int, r *way.Result) { result = r })
	switch {
	case result == nil:
		return nil, nil, ctx.Err()
	case result.Err != nil:
		return nil, nil, result.Err
	case len(result.Calls) == 0:
		return nil, nil, ctx.Err()
	}
	var steps []way.Step
	if at < len(result.Steps) {
		steps = result.Steps[at]
	}
	return &result.Calls[0], steps, result.Calls[0].Err
}
