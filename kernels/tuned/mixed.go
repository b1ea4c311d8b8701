package tuned

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// MixedLinear multiplies the rows of x[m][k] with constant rows of integers, each group of which
// has a scale, for machines with an FPU and without vectors. Four columns lie beside each other:
// w[ceil(n/4)][k][4], of 8 bits or, with int4, of 4 bits, the first in the lower half of a byte;
// scales are [ceil(n/4)][k/group][4]. Both have zeros for a column that is not there. Only m may
// be dynamic.
func MixedLinear() *Kernel {
	return &Kernel{Name: "mixed_linear_f32", Descriptor: mixedLinearParams, Head: "TILE_FUSED",
		Operands: []string{"x"}, C: true, Match: matchMixedLinear}
}

func matchMixedLinear(r *Request) *Instance {
	c := r.Call
	if c.Op.Name() != "quantized_decomposed.mixed_linear.default" || !r.RowMajor() ||
		r.Target.vectors() || !r.Target.Machine.Floats {
		return nil
	}
	x, w, s := c.Operand("input"), c.Operand("weight"), c.Operand("weight_scales")
	if c.Tensor("input").DType != ir.Float32 || c.Outs[0].DType != ir.Float32 {
		return nil
	}
	size, ok := c.Tensor("weight").StaticSizes()
	data, known := r.Const(w)
	given, known2 := r.constant(s)
	if !ok || !known || !known2 || given == nil || len(data) == 0 {
		return nil
	}
	n, k := int(size[0]), int(size[1])
	groups := len(given) / n
	if groups == 0 || k%groups != 0 {
		return nil
	}
	int4 := !slices.ContainsFunc(data, func(b byte) bool { return int8(b) < -8 || int8(b) > 7 })
	fours := (n + 3) / 4
	bytes, scales := make([]byte, 4*fours*k), make([]float32, 4*fours*groups)
	for j := range n {
		at := j/4*4*k + j%4
		for i := range k {
			bytes[at+4*i] = data[j*k+i]
		}
		for g := range groups {
			scales[j/4*4*groups+4*g+j%4] = given[j*groups+g]
		}
	}
	half := 0
	if int4 {
		for i := range len(bytes) / 2 {
			bytes[i] = bytes[2*i]&15 | bytes[2*i+1]<<4
		}
		bytes, half = bytes[:len(bytes)/2], 1
	}
	xs := c.Tensor("input").Sizes
	in := &Instance{
		Params: mixedLinearParams.params(Values{"m": xs[0], "n": num(n), "k": num(k),
			"group": num(k / groups), "int4": num(half)}, nil),
		Operands: []int{x},
		Packed: []Packed{{Name: "w", DType: ir.Int8, Data: bytes, From: []int{w}},
			packed("scales", scales, s)},
		Channels: Channels{Inner: num(1), Count: num(n)}, RunChannels: true,
		Tile: r.Target.tile(),
		MACs: sym.Mul(xs[0], num(n*k)),
	}
	in.Cost = cost(in.MACs)
	return in
}
