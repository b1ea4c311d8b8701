package codegen

import (
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/lower/native"
)

// OutputName is what output i of m is called: "out" if there is no other and the
// model has no name for it.
func OutputName(m *native.Method, i int) foreign.Text {
	if len(m.Outputs) == 1 && m.Outputs[0].Name == foreign.Of("out0") {
		return foreign.Of("out")
	}
	return m.Outputs[i].Name
}
