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
	bounds tuned.Bounds
	// buffers: the result, the result again, what it adds; nil if there is none
	epilogue *eval.Program
	syms     []*sym.Symbol // of epilogue
}

// newTuned prepares a kernel whose calls have n results.
func newTuned(k *native.Kernel, n sym.Expr) *tunedKernel {
	t := &tunedKernel{bounds: tuned.Unbounded()}
	t.addEpilogue(k.Name, k.Tuned, n)
	return t
}

// addEpilogue compiles the epilogue of a kernel for results of n elements.
func (t *tunedKernel) addEpilogue(name string, in *tuned.Instance, n sym.Expr) {
	e := in.Epilogue
	if e == nil || e.Body.Op == expr.OpLocal && e.Body.Var == e.Acc {
		return
	}
	if in.Kernel.Bounds {
		if b, ok := e.Bounds(); ok {
			t.bounds = b
			return
		}
	}
	f := epilogueLoops(e, in.Channels, n)
	f.Name = name
	t.syms = f.Syms
	t.epilogue = must.Get(eval.Compile(f))
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
	var at sym.Expr
	var nest []*loop.For
	over := func(name string, extent sym.Expr) sym.Expr {
		v := sym.NewVar(name, extent)
		nest = append(nest, &loop.For{Var: v, Extent: extent, Vectorizable: true})
		return v.Expr()
	}
	channel := e.C.Expr()
	if readsAt(e.Body, e.C) {
		outer := over("b", sym.FloorDiv(n, sym.Mul(ch.Count, ch.Inner)))
		if ch.Inner.Is(1) {
			channel = over("c", ch.Count)
			at = sym.Add(sym.Mul(outer, ch.Count), channel)
		} else {
			channel = over("c", ch.Count)
			at = sym.Add(sym.Mul(sym.Add(sym.Mul(outer, ch.Count), channel), ch.Inner),
				over("i", ch.Inner))
		}
	} else {
		at = over("o", n)
	}
	value := expr.SubstIndex(shifted(e.Body), expr.Subst{e.O: at, e.C: channel})
	body := []loop.Stmt{
		&loop.Let{Var: e.Acc, Value: expr.At(1, e.Acc.DType, at)},
		&loop.Store{Buf: 0, At: at, Value: value},
	}
	bound := map[*sym.Symbol]bool{}
	for i := len(nest) - 1; i >= 0; i-- {
		nest[i].Body = body
		nest[i].Vectorizable = i == len(nest)-1
		body = []loop.Stmt{nest[i]}
		bound[nest[i].Var] = true
	}
	f.Body = body
	f.Syms = freeSymbols(f.Body, bound)
	return f
}

// shifted returns the epilogue's body with the operands after result and sum.
func shifted(e *expr.Expr) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if e.Op != expr.OpLoad {
			return e
		}
		c := *e
		c.Buf += 2
		return &c
	})
}

// readsAt reports whether an index in e depends on s.
func readsAt(e *expr.Expr, s *sym.Symbol) bool {
	for _, x := range symbolsOf(e) {
		if x == s {
			return true
		}
	}
	return false
}

// symbolsOf returns the symbols of the indices in e.
func symbolsOf(e *expr.Expr) []*sym.Symbol {
	var list []*sym.Symbol
	seen := map[*sym.Symbol]bool{}
	expr.Walk(e, func(e *expr.Expr) {
		e.Indices(func(x sym.Expr) {
			for _, s := range x.Symbols() {
				if !seen[s] {
					seen[s] = true
					list = append(list, s)
				}
			}
		})
	})
	return list
}

// freeSymbols returns the symbols in body that are not bound.
func freeSymbols(body []loop.Stmt, bound map[*sym.Symbol]bool) []*sym.Symbol {
	var list []*sym.Symbol
	add := func(symbols []*sym.Symbol) {
		for _, s := range symbols {
			if !bound[s] {
				bound[s] = true
				list = append(list, s)
			}
		}
	}
	loop.Walk(body, func(s loop.Stmt) {
		loop.Indices(s, func(x sym.Expr) { add(x.Symbols()) })
	})
	return list
}

// constant returns the value of a constant expression.
func constant(e *expr.Expr) eval.Value {
	if e.DType == ir.Bool || e.DType.IsInt() {
		return eval.Value{I: e.Int}
	}
	return eval.Value{F: e.Float}
}
