package main

import (
	"context"
	"sync"
)

// turns lets two runs call their programs in turns. Each begins when both are ready
// to, and goes on alone when the other has ended.
type turns struct {
	ctx   context.Context
	ready sync.WaitGroup
	next  [2]chan struct{}
}

func newTurns(ctx context.Context) *turns {
	t := &turns{ctx: ctx, next: [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}}
	t.ready.Add(2)
	t.next[0] <- struct{}{}
	return t
}

// turn is what run k, 0 or 1, holds while it calls its program.
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
	select {
	case t.next[1-t.k] <- struct{}{}:
	default: // nobody takes it any more
	}
}

// end gives all turns to the other run.
func (t *turn) end() {
	t.begun.Do(t.ready.Done)
	close(t.next[1-t.k])
}
