// Package interrupt lets a process end soon after it was told to, and leave
// nothing half done behind.
//
// Two things make it so. The context that [Main] passes on is done with the first
// signal: what looks at it returns by itself, and child processes of [Command] are
// killed. What does not look at it soon enough is not waited for: after [Grace] the
// process undoes what [Make] made, and exits. So nothing has to look at the
// context for the process to end in time; the long stages do, so that a caller
// who is no command can end them too.
package interrupt

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Grace is how long a process that was told to end may take to return by itself.
const Grace = 50 * time.Millisecond

// Error is why the context of [Main] is done.
type Error struct{ Signal os.Signal }

func (e *Error) Error() string { return fmt.Sprintf("interrupted: %v", e.Signal) }

// Is makes it a [context.Canceled].
func (e *Error) Is(target error) bool { return target == context.Canceled }

// Main calls run and returns its exit code. The first signal that asks the process
// to end makes the context done; [Whole] does nothing any more. When run has returned,
// or after [Grace], all that is made is undone, and left is called to say so. A second
// signal ends the process at once.
// The code of a run that was interrupted is 128 and the signal's number, as shells
// have it: 130 of SIGINT, 143 of SIGTERM. A run that was through, with 0, keeps its
// code.
func Main(run func(context.Context) int, left func()) int {
	signals := make(chan os.Signal, 2)
	for _, s := range ending {
		if !signal.Ignored(s) { // nohup, or a job in the background
			signal.Notify(signals, s)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ended := make(chan int, 1)
	go func() { ended <- run(ctx) }()
	var first os.Signal
	select {
	case code := <-ended:
		return code
	case first = <-signals:
	}
	cancel(&Error{first})
	all.refuse(&Error{first})
	code := 128
	if n, ok := first.(syscall.Signal); ok {
		code += int(n)
	}
	select {
	case <-signals:
		return code
	case own := <-ended:
		if own == 0 {
			return 0
		}
	case <-time.After(Grace):
	}
	all.undo()
	left()
	return code
}

// all is what the process has made and not finished.
var all made

// made is a list of what can be undone.
type made struct {
	mutex  sync.Mutex
	undos  map[int]func()
	next   int
	told   error // to end: nothing more is given its place
	closed bool  // nothing more is made, or kept
}

// lock keeps the process from ending. It does not return when it is about to.
func (m *made) lock() {
	m.mutex.Lock()
	if m.closed {
		m.mutex.Unlock()
		select {}
	}
}

// refuse makes Whole fail from now on.
func (m *made) refuse(err error) {
	m.mutex.Lock()
	m.told = err
	m.mutex.Unlock()
}

// undo undoes the last made first. Nothing is made afterwards.
func (m *made) undo() {
	m.mutex.Lock()
	m.closed = true
	m.mutex.Unlock()
	// Goroutines that write into what is removed are still running: what they wrote
	// meanwhile goes with the second round.
	for range 2 {
		for i := m.next - 1; i >= 0; i-- {
			if f := m.undos[i]; f != nil {
				f()
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// Make calls create, which makes something that the process must not leave behind:
// if it is interrupted before done is called, undo is. An interrupt waits until
// create is through.
func Make(create func() (undo func(), err error)) (done func(), err error) {
	all.lock()
	defer all.mutex.Unlock()
	undo, err := create()
	if err != nil {
		return func() {}, err
	}
	id := all.next
	all.next++
	if all.undos == nil {
		all.undos = map[int]func(){}
	}
	all.undos[id] = undo
	return func() {
		all.lock()
		delete(all.undos, id)
		all.mutex.Unlock()
	}, nil
}

// Whole calls f, which an interrupt does not stop half-way: f is short. It gives
// what was made aside its place; undoing that has to do nothing afterwards. Once the
// process was told to end f is not called: the error says so.
func Whole(f func() error) error {
	all.lock()
	defer all.mutex.Unlock()
	if all.told != nil {
		return all.told
	}
	return f()
}

// TempDir makes a temporary folder; remove removes it and what is in it, as an
// interrupt does.
func TempDir(pattern string) (dir string, remove func(), err error) {
	done, err := Make(func() (func(), error) {
		dir, err = os.MkdirTemp("", pattern)
		return func() { os.RemoveAll(dir) }, err
	})
	if err != nil {
		return "", nil, err
	}
	return dir, func() {
		os.RemoveAll(dir)
		done()
	}, nil
}
