package way

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/golden/session"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower/native"
)

// layout tells how the arguments of a compiled method travel to the program
// that holds it: each input that is no constant, each output, and if there are
// dynamic dimensions one block of int64 with those of the inputs and of the
// outputs. Numbers are eight bytes.
type layout struct {
	method *native.Method
	sizes  *native.Binding
}

func newLayout(m *native.Method) (*layout, error) {
	b, err := native.Bind(m)
	if err != nil {
		return nil, err
	}
	l := &layout{method: m, sizes: &native.Binding{Solved: b.Solved}}
	for _, d := range b.In {
		if d.Axis >= 0 {
			l.sizes.In = append(l.sizes.In, d)
		}
	}
	l.sizes.Out = b.Out
	return l, nil
}

// dims is the number of dynamic dimensions.
func (l *layout) dims() int { return len(l.sizes.In) + len(l.sizes.Out) }

// arguments returns a call's arguments. Errors say which input does not fit.
func (l *layout) arguments(c Call) ([]session.Arg, error) {
	if len(c.Inputs) != len(l.method.Inputs) {
		return nil, inputs(fmt.Errorf("%d inputs are given, the model takes %d", len(c.Inputs),
			len(l.method.Inputs)))
	}
	for i, p := range l.method.Inputs {
		if err := fits(p, c.Inputs[i]); err != nil {
			return nil, inputs(fmt.Errorf("input %d (%s) %w", i, p.Name, err))
		}
	}
	env, err := l.bind(c)
	if err != nil {
		return nil, inputs(err)
	}
	var args []session.Arg
	for i, p := range l.method.Inputs {
		arg, err := inputArg(p, c.Inputs[i])
		if err != nil {
			return nil, inputs(fmt.Errorf("input %d: %w", i, err))
		}
		if r := l.method.Rows; r != nil && r.Port == i {
			arg.Data = c.Inputs[i].Tensor.ChannelsLast()
		}
		if arg != nil {
			args = append(args, *arg)
		}
	}
	for i, p := range l.method.Outputs {
		switch {
		case p.Buf != nil:
			n, err := p.Buf.Len.Eval(env)
			if err != nil {
				n = p.Buf.MaxLen // known only after the call
			}
			size, err := tensor.Bytes(p.Buf.DType, []int64{n})
			if err != nil {
				return nil, fmt.Errorf("output %d: %w", i, err)
			}
			args = append(args, session.Arg{Mode: session.Out, Len: size})
		case isNumber(p):
			args = append(args, session.Arg{Mode: session.Out, Len: 8})
		}
	}
	if l.dims() > 0 {
		args = append(args, session.Arg{Mode: session.InOut, Data: l.encodeDims(c)})
	}
	return args, nil
}

// literal returns an output that is the same in every call, nil if it is not.
func literal(p native.Port) ir.Arg {
	if p.Value == nil && p.Type.Kind == ir.IntKind && p.Type.HasExpr {
		if n, ok := p.Type.Expr.Const(); ok {
			return ir.Int(n)
		}
	}
	return p.Value
}

// isNumber reports whether an output is a number that the call computes.
func isNumber(p native.Port) bool { return p.Buf == nil && literal(p) == nil }

// isConstant reports whether an input is part of the program, not of a call.
func isConstant(p native.Port) bool {
	if p.Buf != nil {
		return false
	}
	return p.Value != nil || p.Type.Kind != ir.IntKind && p.Type.Kind != ir.FloatKind &&
		p.Type.Kind != ir.BoolKind
}

// fits reports what keeps a value from being the input of a port.
func fits(p native.Port, v tensor.Value) error {
	switch {
	case p.Buf != nil && v.Tensor == nil:
		return fmt.Errorf("is %v, the model takes a tensor", v)
	case p.Buf == nil && v.Tensor != nil:
		return fmt.Errorf("is a tensor, the model takes a number")
	case p.Buf == nil:
		return nil
	}
	t := v.Tensor
	ok := t.DType == p.Type.DType && len(t.Shape) == len(p.Type.Sizes)
	for i := 0; ok && i < len(t.Shape); i++ {
		if n, fixed := p.Type.Sizes[i].Const(); fixed && n != t.Shape[i] {
			ok = false
		}
	}
	if !ok {
		return fmt.Errorf("is %v, the model takes %s", t, codegen.TypeText(p.Type, nil))
	}
	return t.Check()
}

