package portable

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/strip"
	"github.com/etgen/etgen/rt"
)

// operand is a tensor that a call reads, as it is when code is made.
type operand struct {
	typ   ir.Type // sizes are constants
	order []int   // of its dimensions in memory, nil if row-major
	slot  *rt.EValue
	bytes int
}

// argument returns what is in slot v as an argument of type t. Tensors are
// added to operands; each is a value of its own.
func argument(t *aten.Type, v *rt.EValue, operands *[]operand) ir.Arg {
	switch v.Kind {
	case rt.None:
		return ir.None{}
	case rt.Int:
		return cmp.Or(aten.Member(t, v.Int), ir.Arg(ir.Int(v.Int)))
	case rt.Bool:
		return ir.BoolArg(v.Bool)
	case rt.Double:
		return ir.Float(v.Double)
	case rt.String:
		if t.Name == "Device" {
			return ir.Device(v.String)
		}
		return ir.Str(v.String)
	case rt.TensorKind:
		typ, order := describe(v.Tensor)
		n, _ := typ.Bytes().Const()
		*operands = append(*operands, operand{typ, order, v, int(n)})
		return ir.Ref{Value: &ir.Value{Name: fmt.Sprintf("x%d", len(*operands)-1), Type: typ}}
	case rt.DoubleList:
		return list(v.Doubles, func(x float64) ir.Arg { return ir.Float(x) })
	case rt.BoolList:
		return list(v.Bools, func(x bool) ir.Arg { return ir.BoolArg(x) })
	case rt.IntList, rt.TensorList:
		return list(v.List, func(x *rt.EValue) ir.Arg {
			if x == nil {
				return ir.None{}
			}
			if x.List != nil {
				panic(fmt.Errorf("a list in a list"))
			}
			return argument(t.Base(), x, operands)
		})
	}
	panic(fmt.Errorf("a slot of kind %d", v.Kind))
}

func list[T any](xs []T, f func(T) ir.Arg) ir.Arg {
	out := make(ir.List, len(xs))
	for i, x := range xs {
		must.Do(func() { out[i] = f(x) }, "element %d", i)
	}
	return out
}

// describe returns the type of t and the order of its dimensions in memory.
func describe(t *rt.Tensor) (ir.Type, []int) {
	if t == nil {
		panic(fmt.Errorf("there is no tensor"))
	}
	if t.DType.Size() == 0 {
		panic(fmt.Errorf("a tensor of %v", t.DType))
	}
	n := int64(t.DType.Size())
	for _, s := range t.Sizes {
		if s < 0 || s > 0 && n > math.MaxInt64/s {
			panic(fmt.Errorf("a tensor of sizes %v", t.Sizes))
		}
		n *= max(s, 1)
	}
	typ := ir.StaticTensor(t.DType, t.Sizes...)
	order := orderOf(t)
	if order == nil {
		return typ, nil
	}
	placed := seq.Map(order, func(d int) sym.Expr { return typ.Sizes[d] })
	for i, s := range ir.Contiguous(placed) {
		typ.Strides[order[i]] = s
	}
	return typ, order
}

// orderOf returns the order of t's dimensions in memory, nil if it makes no
// difference from row-major.
func orderOf(t *rt.Tensor) []int {
	if len(t.DimOrder) == 0 {
		return nil
	}
	order := make([]int, len(t.DimOrder))
	seen := make([]bool, len(t.Sizes))
	for i, d := range t.DimOrder {
		if len(order) != len(seen) || int(d) >= len(seen) || seen[d] {
			panic(fmt.Errorf("dim order %v is no permutation of %d dimensions", t.DimOrder,
				len(t.Sizes)))
		}
		order[i], seen[d] = int(d), true
	}
	long := slices.DeleteFunc(slices.Clone(order), func(d int) bool { return t.Sizes[d] == 1 })
	if slices.IsSorted(long) || slices.Contains(t.Sizes, 0) {
		return nil
	}
	return order
}

// changing appends the slots, among v and what it lists, whose content may
// change while the method lives, tensors' elements aside.
func changing(slots []*rt.EValue, c *rt.Call, v *rt.EValue) []*rt.EValue {
	switch {
	case v == nil:
		return slots
	case v.Kind == rt.TensorKind && v.Tensor != nil && !v.Tensor.Resizable():
		return slots
	case !c.Fixed(v):
		return append(slots, v)
	}
	for _, x := range v.List {
		slots = changing(slots, c, x)
	}
	return slots
}

// appendKey appends what tells v's present content from others, tensors'
// elements aside.
func appendKey(key []int64, v *rt.EValue) []int64 {
	if v == nil {
		return append(key, int64(rt.None))
	}
	switch v.Kind {
	case rt.Int:
		return append(key, int64(v.Kind), v.Int)
	case rt.Bool:
		return append(key, int64(v.Kind), strip.FromBool[int64](v.Bool))
	case rt.Double:
		return append(key, int64(v.Kind), int64(math.Float64bits(v.Double)))
	case rt.String:
		key = append(key, int64(v.Kind), int64(len(v.String)))
		for _, b := range []byte(v.String) {
			key = append(key, int64(b))
		}
		return key
	case rt.TensorKind:
		if v.Tensor == nil {
			return append(key, -1)
		}
		return append(append(key, int64(len(v.Tensor.Sizes))), v.Tensor.Sizes...)
	case rt.DoubleList:
		key = append(key, int64(len(v.Doubles)))
		for _, x := range v.Doubles {
			key = append(key, int64(math.Float64bits(x)))
		}
		return key
	case rt.BoolList:
		key = append(key, int64(len(v.Bools)))
		for _, x := range v.Bools {
			key = append(key, strip.FromBool[int64](x))
		}
		return key
	case rt.IntList, rt.TensorList:
		key = append(key, int64(len(v.List)))
		for _, x := range v.List {
			// which no operator takes; the list may even be in itself
			if x != nil && x.List != nil {
				key = append(key, int64(x.Kind))
				continue
			}
			key = appendKey(key, x)
		}
		return key
	}
	return append(key, int64(v.Kind))
}
