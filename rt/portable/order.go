package portable

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/schedule"
)

// reorder copies a tensor from one order of dimensions in memory to another;
// nil is row-major.
func (c *cache) reorder(t ir.Type, from, to []int) *loops {
	key := fmt.Sprint("reorder ", t.DType, t.Sizes, from, to)
	p := c.known(key)
	if p == nil {
		p = newProgram(reordering(t, from, to))
		c.add(key, p)
	}
	return p.loops(unlimited)
}

func reordering(t ir.Type, from, to []int) *loop.Func {
	vars := expr.Over(t.Sizes)
	return must.Get(schedule.Build("reorder", []expr.Tensor{{DType: t.DType,
		Vars: schedule.InOrder(to, vars), Body: expr.At(0, t.DType, expr.Coords(vars)...)}},
		[]schedule.OperandInfo{{DType: t.DType, Sizes: t.Sizes, Order: from}}, schedule.Options{}))
}

// reordered returns data, a tensor in an order of dimensions, in row-major
// order.
func (c *cache) reordered(t ir.Type, order []int, data []byte) []byte {
	l := c.reorder(t, order, nil)
	out := make([]byte, len(data))
	must.Check(l.run([][]byte{out, data}, nil))
	return out
}

// ordered runs code that wants tensors in certain orders on tensors in others, by
// way of copies.
type ordered struct {
	code
	outs   int
	moves  []*loops // of results and operands, nil if they lie as the code wants
	copies [][]byte
	bufs   [][]byte
}

// inOrder returns x, which wants tensors in the orders want, for tensors in the
// orders have.
func (k *kernel) inOrder(c *ops.Call, have, want interp.Orders, x code) code {
	w := &ordered{code: x, outs: len(c.Outs)}
	any := false
	add := func(t ir.Type, from, to []int) {
		var move *loops
		var memory []byte
		if !slices.Equal(from, to) {
			move = k.cache.reorder(t, from, to)
			n, _ := t.Numel().Const()
			memory = allocate(n, t.DType, k.reserve)
			any = true
		}
		w.moves, w.copies = append(w.moves, move), append(w.copies, memory)
	}
	for i, t := range c.Outs {
		add(t, want.Out(i), have.Out(i))
	}
	for k, v := range c.Operands() {
		add(v.Type, have.Operand(k), want.Operand(k))
	}
	if !any {
		return x
	}
	w.bufs = make([][]byte, len(w.moves))
	return w
}

func (w *ordered) run(bufs [][]byte, done <-chan struct{}) error {
	copy(w.bufs, bufs)
	for i, move := range w.moves {
		if move == nil {
			continue
		}
		w.bufs[i] = w.copies[i]
		if i >= w.outs {
			if err := move.run([][]byte{w.copies[i], bufs[i]}, done); err != nil {
				return err
			}
		}
	}
	if err := w.code.run(w.bufs, done); err != nil {
		return err
	}
	for i, move := range w.moves[:w.outs] {
		if move != nil {
			if err := move.run([][]byte{bufs[i], w.copies[i]}, done); err != nil {
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
