package golang

import (
	"runtime"
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
					t.Fatalf("%d goroutines, call %d: result %d is %d, want %d", count, call, i, got, want)
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
