package xnn

import (
	"cmp"
	"maps"
	"slices"

	"github.com/etgen/etgen/ir"
	quant "github.com/etgen/etgen/lower/quantize"
)

// lowered are operators of a model that lowering makes others of, in inIntegers. Transposed
// convolutions are not among them: in groups, their scales for channels have no place in XNNPACK.
var lowered = map[string]string{"conv1d": "convolution", "conv2d": "convolution",
	"relu6": "hardtanh"}

// Quantizer implements partition.Quantizer: weights are symmetric with a scale for each channel,
// and operators that XNNPACK does not compute in int8 stay float32, between conversions.
func (Backend) Quantizer(own *quant.Default, _ []ir.CompileSpec) quant.Quantizer {
	integers := slices.Collect(maps.Keys(inIntegers))
	q := *own
	q.Computes = func(op string) bool {
		op = cmp.Or(lowered[op], op)
		return slices.ContainsFunc(integers, func(i string) bool { return ir.OpBase(i) == op })
	}
	return &q
}
