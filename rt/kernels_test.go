package rt_test

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/rt"
)

// testKernels are kernels for tests. They check all that they take for granted,
// as a program may be hostile.
func testKernels() *rt.Registry {
	return rt.NewRegistry(
		rt.Kernel{Name: "aten::add.out", Prepare: elementwise(func(a, b float32) float32 {
			return a + b
		})},
		rt.Kernel{Name: "aten::mul.out", Prepare: elementwise(func(a, b float32) float32 {
			return a * b
		})},
		rt.Kernel{Name: "aten::copy_", Prepare: prepareCopy},
		rt.Kernel{Name: "aten::cat.out", Prepare: prepareCat},
		rt.Kernel{Name: "aten::full.out", Prepare: prepareFull},
		rt.Kernel{Name: "aten::lt.Scalar_out", Prepare: prepareLess},
		rt.Kernel{Name: "test::swap.out", Prepare: prepareSwap},
		rt.Kernel{Name: "test::panic.out", Prepare: func(*rt.Call) (func() error, error) {
			return func() error { panic("as it must not") }, nil
		}},
	)
}

var errKernel = fmt.Errorf("%w: the kernel takes other arguments", rt.ErrInvalidArgument)

// tensors checks that the slots hold float32 tensors, out arguments not Fixed.
func tensors(c *rt.Call, n, outs int) error {
	if len(c.Args) != n {
		return errKernel
	}
	for i, a := range c.Args {
		if a.Kind != rt.TensorKind || a.Tensor.DType != ir.Float32 || i >= n-outs && c.Fixed(a) {
			return errKernel
		}
	}
	return nil
}

func view(v *rt.EValue) []float32 {
	x, err := rt.Data[float32](v.Tensor)
	if err != nil {
		panic(err)
	}
	return x
}

// elementwise is an operator on tensors of equal sizes; the first may have one
// element too.
func elementwise(f func(a, b float32) float32) func(*rt.Call) (func() error, error) {
	return func(c *rt.Call) (func() error, error) {
		// As in ATen there is an alpha between: an Int that has to be 1.
		if len(c.Args) == 4 {
			if c.Args[2].Kind != rt.Int || c.Args[2].Int != 1 || !c.Fixed(c.Args[2]) {
				return nil, errKernel
			}
			c = rt.NewCall(c.Op, []*rt.EValue{c.Args[0], c.Args[1], c.Args[3]}, c.Fixed)
		}
		if err := tensors(c, 3, 1); err != nil {
			return nil, err
		}
		return func() error {
			a, b, out := c.Args[0].Tensor, c.Args[1].Tensor, c.Args[2].Tensor
			if err := out.Resize(b.Sizes); err != nil {
				return err
			}
			x, y, z := view(c.Args[0]), view(c.Args[1]), view(c.Args[2])
			if len(x) != len(y) && len(x) != 1 {
				return fmt.Errorf("%w: sizes %v and %v", rt.ErrInvalidArgument, a.Sizes, b.Sizes)
			}
			for i := range z {
				z[i] = f(x[i%len(x)], y[i])
			}
			return nil
		}, nil
	}
}

func prepareCopy(c *rt.Call) (func() error, error) {
	if len(c.Args) == 3 {
		c = rt.NewCall(c.Op, c.Args[:2], c.Fixed) // non_blocking
	}
	if err := tensors(c, 2, 0); err != nil {
		return nil, err
	}
	return func() error {
		if copy(view(c.Args[0]), view(c.Args[1])) != int(c.Args[1].Tensor.Numel()) {
			return errKernel
		}
		return nil
	}, nil
}

// prepareCat joins tensors of one dimension.
func prepareCat(c *rt.Call) (func() error, error) {
	if len(c.Args) != 2 || c.Args[0].Kind != rt.TensorList {
		return nil, errKernel
	}
	if err := tensors(rt.NewCall("", c.Args[1:], c.Fixed), 1, 1); err != nil {
		return nil, err
	}
	sizes := []int64{0}
	return func() error {
		sizes[0] = 0
		for _, e := range c.Args[0].List {
			if e == nil {
				continue
			}
			if e.Kind != rt.TensorKind || e.Tensor.DType != ir.Float32 {
				return errKernel
			}
			sizes[0] += e.Tensor.Numel()
		}
		if err := c.Args[1].Tensor.Resize(sizes); err != nil {
			return err
		}
		out := view(c.Args[1])
		for _, e := range c.Args[0].List {
			if e != nil {
				out = out[copy(out, view(e)):]
			}
		}
		return nil
	}, nil
}

// prepareFull is (IntList sizes, Scalar fill, out).
func prepareFull(c *rt.Call) (func() error, error) {
	if len(c.Args) != 3 {
		return nil, errKernel
	}
	if err := tensors(rt.NewCall("", c.Args[2:], c.Fixed), 1, 1); err != nil {
		return nil, err
	}
	sizes := make([]int64, 0, 16)
	return func() (err error) {
		if sizes, err = c.Args[0].AppendInts(sizes[:0]); err != nil {
			return err
		}
		if err := c.Args[2].Tensor.Resize(sizes); err != nil {
			return err
		}
		fill := float32(c.Args[1].Double)
		if c.Args[1].Kind == rt.Int {
			fill = float32(c.Args[1].Int)
		}
		out := view(c.Args[2])
		for i := range out {
			out[i] = fill
		}
		return nil
	}, nil
}

// prepareLess is (x, Double, bool out).
func prepareLess(c *rt.Call) (func() error, error) {
	if len(c.Args) != 3 || c.Args[2].Kind != rt.TensorKind || c.Args[2].Tensor.DType != ir.Bool ||
		c.Fixed(c.Args[2]) {
		return nil, errKernel
	}
	if err := tensors(rt.NewCall("", c.Args[:1], c.Fixed), 1, 0); err != nil {
		return nil, err
	}
	return func() error {
		x, out := view(c.Args[0]), c.Args[2].Tensor.Data
		if len(x) != len(out) {
			return errKernel
		}
		for i := range x {
			out[i] = 0
			if float64(x[i]) < c.Args[1].Double {
				out[i] = 1
			}
		}
		return nil
	}, nil
}

// prepareSwap has two inputs and two results.
func prepareSwap(c *rt.Call) (func() error, error) {
	if err := tensors(c, 4, 2); err != nil {
		return nil, err
	}
	return func() error {
		for i := range 2 {
			if err := c.Args[2+i].Tensor.Resize(c.Args[1-i].Tensor.Sizes); err != nil {
				return err
			}
			copy(view(c.Args[2+i]), view(c.Args[1-i]))
		}
		return nil
	}, nil
}
