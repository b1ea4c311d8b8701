package codegen

import (
	"bytes"

	"github.com/etgen/etgen/lower/native"
)

// WeightAlign is the alignment of every constant in the block of weights, in
// bytes.
const WeightAlign = 16

// Weights is the constant data a program reads, laid out as one block.
type Weights struct {
	Consts []Weight // in order of their offsets
	Size   int64    // bytes
}

// Weight is a constant in the block.
type Weight struct {
	*native.Const
	Offset int64 // in bytes, a multiple of WeightAlign
}

// LayOut places the constants that p's statements and p's initial state read.
func LayOut(p *native.Program) *Weights {
	used := map[*native.Const]bool{}
	note := func(b *native.Buffer) {
		if r := native.Root(b); r.Storage == native.Weight {
			used[r.Const] = true
		}
	}
	for _, m := range p.Methods {
		Walk(m.Body, func(s native.Stmt) {
			for _, b := range Operands(s) {
				note(b)
			}
		})
	}
	for _, s := range p.State {
		if _, uniform := Uniform(s.Const); !uniform {
			used[s.Const] = true
		}
	}
	w := &Weights{}
	for _, c := range p.Consts {
		if used[c] {
			w.Size = (w.Size + WeightAlign - 1) / WeightAlign * WeightAlign
			w.Consts = append(w.Consts, Weight{Const: c, Offset: w.Size})
			w.Size += int64(len(c.Data))
		}
	}
	return w
}

// Block returns the bytes of all constants at their offsets.
func (w *Weights) Block() []byte {
	out := make([]byte, w.Size)
	for _, c := range w.Consts {
		copy(out[c.Offset:], c.Data)
	}
	return out
}

// Uniform returns the element that all of c consists of, if there is one. A
// constant without elements has none.
func Uniform(c *native.Const) ([]byte, bool) {
	n := c.DType.Size()
	if n == 0 || len(c.Data) < n || !bytes.Equal(c.Data[n:], c.Data[:len(c.Data)-n]) {
		return nil, false
	}
	return c.Data[:n], true
}
