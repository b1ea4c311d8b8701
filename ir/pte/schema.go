package pte

import (
	_ "embed"

	"github.com/etgen/etgen/ir/pte/flat"
)

var (
	//go:embed program.fbs
	programText string
	//go:embed flat_tensor.fbs
	flatTensorText string
	//go:embed bundled.fbs
	bundledText string
)

var (
	programSchema    = flat.Once(&programText)
	flatTensorSchema = flat.Once(&flatTensorText)
	bundledSchema    = flat.Once(&bundledText)
)
