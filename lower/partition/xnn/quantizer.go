package xnn

import (
	"slices"

	"github.com/etgen/etgen/ir"
	quant "github.com/etgen/etgen/lower/quantize"
)

// integerOps are the operators of which XNNPACK's nodes compute with integers that have ranges,
// with the limits behind them. What moves elements has the scale of what it moves.
var integerOps = []string{"conv1d", "conv2d", "convolution", "conv_transpose2d", "linear", "addmm",
	"mm", "add", "relu", "relu6", "hardtanh", "clamp"}

// Quantizer implements partition.Quantizer: as ExecuTorch's XNNPACKQuantizer, weights are symmetric
// with a scale for each channel, and other operators stay float32, between conversions.
func (Backend) Quantizer(own *quant.Default, _ []ir.CompileSpec) quant.Quantizer {
	q := *own
	q.Computes = func(op string) bool { return slices.Contains(integerOps, op) }
	return &q
}
