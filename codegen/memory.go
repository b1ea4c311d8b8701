package codegen

import (
	"bytes"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower/native"
)

// MayOverlap reports whether two buffers may share memory. Inputs, outputs and the arena
// are disjoint: the caller promises this.
func MayOverlap(a, b *native.Buffer) bool {
	ra, rb := native.Root(a), native.Root(b)
	if ra == rb {
		x, y := start(a), start(b)
		return !sym.LessEq(sym.Add(x, a.Len), y) && !sym.LessEq(sym.Add(y, b.Len), x)
	}
	if ra.Storage != native.Arena || rb.Storage != native.Arena {
		return false
	}
	if ra.Bank != rb.Bank {
		return false
	}
	alo, ahi := arenaBytes(a)
	blo, bhi := arenaBytes(b)
	return alo < bhi && blo < ahi
}

// SameMemory reports whether two buffers are the same run of bytes.
func SameMemory(a, b *native.Buffer) bool {
	if !a.Len.Equal(b.Len) || a.DType.Size() != b.DType.Size() {
		return false
	}
	ra, rb := native.Root(a), native.Root(b)
	if ra == rb {
		return start(a).Equal(start(b))
	}
	if ra.Storage != native.Arena || rb.Storage != native.Arena {
		return false
	}
	x, xok := start(a).Const()
	y, yok := start(b).Const()
	size := int64(a.DType.Size())
	return xok && yok && ra.Bank == rb.Bank && ra.Offset+x*size == rb.Offset+y*size
}

// start returns where b starts in its root, in elements.
func start(b *native.Buffer) sym.Expr {
	if b.Root == nil {
		return sym.Int(0)
	}
	return b.At
}

// arenaBytes returns the bytes of the arena that b may lie in.
func arenaBytes(b *native.Buffer) (lo, hi int64) {
	root := native.Root(b)
	size := int64(b.DType.Size())
	if at, ok := start(b).Const(); ok {
		lo = root.Offset + at*size
		return lo, lo + b.MaxLen*size
	}
	return root.Offset, root.Offset + root.MaxLen*int64(root.DType.Size())
}

// ArenaSize returns the bytes of arena that m needs.
func ArenaSize(m *native.Method) int64 {
	if m.Plan == nil {
		return 0
	}
	return m.Plan.Size()
}

// ArenaBytes returns the bytes of arena that the methods need, which they use one after
// the other.
func ArenaBytes(p *native.Program) (size int64) {
	for _, n := range BankBytes(p) {
		size += n
	}
	return size
}

// BankBytes returns what the methods need of each bank; of the arena if it is not divided.
func BankBytes(p *native.Program) []int64 {
	sizes := make([]int64, max(1, len(p.Banks)))
	for _, m := range p.Methods {
		if m.Plan == nil {
			continue
		}
		for k, mem := range m.Plan.Memories {
			sizes[k] = max(sizes[k], mem.Size)
		}
	}
	return sizes
}

// ArenaAlign returns what the arenas of all methods must be aligned to, at
// least 1.
func ArenaAlign(p *native.Program) int64 {
	align := int64(1)
	for _, m := range p.Methods {
		if m.Plan == nil {
			continue
		}
		for _, mem := range m.Plan.Memories {
			align = max(align, mem.Align)
		}
	}
	return align
}

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
			for _, b := range native.Operands(s) {
				note(b)
			}
		})
	}
	for _, s := range p.State {
		if _, uniform := Uniform(s.Const); !uniform {
			used[s.Const] = true
		}
	}
	for _, c := range p.Blobs() {
		used[c] = true
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
