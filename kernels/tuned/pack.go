package tuned

import (
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// inPanels makes a Packed of the elements of a constant, of zeros if it is none
// of the operands; nil elements are known later.
func inPanels(name string, s panels.Shape, xs []float32, from ...int) Packed {
	p := Packed{Name: name, DType: ir.Float32, From: from, Panels: &s}
	if xs != nil {
		p.Data = packed(name, panels.Pack(s, xs)).Data
	}
	return p
}

// floats reads little-endian float32 elements.
func floats(data []byte) []float32 {
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}

// packed makes a Packed of float32 elements.
func packed(name string, xs []float32, from ...int) Packed {
	data := make([]byte, 0, 4*len(xs))
	for _, x := range xs {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return Packed{Name: name, DType: ir.Float32, Data: data, From: from}
}
