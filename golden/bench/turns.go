package main

import (
	"context"
	"slices"
	"sync"

	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/measure"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
)

// turnsOfEach is how often each way takes its turn. On a machine shared with
// others times differ in phases of seconds: ways measured one behind the other
// would each get a phase of its own.
const turnsOfEach = 40

// inTurns runs the first call of a case by turns of the span, each variant in a
// turn of its own, and returns what came of each. The peak, if it is not nil, takes
// its turns too.
func inTurns(ctx context.Context, s *settings, c *testcase.Case, ways []variant,
	peak *measure.Peak) ([]measured, error) {
	t := newTurns(ctx, len(ways)+1)
	out := make([]measured, len(ways))
	var failed error
	var wait sync.WaitGroup
	for k, v := range ways {
		wait.Go(func() {
			mine := &turn{turns: t, k: k}
			defer mine.end()
			j := conform.Job(c, c.Models[0])
			call := j.Calls[0]
			call.For, call.Turn = s.span, mine
			j.Calls = slices.Repeat([]way.Call{call}, turnsOfEach)
			for i := range j.Calls {
				j.Calls[i].Keep = i > 0 // as if all turns were one
			}
			v.way.Run(ctx, []way.Job{j}, func(_ int, r *way.Result) { out[k] = newMeasured(r) })
		})
	}
	wait.Go(func() {
		mine := &turn{turns: t, k: len(ways)}
		defer mine.end()
		for n := 0; n < turnsOfEach && failed == nil; n++ {
			mine.Lock()
			_, failed = peak.Measure(ctx)
			mine.Unlock()
		}
	})
	wait.Wait()
	return out, failed
}

// turns lets runs call their programs in turns, in a circle. The first begins when
// all are ready to, and who has ended is passed over.
type turns struct {
	ctx   context.Context
	ready sync.WaitGroup
	mu    sync.Mutex
	ended []bool
	next  []chan struct{} // of one element: it is that run's turn
}

func newTurns(ctx context.Context, runs int) *turns {
	t := &turns{ctx: ctx, ended: make([]bool, runs)}
	for range runs {
		t.next = append(t.next, make(chan struct{}, 1))
	}
	t.ready.Add(runs)
	t.next[0] <- struct{}{}
	return t
}

// pass gives the turn to the next run behind k that has not ended. The caller holds
// the lock.
func (t *turns) pass(k int) {
	for i := range t.next {
		to := (k + 1 + i) % len(t.next)
		if t.ended[to] {
			continue
		}
		select {
		case t.next[to] <- struct{}{}:
		default: // cancelled runs hold turns that nobody gave them
		}
		return
	}
}

// turn is what run k holds while it calls its program.
type turn struct {
	*turns
	k     int
	begun sync.Once
}

func (t *turn) Lock() {
	t.begun.Do(t.ready.Done)
	t.ready.Wait()
	select {
	case <-t.next[t.k]:
	case <-t.ctx.Done():
	}
}

func (t *turn) Unlock() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass(t.k)
}

// end leaves all turns to the other runs.
func (t *turn) end() {
	t.begun.Do(t.ready.Done)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended[t.k] = true
	select {
	case <-t.next[t.k]:
		t.pass(t.k)
	default:
	}
}
