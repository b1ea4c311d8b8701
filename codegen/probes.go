package codegen

import "github.com/etgen/etgen/lower/native"

// Probes numbers the calls of kernels in p in the order of the text: those of
// the first method first. Instrumented output tells these numbers.
func Probes(p *native.Program) map[*native.Call]int {
	numbers := map[*native.Call]int{}
	for _, m := range p.Methods {
		Walk(m.Body, func(s native.Stmt) {
			if c, ok := s.(*native.Call); ok {
				numbers[c] = len(numbers)
			}
		})
	}
	return numbers
}
