package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// cortexMMoves move elements.
func cortexMMoves() []Op { return []Op{int8Transpose(), int8Pad()} }

// int8Transpose permutes the dimensions and makes the result row-major.
func int8Transpose() Op {
	return Op{
		Schema: cm + "transpose(Tensor input, int[] perm) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			t := must(c.int8Input("input", 0))
			perm := must(c.permutation("perm", t.Rank()))
			sizes := make([]sym.Expr, len(perm))
			for i, d := range perm {
				sizes[i] = t.Sizes[d]
			}
			return []ir.Type{ir.TensorOf(t.DType, sizes...)}, nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			return []*ir.Value{b.Op("aten.permute_copy.default", c.Arg("input"), c.Arg("perm"))},
				nil
		},
	}
}

// permutation returns an int[] argument that names every dimension once.
func (c *Call) permutation(name string, rank int) ([]int64, error) {
	perm := must(c.Ints(name))
	sorted := slices.Sorted(slices.Values(perm))
	for i, d := range sorted {
		if d != int64(i) || len(perm) != rank {
			return nil, c.Errorf("%v is no permutation of %d dimensions", perm, rank)
		}
	}
	if len(perm) != rank {
		return nil, c.Errorf("%v is no permutation of %d dimensions", perm, rank)
	}
	return perm, nil
}

// storedChannelsLast is how cortex_m::pad reads a tensor: as channels last if it
// is so, or might be for all that sizes of 1 tell.
func storedChannelsLast(t ir.Type) bool {
	return t.Rank() == 4 && (t.Sizes[1].Is(1) || t.Sizes[2].Is(1) && t.Sizes[3].Is(1) ||
		suggestsChannelsLast(t))
}

// int8Pad adds pre_pad before and post_pad behind the elements of each
// dimension. Both have four numbers, in the order of dimensions in memory, for
// the last dimensions.
func int8Pad() Op {
	sides := func(c *Call) (pre, post []int64, err error) {
		t := must(c.int8Input("input", 0))
		if t.Rank() == 0 || t.Rank() > 4 {
			return nil, nil, c.Errorf("an input with %d dimensions", t.Rank())
		}
		var lists [2][]int64
		for i, name := range []string{"pre_pad", "post_pad"} {
			list := must(c.Ints(name))
			if len(list) != 4 || slices.Min(list) < 0 {
				return nil, nil, c.Errorf("%s is %v, not four sizes", name, list)
			}
			if storedChannelsLast(t) {
				list = []int64{list[0], list[3], list[1], list[2]}
			}
			absent := 4 - t.Rank()
			if slices.ContainsFunc(list[:absent], func(n int64) bool { return n > 0 }) {
				return nil, nil, c.Errorf("%s is %v for %d dimensions", name, list, t.Rank())
			}
			lists[i] = list[absent:]
		}
		return lists[0], lists[1], nil
	}
	return Op{
		Schema: cm + "pad(Tensor input, int[] pre_pad, int[] post_pad, int pad_value) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			pre, post := must2(sides(c))
			t := c.Tensor("input")
			sizes := slices.Clone(t.Sizes)
			for d := range sizes {
				sizes[d] = sym.Add(sizes[d], sym.Int(pre[d]+post[d]))
			}
			out := ir.TensorOf(t.DType, sizes...)
			if storedChannelsLast(t) {
				out.Strides = channelsLastStrides(sizes)
			}
			return []ir.Type{out}, nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			pre, post := must2(sides(c))
			value := must(c.Int("pad_value"))
			var pad []int64
			for d := len(pre) - 1; d >= 0; d-- {
				pad = append(pad, pre[d], post[d])
			}
			return []*ir.Value{b.Op("aten.constant_pad_nd.default", c.Arg("input"), pad,
				int64(int8(value)))}, nil
		},
	}
}
