package native

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// later reports whether v is an input whose elements are constant but not
// known yet.
func (b *builder) later(v *ir.Value) bool {
	mutable, input := b.mutable[v]
	return b.opt.Later != nil && v.Const == nil && input && !mutable && b.opt.Later(v)
}

// packedLater returns the buffer of an operand that the caller packs.
func (b *builder) packedLater(c *ops.Call, p tuned.Packed) *Buffer {
	n := int64(p.Panels.Len())
	packing := &Packing{Panels: *p.Panels}
	name := "zero_" + p.Name
	if p.From != nil {
		of := c.Operands()[p.From[0]].Name
		packing.Of, name = foreign.Of(of), of+"_packed"
	}
	if b.ports == nil {
		b.ports = newTaken()
		for _, port := range b.m.Inputs {
			b.ports.names[port.Name.Identifier()] = true
		}
	}
	name = b.ports.unique(identifier(name))
	port := Port{Name: foreign.Of(name), Type: ir.StaticTensor(p.DType, n), Packs: packing}
	port.Buf = &Buffer{Name: name, DType: p.DType, Sizes: ir.Ints([]int64{n}), Len: sym.Int(n),
		MaxLen: n, Storage: Input}
	b.m.Inputs = append(b.m.Inputs, port)
	return port.Buf
}

// dropPacked leaves out the inputs of which nothing but packed operands is
// read.
func (b *builder) dropPacked() {
	packed := map[foreign.Text]bool{}
	for _, p := range b.m.Inputs {
		if p.Packs != nil {
			packed[p.Packs.Of] = true
		}
	}
	if len(packed) == 0 {
		return
	}
	read := map[*Buffer]bool{}
	for _, s := range b.m.Body {
		eachAccess(s, func(a access) { read[Root(*a.buf)] = true })
	}
	for _, p := range b.m.Outputs {
		read[p.Buf] = true
	}
	b.m.Inputs = slices.DeleteFunc(b.m.Inputs, func(p Port) bool {
		return packed[p.Name] && p.Packs == nil && !read[p.Buf]
	})
}

// shapeInts returns the numbers of s in the order of the text form.
func shapeInts(s *panels.Shape) []*int {
	return []*int{&s.Groups, &s.N, &s.A, &s.B, &s.C, &s.Cols, &s.Last, &s.Group, &s.Column,
		&s.StepA, &s.StepB, &s.StepC}
}
