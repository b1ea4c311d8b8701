package quantize

import (
	"errors"
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
)

// Samples are calls of a method: the values of its user inputs.
type Samples struct {
	Count int
	Get   func(i int) ([]interp.Value, error)
	// Continued means that each call finds the state that the one before left. Else all find the
	// first state.
	Continued bool
}

// FewSamples is a number of samples with which ranges are hardly those of the inputs that a model
// will see; fewer are worth a warning.
const FewSamples = 16

// runner runs a method node by node.
type runner struct {
	table  *ops.Table
	method *ir.Method
	kernel kernels
	kept   *interp.Kept
	done   <-chan struct{}
	last   map[*ir.Value]*ir.Node // the last node of the graph that reads a value
	// state is what the call before left, by name, if the next one is to find it.
	state map[string]interp.Value
}

// kernels is of [interp.Interpreter.Kernel].
type kernels = func(c *ops.Call, constant func(operand int) ([]byte, bool)) interp.Kernel

func newRunner(t *ops.Table, m *ir.Method, k kernels, done <-chan struct{}) *runner {
	r := &runner{table: t, method: m, kernel: k, kept: interp.NewKept(), done: done,
		last: map[*ir.Value]*ir.Node{}}
	for _, n := range m.Graph.Nodes {
		for v := range reads(n) {
			r.last[v] = n
		}
	}
	return r
}

// reads yields the values that n and its regions read.
func reads(n *ir.Node) func(yield func(*ir.Value) bool) {
	return func(yield func(*ir.Value) bool) {
		for _, a := range n.Args {
			ir.EachRef(a.Value, func(v *ir.Value) { yield(v) })
		}
		for _, g := range n.Regions {
			for inner := range g.All() {
				for _, a := range inner.Args {
					ir.EachRef(a.Value, func(v *ir.Value) { yield(v) })
				}
			}
			g.Walk(func(g *ir.Graph) {
				for _, a := range g.Outputs {
					ir.EachRef(a, func(v *ir.Value) { yield(v) })
				}
			})
		}
	}
}

// begin is called in front of a series of samples.
func (r *runner) begin(samples Samples) {
	if r.state = nil; samples.Continued {
		r.state = map[string]interp.Value{}
	}
}

// run runs a call. Before and after, if not nil, see each node with the interpreter; after is
// called with nil when the inputs have their values. It returns the outputs.
func (r *runner) run(inputs []interp.Value,
	before, after func(m *interp.Interpreter, n *ir.Node) error) (outs []interp.Value, err error) {
	defer must.Catch(&err)
	m := interp.New(r.table)
	m.Done, m.Kernel, m.Kept = r.done, r.kernel, r.kept
	for i, v := range r.method.Graph.Inputs {
		switch spec := r.method.Inputs[i]; spec.Kind {
		case ir.UserInput:
			if len(inputs) == 0 {
				return nil, errors.New("an input is missing")
			}
			m.Set(v, inputs[0])
			inputs = inputs[1:]
		case ir.ConstantInput:
			m.Set(v, must.Get(m.Arg(spec.Fixed)))
		default:
			if held, ok := r.state[spec.Target]; ok {
				m.Set(v, held)
			}
		}
	}
	if after != nil {
		must.Check(after(m, nil))
	}
	for _, n := range r.method.Graph.Nodes {
		if before != nil {
			must.Check(before(m, n))
		}
		must.Check(m.Node(n))
		if after != nil {
			must.Check(after(m, n))
		}
		for v := range reads(n) {
			if r.last[v] == n && v.Const == nil && v.Type.Kind == ir.TensorKind && !r.returned(v) {
				m.Set(v, interp.Value{}) // its memory is free
			}
		}
	}
	for i, a := range r.method.Graph.Outputs {
		outs = append(outs, must.Get(m.Arg(a)))
		if spec := r.method.Outputs[i]; r.state != nil && (spec.Kind == ir.BufferMutation ||
			spec.Kind == ir.ParameterMutation) {
			r.state[spec.Target] = outs[i]
		}
	}
	return outs, nil
}

