// Package run is the run side of the reference backend: what its payloads are, and what runs them
// in package rt and in generated C (driver.c). docs/backends.md goes through it.
package run

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/rt"
)

// ID is how programs call the backend.
const ID = "ReferenceBackend"

// Backend runs delegates of the reference backend, as in
// rt.MethodOptions{Backends: map[string]rt.Backend{run.ID: run.Backend{}}}.
type Backend struct{}

// delegate is a program with its constants.
type delegate struct {
	*Program
	constants []Operand
}

// Init implements rt.Backend.
func (Backend) Init(init *rt.DelegateInit) (rt.Delegate, error) {
	payload, err := io.ReadAll(io.NewSectionReader(init.Processed, 0, init.Processed.Size()))
	if err != nil {
		return nil, err
	}
	d := &delegate{}
	if d.Program, err = Decode(payload); err != nil {
		return nil, err
	}
	for _, key := range d.Constants {
		data, ok := init.Named(key)
		if !ok {
			return nil, fmt.Errorf("reference backend: the program has no constant %q", key)
		}
		x := make([]float32, data.Size()/4)
		if err := binary.Read(io.NewSectionReader(data, 0, data.Size()), binary.LittleEndian,
			x); err != nil {
			return nil, err
		}
		d.constants = append(d.constants, Operand{Data: x})
	}
	return d, nil
}

// Execute implements rt.Delegate.
func (d *delegate) Execute(_ context.Context, args []*rt.EValue) error {
	if uint32(len(args)) != d.Inputs+d.Outputs {
		return fmt.Errorf("reference backend: %d arguments, not %d", len(args), d.Inputs+d.Outputs)
	}
	inputs := make([]Operand, d.Inputs)
	for i, a := range args {
		if a.Kind != rt.TensorKind || a.Tensor.DType != ir.Float32 ||
			!slices.IsSorted(a.Tensor.DimOrder) {
			return fmt.Errorf("reference backend: argument %d is no float32 tensor in row-major order", i)
		}
		if i < len(inputs) {
			x := Operand{make([]int, len(a.Tensor.Sizes)), make([]float32, len(a.Tensor.Data)/4)}
			for k, n := range a.Tensor.Sizes {
				x.Sizes[k] = int(n)
			}
			inputs[i] = x
			_, _ = binary.Decode(a.Tensor.Data, binary.LittleEndian, x.Data)
		}
	}
	outputs, err := d.Run(inputs, d.constants)
	for i, x := range outputs {
		out, sizes := args[len(inputs)+i].Tensor, make([]int64, len(x.Sizes))
		for k, n := range x.Sizes {
			sizes[k] = int64(n)
		}
		if err = out.Resize(sizes); err == nil {
			_, err = binary.Encode(out.Data, binary.LittleEndian, x.Data)
		}
		if err != nil {
			return fmt.Errorf("reference backend: output %d: %w", i, err)
		}
	}
	return err
}
