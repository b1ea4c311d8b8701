// Package session drives a program that holds many compiled models and calls
// them on request, whatever language it is written in. Requests and answers go
// through its standard input and output; a program that crashes or hangs is
// started again for the requests that remain.
//
// On the wire all numbers are little endian. A request is
//
//	u32 model, u32 flags (1: reset the state), u32 repeat, u64 nanoseconds, u32 number of arguments,
//	per argument u32 mode (1 in, 2 out, 3 both), u64 length, and the bytes unless it is out
//
// and an answer
//
//	u32 status, u64 length of a message, the message, u64 length of the times and the times,
//	per argument that is not in: u64 length and the bytes
//
// A request makes the call repeat times (at least once) with the same
// arguments, and then until so many nanoseconds have gone by or 65536 calls are
// made; the answer is that of the last. The times are u64 nanoseconds, one for
// each call.
package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/etgen/etgen/codegen/interrupt"
)

// Mode says which way an argument's bytes go.
type Mode uint32

// The modes.
const (
	In    Mode = 1
	Out   Mode = 2
	InOut Mode = 3
)

// Arg is one argument of a model's function.
type Arg struct {
	Mode Mode
	Data []byte // In, InOut
	Len  int64  // Out: bytes
}

// Request is one call.
type Request struct {
	Model  int
	Reset  bool
	Repeat int           // calls to make at least
	For    time.Duration // and for how long
	Args   []Arg
}

// Answer is what came of a [Request].
type Answer struct {
	Status  int
	Message string
	Times   []time.Duration // of each repetition
	Outputs [][]byte        // of the Out and InOut arguments, in order
}

// Program is an executable that speaks the protocol.
type Program struct {
	Command []string
	Env     []string      // in addition to the environment
	Limit   time.Duration // for one call
	Budget  int64         // bound on the bytes of one answer's outputs; 0: 4 GiB
}

// CrashError says that the program died of a call, or hung.
type CrashError struct {
	Cause  error
	Stderr string // its end
}

// Error is one line: the cause and the first telling line of what the program
// wrote.
func (e *CrashError) Error() string {
	if errors.Is(e.Cause, errHangs) {
		return e.Cause.Error()
	}
	for line := range strings.Lines(e.Stderr) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "ERROR") || strings.Contains(line, "runtime error") ||
			strings.HasPrefix(line, "panic") ||
			strings.HasPrefix(line, "fatal") || strings.HasPrefix(line, "SIG") {
			return fmt.Sprintf("crashed: %v: %s", e.Cause, line)
		}
	}
	return fmt.Sprintf("crashed: %v", e.Cause)
}

func (e *CrashError) Unwrap() error { return e.Cause }

// StartError says that the program cannot be started: no call was made.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }

func (e *StartError) Unwrap() error { return e.Err }

// Run makes calls one after the other. Next gives the next request, or nil at
// the end; done gets its answer or the error, before next is called again. A
// model's state does not outlive a crash.
func (p Program) Run(ctx context.Context, next func() *Request, done func(*Answer, error)) {
	var s *process
	defer func() { s.close() }()
	for r := next(); r != nil; r = next() {
		if err := ctx.Err(); err != nil {
			done(nil, err)
			continue
		}
		if s == nil {
			var err error
			if s, err = p.start(ctx); err != nil {
				done(nil, &StartError{err})
				continue
			}
		}
		a, err := s.call(r, p)
		if err != nil {
			err = s.crash(err)
			s.close()
			s = nil
		}
		done(a, err)
	}
}

// process is a running program.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	stderr tailBuffer
	waited bool
}

func (p Program) start(ctx context.Context) (*process, error) {
	s := &process{cmd: interrupt.Command(ctx, "", p.Command[0], p.Command[1:]...)}
	if len(p.Env) > 0 {
		s.cmd.Env = append(s.cmd.Environ(), p.Env...)
	}
	s.cmd.Stderr = &s.stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if s.out, err = s.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return s, s.cmd.Start()
}

var errHangs = errors.New("the call does not come back")

// call makes one call within the program's limit.
func (s *process) call(r *Request, p Program) (*Answer, error) {
	var hung atomic.Bool
	if p.Limit > 0 {
		timer := time.AfterFunc(p.Limit, func() {
			hung.Store(true)
			s.cmd.Cancel()
		})
		defer timer.Stop()
	}
	_, err := s.in.Write(r.encode())
	var a *Answer
	if err == nil {
		a, err = decode(s.out, r, p.Budget)
	}
	if err != nil && hung.Load() {
		err = fmt.Errorf("%w within %v: if it is known to, raise --time-limit", errHangs, p.Limit)
	}
	return a, err
}

// crash turns a broken conversation into what broke it.
func (s *process) crash(err error) error {
	s.in.Close()
	wait := s.cmd.Wait()
	s.waited = true
	if wait != nil && !errors.Is(err, errHangs) {
		err = wait
	}
	return &CrashError{Cause: err, Stderr: s.stderr.String()}
}

func (s *process) close() {
	if s == nil || s.waited {
		return
	}
	s.in.Close()
	io.Copy(io.Discard, s.out)
	s.cmd.Wait()
}

func (r *Request) encode() []byte {
	le := binary.LittleEndian
	var b []byte
	flags := uint32(0)
	if r.Reset {
		flags = 1
	}
	for _, x := range []uint32{uint32(r.Model), flags, uint32(max(r.Repeat, 1))} {
		b = le.AppendUint32(b, x)
	}
	b = le.AppendUint64(b, uint64(max(r.For, 0)))
	b = le.AppendUint32(b, uint32(len(r.Args)))
	for _, a := range r.Args {
		b = le.AppendUint32(b, uint32(a.Mode))
		if a.Mode == Out {
			b = le.AppendUint64(b, uint64(a.Len))
			continue
		}
		b = le.AppendUint64(b, uint64(len(a.Data)))
		b = append(b, a.Data...)
	}
	return b
}

func decode(r io.Reader, req *Request, budget int64) (*Answer, error) {
	if budget == 0 {
		budget = 4 << 30
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	a := &Answer{Status: int(int32(binary.LittleEndian.Uint32(head)))}
	message, err := block(r, &budget)
	if err != nil {
		return nil, err
	}
	a.Message = string(message)
	times, err := block(r, &budget)
	if err != nil {
		return nil, err
	}
	for ; len(times) >= 8; times = times[8:] {
		a.Times = append(a.Times, time.Duration(binary.LittleEndian.Uint64(times)))
	}
	for _, arg := range req.Args {
		if arg.Mode == In {
			continue
		}
		out, err := block(r, &budget)
		if err != nil {
			return nil, err
		}
		a.Outputs = append(a.Outputs, out)
	}
	return a, nil
}

func block(r io.Reader, budget *int64) ([]byte, error) {
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > uint64(*budget) {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	*budget -= int64(n)
	data := make([]byte, n)
	_, err := io.ReadFull(r, data)
	return data, err
}

// tailBuffer keeps the first and the last of what is written to it.
type tailBuffer struct{ first, last bytes.Buffer }

const tailKeep = 32 << 10

func (t *tailBuffer) Write(p []byte) (int, error) {
	n := len(p)
	if room := tailKeep - t.first.Len(); room > 0 {
		k := min(room, len(p))
		t.first.Write(p[:k])
		p = p[k:]
	}
	t.last.Write(p)
	if over := t.last.Len() - tailKeep; over > 0 {
		t.last.Next(over)
	}
	return n, nil
}

func (t *tailBuffer) String() string { return t.first.String() + t.last.String() }
