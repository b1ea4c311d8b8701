package rt

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/etgen/etgen/ir"
)

// Execute runs the method on the inputs that are set. It stops soon when ctx is
// done (see the package's documentation); the error is that of ctx then. What outputs and
// state hold after an error is not defined. It does not allocate when the sizes
// are fixed, from the second execution on.
func (m *Method) Execute(ctx context.Context) (err error) {
	if !m.busy.CompareAndSwap(false, true) {
		return fmt.Errorf(
			"method %q: %w: it executes already, or is closed; load a method for each goroutine",
			m.meta.Name, ErrInvalidState)
	}
	defer m.busy.Store(false)
	for i := range m.inputs {
		if !m.inputs[i].set {
			return fmt.Errorf("method %q: %w: input %d is not set", m.meta.Name, ErrInvalidState, i)
		}
	}
	for _, t := range m.callers {
		if t.lacksMemory() {
			t.restore()
		}
	}
	m.at = nil
	m.run.ctx = ctx
	defer m.recovered(&err)
	if m.executor != nil {
		if err := ctx.Err(); err != nil {
			return inMethod(m.meta.Name, err)
		}
		if err := m.executor.Execute(ctx); err != nil {
			return inMethod(m.meta.Name, err)
		}
		return nil
	}
	return m.interpret(ctx)
}

// recovered makes an error of a panic: kernels and backends are not the
// runtime's, and what one did not expect must not end the program around it.
func (m *Method) recovered(err *error) {
	m.run.ctx = nil
	r := recover()
	if r == nil {
		return
	}
	problem := fmt.Errorf("%w: %v", ErrInternal, r)
	if m.at == nil {
		*err = inMethod(m.meta.Name, problem)
	} else {
		*err = stepError(m.at, problem)
	}
	m.program.platform.Log(LogError, fmt.Sprintf("%v\n%s", *err, debug.Stack()))
}

// interpret runs the chains one after another.
func (m *Method) interpret(ctx context.Context) error {
	done := ctx.Done()
	left := m.limit
	for _, chain := range m.chains {
		for pc := 0; pc < len(chain); left-- {
			s := &chain[pc]
			m.at = &s.event
			if left == 0 {
				return stepError(&s.event,
					fmt.Errorf("%w: %d were executed; does the program loop for ever?",
						ErrInstructionLimit, m.limit))
			}
			if done != nil {
				select {
				case <-done:
					return stepError(&s.event, context.Cause(ctx))
				default:
				}
			}
			if m.tracer != nil {
				m.tracer.Begin(&s.event)
			}
			next, err := s.execute(ctx, pc+1)
			if m.tracer != nil {
				m.tracer.End(&s.event, err)
			}
			if err != nil {
				return stepError(&s.event, s.explain(err))
			}
			pc = next
		}
	}
	return nil
}

// execute runs the step and returns the next one's index.
func (s *step) execute(ctx context.Context, next int) (int, error) {
	switch s.kind {
	case kernelStep:
		if s.doubtful != nil || s.demanded != nil {
			if err := s.memory(); err != nil {
				return next, err
			}
		}
		return next, s.run()
	case delegateStep:
		if err := s.memory(); err != nil {
			return next, err
		}
		return next, s.delegate.Execute(ctx, s.args)
	case moveStep:
		return next, s.move()
	case jumpStep:
		yes, err := truth(s.cond)
		if err == nil && !yes {
			next = s.destination
		}
		return next, err
	default: // freeStep
		t := s.from.Tensor
		if t == nil {
			return next, fmt.Errorf("%w: a %v is freed", ErrInvalidProgram, s.from.Kind)
		}
		if t.onDemand {
			t.own, t.storage, t.Data = nil, nil, nil
		}
		return next, nil
	}
}

// memory gives the tensors that the step writes memory and refuses to read one
// without.
func (s *step) memory() error {
	for _, v := range s.demanded {
		if t := v.Tensor; t != nil && t.lacksMemory() {
			t.restore()
		}
	}
	for _, v := range s.doubtful {
		if t := v.Tensor; t != nil && t.lacksMemory() {
			return fmt.Errorf("%w: it reads a tensor of sizes %v that was not written, or freed",
				ErrInvalidProgram, t.Sizes)
		}
	}
	return nil
}

// move puts what is in one slot into the other, which binder.movable lets. Tensors are
// shared, not copied, but constants: what looks at the slot may write it.
func (s *step) move() error {
	t, d := s.from.Tensor, s.declared
	if s.from.Kind != TensorKind || d == nil {
		if s.from.Kind == TensorKind || d != nil {
			return fmt.Errorf("%w: a %v is moved where another kind of value belongs",
				ErrNotSupported, s.from.Kind)
		}
		*s.to = *s.from
		return nil
	}
	if !t.readOnly {
		*s.to = *s.from
		return nil
	}
	d.restore()
	if err := d.Resize(t.Sizes); err != nil {
		return err
	}
	copy(d.Data, t.Data)
	s.to.Kind, s.to.Tensor = TensorKind, d
	return nil
}

// truth reads a condition: a bool, or a tensor of bools, which have to be true
// all.
func truth(v *EValue) (bool, error) {
	switch v.Kind {
	case Bool:
		return v.Bool, nil
	case TensorKind:
		t := v.Tensor
		if t.DType != ir.Bool {
			return false, fmt.Errorf("%w: a condition is a %v tensor, expected bool",
				ErrInvalidProgram, t.DType)
		}
		if t.lacksMemory() {
			return false, fmt.Errorf("%w: the condition was not written", ErrInvalidProgram)
		}
		for _, b := range t.Data {
			if b == 0 {
				return false, nil
			}
		}
		return true, nil
	}
	return false, fmt.Errorf("%w: a condition is a %v, expected a Bool or a bool tensor",
		ErrInvalidProgram, v.Kind)
}
