package native

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
)

// tuned emits the call of a tuned kernel.
func (b *builder) tuned(f *facts) error {
	in := f.instance
	out := f.node.Output(0)
	from := []Origin{originOf(f.node)}
	if f.epilogue != nil {
		out = f.epilogue.out
		for _, n := range f.epilogue.nodes {
			from = append(from, originOf(n))
		}
	}
	if !b.want[out] && !b.read[out] {
		return nil // nobody reads it
	}
	name := kernelName(from)
	c := &Call{Kernel: &Kernel{Name: name, Tuned: in, Doc: docOf(from)}, From: from}
	later := slices.ContainsFunc(in.Packed, func(p tuned.Packed) bool { return p.Data == nil })
	for _, s := range in.Slots() {
		var arg *Buffer
		switch s.Kind {
		case tuned.Result:
			arg = b.fresh(out)
		case tuned.Operand:
			arg = b.buffer(f.operands[s.Index])
		case tuned.PackedConstant:
			arg = b.packed(f.call, in.Packed[s.Index], later)
		case tuned.Extra:
			arg = b.buffer(f.operands[len(in.Operands)+s.Index])
		case tuned.Scratch:
			arg = b.tunedScratch(in.Scratch)
		}
		c.Args = append(c.Args, arg)
	}
	b.emit(c)
	return nil
}

// tunedScratch returns a buffer of n bytes.
func (b *builder) tunedScratch(n sym.Expr) *Buffer {
	d := ir.Uint8
	if !b.opt.Target.Language.RereadsBytes {
		d, n = ir.Float32, sym.CeilDiv(n, sym.Int(4))
	}
	return &Buffer{Name: "scratch", DType: d, Sizes: []sym.Expr{n}, Len: n, MaxLen: bound(n)}
}

// packed returns the buffer of a constant made by a tuned kernel's Match; of
// one some of whose constants are known later, the zeros are made then too.
func (b *builder) packed(c *ops.Call, p tuned.Packed, later bool) *Buffer {
	if p.Data == nil || later && p.From == nil && p.Panels != nil {
		return b.packedLater(c, p)
	}
	var from []string
	for _, k := range p.From {
		from = append(from, constName(c.Operands()[k]))
	}
	switch {
	case from == nil && p.Panels == nil:
		from = []string{p.Name}
	case from == nil:
		from = []string{"zero_" + p.Name}
	}
	n := sym.Int(int64(len(p.Data) / p.DType.Size()))
	return b.weight(strings.Join(from, "_"), p.DType, []sym.Expr{n}, p.Data)
}
