package way

import (
	"context"
	"errors"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
)

// What the interpreter holds no more, as values of the last iteration of a loop,
// does not count.
func TestReserve(t *testing.T) {
	const size = 1 << 10
	machine := interp.New(ops.Standard())
	reserve := reserve(machine, 3*size)
	set := func(v *ir.Value) error {
		if err := reserve(size); err != nil {
			return err
		}
		machine.Set(v, interp.Tensor(ir.Uint8, []int64{size}, make([]byte, size)))
		return nil
	}
	a, b, c := &ir.Value{Name: "a"}, &ir.Value{Name: "b"}, &ir.Value{Name: "c"}
	for range 100 {
		for _, v := range []*ir.Value{a, b} { // the new b beside the old ones
			if err := set(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := set(c); err != nil {
		t.Fatal(err)
	}
	err := set(&ir.Value{Name: "d"})
	if at, ok := errors.AsType[*MemoryError](err); !ok || at.Need != 4*size || at.Limit != 3*size {
		t.Errorf("the fourth: %v", err)
	}
}

// A call that its context ends tells so, on every way that runs in this process.
func TestEnded(t *testing.T) {
	for _, w := range []Way{Reference{}, RT{}, RT{Optimize: true}, C{}, Go{}} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w.Run(ctx, []Job{caseJob(t, "lenet")}, func(_ int, r *Result) {
			if !errors.Is(r.Err, context.Canceled) {
				t.Errorf("%s: %v", w.Name(), r.Err)
			}
		})
	}
}
