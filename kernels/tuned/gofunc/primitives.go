package gofunc

import (
	"encoding/binary"
	gomath "math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/strip"
)

// exp returns math's exp on slices: the same bits with and without vectors.
func exp() func(dst, a []float32) {
	plain := math.OnSlices(math.Native(math.Func("exp", ir.Float32)))
	fast := strip.Function("exp_f32")
	if fast == nil {
		return plain
	}
	return func(dst, a []float32) {
		if !fast(dst, a) {
			plain(dst, a)
		}
	}
}

// bools returns the bools whose bytes are, in their order, those of x.
func bools(x []float32) []bool {
	out := make([]bool, 0, 4*len(x))
	for _, v := range x {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], gomath.Float32bits(v))
		out = append(out, b[0] != 0, b[1] != 0, b[2] != 0, b[3] != 0)
	}
	return out
}
