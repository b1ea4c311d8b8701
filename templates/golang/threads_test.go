package golang

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// sums is a kernel of two steps: the second reads what all parts of the first
// have written.
type sums struct{ in, middle, out []int }

func (k *sums) do(step, part, parts int) {
	n := len(k.in)
	for i := n * part / parts; i < n*(part+1)/parts; i++ {
		if step == 0 {
			k.middle[i] = 2 * k.in[i]
		} else {
			k.out[i] = k.middle[i] + k.middle[n-1-i]
		}
	}
}

func TestThreads(t *testing.T) {
	const n = 100
	k := &sums{make([]int, n), make([]int, n), make([]int, n)}
	before := runtime.NumGoroutine()
	for count := range 6 {
		var th threads
		th.set(count)
		for call := range 20 {
			for i := range k.in {
				k.in[i] = i + call*n
			}
			th.start()
			th.run(k, 2)
			clear(k.middle)
			th.run(k, 2)
			th.stop()
			for i, got := range k.out {
				if want := 2 * (n - 1 + 2*call*n); got != want {
					t.Fatalf("%d goroutines, call %d: result %d is %d, want %d", count, call,
						i, got, want)
				}
			}
		}
		for range 1000 {
			if runtime.NumGoroutine() <= before {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if now := runtime.NumGoroutine(); now > before {
			t.Fatalf("%d goroutines, of which %d were there before", now, before)
		}
	}
}

// Goroutines sleep when there is nothing to do for long, and are woken.
func TestThreadsSleep(t *testing.T) {
	const n = 100
	k := &sums{make([]int, n), make([]int, n), make([]int, n)}
	var th threads
	th.set(3)
	th.start()
	defer th.stop()
	for call := range 20 {
		for range 1000 {
			if th.asleep.Load() == 2 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if got := th.asleep.Load(); got != 2 {
			t.Fatalf("%d of 2 goroutines sleep", got)
		}
		for i := range k.in {
			k.in[i] = i + call*n
		}
		th.run(k, 2)
		for i, got := range k.out {
			if want := 2 * (n - 1 + 2*call*n); got != want {
				t.Fatalf("call %d: result %d is %d, want %d", call, i, got, want)
			}
		}
	}
}

// late is a kernel whose parts but the caller's first one take long: the caller sleeps.
type late struct{ parts, done atomic.Int32 }

func (k *late) do(int, int, int) {
	if k.parts.Add(1) > 1 {
		time.Sleep(50 * time.Millisecond)
	}
	k.done.Add(1)
}

func TestThreadsWait(t *testing.T) {
	var th threads
	th.set(4)
	for range 3 {
		th.start()
		var k late
		th.run(&k, 1)
		if n := k.done.Load(); n != 4 {
			t.Errorf("%d of 4 parts are done", n)
		}
		th.stop()
	}
}

// A caller that panics in the midst of a kernel leaves nothing behind.
func TestThreadsPanic(t *testing.T) {
	const n = 100
	k := &sums{make([]int, n), make([]int, n), make([]int, n)}
	var th threads
	th.set(3)
	for range 50 {
		func() {
			defer func() { _ = recover() }()
			th.start()
			defer th.stop()
			th.kernel = k
			th.left.Store(3)
			th.open.Store(3)
			if take(&th.open) > 0 {
				defer th.finish()
				panic("a part")
			}
		}()
		th.start()
		th.run(k, 2)
		th.stop()
		if left := th.left.Load(); left != 0 {
			t.Fatalf("%d are left", left)
		}
	}
}

// nothing is a kernel that does nothing.
type nothing struct{}

func (nothing) do(int, int, int) {}

// BenchmarkThreads times what it takes to have two goroutines do a step. Times are
// the best of many.
func BenchmarkThreads(b *testing.B) {
	var th threads
	th.set(2)
	best := func(b *testing.B, before, f func()) {
		least := time.Duration(math.MaxInt64)
		for b.Loop() {
			before()
			start := time.Now()
			f()
			least = min(least, time.Since(start))
		}
		b.ReportMetric(float64(least), "best-ns")
	}
	step := func() { th.run(nothing{}, 1) }
	b.Run("watching", func(b *testing.B) {
		th.start()
		defer th.stop()
		best(b, func() {}, step)
	})
	b.Run("asleep", func(b *testing.B) {
		th.start()
		defer th.stop()
		best(b, func() {
			for th.asleep.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
		}, step)
	})
	b.Run("call", func(b *testing.B) {
		best(b, func() {}, func() {
			th.start()
			step()
			th.stop()
		})
	})
}

func TestThreadsAllocateNothing(t *testing.T) {
	k := &sums{make([]int, 10), make([]int, 10), make([]int, 10)}
	var th threads
	th.set(3)
	if n := testing.AllocsPerRun(200, func() {
		th.start()
		th.run(k, 2)
		th.stop()
	}); n >= 1 {
		t.Errorf("a call allocates %g times", n)
	}
}
