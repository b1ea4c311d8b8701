package golang

// divided is a call of a kernel whose steps are done in parts. Each part writes
// results of its own; a step begins when all parts of the one before are done.
type divided interface {
	do(step, part, parts int)
}

// threads are the goroutines that share the parts of kernels: the caller's, and
// others that live as long as a call of a method.
type threads struct {
	count int
	tasks chan task
	done  chan struct{}
	work  func() // t.worker: a goroutine that begins with it allocates nothing
}

// task is a part of a step of kernel. Without a kernel it ends a goroutine.
type task struct {
	kernel     divided
	step, part int
}

// set makes t count goroutines, the caller's among them.
func (t *threads) set(count int) {
	t.count = max(count, 1)
	t.tasks, t.done = make(chan task, t.count), make(chan struct{}, t.count)
	t.work = t.worker
}

// start starts the goroutines besides the caller's.
func (t *threads) start() {
	for range t.count - 1 {
		go t.work()
	}
}

// stop ends them, and returns when they are at their end.
func (t *threads) stop() {
	for range t.count - 1 {
		t.tasks <- task{}
	}
	for range t.count - 1 {
		<-t.done
	}
}

func (t *threads) worker() {
	for {
		next := <-t.tasks
		if next.kernel != nil {
			t.part(next)
		}
		t.done <- struct{}{}
		if next.kernel == nil {
			return
		}
	}
}

func (t *threads) part(p task) { p.kernel.do(p.step, p.part, t.count) }

// run does all steps of a kernel.
func (t *threads) run(kernel divided, steps int) {
	for step := range steps {
		for part := 1; part < t.count; part++ {
			t.tasks <- task{kernel, step, part}
		}
		t.part(task{kernel, step, 0})
		for waiting := t.count - 1; waiting > 0; waiting-- {
			select {
			case next := <-t.tasks: // nobody else has begun it
				t.part(next)
			default:
				<-t.done
			}
		}
	}
}
