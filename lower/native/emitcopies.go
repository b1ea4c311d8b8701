package native

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
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
	b.emit(&Call{Kernel: &Kernel{Name: "fill", Loop: fn, Doc: foreign.Of("fill")},
		Args: []*Buffer{dst}, From: from})
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
		body = []loop.Stmt{&loop.For{Var: i, Extent: n, Strip: true,
			Body: []loop.Stmt{store(i.Expr())}}}
	}
	fn := &loop.Func{Name: "copy", Syms: n.Symbols(), Bufs: []loop.Buf{
		{Name: "out", DType: d, Role: loop.Out, Len: n}, {Name: "in", DType: d,
			Role: loop.In, Len: n}},

		Body: body}
	return &Kernel{Name: "copy", Loop: fn, Doc: foreign.Of("copy"), Copy: true}
}

// isCopy reports whether c is one of copyKernel's.
func isCopy(s Stmt) (*Call, bool) {
	c, ok := s.(*Call)
	return c, ok && c.Kernel.Copy
}

// moveRun emits a call that stores a run of its operand's elements, as they lie,
// to a run of its result as a copy of the one to the other, and reports whether
// c is one: then the elements may be made where they belong.
func (b *builder) moveRun(c *Call) bool {
	fn := c.Kernel.Loop
	if len(c.Args) != 2 || len(c.Scalars) > 0 || fn.Bufs[0].Role != loop.InOut {
		return false
	}
	var vars []*sym.Symbol
	var extents []sym.Expr
	body := fn.Body
	for {
		if len(body) != 1 {
			return false
		}
		l, ok := body[0].(*loop.For)
		if !ok {
			break
		}
		vars, extents, body = append(vars, l.Var), append(extents, l.Extent), l.Body
	}
	st, ok := body[0].(*loop.Store)
	if !ok || st.Buf != 0 || st.Value.Op != expr.OpLoad || st.Value.Buf != 1 ||
		st.Value.DType != fn.Bufs[0].DType {
		return false
	}
	at := sym.RowMajor(extents, symExprs(vars))
	to, from := unitVars(sym.Sub(st.At, at), vars), unitVars(sym.Sub(st.Value.Coords[0], at), vars)
	if slices.ContainsFunc(vars, func(v *sym.Symbol) bool { return to.Uses(v) || from.Uses(v) }) {
		return false
	}
	b.copy(viewOf(c.Args[0], c.Args[0].Name+"_part", extents, to), viewOf(c.Args[1], c.Args[1].Name,
		extents, from), c.From)
	return true
}
