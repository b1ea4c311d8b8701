// Package etdump notes what methods do as ExecuTorch's runtime does, in the form that its Inspector
// and etgen profile read.
//
//	recorder := etdump.New(nil)
//	options := &rt.MethodOptions{Registry: registry, Tracer: recorder}
//	recorder.Load(func() (err error) {
//		method, err = program.LoadMethod("forward", options)
//		return err
//	})
//	recorder.Call(func() error { return method.Execute(ctx) })
//	recorder.WriteTo(file)
package etdump

import (
	"io"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir/etdump"
	"github.com/etgen/etgen/rt"
)

// Recorder is an [rt.EventTracer] of methods that run one after the other. Times are nanoseconds.
// Load and Call of a nil Recorder note nothing.
type Recorder struct {
	clock rt.Platform
	dump  etdump.Dump
	run   *etdump.Run
	began []uint64 // of the events that have not ended, the innermost last

	limit  int64  // of the debug buffer; 0: values are not kept
	buffer []byte // elements of tensors
	full   error  // what did not fit
}

// New returns a recorder by the clock of p; nil is that of [rt.DefaultPlatform].
func New(p rt.Platform) *Recorder {
	if p == nil {
		p = rt.DefaultPlatform()
	}
	return &Recorder{clock: p}
}

func (r *Recorder) now() uint64 { return uint64(r.clock.Now()) }

// Load runs f, which loads a method, as the run "Default". The error is that of f.
func (r *Recorder) Load(f func() error) error {
	return r.block("Default", "Program::load_method",
		f)
}

// Call runs f, which executes a method, as a run "Execute". The error is that of f.
func (r *Recorder) Call(f func() error) error { return r.block("Execute", "Method::execute", f) }

// block notes a run with an event of all of it.
func (r *Recorder) block(run, event string, f func() error) error {
	if r == nil {
		return f()
	}
	r.dump.Runs = append(r.dump.Runs, etdump.Run{Name: run, Input: -1})
	r.run = &r.dump.Runs[len(r.dump.Runs)-1]
	began := r.now()
	err := f()
	r.add(event, etdump.Origin{Chain: -1, Delegate: -1}, began, r.now())
	r.run = nil
	return err
}

func (r *Recorder) add(name string, at etdump.Origin, began, ended uint64) {
	r.run.Events = append(r.run.Events,
		&etdump.Profile{Name: name, Origin: at, Start: began, End: ended})
}

// Begin implements [rt.EventTracer].
func (r *Recorder) Begin(*rt.Event) { r.began = append(r.began, r.now()) }

// End implements [rt.EventTracer]. What happens outside of Call is not noted.
func (r *Recorder) End(e *rt.Event, err error) {
	ended := r.now()
	began := r.began[len(r.began)-1]
	if r.began = r.began[:len(r.began)-1]; r.run == nil {
		return
	}
	at := etdump.Origin{Chain: int64(e.Chain), Instruction: int32(e.Instruction), Delegate: -1}
	if e.Delegate != "" { // a number or a name, never both
		if id, err := strconv.ParseInt(e.Delegate, 10, 32); err == nil && id >= 0 {
			at.Delegate = int32(id)
		} else {
			at.DelegateID = e.Delegate
		}
		if r.limit == 0 {
			r.add("", at, began, ended)
		} else if err == nil { // the Inspector takes an event of known nodes to have their values
			r.values(r.run, at, e.Values, false)
		}
		return
	}
	if err == nil {
		r.values(r.run, at, e.Values, false)
	}
	for _, name := range namesOf(e.Op) {
		r.add(name, at, began, ended)
	}
}

// namesOf are the events of an instruction in ExecuTorch's words: of a kernel's call two, the
// kernel and the instruction.
func namesOf(op string) []string {
	kind, _, _ := strings.Cut(op, " ")
	if name, ok := map[string]string{"DelegateCall": "DELEGATE_CALL", "MoveCall": "MOVE_CALL",
		"JumpFalseCall": "JF_CALL", "FreeCall": "FREE_CALL"}[kind]; ok {
		return []string{name}
	}
	_, base, found := strings.Cut(op, "::")
	if !found {
		base = op
	}
	return []string{"native_call_" + base, "OPERATOR_CALL"}
}

// WriteTo writes the file. The error is that of w, or that values did not fit.
func (r *Recorder) WriteTo(w io.Writer) (int64, error) {
	if r.full != nil {
		return 0, r.full
	}
	file, err := etdump.Write(&r.dump)
	if err != nil {
		return 0, err
	}
	n, err := w.Write(file)
	return int64(n), err
}
