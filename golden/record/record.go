// Package record runs a user's model on the user's files and makes cases of it.
package record

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
)

// Given are a model's inputs, constants included.
type Given struct {
	Values []tensor.Value
	NPY    bool // one was a .npy file
}

// signature is the user inputs of a model's method; "" is the first.
func signature(model, method string) ([]*ir.Value, []ir.InputSpec, error) {
	p, closer, err := compile.Read(model)
	if err != nil {
		return nil, nil, err
	}
	defer closer.Close()
	var values []*ir.Value
	var specs []ir.InputSpec
	at, err := methodIndex(p, method)
	if err != nil {
		return nil, nil, err
	}
	m := p.Methods[at]
	for i, v := range m.Graph.Inputs {
		if k := m.Inputs[i].Kind; k == ir.UserInput || k == ir.ConstantInput {
			values, specs = append(values, v), append(specs, m.Inputs[i])
		}
	}
	return values, specs, nil
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
	return 0, fmt.Errorf("there is no method %s: take %s", name, strings.Join(names, ", "))
}

// Inputs reads the inputs of a model's first method from words: file names and
// numbers.
func Inputs(model string, words []string) (*Given, error) { return MethodInputs(model, "", words) }

// InputError is an error of the inputs that were given, not of the model.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }

func (e *InputError) Unwrap() error { return e.Err }

// inputError is an [InputError].
func inputError(format string, args ...any) error {
	return &InputError{fmt.Errorf(format, args...)}
}

// MethodInputs is Inputs for the method of a name; "" is the first.
func MethodInputs(model, method string, words []string) (*Given, error) {
	values, specs, err := signature(model, method)
	if err != nil {
		return nil, err
	}
	given := &Given{}
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
		read, npy, err := readInput(v.Type, word)
		if err != nil {
			return nil, inputError("input %s: %w", v.Name, err)
		}
		given.Values = append(given.Values, read)
		given.NPY = given.NPY || npy
	}
	if len(words) > 0 {
		return nil, inputError("input %q is too much: the model takes %d", words[0], len(given.Values))
	}
	return given, nil
}

func readInput(t ir.Type, word string) (v tensor.Value, npy bool, err error) {
	switch t.Kind {
	case ir.IntKind:
		n, err := strconv.ParseInt(word, 10, 64)
		return tensor.Value{Scalar: ir.Int(n)}, false, err
	case ir.FloatKind:
		f, err := strconv.ParseFloat(word, 64)
		return tensor.Value{Scalar: ir.Float(f)}, false, err
	case ir.BoolKind:
		b, err := strconv.ParseBool(word)
		return tensor.Value{Scalar: ir.BoolArg(b)}, false, err
	case ir.TensorKind:
	default:
		return v, false, fmt.Errorf("%v cannot be given", t)
	}
	data, err := os.ReadFile(word)
	if err != nil {
		return v, false, err
	}
	var read *tensor.Tensor
	if npy = strings.HasSuffix(word, ".npy"); npy {
		read, err = tensor.ParseNPY(data)
	} else {
		read, err = raw(t, data)
	}
	if err != nil {
		return v, npy, fmt.Errorf("%s: %w", word, err)
	}
	return tensor.Value{Tensor: read}, npy, nil
}

// raw shapes the bytes of a raw file; one dynamic size follows from the length.
func raw(t ir.Type, data []byte) (*tensor.Tensor, error) {
	shape := make([]int64, len(t.Sizes))
	known := int64(t.DType.Size())
	dynamic := -1
	for i, s := range t.Sizes {
		n, ok := s.Const()
		switch {
		case ok:
			shape[i] = n
			known *= n
		case dynamic >= 0:
			return nil, fmt.Errorf("the model takes %v: with more than one dynamic size give a .npy file", t)
		default:
			dynamic = i
		}
	}
	if dynamic >= 0 && known > 0 {
		shape[dynamic] = int64(len(data)) / known
	}
	read := &tensor.Tensor{DType: t.DType, Shape: shape, Data: data}
	switch n, err := tensor.Bytes(t.DType, shape); {
	case err != nil:
		return nil, fmt.Errorf("the model takes %v: %w", t, err)
	case n == int64(len(data)):
	case dynamic >= 0:
		return nil, fmt.Errorf("the model takes %v, a multiple of %d bytes: the file has %d", t, known, len(data))
	default:
		return nil, fmt.Errorf("the model takes %v, %d bytes: the file has %d", t, n, len(data))
	}
	return read, nil
}

// Run makes one call of a model's first method.
func Run(ctx context.Context, w way.Way, model string, inputs []tensor.Value) (*way.CallResult, error) {
	return RunMethod(ctx, w, model, "", inputs)
}

// RunMethod is Run for the method of a name; "" is the first.
func RunMethod(ctx context.Context, w way.Way, model, method string, inputs []tensor.Value) (*way.CallResult, error) {
	r, _, err := Trace(ctx, w, model, method, inputs)
	return r, err
}

// Trace is RunMethod that also returns the calls of kernels, or instructions, of
// the method, to which the result's Steps are parallel; nil if w counts none.
func Trace(ctx context.Context, w way.Way, model, method string, inputs []tensor.Value) (*way.CallResult, []way.Step, error) {
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
