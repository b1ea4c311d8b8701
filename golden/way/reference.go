package way

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
)

// Reference runs the lowered graph node by node with the interpreter: slow, and
// without anything that comes after lowering.
type Reference struct {
	Naive bool // evaluate the definitions themselves, not the loops made of them
	// if over 0, about how many iterations of loops a call may run: eval.ErrStopped
	Most     int64
	Pipeline lower.Pipeline // how the graph is lowered; none is lower.Backend
	// Options tell what becomes of the program's warnings, whether an index out of
	// range is an error, and with what arithmetic quantized networks compute; nothing else.
	Options compile.Options
	Memory  int64         // bytes of the tensors that a call holds; 0: DefaultMemory
	Limit   time.Duration // for one call; 0: DefaultTime
}

// Name is "eval".
func (Reference) Name() string { return "eval" }

// Run implements [Way].
func (w Reference) Run(ctx context.Context, jobs []Job, done func(int, *Result)) {
	for i, j := range jobs {
		r := &Result{Err: ctx.Err()}
		if r.Err == nil {
			r.Err = guard(func() error { return w.job(ctx, j, r) })
		}
		done(i, r)
	}
}

func (w Reference) job(ctx context.Context, j Job, r *Result) error {
	p, closer, err := j.Open()
	if err != nil {
		return err
	}
	if closer != nil {
		defer closer.Close()
	}
	table := ops.Standard()
	pipeline := w.Pipeline
	if pipeline.Passes == nil {
		pipeline = lower.Backend
	}
	if r := w.Options.Recipe; r != nil {
		if pipeline, err = quantize.Pipeline(p, r, pipeline); err != nil {
			return err
		}
	}
	cortexM := w.Options.Requantize == compile.LibraryCMSISNN
	if err := pipeline.Run(&lower.Context{Table: table, Checked: w.Options.Checked,
		Bounds: w.Options.Bounds, Fixed: w.Options.Requantize == "fixed" || cortexM,
		CortexM: cortexM, Done: ctx.Done()}, p, nil); err != nil {
		return err
	}
	if err := w.Options.Warnings(p); err != nil {
		return err
	}
	r.Terms = Terms(table, p)
	var state map[string]interp.Value
	kept := interp.NewKept()
	failed := true // the call before
	for _, c := range j.Calls {
		var cr CallResult
		if c.Keep && failed && !c.Anyway {
			cr.Err = errNotRun
		} else {
			if !c.Keep {
				state = map[string]interp.Value{}
			}
			cr.Err = guard(func() error {
				return w.call(ctx, table, p.Methods[c.Method], c, state, kept, &cr)
			})
		}
		failed = cr.Err != nil
		r.Calls = append(r.Calls, cr)
	}
	return nil
}

// call makes one call; state holds the mutated buffers by name and is updated.
func (w Reference) call(ctx context.Context, table *ops.Table, m *ir.Method, c Call,
	state map[string]interp.Value, kept *interp.Kept, r *CallResult) error {
	interpreter := interp.New(table)
	interpreter.Kept = kept
	interpreter.Reserve = reserve(interpreter, w.Memory)
	if w.Naive {
		interpreter.Meaning = reference.Tensor
	}
	if most := w.Most; most > 0 {
		interpreter.Limit = &most
	}
	args, user, err := w.arguments(interpreter, m, c, state)
	if err != nil {
		return err
	}
	if err := interpreter.Enter(m.Graph, args); err != nil {
		return inputs(shapeError{err})
	}
	timed, cancel := within(ctx, w.Limit)
	defer cancel()
	interpreter.Done = timed.Done()
	outs, err := interpreter.Graph(m.Graph, args)
	if errors.Is(err, interp.ErrAssert) {
		return inputs(shapeError{err})
	}
	if err != nil {
		return overtime(timed, w.Limit, err)
	}
	if len(outs) != len(m.Outputs) {
		return fmt.Errorf("%d outputs, want %d", len(outs), len(m.Outputs))
	}
	r.Mutated = make([]*tensor.Tensor, len(c.Inputs))
	for i, spec := range m.Outputs {
		switch spec.Kind {
		case ir.UserOutput:
			v, err := valueOf(m, outs[i], m.Graph.Outputs[i])
			if err != nil {
				return fmt.Errorf("output %d: %w", len(r.Outputs), err)
			}
			r.Outputs = append(r.Outputs, v)
		case ir.UserInputMutation:
			k, ok := user[spec.Target]
			if !ok {
				return fmt.Errorf("mutated input %s is unknown", spec.Target)
			}
			r.Mutated[k] = tensorOf(outs[i])
		case ir.BufferMutation, ir.ParameterMutation:
			state[spec.Target] = outs[i]
		}
	}
	return nil
}

