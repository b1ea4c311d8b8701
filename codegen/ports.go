package codegen

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/native"
)

// Port is an input or output of a method.
type Port struct {
	native.Port
	Output bool
	Index  int // among the inputs, or the outputs
}

// Ports are the inputs and then the outputs of m.
func Ports(m *native.Method) (ports []Port) {
	for i, p := range m.Inputs {
		ports = append(ports, Port{p, false, i})
	}
	for i, p := range m.Outputs {
		ports = append(ports, Port{p, true, i})
	}
	return ports
}

// Stands words what integers of a port stand for; "" if for themselves.
func Stands(q *ir.QParams) string {
	if q == nil {
		return ""
	}
	if q.ZeroPoint < 0 {
		return fmt.Sprintf("q stands for (q + %d) * %v", -q.ZeroPoint, float32(q.Scale))
	}
	return fmt.Sprintf("q stands for (q - %d) * %v", q.ZeroPoint, float32(q.Scale))
}

// Number words what an integer that is passed by itself may be or will be; "" for other
// ports.
func (w *SizeWords) Number(p Port) string {
	d := native.Dim{Port: p.Index, Axis: -1, Size: p.Type.Expr}
	switch {
	case p.Type.Kind != ir.IntKind || !p.Type.HasExpr:
		return ""
	case p.Output:
		return w.Output(d)
	}
	return w.Input(d)
}
