package run

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/rt"
)

// Backend runs delegates of the reference backend, as in
// rt.MethodOptions{Backends: map[string]rt.Backend{run.ID: run.Backend{}}}.
type Backend struct{}

// tensor is float32 in row-major order.
type tensor struct {
	sizes []int64
	data  []float32
}

// delegate is a program with its constants.
type delegate struct {
	*Program
	tensors []tensor // by their numbers
}

// Init implements rt.Backend.
func (Backend) Init(init *rt.DelegateInit) (rt.Delegate, error) {
	payload, err := io.ReadAll(io.NewSectionReader(init.Processed, 0, init.Processed.Size()))
	if err != nil {
		return nil, err
	}
	p, err := Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("reference backend: the payload: %w", err)
	}
	d := &delegate{p, make([]tensor, p.Inputs+p.Outputs)}
	for _, c := range p.Constants {
		t, err := constant(c, init.Named)
		if err != nil {
			return nil, fmt.Errorf("reference backend: constant %q: %w", c.Key, err)
		}
		d.tensors = append(d.tensors, t)
	}
	d.tensors = append(d.tensors, make([]tensor, p.Temporaries)...)
	return d, nil
}

func constant(c Constant, named func(string) (ir.Blob, bool)) (t tensor, err error) {
	n := int64(1)
	for _, s := range c.Sizes {
		if n *= int64(s); n > 1<<31 {
			return t, fmt.Errorf("it is too large")
		}
		t.sizes = append(t.sizes, int64(s))
	}
	data, ok := named(c.Key)
	if !ok || data.Size() != 4*n {
		return t, fmt.Errorf("the program has no %d bytes of that name", 4*n)
	}
	raw := make([]byte, 4*n)
	if _, err := data.ReadAt(raw, 0); err != nil && err != io.EOF {
		return t, err
	}
	t.data = floats(raw)
	return t, nil
}

func floats(raw []byte) []float32 {
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

// Execute implements rt.Delegate.
func (d *delegate) Execute(_ context.Context, args []*rt.EValue) error {
	if uint32(len(args)) != d.Inputs+d.Outputs {
		return fmt.Errorf("reference backend: %d arguments, not %d", len(args), d.Inputs+d.Outputs)
	}
	for i, a := range args {
		if a.Kind != rt.TensorKind || a.Tensor.DType != ir.Float32 ||
			!slices.IsSorted(a.Tensor.DimOrder) {
			return fmt.Errorf("reference backend: argument %d is no float32 tensor in row-major order", i)
		}
		if uint32(i) < d.Inputs {
			d.tensors[i] = tensor{a.Tensor.Sizes, floats(a.Tensor.Data)}
		}
	}
	for k, i := range d.Code {
		if err := d.run(i); err != nil {
			return fmt.Errorf("reference backend: instruction %d: %w", k, err)
		}
	}
	for i := d.Inputs; i < d.Inputs+d.Outputs; i++ {
		t, out := d.tensors[i], args[i].Tensor
		if !slices.Equal(out.Sizes, t.sizes) {
			if err := out.Resize(t.sizes); err != nil {
				return fmt.Errorf("reference backend: output %d: %w", i-d.Inputs, err)
			}
		}
		for k, x := range t.data {
			binary.LittleEndian.PutUint32(out.Data[4*k:], math.Float32bits(x))
		}
	}
	return nil
}

// run computes one tensor.
func (d *delegate) run(i Instruction) error {
	a, b := d.tensors[i.A], d.tensors[i.B]
	if i.Op == Linear {
		return d.linear(i, a, b)
	}
	step := 1 // of b
	if !slices.Equal(a.sizes, b.sizes) {
		if step = 0; len(b.data) != 1 {
			return fmt.Errorf("operands of sizes %v and %v", a.sizes, b.sizes)
		}
	}
	out := tensor{a.sizes, make([]float32, len(a.data))}
	for k, x := range a.data {
		if y := b.data[k*step]; i.Op == Add {
			out.data[k] = x + y
		} else {
			out.data[k] = x * y
		}
	}
	d.tensors[i.To] = out
	return nil
}

// linear multiplies rows of a with rows of b.
func (d *delegate) linear(i Instruction, a, b tensor) error {
	if len(a.sizes) == 0 || len(b.sizes) != 2 || a.sizes[len(a.sizes)-1] != b.sizes[1] {
		return fmt.Errorf("operands of sizes %v and %v", a.sizes, b.sizes)
	}
	depth, width := int(b.sizes[1]), int(b.sizes[0])
	bias := make([]float32, width)
	if i.C != None {
		if bias = d.tensors[i.C].data; len(bias) != width {
			return fmt.Errorf("a bias of %d elements for %d", len(bias), width)
		}
	}
	rows := 1
	for _, s := range a.sizes[:len(a.sizes)-1] {
		rows *= int(s)
	}
	out := tensor{append(slices.Clone(a.sizes[:len(a.sizes)-1]), int64(width)),
		make([]float32, 0, rows*width)}
	for r := range rows {
		row := a.data[r*depth : (r+1)*depth]
		for o := range width {
			sum := float64(bias[o])
			for k, x := range row {
				sum += float64(x) * float64(b.data[o*depth+k])
			}
			out.data = append(out.data, float32(sum))
		}
	}
	d.tensors[i.To] = out
	return nil
}
