package testcase

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// own makes the calls of a case whose meta.json has none from its model file:
// the test cases of a bundle, else one call of an ExecuTorch program with inputs
// that count up, whose outputs nobody recorded.
func (c *Case) own() error {
	for _, model := range c.Models {
		path := filepath.Join(c.Dir, model)
		var err error
		switch filepath.Ext(model) {
		case ".bpte":
			err = c.bundled(path)
		case ".pte":
			err = c.counting(path)
		default:
			err = fmt.Errorf("meta.json has no inputs")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// bundled takes the test cases of a bundle's first method.
func (c *Case) bundled(path string) error {
	b, file, err := pte.OpenBundle(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if len(b.Program.Plans) == 0 {
		return fmt.Errorf("it has no methods")
	}
	c.Calls, err = Bundled(b, b.Program.Plans[0].Name)
	return err
}

// Bundled returns the test cases that a bundle has for a method. An error names
// the test case.
func Bundled(b *pte.Bundle, method string) ([]Call, error) {
	var calls []Call
	for _, suite := range b.Suites {
		if suite.Method != method {
			continue
		}
		for i, t := range suite.Cases {
			var call Call
			var err error
			if call.Inputs, err = values(t.Inputs); err == nil {
				call.Outputs, err = values(t.Outputs)
			}
			if err != nil {
				return nil, fmt.Errorf("test case %d of %s: %w", i, suite.Method, err)
			}
			call.Mutated = make([]*tensor.Tensor, len(call.Inputs))
			calls = append(calls, call)
		}
	}
	if len(calls) == 0 {
		return nil, fmt.Errorf("it has no test cases for %s", method)
	}
	return calls, nil
}

func values(list []pte.TestValue) ([]tensor.Value, error) {
	var out []tensor.Value
	for i, v := range list {
		var x tensor.Value
		switch v := v.(type) {
		case *pte.TestTensor:
			t, err := dense(v)
			if err != nil {
				return nil, fmt.Errorf("value %d: %w", i, err)
			}
			x.Tensor = t
		case pte.Int:
			x.Scalar = ir.Int(v)
		case pte.Bool:
			x.Scalar = ir.BoolArg(v)
		case pte.Double:
			x.Scalar = ir.Float(v)
		default:
			return nil, fmt.Errorf("value %d is a %T", i, v)
		}
		out = append(out, x)
	}
	return out, nil
}

// dense returns a test case's tensor in row-major order.
func dense(v *pte.TestTensor) (*tensor.Tensor, error) {
	d, ok := v.ScalarType.DType()
	if !ok {
		return nil, fmt.Errorf("%v is not supported", v.ScalarType)
	}
	t := &tensor.Tensor{DType: d, Shape: []int64{}}
	sizes := make([]int64, len(v.Sizes))
	for i, n := range v.Sizes {
		sizes[i] = int64(n)
		t.Shape = append(t.Shape, int64(n))
	}
	typ := ir.StaticTensor(d, sizes...)
	stride := int64(1)
	strides := make([]int64, len(sizes))
	for i := len(v.DimOrder) - 1; i >= 0; i-- {
		k := v.DimOrder[i]
		if int(k) >= len(sizes) || len(v.DimOrder) != len(sizes) {
			return nil, fmt.Errorf("dim order %v of sizes %v", v.DimOrder, v.Sizes)
		}
		strides[k] = stride
		stride *= max(sizes[k], 1)
	}
	if len(v.DimOrder) > 0 {
		typ.Strides = ir.Ints(strides)
	}
	data, err := ir.Tensor(&ir.Constant{Type: typ, Data: v.Data})
	t.Data = data
	return t, err
}

// counting makes one call of a program's first method.
func (c *Case) counting(path string) error {
	p, file, err := pte.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if len(p.Plans) == 0 {
		return fmt.Errorf("it has no methods")
	}
	plan := p.Plans[0]
	call := Call{Mutated: make([]*tensor.Tensor, len(plan.Inputs))}
	for i, slot := range plan.Inputs {
		v, err := counted(plan.Values, slot)
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		call.Inputs = append(call.Inputs, v)
	}
	c.Calls, c.Unrecorded = []Call{call}, true
	return nil
}

// counted returns an input: a tensor of 0, 1, 2, 0, …, anything else as the
// program has it.
func counted(all []pte.EValue, slot int32) (v tensor.Value, err error) {
	if slot < 0 || int(slot) >= len(all) {
		return v, fmt.Errorf("value %d does not exist", slot)
	}
	switch x := all[slot].(type) {
	case *pte.Tensor:
		n, ok := x.NBytes()
		d, known := x.ScalarType.DType()
		if !ok || !known {
			return v, fmt.Errorf("a tensor of %v", x.ScalarType)
		}
		t := &tensor.Tensor{DType: d, Shape: []int64{}, Data: make([]byte, 0, n)}
		for _, s := range x.Sizes {
			t.Shape = append(t.Shape, int64(s))
		}
		for i := 0; int64(len(t.Data)) < n; i++ {
			t.Data = tensor.Append(t.Data, d, float64(i%3))
		}
		v.Tensor = t
	case pte.Int:
		v.Scalar = ir.Int(x)
	case pte.Bool:
		v.Scalar = ir.BoolArg(x)
	case pte.Double:
		v.Scalar = ir.Float(x)
	case pte.String:
		v.Scalar = ir.Str(x)
	case pte.Null:
		v.Scalar = ir.None{}
	default:
		return v, fmt.Errorf("a %T", x)
	}
	return v, nil
}

// ordered puts the methods in the order that they have in the case's program.
func (c *Case) ordered() error {
	p, closer, err := pte.Open(filepath.Join(c.Dir, c.Models[0]))
	if err != nil {
		return err
	}
	defer closer.Close()
	var names []string
	for _, plan := range p.Plans {
		names = append(names, plan.Name)
	}
	for _, name := range c.Methods {
		if !slices.Contains(names, name) {
			return fmt.Errorf("the program has no method %q", name)
		}
	}
	c.Methods = names
	return nil
}
