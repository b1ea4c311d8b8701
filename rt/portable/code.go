package portable

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
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
		if in, want := k.handMadeFor(c, constant); in != nil {
			t, err := newTuned(c, in)
			if err != nil {
				return nil, err
			}
			return inOrder(c, o, want, t)
		}
	}
	if l := k.cache.known(c, o); l != nil {
		return l, nil
	}
	ts, err := interp.Tensors(c)
	switch {
	case err != nil:
		return nil, err
	case ts != nil:
		return k.cache.loops(c, o, func() (*loop.Func, error) { return interp.Loops(c, ts, o) })
	case c.Op.Loops != nil:
		l, err := k.cache.loops(c, interp.Orders{}, func() (*loop.Func, error) { return c.Op.Loops(c) })
		if err != nil {
			return nil, err
		}
		return inOrder(c, o, interp.Orders{}, l)
	case c.Op.Decompose != nil:
		s, err := k.newSequence(c, constant)
		if err != nil {
			return nil, err
		}
		return inOrder(c, o, interp.Orders{}, s)
	}
	return nil, fmt.Errorf("the operator has no kernel")
}
