package raise_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/pte"
)

// dyn is a float32 tensor of sizes up to bounds.
func (a *asm) dyn(offset uint64, bounds ...int32) int32 {
	t := tensorAt(6, offset, bounds...)
	t.Dynamism = pte.DynamicBound
	return a.value(t)
}

// cat is out = x and y, one after the other.
func (a *asm) cat(out int32, xs ...int32) {
	a.call("aten::cat", "out", a.value(pte.TensorList(xs)), a.value(pte.Int(0)), out, out)
}

// What varies, and together with what, follows from the instructions alone.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(a *asm)
		want  string // sizes of inputs, ranges of symbols
	}{
		{"alone", func(a *asm) {
			x, y := a.dyn(0, 8), a.dyn(64, 8)
			a.neg(x, y)
			a.io([]int32{x}, []int32{y})
		}, "[s0]; s0 1-8"},
		{"beside a constant", func(a *asm) {
			x, y := a.dyn(0, 3), a.dyn(64, 3)
			a.add(x, a.constant(1, 2, 3), y)
			a.io([]int32{x}, []int32{y})
		}, "[3]"},
		{"no more than a table has", func(a *asm) {
			x, part, y, n := a.dyn(0, 4), a.dyn(64, 4), a.dyn(128, 4), a.value(pte.Int(0))
			zero, one := a.value(pte.Int(0)), a.value(pte.Int(1))
			a.call("aten::sym_size", "int", x, zero, n)
			a.call("aten::slice_copy", "Tensor_out", a.constant(1, 2, 3, 4), zero, zero, n, one,
				part, part)
			a.add(x, part, y)
			a.io([]int32{x}, []int32{y})
		}, "[s0]; s0 1-4"},
		{"nothing between at the least size", func(a *asm) {
			x, y, z, one := a.dyn(0, 8), a.dyn(64, 7), a.dyn(128, 7), a.value(pte.Int(1))
			a.call("aten::slice_copy", "Tensor_out", x, a.value(pte.Int(0)), one,
				a.value(pte.Int(math.MaxInt64)), one, y, y)
			a.neg(y, z)
			a.io([]int32{x}, []int32{z})
		}, "[s0]; s0 1-8"},
		{"a multiple", func(a *asm) {
			x, y, z, twice := a.dyn(0, 5), a.dyn(64, 10), a.dyn(128, 10), a.dyn(256, 10)
			a.cat(twice, x, x)
			a.add(twice, y, z)
			a.io([]int32{x, y}, []int32{z})
		}, "[s0] [2*s0]; s0 1-5"},
		{"a multiple and more", func(a *asm) {
			x, y, z, twice := a.dyn(0, 12), a.dyn(64, 5), a.dyn(128, 12), a.dyn(256, 12)
			a.cat(twice, y, y, a.constant(1, 2))
			a.add(twice, x, z)
			a.io([]int32{x, y}, []int32{z})
		}, "[2*s0 + 2] [s0]; s0 1-5"},
		{"steps", func(a *asm) {
			x, y := a.dyn(0, 12), a.dyn(64, 3, 4)
			a.call("aten::view_copy", "out", x, a.value(pte.IntList{int64(a.value(pte.Int(3))),
				int64(a.value(pte.Int(-1)))}), y, y)
			a.io([]int32{x}, []int32{y})
		}, "[3*s0]; s0 1-4"},
		{"a half, as the program asserts", func(a *asm) {
			x, y, z, w := a.dyn(0, 5), a.dyn(64, 2), a.dyn(128, 5), a.dyn(192, 2)
			size := func(x int32) int32 {
				n := a.value(pte.Int(0))
				a.call("aten::sym_size", "int", x, a.value(pte.Int(0)), n)
				return n
			}
			half, same, one := a.value(pte.Int(0)), a.value(pte.Bool(false)), a.value(pte.Int(0))
			a.call("executorch_prim::floordiv", "Scalar", size(x), a.value(pte.Int(2)), half)
			a.call("executorch_prim::eq", "Scalar", size(y), half, same)
			a.call("executorch_prim::sym_ite", "Scalar", same, a.value(pte.Int(1)), a.value(pte.Int(0)), one)
			full := a.value(tensorAt(6, 256, 1))
			a.call("aten::full", "out", a.value(pte.IntList{int64(one)}), a.value(pte.Int(0)), full, full)
			a.neg(x, z)
			a.neg(y, w)
			a.io([]int32{x, y}, []int32{z, w})
		}, "[s0] [s0//2]; s0 2-5"},
		{"an index that what varies alone has to reach", func(a *asm) {
			x, index, src, y := a.dyn(0, 2), tensorAt(4, 64, 2), a.dyn(128, 2), a.dyn(192, 2)
			index.Dynamism = pte.DynamicBound
			i := a.value(index)
			a.call("aten::scatter_add", "out", x, a.value(pte.Int(0)), i, src, y, y)
			a.io([]int32{x, i, src}, []int32{y})
		}, "[s0] [s1] [s1]; s0 1-2; s1 1-2"},
		{"an index and what it reads and adds to", func(a *asm) {
			x, index, src, y := a.dyn(0, 6, 5), tensorAt(4, 256, 3, 5), a.dyn(512, 3, 5), a.dyn(640, 6, 5)
			index.Dynamism = pte.DynamicBound
			i := a.value(index)
			a.call("aten::scatter_add", "out", x, a.value(pte.Int(0)), i, src, y, y)
			a.io([]int32{x, i, src}, []int32{y})
		}, "[s0, s1] [s2, s1] [s2, s1]; s0 1-6; s1 1-5; s2 1-3"},
		{"an index and what it adds, bounded alike in both dimensions", func(a *asm) {
			x, index, src, y := a.dyn(0, 5, 6), tensorAt(4, 256, 6, 6), a.dyn(576, 6, 6), a.dyn(768, 5, 6)
			index.Dynamism = pte.DynamicBound
			i := a.value(index)
			a.call("aten::scatter_add", "out", x, a.value(pte.Int(0)), i, src, y, y)
			a.io([]int32{x, i, src}, []int32{y})
		}, "[s0, s1] [s2, s1] [s2, s1]; s0 1-5; s1 1-6; s2 1-6"},
		{"three alike in both dimensions", func(a *asm) {
			x, y, z := a.dyn(0, 4, 4), a.dyn(64, 4, 4), a.dyn(128, 4, 4)
			sum, out := a.dyn(192, 4, 4), a.dyn(256, 4, 4)
			a.add(x, y, sum)
			a.add(sum, z, out)
			a.io([]int32{x, y, z}, []int32{out})
		}, "[s0, s1] [s0, s1] [s0, s1]; s0 1-4; s1 1-4"},
	} {
		a := newAsm()
		c.build(a)
		p, err := a.raise()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, v := range p.Methods[0].Graph.Inputs {
			got = append(got, strings.ReplaceAll(fmt.Sprint(v.Type.Sizes), " s", ", s"))
		}
		text := strings.Join(got, " ")
		for _, s := range p.Methods[0].Symbols {
			lo, hi := s.Expr().Bounds()
			text += fmt.Sprintf("; %s %d-%d", s.Name, lo, hi)
		}
		if text != c.want {
			t.Errorf("%s: inputs %s, want %s\n%s", c.name, text, c.want, p)
		}
	}
}
