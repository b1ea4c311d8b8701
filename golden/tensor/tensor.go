// Package tensor is the data that cases, tests and commands hand to a compiled
// model and get back: dense tensors and Python scalars, and the files they
// come from (.npy, raw .bin).
package tensor

import (
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
)

// Tensor is a dense row-major tensor. Data is little endian, bool one byte.
type Tensor struct {
	DType ir.DType
	Shape []int64
	Data  []byte
}

// RealParts returns the parts of complex numbers, as [ir.Type.RealParts] has them; other tensors
// are themselves. What etgen makes of a model takes and gives the parts.
func (t *Tensor) RealParts() *Tensor {
	if !t.DType.IsComplex() {
		return t
	}
	return &Tensor{t.DType.Part(), append(slices.Clone(t.Shape), 2), t.Data}
}

// Value is an input or output: a tensor, or a Python scalar.
type Value struct {
	Tensor *Tensor // nil for scalars
	Scalar ir.Arg  // ir.Int, ir.Float, ir.BoolArg, ir.Str or ir.None
}

// maxBytes bounds what a shape may ask for.
const maxBytes = math.MaxInt32 * 16

// New returns a tensor of zeros.
func New(d ir.DType, shape ...int64) (*Tensor, error) {
	n, err := Bytes(d, shape)
	if err != nil {
		return nil, err
	}
	return &Tensor{DType: d, Shape: slices.Clone(shape), Data: make([]byte, n)}, nil
}

// Bytes returns the size in bytes of a dense tensor. It fails on sizes that are
// negative or too large to hold.
func Bytes(d ir.DType, shape []int64) (int64, error) {
	item := int64(d.Size())
	if item == 0 {
		return 0, fmt.Errorf("%v has no size", d)
	}
	n := item
	if slices.Contains(shape, 0) {
		n = 0 // whatever the other sizes are
	}
	for _, s := range shape {
		if s < 0 {
			return 0, fmt.Errorf("shape %v has a negative size", shape)
		}
		if s != 0 && n > maxBytes/s {
			return 0, fmt.Errorf("shape %v is too large", shape)
		}
		n *= s
	}
	return n, nil
}

// Check reports whether the data is as long as dtype and shape say.
func (t *Tensor) Check() error {
	n, err := Bytes(t.DType, t.Shape)
	if err != nil {
		return err
	}
	if int64(len(t.Data)) != n {
		return fmt.Errorf("%v of %d bytes has %d", t, n, len(t.Data))
	}
	return nil
}

// Len returns the number of elements.
func (t *Tensor) Len() int64 {
	n := int64(1)
	for _, s := range t.Shape {
		n *= s
	}
	return n
}

// String is "float32 [2 3]".
func (t *Tensor) String() string { return fmt.Sprintf("%v %v", t.DType, t.Shape) }

// String describes the value in a few words.
func (v Value) String() string {
	if v.Tensor != nil {
		return v.Tensor.String()
	}
	switch a := v.Scalar.(type) {
	case nil:
		return "nothing"
	case ir.None:
		return "None"
	case ir.Int:
		return fmt.Sprintf("int %d", int64(a))
	case ir.Float:
		return fmt.Sprintf("float %v", float64(a))
	case ir.BoolArg:
		return fmt.Sprintf("bool %t", bool(a))
	case ir.Str:
		return fmt.Sprintf("str %q", string(a))
	}
	return fmt.Sprint(v.Scalar)
}
