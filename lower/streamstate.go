package lower

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// rewrite makes the streaming method.
func (s *streamer) rewrite() error {
	s.now, s.kept = map[*ir.Value]*ir.Value{}, map[keptKey]*ir.Value{}
	sizes := slices.Clone(s.input.Type.Sizes)
	sizes[s.opt.Dim] = sym.Int(s.frames)
	s.input.Type = ir.Type{Kind: ir.TensorKind, DType: s.input.Type.DType, Sizes: sizes}.Dense()
	rw := &ir.Rewriter{Names: s.names, Visit: func(e *ir.Emitter, n *ir.Node) (repl []*ir.Value,
		keep bool, err error) {
		step := s.steps[n]
		if step == nil {
			return nil, true, nil
		}
		b := ops.NewBuilder(s.ctx.Table, e)
		err = must.Try(func() { repl = s.step(b, n, step) })
		return repl, repl == nil, err
	}}
	return rw.Run(s.m)
}

// step emits what becomes of n.
func (s *streamer) step(b *ops.Builder, n *ir.Node, step *streamStep) []*ir.Value {
	operand := func(v *ir.Value) *ir.Value {
		st := s.of[v]
		if s.now[v] == nil && st == nil {
			return v
		}
		x := v
		if y := s.now[v]; y != nil {
			x = y
		}
		switch {
		case st == nil:
			return x
		case step.whole:
			return s.before(b, x, st, st.rows-st.new)
		case step.delay[v] > 0:
			late := s.before(b, x, st, step.delay[v])
			return b.Op("aten.slice.Tensor", late, st.dim, 0, st.new)
		case step.keep > 0:
			return s.before(b, x, st, step.keep)
		}
		return x
	}
	args := make([]any, len(step.args))
	var only *ir.Value
	for i, a := range step.args {
		value := ir.MapRefs(a.Value, func(v *ir.Value) ir.Arg {
			x := operand(v)
			if s.of[v] != nil {
				only = x
			}
			return ir.Ref{Value: x}
		})
		if set := step.set[a.Name]; set != nil {
			value = set
		}
		args[i] = ops.Kw(a.Name, value)
	}
	if step.same {
		s.now[n.Output(0)] = only
		return []*ir.Value{only}
	}
	var states []*ir.Value
	if step.state != nil {
		for i, a := range step.args {
			if a.Name == "hx" {
				value, list := s.states(n, a.Value)
				args[i], states = ops.Kw(a.Name, value), list
			}
		}
	}
	outs, err := b.Call(n.Op, args...)
	if err != nil && n.Op == "aten.view.default" { // its operand's strides are others now
		outs, err = b.Call("aten.reshape.default", args[0].(ops.Named).Value, args[1].(ops.Named).Value)
	}
	must.Check(err)
	repl := make([]*ir.Value, len(n.Outputs))
	for i, v := range n.Outputs {
		if v != nil && i < len(outs) {
			repl[i] = outs[i]
			s.now[v] = outs[i]
		}
	}
	for i, target := range states {
		s.writes(target, outs[1+i])
	}
	return repl
}

// states makes state of what a recurrent layer begins with.
func (s *streamer) states(n *ir.Node, hx ir.Arg) (ir.Arg, []*ir.Value) {
	var list []*ir.Value
	value := ir.MapRefs(hx, func(v *ir.Value) ir.Arg {
		data := holder{value: v}.elements()
		if data == nil {
			must.Fail("the model cannot stream: what the layer begins with is not constant")
		}
		state := s.state(n.Name, v.Type, data)
		list = append(list, state)
		return ir.Ref{Value: state}
	})
	return value, list
}

// zeroKept are operators that make zero of zero, if their limits let it be.
var zeroKept = map[string]bool{"relu": true, "leaky_relu": true, "gelu": true, "silu": true,
	"tanh": true, "hardtanh": true, "hardswish": true, "elu": true, "clone": true, "view": true,
	"permute": true, "unsqueeze": true, "squeeze": true, "_to_copy": true, "alias": true,
	"quantize_per_tensor": true, "dequantize_per_tensor": true, "view_copy": true,
	"permute_copy": true,
	"neg":          true, "abs": true, "sin": true, "clamp": true, "reshape": true, "transpose": true}

