package rt

import (
	"context"
	"fmt"
	"math"
)

// SetInput sets input i. v is a *Tensor, or for the other kinds an int64, int,
// bool, float64, string or nil, or an EValue or *EValue of one of these.
//
// A tensor has the dtype and dim order of MethodMeta.Inputs[i] and its sizes, or
// if it is Dynamic other sizes of the same rank: from Least to Sizes, or, where the
// program does not say the least, with no more elements. If it is
// Planned, the elements are copied now; else the method reads, and writes if it
// mutates its input, the tensor's memory when it executes. An input stays set
// for later executions, but the method may have overwritten a planned one.
//
// A scalar has to be the value that the program was made for (a Double to about
// five digits), as in ExecuTorch's runtime, and need not be set.
//
// Errors are ErrInvalidArgument, or ErrNotSupported for sizes that do not fit.
func (m *Method) SetInput(i int, v any) error {
	if m.busy.Load() {
		return fmt.Errorf("method %q: %w: inputs cannot be set while it executes", m.meta.Name,
			ErrInvalidState)
	}
	if i < 0 || i >= len(m.inputs) {
		return fmt.Errorf("method %q: %w: input %d, it has %d", m.meta.Name, ErrInvalidArgument, i,
			len(m.inputs))
	}
	var err error
	if t, ok := v.(*Tensor); ok {
		err = m.inputs[i].setTensor(t)
	} else {
		err = m.setAny(i, v)
	}
	if err != nil {
		return fmt.Errorf("method %q: input %d: %w", m.meta.Name, i, err)
	}
	return nil
}

func (m *Method) setAny(i int, v any) error {
	e := EValue{}
	switch v := v.(type) {
	case nil:
	case int64:
		e = EValue{Kind: Int, Int: v}
	case int:
		e = EValue{Kind: Int, Int: int64(v)}
	case bool:
		e = EValue{Kind: Bool, Bool: v}
	case float64:
		e = EValue{Kind: Double, Double: v}
	case string:
		e = EValue{Kind: String, String: v}
	case EValue:
		e = v
	case *EValue:
		if v != nil {
			e = *v
		}
	default:
		return fmt.Errorf("%w: a %T stands for no value; make tensors with TensorOf or NewTensor",
			ErrInvalidArgument, v)
	}
	if e.Kind == TensorKind {
		return m.inputs[i].setTensor(e.Tensor)
	}
	return checkScalar(&m.meta.Inputs[i], &e)
}

// setTensor checks t and makes it the input.
func (in *input) setTensor(t *Tensor) error {
	want := in.tensor
	switch {
	case want == nil:
		return fmt.Errorf("%w: it is a tensor, expected a %v", ErrInvalidArgument, in.slot.Kind)
	case t == nil:
		return fmt.Errorf("%w: it is nil, expected a tensor", ErrInvalidArgument)
	case t.DType != want.DType:
		return fmt.Errorf("%w: it has %v elements, expected %v", ErrInvalidArgument, t.DType,
			want.DType)
	case len(t.Sizes) != len(want.Sizes):
		return want.misfit(t.Sizes)
	case t.DimOrder != nil && checkDimOrder(t.DimOrder, len(t.Sizes)) != nil:
		return fmt.Errorf("%w: dim order %v is no permutation", ErrInvalidArgument, t.DimOrder)
	case !sameLayout(t.Sizes, t.DimOrder, want.DimOrder):
		return fmt.Errorf("%w: its dim order is %v, expected %v", ErrInvalidArgument, t.DimOrder,
			want.DimOrder)
	}
	for d, n := range in.least {
		switch most := want.bound[d]; {
		case n == most && t.Sizes[d] != n:
			return fmt.Errorf("%w: dimension %d is %d, expected %d", ErrNotSupported, d,
				t.Sizes[d], n)
		case t.Sizes[d] < n || t.Sizes[d] > most:
			return fmt.Errorf("%w: dimension %d is %d, expected %d to %d", ErrNotSupported, d,
				t.Sizes[d], n, most)
		}
	}
	// The slot may hold what the last execution moved there.
	in.slot.Kind, in.slot.Tensor = TensorKind, want
	if in.copied {
		want.storage = want.own
	} else {
		want.storage = nil
	}
	if err := want.Resize(t.Sizes); err != nil {
		return err
	}
	if n, ok := numel(t.Sizes); !ok || n*int64(t.DType.Size()) != int64(len(t.Data)) {
		return fmt.Errorf("%w: a %v tensor of sizes %v has %d bytes of data", ErrInvalidArgument,
			t.DType, t.Sizes, len(t.Data))
	}
	if !in.copied && !aligned(t.Data, t.DType) {
		return fmt.Errorf("%w: its memory is not aligned for %v", ErrInvalidArgument, t.DType)
	}
	if in.copied {
		want.setStorage(want.own)
		copy(want.Data, t.Data)
	} else {
		data := t.Data
		if data == nil {
			data = []byte{}
		}
		want.setStorage(data)
	}
	in.set = true
	return nil
}

