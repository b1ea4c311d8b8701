package native

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
)

// copy emits a copy between dense buffers of equal length.
func (b *builder) copy(dst, src *Buffer, from []Origin) {
	if dst == src {
		return
	}
	b.emit(&Call{Kernel: copyKernel(dst.DType, dst.Len), Args: []*Buffer{dst, src}, From: from})
}

// initialise gives dst the value v, which may be a constant without memory.
func (b *builder) initialise(dst *Buffer, v *ir.Value, from []Origin) error {
	t, ok := b.uniform(v)
	if !ok {
		b.copy(dst, b.buffer(v), from)
		return nil
	}
	fn, err := schedule.Build("fill", []expr.Tensor{t}, nil, schedule.Options{})
	if err != nil {
		return err
	}
	b.emit(&Call{Kernel: &Kernel{Name: "fill", Loop: fn, Doc: "fill"}, Args: []*Buffer{dst}, From: from})
	return nil
}

// copyKernel returns a kernel that copies n elements.
func copyKernel(d ir.DType, n sym.Expr) *Kernel {
	store := func(at sym.Expr) loop.Stmt {
		return &loop.Store{Buf: 0, At: at, Value: expr.At(1, d, at)}
	}
	body := []loop.Stmt{store(sym.Int(0))}
	if !n.Is(1) {
		i := sym.NewVar("i", n)
		body = []loop.Stmt{&loop.For{Var: i, Extent: n, Strip: true, Body: []loop.Stmt{store(i.Expr())}}}
	}
	fn := &loop.Func{Name: "copy", Syms: n.Symbols(), Bufs: []loop.Buf{
		{Name: "out", DType: d, Role: loop.Out, Len: n}, {Name: "in", DType: d, Role: loop.In, Len: n}},

		Body: body}
	return &Kernel{Name: "copy", Loop: fn, Doc: "copy", Copy: true}
}

// isCopy reports whether c is one of copyKernel's.
func isCopy(s Stmt) (*Call, bool) {
	c, ok := s.(*Call)
	return c, ok && c.Kernel.Copy
}
