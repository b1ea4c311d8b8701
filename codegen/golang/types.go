package golang

import "github.com/etgen/etgen/ir"

// ElementType returns the Go type that methods take elements of dtype d as. It
// must be one that Go output has.
func ElementType(d ir.DType) string { return goType(d) }

// goType returns the Go type of elements of dtype d. Float16 and BFloat16 are
// held by their bits.
func goType(d ir.DType) string {
	switch d {
	case ir.Bool, ir.Uint8, ir.Int8, ir.Int16, ir.Int32, ir.Int64, ir.Uint16, ir.Uint32, ir.Uint64,
		ir.Float32, ir.Float64:
		return d.String()
	case ir.Float16, ir.BFloat16:
		return "uint16"
	}
	fail("Go output has no elements of dtype %s", d)
	return ""
}

func isHalf(d ir.DType) bool { return d == ir.Float16 || d == ir.BFloat16 }
