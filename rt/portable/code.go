package portable

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
)

// code computes results from operands whose sizes are known.
type code interface {
	// run computes; bufs are the results' memory, then the operands'.
	run(bufs [][]byte) error
	// inPlace reports whether result out may be the very memory of operand in.
	inPlace(out, in int) bool
}

// compile makes the code of a call. constant gives the elements of operands
// that never change, in row-major order.
func (k *kernel) compile(c *ops.Call, o interp.Orders, constant func(int) ([]byte, bool)) (code, error) {
	if len(c.Scalars()) > 0 {
		return nil, fmt.Errorf("a number that is not known")
	}
	if len(c.Outs) == 1 && c.Outs[0].Kind == ir.TensorKind {
		in := tuned.Select(k.handMade, &tuned.Request{Call: c, Target: tuned.Target{Lang: "go", Name: "generic", Speed: true}, Const: constant})
		if in != nil {
			t, err := newTuned(c, in)
			if err != nil {
				return nil, err
			}
			return inOrder(c, o, t)
		}
	}
	ts, err := interp.Tensors(c)
	switch {
	case err != nil:
		return nil, err
	case ts != nil:
		f, err := interp.Loops(c, ts, o)
		if err != nil {
			return nil, err
		}
		return newLoops(f)
	case c.Op.Loops != nil:
		f, err := c.Op.Loops(c)
		if err != nil {
			return nil, err
		}
		l, err := newLoops(f)
		if err != nil {
			return nil, err
		}
		return inOrder(c, o, l)
	case c.Op.Decompose != nil:
		s, err := k.newSequence(c, constant)
		if err != nil {
			return nil, err
		}
		return inOrder(c, o, s)
	}
	return nil, fmt.Errorf("the operator has no kernel")
}

// loops is a function run by eval.
type loops struct {
	f      *loop.Func
	runner *eval.Runner
	bufs   [][]byte // results, operands, scratch
}

func newLoops(f *loop.Func) (*loops, error) {
	p, err := eval.Compile(f)
	if err != nil {
		return nil, err
	}
	l := &loops{f: f, runner: p.Runner(), bufs: make([][]byte, len(f.Bufs))}
	for i, b := range f.Bufs {
		if b.Role != loop.Scratch {
			continue
		}
		n, ok := b.Len.Const()
		if !ok {
			return nil, fmt.Errorf("the size %s of scratch is not known", b.Len)
		}
		l.bufs[i] = make([]byte, n*int64(b.DType.Size()))
	}
	return l, nil
}

func (l *loops) run(bufs [][]byte) error {
	copy(l.bufs, bufs)
	for i, b := range l.f.Bufs {
		if b.Role == loop.InOut && !overlap(bufs[i], bufs[b.Init]) {
			copy(bufs[i], bufs[b.Init])
		}
	}
	return l.runner.Run(l.bufs, nil, nil)
}

func (l *loops) inPlace(out, in int) bool {
	in += l.outs()
	if b := l.f.Bufs[out]; b.Role == loop.InOut {
		return b.Init == in && !l.reads(in) || !l.reads(in) && !l.copied(in)
	}
	return schedule.InPlace(l.f, out, in) && !l.copied(in)
}

// outs counts the buffers that the function writes and the caller has.
func (l *loops) outs() int {
	n := 0
	for _, b := range l.f.Bufs {
		if b.Role == loop.Out || b.Role == loop.InOut {
			n++
		}
	}
	return n
}

// copied reports whether a result starts as a copy of buffer k.
func (l *loops) copied(k int) bool {
	for _, b := range l.f.Bufs {
		if b.Role == loop.InOut && b.Init == k {
			return true
		}
	}
	return false
}

// reads reports whether the function loads from buffer k.
func (l *loops) reads(k int) bool {
	found := false
	loop.Walk(l.f.Body, func(s loop.Stmt) {
		loop.Exprs(s, func(e *expr.Expr) {
			for _, b := range expr.Loads(e) {
				found = found || b == k
			}
		})
	})
	return found
}

// reorder copies a tensor from one order of dimensions in memory to another;
// nil is row-major.
func reorder(t ir.Type, from, to []int) (*loops, error) {
	sizes, coords := make([]sym.Expr, len(t.Sizes)), make([]sym.Expr, len(t.Sizes))
	vars := make([]*sym.Symbol, len(t.Sizes))
	for d, s := range t.Sizes {
		vars[d] = sym.NewVar(fmt.Sprintf("i%d", d), s)
	}
	at := func(order []int, i int) int {
		if order == nil {
			return i
		}
		return order[i]
	}
	placed := make([]*sym.Symbol, len(vars))
	for i := range vars {
		sizes[i], coords[i] = t.Sizes[at(from, i)], vars[at(from, i)].Expr()
		placed[i] = vars[at(to, i)]
	}
	body := expr.At(0, t.DType, coords...)
	f, err := schedule.Build("reorder", []expr.Tensor{{DType: t.DType, Vars: placed, Body: body}},
		[]schedule.OperandInfo{{DType: t.DType, Sizes: sizes}}, schedule.Options{})
	if err != nil {
		return nil, err
	}
	return newLoops(f)
}

// reordered returns data, a tensor in an order of dimensions, in row-major
// order.
func reordered(t ir.Type, order []int, data []byte) ([]byte, error) {
	l, err := reorder(t, order, nil)
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(data))
	return out, l.run([][]byte{out, data})
}

// ordered runs code that knows only row-major tensors on tensors in other
// orders, by way of copies.
type ordered struct {
	code
	outs   int
	moves  []*loops // of results and operands, nil if they are row-major
	copies [][]byte
	bufs   [][]byte
}

// inOrder returns x for tensors in the orders o.
func inOrder(c *ops.Call, o interp.Orders, x code) (code, error) {
	w := &ordered{code: x, outs: len(c.Outs)}
	any := false
	add := func(t ir.Type, order []int, result bool) error {
		var move *loops
		var room []byte
		if order != nil {
			from, to := order, []int(nil)
			if result {
				from, to = nil, order
			}
			var err error
			if move, err = reorder(t, from, to); err != nil {
				return err
			}
			n, _ := t.Bytes().Const()
			room = make([]byte, n)
			any = true
		}
		w.moves, w.copies = append(w.moves, move), append(w.copies, room)
		return nil
	}
	for i, t := range c.Outs {
		if err := add(t, order(o.Outs, i), true); err != nil {
			return nil, err
		}
	}
	for k, v := range c.Operands() {
		if err := add(v.Type, order(o.Operands, k), false); err != nil {
			return nil, err
		}
	}
	if !any {
		return x, nil
	}
	w.bufs = make([][]byte, len(w.moves))
	return w, nil
}

func order(list [][]int, i int) []int {
	if list == nil {
		return nil
	}
	return list[i]
}

func (w *ordered) run(bufs [][]byte) error {
	copy(w.bufs, bufs)
	for i, move := range w.moves {
		if move == nil {
			continue
		}
		w.bufs[i] = w.copies[i]
		if i >= w.outs {
			if err := move.run([][]byte{w.copies[i], bufs[i]}); err != nil {
				return err
			}
		}
	}
	if err := w.code.run(w.bufs); err != nil {
		return err
	}
	for i, move := range w.moves[:w.outs] {
		if move != nil {
			if err := move.run([][]byte{bufs[i], w.copies[i]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// inPlace is as the code's own where nothing is copied; a copied operand is
// read before any result is written, and a copied result written after all
// operands are read.
func (w *ordered) inPlace(out, in int) bool {
	return w.moves[out] != nil || w.moves[w.outs+in] != nil || w.code.inPlace(out, in)
}
