package tuned

import (
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
)

// panels returns w[n][k], whose elements at gives, as [ceil(n/cols)][k][cols],
// the columns missing in the last panel zero.
func panels(n, k, cols int, at func(n, k int) float32) []float32 {
	out := make([]float32, (n+cols-1)/cols*k*cols)
	for j := range n {
		panel := out[j/cols*k*cols:]
		for i := range k {
			panel[i*cols+j%cols] = at(j, i)
		}
	}
	return out
}

// padded returns xs with zeros up to a multiple of cols.
func padded(xs []float32, cols int) []float32 {
	out := make([]float32, (len(xs)+cols-1)/cols*cols)
	copy(out, xs)
	return out
}

// floats reads little-endian float32 elements.
func floats(data []byte) []float32 {
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}

// packed makes a Packed of float32 elements.
func packed(name string, xs []float32, from ...int) Packed {
	data := make([]byte, 0, 4*len(xs))
	for _, x := range xs {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return Packed{Name: name, DType: ir.Float32, Data: data, From: from}
}
