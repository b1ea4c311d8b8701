package tuned

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// MixedLinear multiplies the rows of x[m][k] with constant rows of integers, each group of which
// has a scale, for machines with an FPU. Without vectors four columns lie beside each other:
// w[ceil(n/4)][k][4], of 8 bits or, with int4, of 4 bits, the first in the lower half of a byte;
// scales are [ceil(n/4)][k/group][4]. With vectors these are as many columns as the tile has,
// and words of as many integers of a column as they have room for. Both have zeros for a column
// that is not there. Only m may be dynamic.
func MixedLinear() *Kernel {
	return &Kernel{Name: "mixed_linear_f32", Forms: []string{mixedLinearRows, mixedLinearMVE},
		Descriptor: mixedLinearParams, Head: "TILE_FUSED", Phases: []string{"panels"},
		Operands: []string{"x"}, C: true, Match: matchMixedLinear}
}

const mixedLinearRows = "mixed_linear_rows_f32"

// mixedLinearMVE is the form for MVE, with weights as without vectors: a vector has four columns.
const mixedLinearMVE = "mixed_linear_mve_f32"

// KeepsIntegers reports whether a product of m rows of floats with a constant matrix of k rows and
// n columns is quicker if that is made of integers of at most 8 bits, where it may be made of
// floats as well, with vectors: it takes the time in which the matrix is read. Of many rows, that
// is the time of the products.
func KeepsIntegers(t Target, m sym.Expr, n, k int64) bool {
	const least, most = 1 << 16, 8
	rows, static := m.Const()
	return t.Language.Has(MixedLinear()) && Wide(t) && n*k >= least && (!static || rows <= most)
}

func matchMixedLinear(r *Request) *Instance {
	c := r.Call
	if c.Op.Name() != "quantized_decomposed.mixed_linear.default" || !r.RowMajor() ||
		r.Target.vectors() && !Wide(r.Target) || !r.Target.Machine.Floats && !r.Target.Machine.Open {
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
	half := 0
	if int4 {
		half = 1
	}
	form, cols, per, bits := "", 4, 1, 8>>half
	if r.Target.vectors() {
		form, cols, per = mixedLinearRows, r.Target.tile().Cols, 32/bits
	}
	if k/groups%per != 0 {
		return nil
	}
	// Integer i of a column is one of per that lie beside each other.
	all := int(roundUp(int64(n), cols))
	bytes, scales := make([]byte, all*k), make([]float32, all*groups)
	for j := range n {
		at := j/cols*cols*k + j%cols*per
		for i := range k {
			bytes[at+i/per*cols*per+i%per] = data[j*k+i]
		}
		for g := range groups {
			scales[j/cols*cols*groups+cols*g+j%cols] = given[j*groups+g]
		}
	}
	if int4 {
		bytes = halves(bytes)
	}
	packedAs := ir.Int8
	if form != "" {
		packedAs = ir.Int32
	} else if r.Target.Machine.MVE {
		form = mixedLinearMVE
	}
	xs := c.Tensor("input").Sizes
	in := &Instance{
		Params: mixedLinearParams.params(Values{"m": xs[0], "n": num(n), "k": num(k),
			"group": num(k / groups), "int4": num(half)}, nil),
		Operands: []int{x},
		Form:     form,
		Packed: []Packed{{Name: "w", DType: packedAs, Data: bytes, From: []int{w}},
			packed("scales", scales, s)},
		Channels: Channels{Inner: num(1), Count: num(n)}, RunChannels: true,
		Tile: r.Target.tile(),
		MACs: sym.Mul(xs[0], num(n*k)),
	}
	in.Cost = cost(in.MACs)
	return in
}
