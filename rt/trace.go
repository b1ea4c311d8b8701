package rt

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"
)

// EventTracer is told when instructions begin and end. It is called by the
// goroutine that executes the method.
type EventTracer interface {
	Begin(*Event)
	End(*Event, error)
}

// Event is an instruction that executes. The same Event is passed every time
// the instruction does.
type Event struct {
	Method             string
	Chain, Instruction int
	// Op is the operator, "aten::add.out", or else the kind of instruction:
	// "MoveCall", "JumpFalseCall", "FreeCall", "DelegateCall XnnpackBackend". An
	// Executor that replaces the instructions names its own steps.
	Op string
	// DebugHandle is what ExecuTorch's tools know the instruction by: its index
	// in the chain. -1 if there is none.
	DebugHandle int
}

// Profile is an EventTracer that sums up the time that each operator takes. It
// is used by one method at a time.
type Profile struct {
	clock Platform
	began int64
	sums  map[string]*OpTime
}

// OpTime is the time that the calls of an operator took together.
type OpTime struct {
	Op    string
	Calls int64
	Time  time.Duration
}

// NewProfile returns a profile by the clock of p; nil is that of
// DefaultPlatform.
func NewProfile(p Platform) *Profile {
	if p == nil {
		p = DefaultPlatform()
	}
	return &Profile{clock: p, sums: map[string]*OpTime{}}
}

// Begin implements EventTracer.
func (p *Profile) Begin(*Event) { p.began = p.clock.Now() }

// End implements EventTracer.
func (p *Profile) End(e *Event, _ error) {
	took := p.clock.Now() - p.began
	sum := p.sums[e.Op]
	if sum == nil {
		sum = &OpTime{Op: e.Op}
		p.sums[e.Op] = sum
	}
	sum.Calls++
	sum.Time += time.Duration(took)
}

// Ops returns the operators, the one that took the longest first.
func (p *Profile) Ops() []OpTime {
	ops := make([]OpTime, 0, len(p.sums))
	for _, sum := range p.sums {
		ops = append(ops, *sum)
	}
	slices.SortFunc(ops, func(a, b OpTime) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Op, b.Op))
	})
	return ops
}

// WriteTo writes a table of Ops.
func (p *Profile) WriteTo(w io.Writer) (int64, error) {
	var written int64
	for _, op := range p.Ops() {
		n, err := fmt.Fprintf(w, "%12v %8d × %s\n", op.Time, op.Calls, op.Op)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