// checkScalar compares a scalar with the one that the program was made for.
func checkScalar(want *ValueMeta, got *EValue) error {
	if got.Kind != want.Kind {
		return fmt.Errorf("%w: it is a %v, expected a %v", ErrInvalidArgument, got.Kind, want.Kind)
	}
	mismatch := func(got, want any) error {
		return fmt.Errorf(
			"%w: it is %v, but the program was made for the constant %v; export it with a tensor input to "+
				"vary it", ErrInvalidArgument, got, want)
	}
	switch {
	case want.Kind == Int && got.Int != want.Int:
		return mismatch(got.Int, want.Int)
	case want.Kind == Bool && got.Bool != want.Bool:
		return mismatch(got.Bool, want.Bool)
	case want.Kind == Double && !closeTo(got.Double, want.Double):
		return mismatch(got.Double, want.Double)
	case want.Kind == String && got.String != want.String:
		return mismatch(got.String, want.String)
	case want.Kind > TensorKind:
		return fmt.Errorf("%w: inputs that are a %v", ErrNotSupported, want.Kind)
	}
	return nil
}

// closeTo compares as ExecuTorch's runtime does: 1e-4 absolute plus 1e-5 of want;
// NaN is NaN, infinities are equal by their sign.
func closeTo(got, want float64) bool {
	switch {
	case math.IsNaN(got) || math.IsNaN(want):
		return math.IsNaN(got) && math.IsNaN(want)
	case math.IsInf(got, 0) || math.IsInf(want, 0):
		return got == want
	}
	return math.Abs(got-want) <= 1e-4+math.Abs(1e-5*want)
}

// Output returns the slot of output i; nil if there is none. What is in it is
// good until an input is set or the method executes again: they may share memory.
// To feed an output back as an input, copy it first. The slot must not be
// changed, and the elements of an output that is a constant must not be written.
func (m *Method) Output(i int) *EValue {
	if i < 0 || i >= len(m.outputs) {
		return nil
	}
	return m.outputs[i]
}

// OutputTensor returns output i, which is a tensor. Its memory is as Output
// tells. The error is ErrInvalidArgument.
func (m *Method) OutputTensor(i int) (*Tensor, error) {
	out := m.Output(i)
	if out == nil {
		return nil, fmt.Errorf("method %q: %w: output %d, it has %d", m.meta.Name,
			ErrInvalidArgument, i, len(m.outputs))
	}
	if out.Kind != TensorKind {
		return nil, fmt.Errorf("method %q: %w: output %d is a %v, not a tensor", m.meta.Name,
			ErrInvalidArgument, i, out.Kind)
	}
	return out.Tensor, nil
}

// SetOutput gives the memory that output i is written to, for tensors that the
// program plans no memory for. It stays the output's for later executions.
// Without SetOutput the memory is allocated.
//
// It has at least the bytes of the output's present sizes, as in the C++
// runtime: at first those of MethodMeta.Outputs[i], later those that came out
// last. If sizes come out for which it is too small, Execute fails.
func (m *Method) SetOutput(i int, memory []byte) error {
	fail := func(kind error, format string, args ...any) error {
		return fmt.Errorf("method %q: output %d: %w: %s", m.meta.Name, i, kind,
			fmt.Sprintf(format, args...))
	}
	switch {
	case m.busy.Load():
		return fail(ErrInvalidState, "it cannot be set while the method executes")
	case i < 0 || i >= len(m.outputs):
		return fail(ErrInvalidArgument, "the method has %d", len(m.outputs))
	case m.meta.Outputs[i].Kind != TensorKind:
		return fail(ErrInvalidArgument, "it is a %v", m.meta.Outputs[i].Kind)
	case m.meta.Outputs[i].Planned:
		return fail(ErrInvalidState, "the program plans its memory, or it is a constant")
	}
	t := m.declared[i]
	if t == nil {
		return fail(ErrInvalidState, "it is an input, whose memory comes with SetInput")
	}
	n := t.Numel() * int64(t.DType.Size())
	if int64(len(memory)) < n {
		return fail(ErrInvalidArgument, "it takes %d bytes, the memory has %d", n, len(memory))
	}
	if !aligned(memory, t.DType) {
		return fail(ErrInvalidArgument, "the memory is not aligned for %v", t.DType)
	}
	if memory == nil {
		memory = []byte{}
	}
	t.own = memory
	t.setStorage(memory)
	return nil
}

// Forward sets all inputs, as SetInput does, executes the method and returns the
// outputs: the slots that Output returns, in a slice that later calls return
// again. The inputs must not be outputs of the method; see Output.
func (m *Method) Forward(ctx context.Context, inputs ...any) ([]*EValue, error) {
	if len(inputs) != len(m.inputs) {
		return nil, fmt.Errorf("method %q: %w: %d inputs, expected %d", m.meta.Name,
			ErrInvalidArgument, len(inputs), len(m.inputs))
	}
	for i, v := range inputs {
		if err := m.SetInput(i, v); err != nil {
			return nil, err
		}
	}
	if err := m.Execute(ctx); err != nil {
		return nil, err
	}
	return m.outputs, nil
}
