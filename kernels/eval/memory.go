package eval

import (
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
)

// Value is a scalar at run time.
type Value = expr.Value

// Operand is a dense tensor.
type Operand struct {
	DType ir.DType
	Sizes []int64
	Data  []byte
}

// Get returns element i of buf, which must have it.
func Get(d ir.DType, buf []byte, i int64) Value {
	size := int64(d.Size())
	b := buf[i*size : (i+1)*size]
	var u uint64
	switch size {
	case 1:
		u = uint64(b[0])
	case 2:
		u = uint64(binary.LittleEndian.Uint16(b))
	case 4:
		u = uint64(binary.LittleEndian.Uint32(b))
	default:
		u = binary.LittleEndian.Uint64(b)
	}
	switch {
	case d == ir.Float64:
		return Value{F: math.Float64frombits(u)}
	case d == ir.Float32:
		return Value{F: float64(math.Float32frombits(uint32(u)))}
	case half.Is(d):
		return Value{F: float64(half.ToFloat32(d, uint16(u)))}
	}
	return Value{I: expr.Wrap(d, int64(u))}
}

// Put sets element i of buf, which must have it.
func Put(d ir.DType, buf []byte, i int64, v Value) {
	size := int64(d.Size())
	b := buf[i*size : (i+1)*size]
	u := uint64(v.I)
	switch {
	case d == ir.Float64:
		u = math.Float64bits(v.F)
	case d == ir.Float32:
		u = uint64(math.Float32bits(float32(v.F)))
	case half.Is(d):
		u = uint64(half.FromFloat32(d, float32(v.F)))
	}
	switch size {
	case 1:
		b[0] = byte(u)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(u))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(u))
	default:
		binary.LittleEndian.PutUint64(b, u)
	}
}
