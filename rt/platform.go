package rt

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Platform is what the runtime needs of the system besides memory. One may be
// used by several goroutines at once.
type Platform interface {
	// Now returns nanoseconds since some fixed moment.
	Now() int64
	// Log takes a message of one line, or of several with the stack of a panic.
	Log(level LogLevel, message string)
}

// LogLevel is how important a message is.
type LogLevel uint8

// The levels of messages.
const (
	LogDebug LogLevel = iota
	LogInfo
	LogError
)

// String returns the level's name, as "error".
func (l LogLevel) String() string {
	switch l {
	case LogDebug:
		return "debug"
	case LogInfo:
		return "info"
	}
	return "error"
}

// SystemPlatform is the default Platform: the system's clock, and a log of the
// messages of Level and above.
type SystemPlatform struct {
	Level LogLevel
	Sink  io.Writer // nil drops messages
}

// DefaultPlatform writes errors to standard error.
func DefaultPlatform() Platform { return &SystemPlatform{Level: LogError, Sink: os.Stderr} }

// epoch is where SystemPlatform counts from.
var epoch = time.Now()

// Now returns the nanoseconds since the program began, by the monotonic clock.
func (p *SystemPlatform) Now() int64 { return int64(time.Since(epoch)) }

// Log writes the message with its level.
func (p *SystemPlatform) Log(level LogLevel, message string) {
	if p.Sink != nil && level >= p.Level {
		fmt.Fprintf(p.Sink, "rt: %v: %s\n", level, message) // a log that fails has nobody to tell
	}
}

// EventTracer is told when instructions begin and end, and what delegates tell of themselves
// between. It is called by the goroutine that executes the method.
type EventTracer interface {
	Begin(*Event)
	End(*Event, error)
}

// ValueTracer is an EventTracer that may read the values of events. If ReadsValues is true when a
// method is loaded, its kernels compute what nothing else reads, too, and delegates may tell what
// their parts give.
type ValueTracer interface {
	EventTracer
	ReadsValues() bool
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
	// Delegate is the delegate debug id of an event of a delegate's own, which lies within that of
	// its call; "" of all others. Op begins with the backend's name then.
	Delegate string
	// Values are what a kernel writes to, all arguments of a delegate, or what a part of a delegate
	// gave that tells; nil of others, and of steps of an Executor. At End they have what was
	// computed.
	Values []*EValue
}

// Profile is an EventTracer that sums up the time that each operator takes. That of a delegate
// has the delegate's own events in it. It is used by one method at a time.
type Profile struct {
	clock Platform
	began []int64 // of the events around, the innermost last
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
func (p *Profile) Begin(*Event) { p.began = append(p.began, p.clock.Now()) }

// End implements EventTracer.
func (p *Profile) End(e *Event, _ error) {
	last := len(p.began) - 1
	took := p.clock.Now() - p.began[last]
	p.began = p.began[:last]
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
