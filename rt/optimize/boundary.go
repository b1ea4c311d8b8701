package optimize

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/rt"
)

// inputs takes the memory of inputs and the sizes that follow from them.
func (m *interpreter) inputs() {
	for i := range m.method.Inputs {
		p, slot := &m.method.Inputs[i], m.boundary.Inputs[i]
		if p.Buf == nil {
			continue
		}
		r := &root{moves: true}
		m.roots[p.Buf] = r
		m.enter = append(m.enter, func() error { r.data = slot.Tensor.Data; return nil })
		if !slot.Tensor.Resizable() {
			continue
		}
		for axis, size := range p.Type.Sizes {
			if want, ok := size.Const(); ok {
				d := native.Dim{Port: i, Axis: axis, Size: size}
				m.enter = append(m.enter, func() error { return m.mismatch(d, want) })
			}
		}
	}
	for _, s := range m.binding.Solved {
		m.solve(s)
	}
	for _, d := range m.binding.Checks {
		want := must.Get(m.index(d.Size))
		m.enter = append(m.enter, func() error {
			n, err := want()
			if err != nil {
				return err
			}
			return m.mismatch(d, n)
		})
	}
}

// dim returns the present size that d tells, and which dimension of the
// program's input it is.
func (m *interpreter) dim(d native.Dim) (size int64, axis int) {
	axis = d.Axis
	if order := m.code.inputs[d.Port].order; order != nil {
		axis = int(order[axis])
	}
	return m.boundary.Inputs[d.Port].Tensor.Sizes[axis], axis
}

func (m *interpreter) mismatch(d native.Dim, want int64) error {
	if got, axis := m.dim(d); got != want {
		return fmt.Errorf("%w: dimension %d of input %d is %d, the program was made for %d",
			rt.ErrNotSupported, axis, d.Port, got, want)
	}
	return nil
}

// solve determines a symbol.
func (m *interpreter) solve(s native.Solve) {
	rest := must.Get(m.index(s.Rest))
	slot := m.slots.of(s.Sym)
	lo, hi := s.Sym.Expr().Bounds()
	m.enter = append(m.enter, func() error {
		less, err := rest()
		if err != nil {
			return err
		}
		got, axis := m.dim(s.Dim)
		n := (got - less) / s.Coef
		if n < lo || n > hi {
			return fmt.Errorf("%w: dimension %d of input %d is %d, which is out of range",
				rt.ErrNotSupported, axis, s.Dim.Port, got)
		}
		m.ints[slot] = n
		return nil
	})
}

// outputs takes the memory of outputs. One whose sizes are known only when the
// method has run is computed in memory of its own and copied.
func (m *interpreter) outputs() {
	for k, p := range m.code.outputs {
		if p.native < 0 {
			continue
		}
		b := m.method.Outputs[p.native].Buf
		if b == nil {
			continue
		}
		r := &root{}
		m.roots[b] = r
		if p.staged || !m.isKnown(b.Sizes) {
			if b.MaxLen < 0 {
				panic(fmt.Errorf("the size of output %d, %s elements, has no bound", k, b.Len))
			}

			r.data = aligned(b.MaxLen * int64(b.DType.Size()))
			continue
		}
		r.moves = true
		resize := m.resize(k, p, m.method.Outputs[p.native].Type.Sizes)
		m.enter = append(m.enter, func() error {
			t, err := resize()
			if err == nil {
				r.data = t.Data
			}
			return err
		})
	}
}

// resize returns a function that gives output k its sizes.
func (m *interpreter) resize(k int, p port, sizes []sym.Expr) func() (*rt.Tensor, error) {
	slot := m.boundary.Outputs[k]
	dims := make([]func() (int64, error), len(sizes))
	for i, e := range sizes {
		f := must.Get(m.index(e))
		at := i
		if p.order != nil {
			at = int(p.order[i])
		}
		dims[at] = f
	}
	now := make([]int64, len(sizes))
	return func() (*rt.Tensor, error) {
		for i, f := range dims {
			var err error
			if now[i], err = f(); err != nil {
				return nil, err
			}
		}
		if err := slot.Tensor.Resize(now); err != nil {
			return nil, fmt.Errorf("output %d: %w", k, err)
		}
		return slot.Tensor, nil
	}
}

// results fills the outputs that the body did not fill in place.
func (m *interpreter) results() {
	for k, p := range m.code.outputs {
		if p.native < 0 || p.done {
			continue
		}
		o := &m.method.Outputs[p.native]
		slot := m.boundary.Outputs[k]
		if o.Buf == nil {
			value := must.At(func() func(*rt.EValue) error { return m.number(o) }, "output %d", k)
			m.leave = append(m.leave, func() error { return value(slot) })
			continue
		}
		r := m.roots[o.Buf]
		if r.moves {
			continue
		}
		resize := m.resize(k, p, o.Type.Sizes)
		m.leave = append(m.leave, func() error {
			t, err := resize()
			if err == nil && copy(t.Data, r.data) != len(t.Data) {
				err = fmt.Errorf("%w: output %d has %d bytes of memory", rt.ErrInternal, k,
					len(t.Data))
			}
			return err
		})
	}
}

// number returns a function that puts an output that is no tensor into its slot.
func (m *interpreter) number(o *native.Port) func(*rt.EValue) error {
	switch v := o.Value.(type) {
	case ir.Int:
		return func(e *rt.EValue) error { e.Kind, e.Int = rt.Int, int64(v); return nil }
	case ir.Float:
		return func(e *rt.EValue) error {
			e.Kind, e.Double = rt.Double, float64(v)
			return nil
		}
	case ir.BoolArg:
		return func(e *rt.EValue) error { e.Kind, e.Bool = rt.Bool, bool(v); return nil }
	case ir.Str, ir.None:
		return func(*rt.EValue) error { return nil } // the slot has it
	case nil:
	default:
		panic(fmt.Errorf("it is a %T", v))
	}
	if o.Var != nil {
		slot, ok := m.vars[o.Var]
		if !ok {
			panic(fmt.Errorf("it is not computed"))
		}
		kind := o.Type.Kind
		return func(e *rt.EValue) error { putNumber(e, kind, m.nums[slot]); return nil }
	}
	f := must.Get(m.index(o.Type.Expr))
	return func(e *rt.EValue) error {
		n, err := f()
		e.Kind, e.Int = rt.Int, n
		return err
	}
}

func putNumber(e *rt.EValue, kind ir.Kind, x eval.Value) {
	switch kind {
	case ir.IntKind:
		e.Kind, e.Int = rt.Int, x.I
	case ir.BoolKind:
		e.Kind, e.Bool = rt.Bool, x.I != 0
	default:
		e.Kind, e.Double = rt.Double, x.F
	}
}
