package rt

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/etgen/etgen/ir"
)

// tensorArg returns the tensor in a slot.
func tensorArg(v *EValue) (*Tensor, error) {
	if v.Kind != TensorKind {
		return nil, fmt.Errorf("%w: an argument is a %v, expected a tensor",
			ErrInvalidArgument, v.Kind)
	}
	return v.Tensor, nil
}

// symSize is aten::sym_size.int(Tensor self, int dim) -> SymInt.
func symSize(c *Call) (func() error, error) {
	self, dim, out := c.Args[0], c.Args[1], c.Args[2]
	return func() error {
		t, err := tensorArg(self)
		if err != nil {
			return err
		}
		d := dim.Int
		if d < 0 {
			d += int64(len(t.Sizes))
		}
		if dim.Kind != Int || d < 0 || d >= int64(len(t.Sizes)) {
			return fmt.Errorf("%w: no dimension %d (%v) in sizes %v", ErrInvalidArgument, dim.Int,
				dim.Kind, t.Sizes)
		}
		out.setInt(t.Sizes[d])
		return nil
	}, nil
}

// symNumel is aten::sym_numel(Tensor self) -> SymInt.
func symNumel(c *Call) (func() error, error) {
	self, out := c.Args[0], c.Args[1]
	return func() error {
		t, err := tensorArg(self)
		if err == nil {
			out.setInt(t.Numel())
		}
		return err
	}, nil
}

// localScalar is aten::_local_scalar_dense(Tensor self) -> Scalar: the first
// element.
func localScalar(c *Call) (func() error, error) {
	self, out := c.Args[0], c.Args[1]
	return func() error {
		t, err := tensorArg(self)
		if err != nil {
			return err
		}
		size := t.DType.Size()
		if len(t.Data) < size {
			return fmt.Errorf("%w: a tensor of sizes %v has no element to read",
				ErrInvalidArgument, t.Sizes)
		}
		var wide [8]byte
		if size <= len(wide) {
			copy(wide[:], t.Data[:size])
		}
		bits := binary.LittleEndian.Uint64(wide[:])
		switch {
		case t.DType == ir.Bool:
			out.setBool(bits != 0)
		case t.DType == ir.Float32:
			out.setDouble(float64(math.Float32frombits(uint32(bits))))
		case t.DType == ir.Float64:
			out.setDouble(math.Float64frombits(bits))
		case t.DType == ir.BFloat16:
			out.setDouble(float64(math.Float32frombits(uint32(bits) << 16)))
		case t.DType.IsUnsigned() && bits <= math.MaxInt64:
			out.setInt(int64(bits))
		case t.DType.IsInt() && !t.DType.IsUnsigned():
			shift := 64 - 8*size
			out.setInt(int64(bits<<shift) >> shift)
		default:
			return fmt.Errorf("%w: a scalar of a %v tensor", ErrNotSupported, t.DType)
		}
		return nil
	}, nil
}

// view is executorch_prim::et_view.default(Tensor self, int[] size, Tensor out):
// out becomes a tensor of the sizes over the memory of self. Of a constant it is
// a copy, since nothing that looks at out knows that it must not be written.
func view(c *Call) (func() error, error) {
	from, size, to := c.Args[0], c.Args[1], c.Args[2]
	sizes := make([]int64, 0, maxRank)
	return func() error {
		self, err := tensorArg(from)
		if err != nil {
			return err
		}
		out, err := tensorArg(to)
		if err != nil {
			return err
		}
		if self.DType != out.DType {
			return fmt.Errorf("%w: a %v view of a %v tensor", ErrInvalidArgument, out.DType,
				self.DType)
		}
		if len(size.List) > maxRank {
			return fmt.Errorf("%w: %d dimensions are more than %d", ErrInvalidArgument,
				len(size.List), maxRank)
		}
		if sizes, err = size.AppendInts(sizes[:0]); err != nil {
			return err
		}
		if err := inferSize(sizes, self); err != nil {
			return err
		}
		if self.lacksMemory() {
			return fmt.Errorf("%w: a view of a tensor of sizes %v that was not written, or freed",
				ErrInvalidProgram, self.Sizes)
		}
		if out == self {
			return out.Resize(sizes)
		}
		out.storage = nil // its sizes do not depend on what it viewed last
		if err := out.Resize(sizes); err != nil {
			return err
		}
		if self.readOnly {
			out.restore()
			copy(out.Data, self.Data)
			return nil
		}
		out.setStorage(self.storage)
		return nil
	}, nil
}

// inferSize puts the size that is left for a -1 in its place and checks that
// sizes are as many elements as t has.
func inferSize(sizes []int64, t *Tensor) error {
	unknown := -1
	for i, s := range sizes {
		switch {
		case s == -1 && unknown < 0:
			unknown = i
		case s < 0:
			return badView(sizes, t)
		}
	}
	if unknown >= 0 {
		sizes[unknown] = 1
	}
	known, ok := numel(sizes)
	if !ok {
		return badView(sizes, t)
	}
	if unknown >= 0 {
		if known == 0 {
			return badView(sizes, t)
		}
		sizes[unknown] = t.Numel() / known
		known *= sizes[unknown]
	}
	if known != t.Numel() {
		return badView(sizes, t)
	}
	return nil
}

func badView(sizes []int64, t *Tensor) error {
	return fmt.Errorf("%w: no view of sizes %v over a tensor of sizes %v", ErrInvalidArgument,
		append([]int64{}, sizes...), t.Sizes)
}

// copyIndex is executorch_prim::et_copy_index.tensor(Tensor to, Tensor from, int
// index): to grows to index+1 rows, the last of which becomes from.
func copyIndex(c *Call) (func() error, error) {
	args := c.Args
	sizes := make([]int64, 0, maxRank+1)
	return func() error {
		to, err := tensorArg(args[0])
		if err != nil {
			return err
		}
		from, err := tensorArg(args[1])
		if err != nil {
			return err
		}
		index := args[2]
		if index.Kind != Int || index.Int < 0 || index.Int >= math.MaxInt32 {
			return fmt.Errorf("%w: the index is %d (%v)", ErrInvalidArgument, index.Int, index.Kind)
		}
		sizes = append(append(sizes[:0], index.Int+1), from.Sizes...)
		if to.DType != from.DType || len(to.Sizes) != len(sizes) {
			return badRow(to, from)
		}
		for i, s := range from.Sizes {
			if to.Sizes[i+1] != s {
				return badRow(to, from)
			}
		}
		if err := to.Resize(sizes); err != nil {
			return err
		}
		n := int64(len(from.Data))
		if (index.Int+1)*n > int64(len(to.Data)) || from.lacksMemory() {
			return badRow(to, from)
		}
		copy(to.Data[index.Int*n:], from.Data)
		return nil
	}, nil
}

func badRow(to, from *Tensor) error {
	return fmt.Errorf("%w: a %v tensor of sizes %v is no row of one of %v and sizes %v",
		ErrInvalidArgument, from.DType, from.Sizes, to.DType, to.Sizes)
}
