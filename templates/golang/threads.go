package golang

import (
	"runtime"
	"sync/atomic"
)

// divided is a call of a kernel whose steps are done in parts. Each part writes
// results of its own; a step begins when all parts of the one before are done.
type divided interface {
	do(step, part, parts int)
}

// threads are the goroutines that share the parts of kernels: the caller's, and
// others that join it. After each kernel they watch for the next one for a while,
// before they sleep or, between calls of methods, end: to be woken or started takes
// them longer than many a kernel. The caller does what nobody else has begun, so it
// never waits for who comes late.
type threads struct {
	count int
	work  func() // t.worker: a goroutine that begins with it allocates nothing

	kernel divided // what is being done: who has begun a part may look
	step   int
	open   atomic.Int32 // parts that nobody has begun; over between calls
	left   atomic.Int32 // parts that are not done
	others atomic.Int32 // goroutines that have been started and have not ended

	asleep  atomic.Int32 // goroutines that wait for wake; who takes one back owes it nothing
	wake    chan struct{}
	waiting atomic.Bool // the caller waits for done, which who takes this back sends
	done    chan struct{}
}

const (
	over = -1
	// A goroutine that waits looks whether it can go on, in rounds of some ten
	// microseconds behind each of which it lets others run. To be woken takes some tens
	// of microseconds, and who has done a part often waits for longer: processors that
	// other programs want too are not equally fast. So it sleeps after a millisecond;
	// between calls it ends sooner.
	looks, rounds, idleRounds = 1 << 14, 64, 4
)

// set makes t count goroutines, the caller's among them.
func (t *threads) set(count int) {
	t.count = max(count, 1)
	t.wake, t.done = make(chan struct{}, t.count), make(chan struct{}, 1)
	t.work = t.worker
}

// start begins a call: it starts the goroutines that are not there.
func (t *threads) start() {
	t.open.Store(0)
	for t.others.Load() < int32(t.count-1) {
		t.others.Add(1)
		go t.work()
	}
}

// stop ends a call, and soon the goroutines if no other begins.
func (t *threads) stop() {
	for take(&t.open) > 0 { // there are parts if the caller panics
		t.finish()
	}
	t.wait()
	t.open.Store(over)
	t.rouse()
}

// take takes one of n if there are any, and returns how many there were.
func take(n *atomic.Int32) int32 {
	for {
		had := n.Load()
		if had <= 0 || n.CompareAndSwap(had, had-1) {
			return had
		}
	}
}

func (t *threads) worker() {
	for t.watch() {
		t.parts()
	}
	t.others.Add(-1)
}

// watch returns true when there are parts, false if there is no call for some time.
func (t *threads) watch() bool {
	for {
		idle := 0
		for range rounds {
			for range looks {
				if t.open.Load() > 0 {
					return true
				}
			}
			if t.open.Load() == over {
				if idle++; idle == idleRounds {
					return false
				}
			}
			runtime.Gosched()
		}
		t.asleep.Add(1)
		if t.open.Load() == 0 || take(&t.asleep) <= 0 {
			<-t.wake
		}
	}
}

// rouse wakes those that sleep.
func (t *threads) rouse() {
	if t.asleep.Load() == 0 {
		return
	}
	for range t.asleep.Swap(0) {
		t.wake <- struct{}{}
	}
}

// parts does parts of a step until all have been begun.
func (t *threads) parts() {
	for {
		open := take(&t.open)
		if open <= 0 {
			return
		}
		t.part(t.count - int(open))
	}
}

func (t *threads) part(n int) {
	defer t.finish()
	t.kernel.do(t.step, n, t.count)
}

func (t *threads) finish() {
	if t.left.Add(-1) == 0 && t.waiting.CompareAndSwap(true, false) {
		t.done <- struct{}{}
	}
}

// wait returns when nothing is left.
func (t *threads) wait() {
	for {
		for range rounds {
			for range looks {
				if t.left.Load() == 0 {
					return
				}
			}
			runtime.Gosched()
		}
		t.waiting.Store(true)
		if t.left.Load() == 0 && t.waiting.CompareAndSwap(true, false) {
			return
		}
		<-t.done // of who finished last, perhaps for the step before
	}
}

// run does all steps of a kernel.
func (t *threads) run(kernel divided, steps int) {
	for step := range steps {
		t.kernel, t.step = kernel, step
		t.left.Store(int32(t.count))
		t.open.Store(int32(t.count))
		t.rouse()
		t.parts()
		t.wait()
	}
}
