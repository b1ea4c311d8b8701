package rt

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
)

// tensorArg returns the tensor in a slot.
func tensorArg(v *EValue) *Tensor {
	if v.Kind != TensorKind {
		panic(fmt.Errorf("%w: an argument is a %v, expected a tensor", ErrInvalidArgument, v.Kind))
	}
	return v.Tensor
}

// symSize is aten::sym_size.int(Tensor self, int dim) -> SymInt.
func symSize(args []*EValue) func() {
	return func() {
		t, dim := tensorArg(args[0]), args[1]
		d := dim.Int
		if d < 0 {
			d += int64(len(t.Sizes))
		}
		if dim.Kind != Int || d < 0 || d >= int64(len(t.Sizes)) {
			panic(fmt.Errorf("%w: no dimension %d (%v) in sizes %v", ErrInvalidArgument, dim.Int,
				dim.Kind, t.Sizes))
		}
		args[2].setInt(t.Sizes[d])
	}
}

// symNumel is aten::sym_numel(Tensor self) -> SymInt.
func symNumel(args []*EValue) func() {
	return func() { args[1].setInt(tensorArg(args[0]).Numel()) }
}

// localScalar is aten::_local_scalar_dense(Tensor self) -> Scalar: the first
// element.
func localScalar(args []*EValue) func() {
	return func() {
		t, out := tensorArg(args[0]), args[1]
		size := t.DType.Size()
		if len(t.Data) < size {
			panic(fmt.Errorf("%w: a tensor of sizes %v has no element to read",
				ErrInvalidArgument, t.Sizes))
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
			panic(fmt.Errorf("%w: a scalar of a %v tensor", ErrNotSupported, t.DType))
		}
	}
}

// view is executorch_prim::et_view.default(Tensor self, int[] size, Tensor out):
// out becomes a tensor of the sizes over the memory of self. Of a constant it is
// a copy, since nothing that looks at out knows that it must not be written.
func view(args []*EValue) func() {
	sizes := make([]int64, 0, maxRank)
	return func() {
		self, size, out := tensorArg(args[0]), args[1], tensorArg(args[2])
		if self.DType != out.DType {
			panic(fmt.Errorf("%w: a %v view of a %v tensor", ErrInvalidArgument, out.DType,
				self.DType))
		}
		if len(size.List) > maxRank {
			panic(fmt.Errorf("%w: %d dimensions are more than %d", ErrInvalidArgument,
				len(size.List), maxRank))
		}
		sizes = must.Get(size.AppendInts(sizes[:0]))
		if !inferSize(sizes, self) {
			panic(fmt.Errorf("%w: no view of sizes %v over a tensor of sizes %v",
				ErrInvalidArgument, slices.Clone(sizes), self.Sizes))
		}
		if self.lacksMemory() {
			panic(fmt.Errorf("%w: a view of a tensor of sizes %v that was not written, or freed",
				ErrInvalidProgram, self.Sizes))
		}
		if out != self {
			out.storage = nil // its sizes do not depend on what it viewed last
		}
		must.Check(out.Resize(sizes))
		switch {
		case out == self:
		case self.readOnly:
			out.restore()
			copy(out.Data, self.Data)
		default:
			out.setStorage(self.storage)
		}
	}
}

// inferSize puts the size that is left for a -1 in its place and reports whether
// sizes are as many elements as t has.
func inferSize(sizes []int64, t *Tensor) bool {
	unknown := slices.Index(sizes, -1)
	if unknown >= 0 {
		sizes[unknown] = 1
	}
	known, ok := numel(sizes)
	if ok && unknown >= 0 && known > 0 {
		sizes[unknown] = t.Numel() / known
		known *= sizes[unknown]
	}
	return ok && known == t.Numel() && (unknown < 0 || known > 0 || sizes[unknown] == 0)
}

// copyIndex is executorch_prim::et_copy_index.tensor(Tensor to, Tensor from, int
// index): to grows to index+1 rows, the last of which becomes from.
func copyIndex(args []*EValue) func() {
	sizes := make([]int64, 0, maxRank+1)
	return func() {
		to, from, index := tensorArg(args[0]), tensorArg(args[1]), args[2]
		if index.Kind != Int || index.Int < 0 || index.Int >= math.MaxInt32 {
			panic(fmt.Errorf("%w: the index is %d (%v)", ErrInvalidArgument, index.Int, index.Kind))
		}
		sizes = append(append(sizes[:0], index.Int+1), from.Sizes...)
		fits := to.DType == from.DType && len(to.Sizes) == len(sizes) &&
			slices.Equal(to.Sizes[1:], from.Sizes)
		if fits {
			must.Check(to.Resize(sizes))
		}
		n := int64(len(from.Data))
		if !fits || (index.Int+1)*n > int64(len(to.Data)) || from.lacksMemory() {
			panic(fmt.Errorf("%w: a %v tensor of sizes %v is no row of one of %v and sizes %v",
				ErrInvalidArgument, from.DType, from.Sizes, to.DType, to.Sizes))
		}
		copy(to.Data[index.Int*n:], from.Data)
	}
}
