package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/rt"
)

// IsProgram reports whether the file at path is an ExecuTorch program, in a bundle
// or not, which runs as it is.
func IsProgram(path string) bool {
	return compile.FormatOf(path) == compile.ProgramFile || IsBundle(path)
}

// IsBundle reports whether the file at path is an ExecuTorch program with test
// cases.
func IsBundle(path string) bool { return compile.FormatOf(path) == compile.BundleFile }

// methodOf returns the index of a model's method; "" is the first.
func methodOf(model, name string) (int, error) {
	switch {
	case name == "":
		return 0, nil
	case IsProgram(model):
		f, err := way.OpenFile(model)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		return indexOf(name, f.Methods())
	}
	p, closer, err := compile.Read(model)
	if err != nil {
		return 0, err
	}
	defer closer.Close()
	return methodIndex(p, name)
}

// TestCase returns test case n that a bundle has for a method; "" is the first
// method.
func TestCase(path, method string, n int) (*testcase.Call, error) {
	f, err := way.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := f.Method(method)
	if err != nil {
		return nil, err
	}
	calls, err := testcase.Bundled(f.Bundle, m.Name)
	if err != nil {
		return nil, err
	}
	if n < 0 || n >= len(calls) {
		return nil, inputError("there is no test case %d: %s has %d", n, m.Name, len(calls))
	}
	return &calls[n], nil
}

// FileInputs reads the inputs of a method, "" being the first, of an ExecuTorch
// program from words: file names and, for tensors without dimensions, numbers.
// Inputs that the program fixes take no word. The others take no more than limit
// bytes, or way.DefaultMemory if it is 0.
func FileInputs(path, method string, words []string, limit int64) (*Given, error) {
	f, err := way.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	meta, err := f.Method(method)
	if err != nil {
		return nil, err
	}
	return fileInputs(meta, words, limit)
}

func fileInputs(meta *rt.MethodMeta, words []string, limit int64) (*Given, error) {
	given, budget, all := &Given{}, newBudget(limit), len(words)
	for i := range meta.Inputs {
		m := &meta.Inputs[i]
		if m.Kind != rt.TensorKind {
			v, err := fixed(m)
			if err != nil {
				return nil, fmt.Errorf("input %d: %w", i, err)
			}
			given.Values = append(given.Values, v)
			continue
		}
		if len(words) == 0 {
			return nil, inputError("input %d (%v) is not given", i, ir.StaticTensor(m.DType,
				m.Sizes...))
		}
		word := words[0]
		words = words[1:]
		v, npy, err := readTensor(m, word, budget)
		if err != nil {
			return nil, inputFault(strconv.Itoa(i), err)
		}
		given.Values = append(given.Values, v)
		given.NPY = given.NPY || npy
	}
	if len(words) > 0 {
		return nil, tooMuch(words[0], "method", all-len(words), len(given.Values))
	}
	return given, nil
}

// fixed returns the value of an input that is no tensor: the program takes no
// other.
func fixed(m *rt.ValueMeta) (v tensor.Value, err error) {
	switch m.Kind {
	case rt.Int:
		v.Scalar = ir.Int(m.Int)
	case rt.Double:
		v.Scalar = ir.Float(m.Double)
	case rt.Bool:
		v.Scalar = ir.BoolArg(m.Bool)
	case rt.String:
		v.Scalar = ir.Str(m.String)
	case rt.None:
		v.Scalar = ir.None{}
	default:
		err = fmt.Errorf("a %v cannot be given", m.Kind)
	}
	return v, err
}

func readTensor(m *rt.ValueMeta, word string, budget *budget) (tensor.Value, bool, error) {
	typ := ir.StaticTensor(m.DType, m.Sizes...)
	if _, err := os.Stat(word); len(m.Sizes) == 0 && errors.Is(err, fs.ErrNotExist) {
		if a, ok := number(m.DType, word); ok {
			return tensor.Value{Scalar: a}, false, nil
		}
	}
	// Which sizes may vary the program does not say: a .npy file says which it has, and a raw file
	// of another length than the bound's has another first size.
	if m.Dynamic && filepath.Ext(word) == ".npy" {
		typ = ir.TensorOf(m.DType, seq.Map(m.Sizes, func(n int64) sym.Expr {
			return sym.NewSymbol("s", 0, n).Expr()
		})...)
	} else if m.Dynamic {
		if info, err := os.Stat(word); err == nil && len(m.Sizes) > 0 && m.Sizes[0] > 0 &&
			m.Bytes > 0 {
			if row := m.Bytes / m.Sizes[0]; row > 0 && info.Size()%row == 0 &&
				info.Size() <= m.Bytes {
				sizes := slices.Clone(m.Sizes)
				sizes[0] = info.Size() / row
				typ = ir.StaticTensor(m.DType, sizes...)
			}
		}
	}
	return readInput(typ, word, budget)
}

// number parses a word as an element.
func number(d ir.DType, word string) (ir.Arg, bool) {
	switch d {
	case ir.Int64:
		n, err := strconv.ParseInt(word, 10, 64)
		return ir.Int(n), err == nil
	case ir.Float64:
		x, err := strconv.ParseFloat(word, 64)
		return ir.Float(x), err == nil
	case ir.Bool:
		b, err := strconv.ParseBool(word)
		return ir.BoolArg(b), err == nil
	}
	return nil, false
}
