package pte

import (
	_ "embed"
	"sync"

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
	programSchema    = parsed(&programText)
	flatTensorSchema = parsed(&flatTensorText)
	bundledSchema    = parsed(&bundledText)
)

// parsed returns a function that parses an embedded schema once. That each of
// them parses is tested.
func parsed(text *string) func() *flat.Schema {
	return sync.OnceValue(func() *flat.Schema {
		s, err := flat.Parse(*text)
		if err != nil {
			panic(err)
		}
		return s
	})
}
