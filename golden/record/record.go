// Package record runs a user's model on the user's files and makes cases of it.
package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
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
	if err := read.Check(); err != nil {
		return nil, fmt.Errorf("the model takes %v: %w", t, err)
	}
	return read, nil
}

// Random draws a model's inputs; dynamic sizes are at their smallest.
func Random(model string, seed uint64) (*Given, error) {
	values, specs, err := signature(model, "")
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	given := &Given{}
	for i, v := range values {
		value := tensor.Value{Scalar: specs[i].Fixed}
		if specs[i].Kind == ir.UserInput {
			if value, err = draw(r, v.Type); err != nil {
				return nil, fmt.Errorf("input %s: %w", v.Name, err)
			}
		}
		given.Values = append(given.Values, value)
	}
	return given, nil
}

// smallest gives every symbol its lower bound.
func smallest(s *sym.Symbol) (int64, bool) {
	lo, _ := s.Expr().Bounds()
	return max(lo, 0), true
}

func draw(r *rand.Rand, t ir.Type) (tensor.Value, error) {
	switch t.Kind {
	case ir.IntKind:
		n := int64(r.IntN(4))
		if t.HasExpr {
			var err error
			if n, err = t.Expr.Eval(smallest); err != nil {
				return tensor.Value{}, err
			}
		}
		return tensor.Value{Scalar: ir.Int(n)}, nil
	case ir.FloatKind:
		return tensor.Value{Scalar: ir.Float(r.Float64())}, nil
	case ir.BoolKind:
		return tensor.Value{Scalar: ir.BoolArg(r.IntN(2) == 0)}, nil
	case ir.TensorKind:
	default:
		return tensor.Value{}, fmt.Errorf("%v cannot be drawn", t)
	}
	shape := make([]int64, len(t.Sizes))
	for i, s := range t.Sizes {
		var err error
		if shape[i], err = s.Eval(smallest); err != nil {
			return tensor.Value{}, err
		}
	}
	out := &tensor.Tensor{DType: t.DType, Shape: shape}
	if _, err := tensor.Bytes(t.DType, shape); err != nil {
		return tensor.Value{}, err
	}
	if t.DType.IsComplex() {
		return tensor.Value{}, errors.New("complex numbers cannot be drawn, give files")
	}
	for range out.Len() {
		x := float64(r.IntN(2)) // integers are often indexes: small ones are valid
		if t.DType.IsFloat() {
			x = r.NormFloat64()
		}
		out.Data = ops.AppendElement(out.Data, t.DType, x)
	}
	return tensor.Value{Tensor: out}, nil
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

// WriteOutputs writes output_K.npy or .bin for each tensor, and the same for
// inputs that the call changed. It returns a line for each output.
func WriteOutputs(dir string, r *way.CallResult, npy bool) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var lines []string
	for i, v := range r.Outputs {
		if v.Tensor == nil {
			lines = append(lines, fmt.Sprintf("output %d: %v", i, v))
			continue
		}
		path, err := writeTensor(filepath.Join(dir, fmt.Sprintf("output_%d", i)), v.Tensor, npy)
		if err != nil {
			return lines, err
		}
		lines = append(lines, fmt.Sprintf("%s: %v", path, v))
	}
	for i, t := range r.Mutated {
		if t == nil {
			continue
		}
		path, err := writeTensor(filepath.Join(dir, fmt.Sprintf("mutated_input_%d", i)), t, npy)
		if err != nil {
			return lines, err
		}
		lines = append(lines, fmt.Sprintf("%s: %v", path, t))
	}
	return lines, nil
}

func writeTensor(base string, t *tensor.Tensor, npy bool) (string, error) {
	if !npy {
		return base + ".bin", os.WriteFile(base+".bin", t.Data, 0o666)
	}
	data, err := tensor.FormatNPY(t)
	if err != nil {
		return "", err
	}
	return base + ".npy", os.WriteFile(base+".npy", data, 0o666)
}

// Case writes a case of one call: model, inputs, outputs.
func Case(dir, model string, inputs []tensor.Value, r *way.CallResult, via string) error {
	info, err := os.Stat(model)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || filepath.Ext(model) != ".pt2" {
		return fmt.Errorf("%s: only a .pt2 file can become part of a case", model)
	}
	data, err := os.ReadFile(model)
	if err != nil {
		return err
	}
	c := &testcase.Case{
		Dir: dir, Name: compile.NameOf(model), Note: "recorded by etgen itself, via " + via,
		Calls: []testcase.Call{{Inputs: inputs, Outputs: r.Outputs, Mutated: r.Mutated}},
	}
	if err := testcase.Write(c, ""); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "model.pt2"), data, 0o666)
}
