package pte

import (
	"fmt"

	"github.com/etgen/etgen/ir"
)

// ScalarType is an element type by PyTorch's number.
type ScalarType int8

var scalarTypes = map[ScalarType]ir.DType{
	0: ir.Uint8, 1: ir.Int8, 2: ir.Int16, 3: ir.Int32, 4: ir.Int64,
	5: ir.Float16, 6: ir.Float32, 7: ir.Float64,
	8: ir.Complex32, 9: ir.Complex64, 10: ir.Complex128,
	11: ir.Bool, 15: ir.BFloat16,
	23: ir.Float8E5M2, 24: ir.Float8E4M3FN, 25: ir.Float8E5M2FNUZ, 26: ir.Float8E4M3FNUZ,
	27: ir.Uint16, 28: ir.Uint32, 29: ir.Uint64,
}

var scalarTypeOf = func() map[ir.DType]ScalarType {
	of := map[ir.DType]ScalarType{}
	for s, d := range scalarTypes {
		of[d] = s
	}
	return of
}()

// DType returns the element type that s stands for. The quantised types (qint8
// and the like) and numbers without a meaning have none.
func (s ScalarType) DType() (ir.DType, bool) {
	d, ok := scalarTypes[s]
	return d, ok
}

// ScalarTypeOf returns the number of d.
func ScalarTypeOf(d ir.DType) (ScalarType, bool) {
	s, ok := scalarTypeOf[d]
	return s, ok
}

// String returns PyTorch's name of the type.
func (s ScalarType) String() string {
	if d, ok := s.DType(); ok {
		return d.String()
	}
	return fmt.Sprintf("scalar type %d", int8(s))
}