// keepsZero reports whether n makes zero of zero.
func keepsZero(n *ir.Node) bool {
	for name, sign := range map[string]float64{"min": 1, "min_val": 1, "max": -1, "max_val": -1} {
		arg := n.Arg(name)
		_, isTensor := arg.(ir.Ref)
		if x, _ := number(arg); isTensor || x*sign > 0 {
			return false
		}
	}
	return zeroKept[ir.OpBase(n.Op)]
}

// before returns v with so many rows before the new ones, which are state.
func (s *streamer) before(b *ops.Builder, v *ir.Value, st *streamed, rows int64) *ir.Value {
	if rows <= 0 {
		return v
	}
	key := keptKey{v, rows}
	if s.kept[key] != nil {
		return s.kept[key]
	}
	// Integers are kept rather than what they stand for.
	if d := v.Def; d != nil && d.Op == dequantizeOp+".default" {
		q, _ := d.Args[0].Value.(ir.Ref)
		zero, isInt := d.Arg("zero_point").(ir.Int)
		scale, isFloat := d.Arg("scale").(ir.Float)
		if q.Value != nil && isInt && isFloat {
			lead := math.RoundToEven(st.lead/float64(scale)) + float64(zero)
			more := s.withRows(b, q.Value, st, rows, lead)
			s.kept[key] = again(b, []*ir.Node{d}, map[*ir.Value]*ir.Value{q.Value: more})
			return s.kept[key]
		}
	}
	return s.withRows(b, v, st, rows, st.lead)
}

// withRows is before; the rows begin as a number.
func (s *streamer) withRows(b *ops.Builder, v *ir.Value, st *streamed, rows int64,
	lead float64) *ir.Value {
	key := keptKey{v, rows}
	if s.kept[key] != nil {
		return s.kept[key]
	}
	sizes := slices.Clone(v.Type.Sizes)
	sizes[st.dim] = sym.Int(rows)
	t := ir.Type{Kind: ir.TensorKind, DType: v.Type.DType, Sizes: sizes}.Dense()
	n, _ := t.Numel().Const()
	state := s.state(v.Name, t, filled(t.DType, lead, n))
	all := b.Op("aten.cat.default", []*ir.Value{state, v}, st.dim)
	s.kept[key] = all
	s.writes(state, b.Op("aten.slice.Tensor", all, st.dim, st.new, st.new+rows))
	return all
}

// filled returns n elements of a number.
func filled(d ir.DType, x float64, n int64) []byte {
	var elem []byte
	switch {
	case d == ir.Float32:
		elem = binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
	case d == ir.Float64:
		elem = binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
	case d.IsInt():
		elem = binary.LittleEndian.AppendUint64(nil, uint64(int64(x)))[:d.Size()]
	default:
		if x != 0 {
			must.Fail("the model cannot stream: padding of %s", d)
		}
		elem = make([]byte, d.Size())
	}
	return slices.Repeat(elem, int(n))
}

// state adds a value to the state.
func (s *streamer) state(of string, t ir.Type, data []byte) *ir.Value {
	name := s.names.Fresh("stream_" + of)
	v := &ir.Value{Name: name, Type: t,
		Const: &ir.Constant{Name: name, Type: t, Data: ir.Bytes(data)}}
	s.m.Graph.Inputs = append(s.m.Graph.Inputs, v)
	s.m.Inputs = append(s.m.Inputs, ir.InputSpec{Kind: ir.Buffer, Target: name})
	return v
}

// writes makes v the state after the call.
func (s *streamer) writes(state, v *ir.Value) {
	s.m.Graph.Outputs = append(s.m.Graph.Outputs, ir.Ref{Value: v})
	s.m.Outputs = append(s.m.Outputs, ir.OutputSpec{Kind: ir.BufferMutation, Target: state.Name})
}
