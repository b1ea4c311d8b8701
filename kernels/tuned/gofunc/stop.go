package gofunc

// A kernel says that results are there by its epilogue only: that is where a
// call looks whether it is to end, and it ends by a panic of its own.

// worthStopping is how many multiply-accumulates a call has at least to look: it
// takes a few milliseconds. pollEvery is how many it does before it looks again.
const (
	worthStopping = 1 << 27
	pollEvery     = 1 << 22
)

// Call is a function that can be stopped. It is for one goroutine.
type Call struct {
	f     Function
	each  int64 // multiply-accumulates for a result
	long  bool
	left  int64
	done  <-chan struct{}
	given Finish // a function's that is not known is allocated if it is a variable
	next  Epilogue
	watch Epilogue
}

// stopped is what a call that is to end panics with.
type stopped struct{}

// NewCall returns f for calls that have at most so many results, which take macs
// multiply-accumulates together. If those are 0, as of pooling, a result may be
// made of any number of the inputs.
func NewCall(f Function, macs, results, inputs int64) *Call {
	each := float64(macs) / float64(max(results, 1))
	if macs == 0 {
		each = float64(inputs)
	}
	c := &Call{f: f, long: each*float64(results) >= worthStopping,
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
	return c
}

// Run calls the function. It returns false if done is closed before it has
// ended: soon after that, what is computed for a run of results being finished.
func (c *Call) Run(done <-chan struct{}, b [][]float32, p []int, f Finish) (finished bool) {
	c.given = f
	if !c.long || done == nil {
		c.f(b, p, &c.given)
		return true
	}
	return c.watched(done, b, p)
}

func (c *Call) watched(done <-chan struct{}, b [][]float32, p []int) (finished bool) {
	defer func() {
		c.done, c.next = nil, nil
		r := recover()
		if _, own := r.(stopped); r != nil && !own {
			panic(r)
		}
	}()
	c.done, c.next, c.left = done, c.given.Epilogue, 0
	c.given.Epilogue = c.watch
	c.f(b, p, &c.given)
	return true
}