// reserve is an interpreter's Reserve that lets it hold so many bytes at a time.
func reserve(interpreter *interp.Interpreter, limit int64) func(int64) error {
	if limit == 0 {
		limit = DefaultMemory
	}
	left := limit
	return func(n int64) error {
		if left -= n; left >= 0 {
			return nil
		}
		// What was reserved and is gone again is not counted until now.
		held := interpreter.Held()
		if left = limit - held - n; left < 0 {
			return &MemoryError{What: "the call", Need: held + n, Limit: limit}
		}
		return nil
	}
}

// arguments returns the values of all graph inputs, and the position among the
// call's inputs of each user input by name.
func (w Reference) arguments(interpreter *interp.Interpreter, m *ir.Method, c Call,
	state map[string]interp.Value) ([]interp.Value, map[string]int, error) {
	var args []interp.Value
	user := map[string]int{}
	next := 0
	var given []*ir.Value
	var fits []tensor.Value // parallel to given
	for i, v := range m.Graph.Inputs {
		spec := m.Inputs[i]
		var x interp.Value
		var err error
		switch spec.Kind {
		case ir.UserInput, ir.ConstantInput:
			if next >= len(c.Inputs) {
				return nil, nil, inputs(fmt.Errorf("%d inputs are given, the model takes more",
					len(c.Inputs)))
			}
			in := c.Inputs[next]
			user[v.Name] = next
			next++
			if spec.Kind == ir.ConstantInput {
				x, err = interpreter.Arg(spec.Fixed)
				break
			}
			if x, err = argument(interpreter, v, in); err != nil {
				err = inputs(err)
				break
			}
			given, fits = append(given, v), append(fits, in)
		default:
			if held, ok := state[spec.Target]; ok {
				x = held
				break
			}
			x, err = interpreter.Get(v)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("input %s: %w", v.Name, err)
		}
		args = append(args, x)
	}
	if next != len(c.Inputs) {
		return nil, nil, inputs(fmt.Errorf("%d inputs are given, the model takes %d",
			len(c.Inputs), next))
	}
	if err := tensor.Fit(given, fits); err != nil {
		return nil, nil, inputs(shapeError{err})
	}
	return args, user, nil
}

func argument(interpreter *interp.Interpreter, v *ir.Value, in tensor.Value) (interp.Value, error) {
	if t := in.Tensor; t != nil {
		if v.Type.Kind != ir.TensorKind || v.Type.DType != t.DType ||
			len(v.Type.Sizes) != len(t.Shape) {
			return interp.Value{}, fmt.Errorf("it is %v, the model takes %v of %d dimensions", in,
				v.Type.DType, len(v.Type.Sizes))
		}
		return interp.Tensor(t.DType, t.Shape, t.Data), nil
	}
	switch a := in.Scalar.(type) {
	case ir.Int, ir.BoolArg:
		return interpreter.Arg(a)
	case ir.Float:
		return interp.Value{Kind: ir.FloatKind, Scalar: expr.Value{F: float64(a)}}, nil
	}
	return interp.Value{Object: in.Scalar}, nil
}

func tensorOf(v interp.Value) *tensor.Tensor {
	return &tensor.Tensor{DType: v.Tensor.DType, Shape: v.Tensor.Sizes, Data: v.Tensor.Data}
}

func valueOf(m *ir.Method, v interp.Value, a ir.Arg) (tensor.Value, error) {
	switch v.Kind {
	case ir.TensorKind:
		return tensor.Value{Tensor: tensorOf(v)}, nil
	case ir.IntKind:
		return tensor.Value{Scalar: ir.Int(v.Scalar.I)}, nil
	case ir.FloatKind:
		return tensor.Value{Scalar: ir.Float(v.Scalar.F)}, nil
	case ir.BoolKind:
		return tensor.Value{Scalar: ir.BoolArg(v.Scalar.I != 0)}, nil
	}
	if literal, ok := v.Object.(ir.Arg); ok {
		return tensor.Value{Scalar: literal}, nil
	}
	return tensor.Value{}, fmt.Errorf("%v is neither a tensor nor a number", a)
}

// scalarBytes is a Python number as eight little-endian bytes: an int64 or a
// float64; a bool is an int64 of 0 or 1.
func scalarBytes(a ir.Arg) ([]byte, error) {
	var bits uint64
	switch a := a.(type) {
	case ir.Int:
		bits = uint64(a)
	case ir.Float:
		bits = math.Float64bits(float64(a))
	case ir.BoolArg:
		if a {
			bits = 1
		}
	default:
		return nil, fmt.Errorf("%v is no number", a)
	}
	return binary.LittleEndian.AppendUint64(nil, bits), nil
}
