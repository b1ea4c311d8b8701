package tensor

import (
	enc "encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/half"
)

// Append appends x as a little-endian element of a real dtype.
func Append(b []byte, d ir.DType, x float64) []byte {
	le := enc.LittleEndian
	switch d {
	case ir.Bool:
		if x != 0 {
			return append(b, 1)
		}
		return append(b, 0)
	case ir.Float64:
		return le.AppendUint64(b, math.Float64bits(x))
	case ir.Float32:
		return le.AppendUint32(b, math.Float32bits(float32(x)))
	case ir.Float16, ir.BFloat16:
		return le.AppendUint16(b, half.FromFloat32(d, float32(x)))
	}
	n := uint64(int64(x))
	switch d.Size() {
	case 1:
		return append(b, byte(n))
	case 2:
		return le.AppendUint16(b, uint16(n))
	case 4:
		return le.AppendUint32(b, uint32(n))
	}
	return le.AppendUint64(b, n)
}
