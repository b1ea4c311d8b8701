package gofunc

import (
	"fmt"

	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/tuned"
)

// A kernel says that results are there by its epilogue only: that is where a
// call looks whether it is to end, and it ends by a panic of its own.

// worthStopping is how many multiply-accumulates a call has at least to look: it
// takes a few milliseconds. pollEvery is how many it does before it looks again.
const (
	worthStopping = 1 << 27
	pollEvery     = 1 << 22
)

// Call calls a kernel's function on the memory of its buffers, and can be stopped. It is for
// one goroutine.
type Call struct {
	f       Function
	slots   []tuned.Slot
	added   int         // which operand of the epilogue the function adds, -1 if none
	bufs    [][]float32 // as the function takes them
	aligned [][]float32 // for buffers that are not aligned

	each  int64 // multiply-accumulates for a result
	long  bool
	left  int64
	done  <-chan struct{}
	given Epilogue // a function's that is not known is allocated if it is a variable
	next  EpilogueFunc
	watch EpilogueFunc
}

// stopped is what a call that is to end panics with.
type stopped struct{}

// NewCall returns a call of an instance for at most so many results and inputs. If it has no
// multiply-accumulates, as pooling, a result may be made of any number of the inputs.
func NewCall(in *tuned.Instance, added int, results, inputs int64) (*Call, error) {
	slots := in.Slots()
	f, ok := Lookup(in.Kernel.Go, slots)
	if !ok {
		return nil, fmt.Errorf("there is no Go function %q of tuned kernel %s", in.Kernel.Go,
			in.Kernel.Name)
	}
	_, macs := in.MACs.Bounds()
	each := float64(macs) / float64(max(results, 1))
	if macs == 0 {
		each = float64(inputs)
	}
	c := &Call{f: f, slots: slots, added: added, aligned: make([][]float32, len(slots)),
		long: each*float64(results) >= worthStopping,
		each: int64(min(max(each, 1), worthStopping))}
	c.watch = func(run []float32, o, ch int) {
		if c.left -= c.each * int64(len(run)); c.left < 0 {
			c.left = pollEvery
			select {
			case <-c.done:
				panic(stopped{})
			default:
			}
		}
		if c.next != nil {
			c.next(run, o, ch)
		}
	}
	return c, nil
}

// Run calls the function with the memory of the buffers in the order of tuned.Instance.Slots.
// It returns eval.ErrStopped if done is closed before it has ended: soon after that, what is
// computed for a run of results being finished.
func (c *Call) Run(done <-chan struct{}, memory [][]byte, p []int, f Epilogue) error {
	c.given, c.bufs = f, c.bufs[:0]
	var shared bool
	for i, s := range c.slots {
		if s.Kind == tuned.Extra && s.Index != c.added {
			continue
		}
		x, same := eval.Floats(memory[i], &c.aligned[i])
		switch s.Kind {
		case tuned.Extra:
			c.given.Add = x
			continue
		case tuned.Result:
			shared = same
		}
		c.bufs = append(c.bufs, x)
	}
	if !c.long || done == nil {
		c.f(c.bufs, p, &c.given)
	} else if !c.watched(done, p) {
		return eval.ErrStopped
	}
	if !shared {
		eval.PutFloats(memory[0], c.bufs[0])
	}
	return nil
}

func (c *Call) watched(done <-chan struct{}, p []int) (finished bool) {
	defer func() {
		c.done, c.next = nil, nil
		r := recover()
		if _, own := r.(stopped); r != nil && !own {
			panic(r)
		}
	}()
	c.done, c.next, c.left = done, c.given.EpilogueFunc, 0
	c.given.EpilogueFunc = c.watch
	c.f(c.bufs, p, &c.given)
	return true
}
