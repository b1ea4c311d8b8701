package optimize

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
)

// tunedKernel is a hand-made kernel and what follows on its results. An epilogue
// that is no more than bounds is the kernel's own; another is a loop over all
// results: runs are too short to make up for what a call of interpreted loops
// takes.
type tunedKernel struct {
	bounds    tuned.Bounds
	rescaling *tuned.Rescaling // nil if there is none; the rest is the epilogue
	// buffers: the result, the result again, what it adds; nil if there is none
	epilogue *eval.Program
	syms     []*sym.Symbol // of epilogue
}

// newTuned prepares a kernel whose calls have n results.
func newTuned(k *native.Kernel, n sym.Expr) *tunedKernel {
	t := &tunedKernel{bounds: tuned.Unbounded()}
	in, e := k.Tuned, k.Tuned.Epilogue
	if e == nil || e.Body.Op == expr.OpLocal && e.Body.Var == e.Acc {
		return t
	}
	if in.Kernel.Bounds {
		if b, ok := e.Bounds(); ok {
			t.bounds = b
			return t
		}
	}
	if r, ok := e.Rescaling(); ok && in.RunChannels {
		t.rescaling = &r
		if e = r.Rest; e == nil {
			return t
		}
	}
	f := epilogueLoops(e, in.Channels, n)
	f.Name = k.Name
	t.syms = f.Syms
	t.epilogue = must.Get(eval.Compile(f))
	return t
}

// epilogueLoops returns an epilogue as loops over all n results. If it reads
// operands by channel, the loops are over batches, channels and what is inside of
// a channel, so that all of them run in chunks.
func epilogueLoops(e *tuned.Epilogue, ch tuned.Channels, n sym.Expr) *loop.Func {
	f := &loop.Func{Bufs: []loop.Buf{
		{Name: "y", DType: e.DType, Role: loop.Out, Len: n},
		{Name: "acc", DType: e.Acc.DType, Role: loop.In, Len: n},
	}}
	for i, d := range e.Extra {
		f.Bufs = append(f.Bufs, loop.Buf{Name: fmt.Sprintf("z%d", i), DType: d, Role: loop.In,
			Len: sym.Inf()})
	}
	var nest []*loop.For
	over := func(name string, extent sym.Expr) sym.Expr {
		v := sym.NewVar(name, extent)
		nest = append(nest, &loop.For{Var: v, Extent: extent})
		return v.Expr()
	}
	at, channel := sym.Expr{}, e.C.Expr()
	if e.Body.Uses(e.C) {
		outer := over("b", sym.FloorDiv(n, sym.Mul(ch.Count, ch.Inner)))
		channel = over("c", ch.Count)
		at = sym.Add(sym.Mul(outer, ch.Count), channel)
		if !ch.Inner.Is(1) {
			at = sym.Add(sym.Mul(at, ch.Inner), over("i", ch.Inner))
		}
	} else {
		at = over("o", n)
	}
	value := expr.SubstIndex(expr.ShiftLoads(e.Body, 2), expr.Subst{e.O: at, e.C: channel})
	body := []loop.Stmt{
		&loop.Let{Var: e.Acc, Value: expr.At(1, e.Acc.DType, at)},
		&loop.Store{Buf: 0, At: at, Value: value},
	}
	for i := len(nest) - 1; i >= 0; i-- {
		nest[i].Body = body
		nest[i].Vectorizable = i == len(nest)-1
		body = []loop.Stmt{nest[i]}
	}
	f.Body = body
	f.Syms = f.Free()
	return f
}

// constant returns the value of a constant expression.
func constant(e *expr.Expr) eval.Value {
	if e.DType == ir.Bool || e.DType.IsInt() {
		return eval.Value{I: e.Int}
	}
	return eval.Value{F: e.Float}
}