func (r *runner) returned(v *ir.Value) (is bool) {
	for _, a := range r.method.Graph.Outputs {
		ir.EachRef(a, func(o *ir.Value) { is = is || o == v })
	}
	return is
}

// observe returns what observers saw of the static activations.
func observe(m *Model, a *Annotation, samples Samples,
	opt Options) (map[*ir.Value]*observer, error) {
	seen := map[*ir.Value]*observer{}
	for v, s := range a.Activations {
		if !s.Dynamic {
			seen[v] = newObserver(opt.Observer, opt.Percentile)
		}
	}
	if len(seen) == 0 {
		return nil, nil
	}
	if samples.Count == 0 {
		return nil, errors.New("there are no samples to calibrate with")
	}
	r := newRunner(m.Table, m.Method, opt.Kernel, opt.Done)
	passes := 1
	if histogram(opt.Observer) {
		passes = 2
	}
	tell := func(done int) {
		if opt.Progress != nil {
			opt.Progress(done, passes*samples.Count)
		}
	}
	tell(0)
	for pass := range passes {
		r.begin(samples)
		for i := range samples.Count {
			inputs, err := samples.Get(i)
			if err != nil {
				return nil, fmt.Errorf("sample %d: %w", i, err)
			}
			look := func(x *interp.Interpreter, v *ir.Value) error {
				o := seen[v]
				if o == nil {
					return nil
				}
				data := must.Get(x.Get(v)).Tensor.Data
				if pass == 1 {
					o.count(data)
					return nil
				}
				return o.see(data)
			}
			_, err = r.run(inputs, nil, func(x *interp.Interpreter, n *ir.Node) error {
				if n == nil {
					for _, v := range m.Method.Graph.Inputs {
						if err := look(x, v); err != nil {
							return fmt.Errorf("input %s: %w", v.Name, err)
						}
					}
					return nil
				}
				for _, v := range n.Outputs {
					if err := look(x, v); err != nil {
						return ir.ErrorAt("", n, err)
					}
				}
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("sample %d: %w", i, err)
			}
			tell(pass*samples.Count + i + 1)
		}
	}
	for i, v := range m.Method.Graph.Inputs {
		if o := seen[v]; o != nil && m.Method.Inputs[i].Kind == ir.UserInput && o.least == o.most {
			return nil, fmt.Errorf("input %s: all elements of all samples are %v: there is no range",
				v.Name, o.least)
		}
	}
	return seen, nil
}

// Calibrate makes the recipe of a method of what samples show.
func Calibrate(m *Model, a *Annotation, samples Samples, opt Options) (*MethodRecipe, error) {
	out := &MethodRecipe{Name: m.Method.Name}
	seen, err := observe(m, a, samples, opt)
	if err != nil {
		return nil, err
	}
	sharing := map[*ir.Value]int{}
	for v, o := range seen {
		if root := a.Root(v); root != v {
			sharing[root]++
			seen[root].merge(o)
		}
	}
	each := func(v *ir.Value, n *ir.Node) {
		s := a.Activations[v]
		if s == nil {
			return
		}
		r := ActivationRecipe{Value: v.Name, DType: s.DType.String()}
		if n != nil {
			r.Op, r.At = n.Op, n.Loc.String()
		}
		root := a.Root(v)
		switch {
		case s.Dynamic:
			if r.Dynamic = "per_tensor"; s.PerToken {
				r.Dynamic = "per_token"
			}
		case s.Fixed != nil && root == v && sharing[v] == 0:
			r.Scale, r.ZeroPoint = Float32(s.Fixed.Scale), s.Fixed.ZeroPoint
		default:
			to := integersOf(s.DType, s.Symmetric)
			lo, hi, _ := seen[root].bounds(to)
			p := to.cover(lo, hi)
			r.Scale, r.ZeroPoint = Float32(p.Scale), p.ZeroPoint
			r.Range = &[2]Float32{Float32(lo), Float32(hi)}
		}
		out.Activations = append(out.Activations, r)
	}
	for _, v := range m.Method.Graph.Inputs {
		each(v, nil)
	}
	for _, n := range m.Method.Graph.Nodes {
		for _, v := range n.Outputs {
			each(v, n)
		}
	}
	return out, out.weights(m, a)
}
