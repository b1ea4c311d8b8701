package codegen

import "github.com/etgen/etgen/lower/native"

// OutputName is what output i of m is called: "out" if there is no other and the
// model has no name for it.
func OutputName(m *native.Method, i int) string {
	if len(m.Outputs) == 1 && m.Outputs[0].Name == "out0" {
		return "out"
	}
	return m.Outputs[i].Name
}
