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
	// run computes; bufs are the results' memory, then the operands'. It ends
	// with eval.ErrStopped soon after done is closed.
	run(bufs [][]byte, done <-chan struct{}) error
	// inPlace reports whether result out may be the very memory of operand in.
	inPlace(out, in int) bool
}

// compile makes the code of a call, which computes all results or, if only is not
// nil, those numbered, of an operator that computes them by expressions. constant
// gives the elements of operands that never change, in row-major order.
func (k *kernel) compile(c *ops.Call, only []int, o interp.Orders,
	constant func(int) ([]byte, bool)) (code, error) {
	if len(c.Scalars()) > 0 {
		return nil, fmt.Errorf("a number that is not known")
	}
	part := c
	if only != nil {
		part = partOf(c, only)
	}
	if len(part.Outs) == 1 && part.Outs[0].Kind == ir.TensorKind && (only == nil || only[0] == 0) {
		if in, want := k.handMadeFor(part, constant); in != nil {
			t, err := k.newTuned(part, in)
			if err != nil {
				return nil, err
			}
			return k.inOrder(part, o, want, t)
		}
	}
	if l, err := k.knownLoops(part, only, o); l != nil || err != nil {
		return l, err
	}
	ts, err := interp.Tensors(c)
	switch {
	case err != nil:
		return nil, err
	case ts != nil:
		if only != nil {
			ts = pick(ts, only)
		}
		return k.loops(part, only, o, func() (*loop.Func, error) { return interp.Loops(c, ts, o) })
	case c.Op.Loops != nil:
		l, err := k.loops(c, nil, interp.Orders{}, func() (*loop.Func, error) {
			return c.Op.Loops(c)
		})
		if err != nil {
			return nil, err
		}
		return k.inOrder(c, o, interp.Orders{}, l)
	case c.Op.Decompose != nil:
		s, err := k.newSequence(c, constant)
		if err != nil {
			return nil, err
		}
		return k.inOrder(c, o, interp.Orders{}, s)
	case c.Op.Effect:
		return k.newAssertion(c)
	}
	return nil, fmt.Errorf("the operator has no kernel")
}

// partOf returns c with some of its results.
func partOf(c *ops.Call, only []int) *ops.Call {
	part := *c
	part.Outs = pick(c.Outs, only)
	return &part
}

func pick[T any](xs []T, only []int) []T {
	var out []T
	for _, i := range only {
		out = append(out, xs[i])
	}
	return out
}
