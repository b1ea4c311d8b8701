package portable

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/rt"
)

// assertion is the code of an operator that has no result but a condition.
type assertion struct {
	holds   *loops
	bufs    [][]byte // the condition's truth, then operands
	message string
}

func (k *kernel) newAssertion(c *ops.Call) (*assertion, error) {
	e, err := c.Op.ScalarOp(c)
	if err != nil {
		return nil, err
	}
	truth := *c
	truth.Outs = []ir.Type{ir.TensorOf(ir.Bool)}
	f, err := interp.Loops(&truth, []expr.Tensor{{DType: ir.Bool, Body: e}}, interp.Orders{})
	if err != nil {
		return nil, err
	}
	l, err := newLoops(f, k.reserve)
	if err != nil {
		return nil, err
	}
	a := &assertion{holds: l, bufs: make([][]byte, 1+len(c.Operands())),
		message: "an assertion does not hold"}
	a.bufs[0] = make([]byte, ir.Bool.Size())
	if c.Has("assert_msg") {
		a.message = c.Str("assert_msg")
	}
	return a, nil
}

func (a *assertion) run(bufs [][]byte, done <-chan struct{}) error {
	copy(a.bufs[1:], bufs)
	if err := a.holds.run(a.bufs, done); err != nil {
		return err
	}
	if a.bufs[0][0] == 0 {
		return fmt.Errorf("%w: %s", rt.ErrInvalidArgument, a.message)
	}
	return nil
}

// inPlace: there are no results.
func (a *assertion) inPlace(_, _ int) bool { return true }