func inputArg(p native.Port, v tensor.Value) (*session.Arg, error) {
	switch {
	case p.Buf != nil && p.Mutated:
		return &session.Arg{Mode: session.InOut, Data: v.Tensor.Data}, nil
	case p.Buf != nil:
		return &session.Arg{Mode: session.In, Data: v.Tensor.Data}, nil
	case isConstant(p):
		return nil, nil
	}
	a := v.Scalar
	if n, ok := a.(ir.Int); ok && p.Type.Kind == ir.FloatKind {
		a = ir.Float(n)
	}
	data, err := scalarBytes(a)
	if err != nil {
		return nil, err
	}
	return &session.Arg{Mode: session.In, Data: data}, nil
}

// bind finds the dynamic sizes of a call, those that follow from its inputs.
func (l *layout) bind(c Call) (func(*sym.Symbol) (int64, bool), error) {
	known := map[*sym.Symbol]int64{}
	env := func(s *sym.Symbol) (int64, bool) {
		n, ok := known[s]
		return n, ok
	}
	for _, s := range l.sizes.Solved {
		n, err := dimOf(c.Inputs, s.Dim)
		if err != nil {
			return nil, err
		}
		rest, err := s.Rest.Eval(env)
		if err != nil {
			return nil, err
		}
		known[s.Sym] = (n - rest) / s.Coef
	}
	return env, nil
}

func dimOf(inputs []tensor.Value, d native.Dim) (int64, error) {
	v := inputs[d.Port]
	if d.Axis >= 0 {
		return v.Tensor.Shape[d.Axis], nil
	}
	n, ok := v.Scalar.(ir.Int)
	if !ok {
		return 0, fmt.Errorf("input %d is %v, the model takes an int", d.Port, v)
	}
	return int64(n), nil
}

func (l *layout) encodeDims(c Call) []byte {
	var b []byte
	for _, d := range l.sizes.In {
		b = binary.LittleEndian.AppendUint64(b, uint64(c.Inputs[d.Port].Tensor.Shape[d.Axis]))
	}
	return append(b, make([]byte, 8*len(l.sizes.Out))...)
}

// result reads what a call gave.
func (l *layout) result(c Call, a *session.Answer) CallResult {
	r := CallResult{Times: a.Times, Mutated: make([]*tensor.Tensor, len(c.Inputs))}
	blocks := a.Outputs
	next := func() []byte {
		b := blocks[0]
		blocks = blocks[1:]
		return b
	}
	for i, p := range l.method.Inputs {
		if p.Buf != nil && p.Mutated {
			t := *c.Inputs[i].Tensor
			t.Data = next()
			r.Mutated[i] = &t
		}
	}
	var dims []byte
	if l.dims() > 0 {
		dims = blocks[len(blocks)-1][8*len(l.sizes.In):]
	}
	for i, p := range l.method.Outputs {
		v := tensor.Value{Scalar: literal(p)}
		switch {
		case p.Buf != nil:
			t, err := l.output(i, next(), dims)
			if err != nil {
				r.Err = fmt.Errorf("output %d: %w", i, err)
				return r
			}
			v = tensor.Value{Tensor: t}
		case isNumber(p):
			v = tensor.Value{Scalar: number(p.Type.Kind, next())}
		}
		r.Outputs = append(r.Outputs, v)
	}
	return r
}

// output cuts an output tensor to its actual sizes.
func (l *layout) output(i int, data, dims []byte) (*tensor.Tensor, error) {
	p := l.method.Outputs[i]
	t := &tensor.Tensor{DType: p.Type.DType, Shape: make([]int64, len(p.Type.Sizes))}
	for axis, s := range p.Type.Sizes {
		t.Shape[axis], _ = s.Const()
	}
	for k, d := range l.sizes.Out {
		if d.Port == i {
			t.Shape[d.Axis] = int64(binary.LittleEndian.Uint64(dims[8*k:]))
		}
	}
	n, err := tensor.Bytes(t.DType, t.Shape)
	if err != nil {
		return nil, err
	}
	if n > int64(len(data)) {
		return nil, fmt.Errorf("the call says %v, which is more than the %d bytes it was given",
			t, len(data))
	}
	t.Data = data[:n]
	return t, nil
}

func number(k ir.Kind, b []byte) ir.Arg {
	bits := binary.LittleEndian.Uint64(b)
	switch k {
	case ir.FloatKind:
		return ir.Float(math.Float64frombits(bits))
	case ir.BoolKind:
		return ir.BoolArg(bits != 0)
	}
	return ir.Int(bits)
}
