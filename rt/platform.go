package rt

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/etgen/etgen/ir"
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

// Backend runs the parts of programs that were lowered to it. Programs name it,
// as "XnnpackBackend"; MethodOptions.Backends says which one that is.
type Backend interface {
	// Init prepares a delegate when a method is loaded.
	Init(*DelegateInit) (Delegate, error)
}

// DelegateInit is what a backend makes a delegate of.
type DelegateInit struct {
	Method    string
	Processed ir.Blob // what the backend's compiler wrote
	Specs     []ir.CompileSpec
	// Named finds data by name, in the program and in the data files given.
	Named func(key string) (ir.Blob, bool)
}

// Delegate is a part of a method. If it is an io.Closer too, Method.Close
// closes it.
type Delegate interface {
	// Execute reads and writes the tensors in args, which are inputs and
	// outputs in the order that the backend's compiler wrote. It is called by
	// one goroutine at a time.
	Execute(ctx context.Context, args []*EValue) error
}

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
