package way

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/rt"
)

// customRegistry returns registry with the kernels in Go of custom operators, which h runs.
func customRegistry(registry *rt.Registry, k *custom.Kernels, h *custom.Host) *rt.Registry {
	kernels := make([]rt.Kernel, 0, len(k.Go))
	for _, f := range k.Go {
		form := ops.OutForm(f.Schema)
		name := strings.TrimSuffix(strings.Replace(form.Name, ".", "::", 1), ".default")
		kernels = append(kernels, rt.Kernel{Name: name,
			Prepare: func(c *rt.Call) (func() error, error) {
				if len(c.Args) < len(form.Args) {
					return nil, fmt.Errorf("%w: %s has %d arguments, want %d", rt.ErrInvalidProgram, name,
						len(c.Args), len(form.Args))
				}
				return func() error { return callHost(h, f, form, c.Args) }, nil
			}})
	}
	return registry.With(kernels...)
}

// callHost has h run the kernel f on the arguments of a call.
func callHost(h *custom.Host, f *custom.Function, form *aten.Schema, args []*rt.EValue) error {
	values := make([]custom.Value, len(form.Args))
	for i := range form.Args {
		values[i] = hostValue(args[i])
	}
	if err := resize(h, f, args[len(f.Schema.Args):len(form.Args)], values); err != nil {
		return err
	}
	return h.Call(f.Schema.Name, values)
}

// resize gives the results of a call the sizes that they have, where these are dynamic.
func resize(h *custom.Host, f *custom.Function, outs []*rt.EValue, values []custom.Value) error {
	if !slices.ContainsFunc(outs, func(v *rt.EValue) bool { return v.Tensor.Resizable() }) {
		return nil
	}
	sizes, err := h.Sizes(f.Schema.Name, values[:len(f.Schema.Args)])
	if err != nil {
		return err
	}
	for i, v := range outs {
		if err := v.Tensor.Resize(sizes[i]); err != nil {
			return err
		}
		values[len(f.Schema.Args)+i] = hostValue(v)
	}
	return nil
}

// hostValue is what a slot holds. The elements of tensors are shared.
func hostValue(v *rt.EValue) custom.Value {
	switch v.Kind {
	case rt.TensorKind:
		return custom.Value{Data: v.Tensor.Data, Sizes: v.Tensor.Sizes,
			Elem: v.Tensor.DType.GoElement()}
	case rt.Int:
		return custom.Value{Int: v.Int, Bits: math.Float64bits(float64(v.Int))}
	case rt.Double:
		return custom.Value{Bits: math.Float64bits(v.Double)}
	case rt.Bool:
		if v.Bool {
			return custom.Value{Int: 1}
		}
		return custom.Value{}
	case rt.String:
		return custom.Value{Text: v.String}
	}
	list := custom.Value{None: v.Kind == rt.None}
	for _, x := range v.List {
		if x == nil {
			list.Values = append(list.Values, custom.Value{None: true})
			continue
		}
		list.Values = append(list.Values, hostValue(x))
	}
	for _, x := range v.Doubles {
		list.Values = append(list.Values, custom.Value{Bits: math.Float64bits(x)})
	}
	for _, x := range v.Bools {
		one := custom.Value{}
		if x {
			one.Int = 1
		}
		list.Values = append(list.Values, one)
	}
	return list
}
