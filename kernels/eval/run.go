// Package eval runs kernels in Go. Run executes the loop form with the exact
// arithmetic of every dtype: it folds constants in the compiler and is what
// generated code is compared with.
//
// Buffers are little-endian bytes of dense elements; Bool takes one byte.
package eval

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
)

// Program is a compiled function. It may run several times and in several
// goroutines at once.
type Program struct {
	f        *loop.Func
	body     block
	ints     int // slots of symbols, integer and Bool locals
	f64s     int
	f32s     int
	vectors  int   // between primitives
	symSlots []int // of f.Syms
}

// frame is the state of a run.
type frame struct {
	ints    []int64
	f64s    []float64
	f32s    []float32
	bufs    [][]byte
	lens    []int64 // elements
	scalars []Value
	vectors []any // slices of what vectors of their dtypes hold, made when needed

	left int64 // iterations until done is looked at
	done <-chan struct{}
	most *int64 // iterations that may still run; nil: any number
}

// pollEvery is how many iterations of loops run, those of loops inside counted
// too, before a run looks whether it is to end.
const pollEvery = 1 << 14

// spend counts n iterations that are going to run.
func (fr *frame) spend(n int64) {
	if fr.left -= n; fr.left < 0 {
		fr.poll()
	}
}

// poll ends the run if nobody waits for it any more.
func (fr *frame) poll() {
	if fr.most != nil {
		if *fr.most -= pollEvery - fr.left; *fr.most < 0 {
			must.Check(ErrStopped)
		}
	}
	fr.left = pollEvery
	must.Check(Stopped(fr.done))
}

// ErrStopped is the error of a run that was told to stop.
var ErrStopped = errors.New("stopped")

// Stopped returns ErrStopped if done is closed. A nil one never is.
func Stopped(done <-chan struct{}) error {
	select {
	case <-done:
		return ErrStopped
	default:
		return nil
	}
}

// Run compiles and runs f. bufs are its buffers, syms the values of its
// Syms, scalars those of its Scalars. Access outside of a buffer, division by
// zero and arguments that do not fit f are errors.
func Run(f *loop.Func, bufs [][]byte, syms []int64, scalars []Value) error {
	p, err := Compile(f)
	if err != nil {
		return err
	}
	return p.Run(bufs, syms, scalars)
}

// Run executes the program; see the function Run.
func (p *Program) Run(bufs [][]byte, syms []int64, scalars []Value) error {
	return p.Runner().Run(bufs, syms, scalars)
}

// Runner executes a program again and again in memory of its own, one run at a
// time: after the first it does not allocate.
type Runner struct {
	p    *Program
	fr   *frame
	bits []int // of buffers: bytes of an element, as a power of two
}

// Runner returns a new one.
func (p *Program) Runner() *Runner {
	r := &Runner{p: p, fr: p.frame()}
	for _, b := range p.f.Bufs {
		r.bits = append(r.bits, bits.TrailingZeros(uint(b.DType.Size())))
	}
	return r
}

// Until lets runs end with ErrStopped soon after done is closed: before a loop,
// those around it included, has gone through some ten thousand elements more. A
// nil one never is.
func (r *Runner) Until(done <-chan struct{}) { r.fr.done = done }

// Limit lets runs end with ErrStopped before many more than *most iterations of
// loops, those of loops inside counted too; *most becomes less by what runs.
func (r *Runner) Limit(most *int64) { r.fr.most = most }

// Run executes the program; see the function Run.
func (r *Runner) Run(bufs [][]byte, syms []int64, scalars []Value) error {
	f, fr := r.p.f, r.fr
	if len(bufs) != len(f.Bufs) || len(syms) != len(f.Syms) || len(scalars) != len(f.Scalars) {
		return fmt.Errorf("%s: got %d buffers, %d sizes and %d scalars, want %d, %d and %d",
			f.Name, len(bufs), len(syms), len(scalars), len(f.Bufs), len(f.Syms), len(f.Scalars))
	}
	fr.bufs, fr.scalars = bufs, scalars
	for i, s := range r.p.symSlots {
		fr.ints[s] = syms[i]
	}
	for i, b := range bufs {
		n := len(b) >> r.bits[i]
		if len(b) != n<<r.bits[i] {
			return fmt.Errorf("%s: buffer %s has %d bytes, no multiple of %d", f.Name,
				f.Bufs[i].Name, len(b), 1<<r.bits[i])
		}
		fr.lens[i] = int64(n)
	}
	if err := r.p.try(fr); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// try runs the body and returns with what it fails. A call of few elements takes as long
// as one more closure around this.
func (p *Program) try(fr *frame) (err error) {
	defer must.Catch(&err)
	p.body.run(fr)
	return nil
}

// block is a sequence of compiled statements.
type block []func(*frame) (broke bool)

// run executes the statements and reports whether a Break was met.
func (b block) run(fr *frame) bool {
	for _, s := range b {
		if s(fr) {
			return true
		}
	}
	return false
}

func newCompiler(f *loop.Func) *compiler {
	return &compiler{p: &Program{f: f}, syms: map[*sym.Symbol]int{}, vars: map[*expr.Var]int{},
		fns: map[*expr.Func]*function{}}
}

// Compile prepares f. It fails if f is not well formed.
func Compile(f *loop.Func) (*Program, error) {
	c := newCompiler(f)
	err := must.Try(func() {
		for _, s := range f.Syms {
			c.p.symSlots = append(c.p.symSlots, c.symbol(s))
		}
		c.p.body = c.block(schedule.Vectorize(f, reader))
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return c.p, nil
}

// frame returns the state of a run, without its arguments.
func (p *Program) frame() *frame {
	return &frame{
		ints: make([]int64, p.ints), f64s: make([]float64, p.f64s), f32s: make([]float32, p.f32s),
		lens: make([]int64, len(p.f.Bufs)), vectors: make([]any, p.vectors),
	}
}
