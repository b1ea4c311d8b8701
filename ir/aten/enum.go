package aten

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
)

// ScalarTypes are the element types by the numbers of c10::ScalarType. The quantised types
// (qint8 and the like) and numbers without a meaning have none.
var ScalarTypes = []ir.DType{
	0: ir.Uint8, 1: ir.Int8, 2: ir.Int16, 3: ir.Int32, 4: ir.Int64,
	5: ir.Float16, 6: ir.Float32, 7: ir.Float64,
	8: ir.Complex32, 9: ir.Complex64, 10: ir.Complex128,
	11: ir.Bool, 15: ir.BFloat16,
	23: ir.Float8E5M2, 24: ir.Float8E4M3FN, 25: ir.Float8E5M2FNUZ, 26: ir.Float8E4M3FNUZ,
	27: ir.Uint16, 28: ir.Uint32, 29: ir.Uint64,
}

// MemoryFormats are in the order of the numbers of c10::MemoryFormat.
var MemoryFormats = []ir.MemoryFormat{ir.ContiguousFormat, ir.PreserveFormat, ir.ChannelsLast,
	ir.ChannelsLast3d}

// Member returns what number n stands for in an enumeration of PyTorch's, nil if t is none.
func Member(t *Type, n int64) ir.Arg {
	switch t.Name {
	case "ScalarType":
		if n < 0 || n >= int64(len(ScalarTypes)) || ScalarTypes[n] == ir.InvalidDType {
			must.Fail("%d is no dtype", n)
		}
		return ir.DTypeArg(ScalarTypes[n])
	case "MemoryFormat":
		if n < 0 || n >= int64(len(MemoryFormats)) {
			must.Fail("%d is no memory format", n)
		}
		return MemoryFormats[n]
	case "Layout":
		if n != 0 {
			must.Fail("layout %d is not strided", n)
		}
		return ir.LayoutArg(7) // by the numbers of the export schema
	}
	return nil
}
