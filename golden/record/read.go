package record

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
)

// budget is the memory that inputs may still take.
type budget struct{ left, limit int64 }

// newBudget returns budget for limit bytes, way.DefaultMemory if that is 0.
func newBudget(limit int64) *budget {
	if limit == 0 {
		limit = way.DefaultMemory
	}
	return &budget{limit, limit}
}

// take takes n bytes of the budget.
func (r *budget) take(n int64) error {
	if n > r.left {
		return &way.MemoryError{What: "with those before it it", Need: r.limit - r.left + n,
			Limit: r.limit}
	}
	r.left -= n
	return nil
}

// inputFault says which input an error is of.
func inputFault(name string, err error) error {
	if _, ok := errors.AsType[*way.MemoryError](err); ok {
		return fmt.Errorf("input %s: %w", name, err)
	}
	return inputError("input %s: %w", name, err)
}

// tooMuch says that word is one input more than what takes: of all its inputs, those
// that are constants are not given.
func tooMuch(word, what string, takes, all int) error {
	constants := ""
	if n := all - takes; n > 0 {
		constants = fmt.Sprintf(", and has %d constants, which are not given", n)
	}
	return inputError("input %q is too much: the %s takes %d%s", word, what, takes, constants)
}

// readInput reads what a word stands for: a number, or the tensor in a file.
func readInput(t ir.Type, word string, budget *budget) (v tensor.Value, npy bool, err error) {
	switch t.Kind {
	case ir.IntKind:
		n, err := strconv.ParseInt(word, 10, 64)
		return tensor.Value{Scalar: ir.Int(n)}, false, notNumber(word, "an integer", err)
	case ir.FloatKind:
		f, err := strconv.ParseFloat(word, 64)
		return tensor.Value{Scalar: ir.Float(f)}, false, notNumber(word, "a number", err)
	case ir.BoolKind:
		b, err := strconv.ParseBool(word)
		return tensor.Value{Scalar: ir.BoolArg(b)}, false, notNumber(word, "true or false", err)
	case ir.TensorKind:
	default:
		return v, false, fmt.Errorf("%v cannot be given", t)
	}
	f, err := os.Open(word)
	if err != nil {
		return v, false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return v, false, fmt.Errorf("%s is a folder: give the file in it", word)
	}
	var read *tensor.Tensor
	if npy = strings.HasSuffix(word, ".npy"); npy {
		read, err = readNPY(t, f, budget)
	} else {
		read, err = readRaw(t, f, budget)
	}
	if err != nil {
		return v, npy, fmt.Errorf("%s: %w", word, err)
	}
	return tensor.Value{Tensor: read}, npy, nil
}

func notNumber(word, what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%q is not %s", word, what)
}

// readNPY reads a .npy file. What its header says is held against the type before
// any element is read.
func readNPY(t ir.Type, f io.Reader, budget *budget) (*tensor.Tensor, error) {
	x, err := tensor.ReadNPY(f, func(read *tensor.Tensor, bytes int64) error {
		read = read.RealParts()
		ok := read.DType == t.DType && len(read.Shape) == len(t.Sizes)
		for i := 0; ok && i < len(t.Sizes); i++ {
			n, fixed := t.Sizes[i].Const()
			ok = !fixed || n == read.Shape[i]
		}
		if !ok {
			return fmt.Errorf("it is %v, the model takes %v", read, t)
		}
		return budget.take(bytes)
	})
	if err != nil {
		return nil, err
	}
	return x.RealParts(), nil
}

// readRaw reads a raw file, of which one dynamic size follows from the length.
func readRaw(t ir.Type, f io.Reader, budget *budget) (*tensor.Tensor, error) {
	shape := make([]int64, len(t.Sizes))
	row, most := int64(t.DType.Size()), int64(math.MaxInt64) // bytes of a row, and rows at most
	dynamic := -1
	for i, s := range t.Sizes {
		n, ok := s.Const()
		switch {
		case ok && n > 0 && row > math.MaxInt64/n:
			return nil, fmt.Errorf("the model takes %v, which no machine has the memory for", t)
		case ok:
			shape[i] = n
			row *= n
		case dynamic >= 0:
			return nil,
				fmt.Errorf("the model takes %v: with more than one dynamic size give a .npy file",
					t)
		default:
			dynamic = i
			_, most = s.Bounds()
		}
	}
	if dynamic < 0 {
		if err := budget.take(row); err != nil {
			return nil, err
		}
		data, err := upTo(f, row)
		switch {
		case err != nil:
			return nil, err
		case int64(len(data)) > row:
			return nil, fmt.Errorf("the model takes %v, %d bytes: the file has more", t, row)
		case int64(len(data)) < row:
			return nil, fmt.Errorf("the model takes %v, %d bytes: the file has %d", t,
				row, len(data))
		}
		return &tensor.Tensor{DType: t.DType, Shape: shape, Data: data}, nil
	}
	bytes := budget.left
	if row > 0 && most < bytes/row {
		bytes = most * row
	}
	data, err := upTo(f, bytes)
	n := int64(len(data))
	switch {
	case err != nil:
		return nil, err
	case n > bytes && bytes == budget.left:
		return nil, budget.take(n)
	case n > bytes:
		return nil, fmt.Errorf("the model takes %v, at most %d bytes: the file has more", t, bytes)
	case row == 0 && n > 0, row > 0 && n%row != 0:
		return nil, fmt.Errorf("the model takes %v, a multiple of %d bytes: the file has %d", t,
			row, n)
	case row > 0:
		shape[dynamic] = n / row
	}
	return &tensor.Tensor{DType: t.DType, Shape: shape, Data: data}, budget.take(n)
}

// upTo reads n bytes and, to know that there are more, one.
func upTo(f io.Reader, n int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(f, n+1))
}
