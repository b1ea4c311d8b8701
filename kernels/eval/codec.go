package eval

import (
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/kernels/strip"
)

// decode sets x to the elements that b holds.
func decode[T element](x []T, b []byte) {
	switch x := any(x).(type) {
	case []bool:
		for i := range x {
			x[i] = b[i] != 0
		}
	case []uint8:
		copy(x, b)
	case []int8:
		for i := range x {
			x[i] = int8(b[i])
		}
	case []uint16:
		for i := range x {
			x[i] = binary.LittleEndian.Uint16(b[2*i:])
		}
	case []int16:
		for i := range x {
			x[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
		}
	case []uint32:
		for i := range x {
			x[i] = binary.LittleEndian.Uint32(b[4*i:])
		}
	case []int32:
		for i := range x {
			x[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case []uint64:
		for i := range x {
			x[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	case []int64:
		for i := range x {
			x[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case []float32:
		for i := range x {
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case []float64:
		for i := range x {
			x[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
}

// encode sets b to the elements of x.
func encode[T element](b []byte, x []T) {
	switch x := any(x).(type) {
	case []bool:
		for i, e := range x {
			b[i] = strip.FromBool[uint8](e)
		}
	case []uint8:
		copy(b, x)
	case []int8:
		for i, e := range x {
			b[i] = uint8(e)
		}
	case []uint16:
		for i, e := range x {
			binary.LittleEndian.PutUint16(b[2*i:], e)
		}
	case []int16:
		for i, e := range x {
			binary.LittleEndian.PutUint16(b[2*i:], uint16(e))
		}
	case []uint32:
		for i, e := range x {
			binary.LittleEndian.PutUint32(b[4*i:], e)
		}
	case []int32:
		for i, e := range x {
			binary.LittleEndian.PutUint32(b[4*i:], uint32(e))
		}
	case []uint64:
		for i, e := range x {
			binary.LittleEndian.PutUint64(b[8*i:], e)
		}
	case []int64:
		for i, e := range x {
			binary.LittleEndian.PutUint64(b[8*i:], uint64(e))
		}
	case []float32:
		for i, e := range x {
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(e))
		}
	case []float64:
		for i, e := range x {
			binary.LittleEndian.PutUint64(b[8*i:], math.Float64bits(e))
		}
	}
}
