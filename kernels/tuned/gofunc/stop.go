package gofunc

import (
	"fmt"

	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/strip"
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
	f     Function
	bufs  [][]float32 // as the function takes them: the result, …
	given []memory    // what runs set of them, the result first
	// What the function adds, and rescales by; from is -1 if there is none.
	add, shift, scale memory
	tables            [2][]float32 // shifts and scales again and again

	each     int64 // multiply-accumulates for a result
	long     bool
	left     int64
	done     <-chan struct{}
	epilogue Epilogue // a function's that is not known is allocated if it is a variable
	next     EpilogueFunc
	watch    EpilogueFunc
}

// memory is of a run: number from of what it is given is buffer to of the function.
type memory struct {
	from, to int
	aligned  []float32 // if the memory is not
}

// rescale rescales results, whose channels lie innermost.
func (c *Call) rescale() {
	e, y := &c.epilogue, c.bufs[0]
	n := len(e.Scale) * max(strip.Size/len(e.Scale), 1)
	if c.tables[0] == nil {
		c.tables = [2][]float32{make([]float32, n), make([]float32, n)}
	}
	strip.Repeat(c.tables[0], e.Shift[:len(e.Scale)])
	strip.Repeat(c.tables[1], e.Scale)
	for ; len(y) > 0; y = y[min(n, len(y)):] {
		part := y[:min(n, len(y))]
		strip.Rescale(part, part, c.tables[0], c.tables[1], 0, e.Least, e.Most, -e.Plus)
	}
}

// floats are those of a run, nil if there are none.
func (m *memory) floats(bufs [][]byte) []float32 {
	if m.from < 0 {
		return nil
	}
	x, _ := eval.Floats(bufs[m.from], &m.aligned)
	return x
}

// stopped is what a call that is to end panics with.
type stopped struct{}

// NewCall returns a call of an instance for at most so many results and inputs. If it has no
// multiply-accumulates, as pooling, a result may be made of any number of the inputs. fixed
// are the buffers in the order of tuned.Instance.Slots, nil where each run gives another.
func NewCall(in *tuned.Instance, fixed [][]byte, read Extras,
	results, inputs int64) (*Call, error) {
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
	none := memory{from: -1}
	c := &Call{f: f, add: none, shift: none, scale: none, long: each*float64(results) >= worthStopping,
		each: int64(min(max(each, 1), worthStopping))}
	for i, s := range slots {
		if s.Kind == tuned.Extra {
			switch s.Index {
			case read.Add:
				c.add.from = i
			case read.Shift:
				c.shift.from = i
			case read.Scale:
				c.scale.from = i
			}
			continue
		}
		var x []float32
		if i < len(fixed) && fixed[i] != nil {
			x, _ = eval.Floats(fixed[i], &x)
		} else {
			c.given = append(c.given, memory{from: i, to: len(c.bufs)})
		}
		c.bufs = append(c.bufs, x)
	}
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
func (c *Call) Run(done <-chan struct{}, bufs [][]byte, p []int, f *Epilogue) error {
	c.epilogue = *f
	e := &c.epilogue
	e.Add, e.Shift, e.Scale = c.add.floats(bufs), c.shift.floats(bufs), c.scale.floats(bufs)
	var shared bool // the result is where it belongs
	for i := len(c.given) - 1; i >= 0; i-- {
		g := &c.given[i]
		c.bufs[g.to], shared = eval.Floats(bufs[g.from], &g.aligned)
	}
	if !c.long || done == nil {
		c.f(c.bufs, p, &c.epilogue)
	} else if !c.watched(done, p) {
		return eval.ErrStopped
	}
	if len(e.Scale) > 0 && !e.Rescaled {
		c.rescale()
	}
	if !shared {
		eval.PutFloats(bufs[0], c.bufs[0])
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
	c.done, c.next, c.left = done, c.epilogue.EpilogueFunc, 0
	c.epilogue.EpilogueFunc = c.watch
	c.f(c.bufs, p, &c.epilogue)
	return true
}
