package random

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/alias"
)

// memory is a tensor as eager PyTorch has it: which elements of which storage.
type memory struct {
	store *[]byte
	dtype ir.DType
	sizes []int64
	at    []int64 // position of each element, row-major
}

// eager runs a method as eager PyTorch does: a view shares the storage of its
// base, an in-place operator writes to it, control flow just happens.
type eager struct {
	table *ops.Table
	m     *interp.Interpreter
	env   map[*ir.Value]memory
	syms  map[*sym.Symbol]int64
	// jitter, if not nil, moves what inexact operators give by some roundings,
	// as another order of summation may.
	jitter *rand.Rand
}

func fresh(d ir.DType, sizes []int64, data []byte) memory {
	data = slices.Clone(data)
	x := memory{store: &data, dtype: d, sizes: sizes}
	for i := range len(data) / d.Size() {
		x.at = append(x.at, int64(i))
	}
	return x
}

func (x memory) data() []byte {
	out := make([]byte, 0, len(x.at)*x.dtype.Size())
	size := int64(x.dtype.Size())
	for _, p := range x.at {
		out = append(out, (*x.store)[p*size:(p+1)*size]...)
	}
	return out
}

func (x memory) write(data []byte) {
	size := int64(x.dtype.Size())
	for i, p := range x.at {
		copy((*x.store)[p*size:(p+1)*size], data[int64(i)*size:])
	}
}

// runEager makes the calls of a method, state kept between them.
func runEager(table *ops.Table, m *ir.Method, all []way.Call,
	jitter *rand.Rand) (out []way.CallResult, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("eager: %v", r)
		}
	}()
	state := map[string]memory{}
	for i, c := range all {
		e := &eager{table: table, m: interp.New(table), env: map[*ir.Value]memory{},
			syms: sizesOf(m, i), jitter: jitter}
		r, err := e.call(m, c, state)
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
		out = append(out, r)
	}
	return out, nil
}

func (e *eager) call(m *ir.Method, c way.Call, state map[string]memory) (way.CallResult, error) {
	var user []memory
	for i, v := range m.Graph.Inputs {
		spec := m.Inputs[i]
		switch {
		case spec.Kind == ir.UserInput:
			t := c.Inputs[len(user)].Tensor
			e.env[v] = fresh(t.DType, t.Shape, t.Data)
			user = append(user, e.env[v])
			e.m.Set(v, interp.Tensor(t.DType, t.Shape, t.Data)) // binds sizes
		default:
			if _, ok := state[spec.Target]; !ok {
				x, err := e.m.Get(v)
				if err != nil {
					return way.CallResult{}, err
				}
				state[spec.Target] = fresh(x.Tensor.DType, x.Tensor.Sizes, x.Tensor.Data)
			}
			e.env[v] = state[spec.Target]
		}
	}
	outs, err := e.graph(m.Graph)
	if err != nil {
		return way.CallResult{}, err
	}
	r := way.CallResult{Mutated: make([]*tensor.Tensor, len(c.Inputs))}
	for i, a := range m.Graph.Outputs {
		if m.Outputs[i].Kind == ir.BufferMutation {
			state[m.Outputs[i].Target] = fresh(outs[i].dtype, outs[i].sizes, outs[i].data())
			continue
		}
		v := tensor.Value{Scalar: a}
		if _, ok := a.(ir.Ref); ok {
			v = tensor.Value{Tensor: tensorOf(outs[i])}
		}
		r.Outputs = append(r.Outputs, v)
	}
	for i, x := range user {
		r.Mutated[i] = tensorOf(x) // whether the program writes it or not
	}
	return r, nil
}

func tensorOf(x memory) *tensor.Tensor {
	return &tensor.Tensor{DType: x.dtype, Shape: x.sizes, Data: x.data()}
}

// graph runs g, whose inputs have values.
func (e *eager) graph(g *ir.Graph) ([]memory, error) {
	for _, n := range g.Nodes {
		if err := e.node(n); err != nil {
			return nil, ir.ErrorAt("", n, err)
		}
	}
	return e.tensors(g.Outputs)
}

func (e *eager) tensors(args []ir.Arg) ([]memory, error) {
	var out []memory
	for _, a := range args {
		ref, ok := a.(ir.Ref)
		if !ok {
			out = append(out, memory{})
			continue
		}
		x, err := e.get(ref.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (e *eager) get(v *ir.Value) (memory, error) {
	if x, ok := e.env[v]; ok {
		return x, nil
	}
	if v.Const == nil {
		return memory{}, fmt.Errorf("%%%s has no value", v.Name)
	}
	x, err := e.m.Get(v)
	if err != nil {
		return memory{}, err
	}
	e.env[v] = fresh(x.Tensor.DType, x.Tensor.Sizes, x.Tensor.Data)
	return e.env[v], nil
}

// refresh tells the machine what the tensors that n reads hold now.
func (e *eager) refresh(n *ir.Node) error {
	var err error
	for _, a := range n.Args {
		ir.EachRef(a.Value, func(v *ir.Value) {
			if v.Type.Kind != ir.TensorKind {
				return
			}
			x, bad := e.get(v)
			if bad != nil {
				err = bad
				return
			}
			e.m.Set(v, interp.Tensor(x.dtype, x.sizes, x.data()))
		})
	}
	return err
}

func (e *eager) node(n *ir.Node) error {
	if len(n.Regions) > 0 {
		return e.control(n)
	}
	if err := e.refresh(n); err != nil {
		return err
	}
	if v := n.Output(0); v != nil && v.Type.Kind != ir.TensorKind {
		return e.m.Node(n)
	}
	c, err := e.table.Bind(n)
	if err != nil {
		return err
	}
	if w, ok := alias.Writes(e.table, n); ok {
		return e.write(n, w, c)
	}
	if c.Op.View != nil {
		views, err := c.Op.View(c)
		if err != nil {
			return err
		}
		if views != nil {
			for i, v := range n.Outputs {
				base, err := e.get(c.Operands()[views[i].Of])
				if err != nil {
					return err
				}
				if e.env[v], err = e.view(base, views[i], v.Type); err != nil {
					return err
				}
			}
			return nil
		}
	}
	outs, err := e.compute(n.Op, n)
	for i, v := range n.Outputs {
		if err == nil && v != nil && v.Type.Kind == ir.TensorKind {
			e.env[v] = outs[i]
		}
	}
	return err
}

// compute runs a functional operator with n's arguments.
func (e *eager) compute(op string, n *ir.Node) ([]memory, error) {
	f := &ir.Node{Name: n.Name, Op: op, Args: n.Args}
	c, err := e.table.Bind(f)
	if err != nil {
		return nil, err
	}
	for i, t := range c.Outs {
		f.Outputs = append(f.Outputs, &ir.Value{Name: fmt.Sprint("out", i), Type: t,
			Def: f, Index: i})
	}
	if err := e.m.Node(f); err != nil {
		return nil, err
	}
	var outs []memory
	for _, v := range f.Outputs {
		x, err := e.m.Get(v)
		if err != nil {
			return nil, err
		}
		out := fresh(x.Tensor.DType, x.Tensor.Sizes, x.Tensor.Data)
		e.shake(op, n, out)
		outs = append(outs, out)
	}
	return outs, nil
}

// write runs an in-place operator.
func (e *eager) write(n *ir.Node, w alias.Write, c *ops.Call) error {
	target, err := e.get(w.Target)
	if err != nil {
		return err
	}
	if w.Rebind {
		return fmt.Errorf("in-place views are not modelled")
	}
	outs, err := e.compute(w.Functional, n)
	if err != nil {
		return err
	}
	if outs[0].dtype != target.dtype {
		return fmt.Errorf("a result of %v does not fit into %v", outs[0].dtype, target.dtype)
	}
	target.write(outs[0].data())
	if v := n.Output(0); v != nil {
		e.env[v] = target
	}
	return nil
}

// view returns the part of base that a view of type t shows.
func (e *eager) view(base memory, view ops.View, t ir.Type) (memory, error) {
	sizes, err := evalSizes(t.Sizes, e.syms)
	if err != nil {
		return memory{}, err
	}
	out := memory{store: base.store, dtype: base.dtype, sizes: sizes}
	n := int64(1)
	for _, s := range sizes {
		n *= s
	}
	coords := make([]sym.Expr, len(sizes))
	for i := range n {
		rest := i
		for d := len(sizes) - 1; d >= 0; d-- {
			coords[d] = sym.Int(rest % sizes[d])
			rest /= sizes[d]
		}
		where, err := evalSizes(view.Map(coords), e.syms)
		if err != nil {
			return memory{}, err
		}
		pos := int64(0)
		for d, k := range where {
			if k < 0 || k >= base.sizes[d] {
				return memory{}, fmt.Errorf("a view shows index %d of dimension %d of %v", k, d,
					base.sizes)
			}
			pos = pos*base.sizes[d] + k
		}
		out.at = append(out.at, base.at[pos])
	}
	return out, nil
}

// inexact are parts of names of operators whose result depends on the order of
// summation.
var inexact = []string{"sum", "mean", "mm", "matmul", "linear", "conv", "softmax", "norm", "var",
	"std", "prod", "cumsum",
	"avg_pool", "gelu", "dot", "index_put", "scatter_add", "silu", "sigmoid", "dist",
	"einsum", "mv"}

// shake moves the elements of an inexact result.
func (e *eager) shake(op string, n *ir.Node, x memory) {
	if e.jitter == nil || !x.dtype.IsFloat() || !slices.ContainsFunc(inexact, func(s string) bool {
		return strings.Contains(op, s)
	}) {
		return
	}
	eps := map[ir.DType]float64{ir.Float64: 0x1p-52, ir.Float32: 0x1p-23, ir.Float16: 0x1p-10,
		ir.BFloat16: 0x1p-7}[x.dtype]
	largest := 0.0
	note := func(m memory) {
		for _, p := range m.at {
			if v := math.Abs(eval.Get(m.dtype, *m.store, p).F); v < math.MaxFloat32 {
				largest = max(largest, v)
			}
		}
	}
	note(x)
	if x.dtype != ir.Float16 && x.dtype != ir.BFloat16 { // those are summed in float32
		for _, a := range n.Args {
			ir.EachRef(a.Value, func(v *ir.Value) {
				if m, err := e.get(v); err == nil && m.dtype.IsFloat() {
					note(m)
				}
			})
		}
	}
	for _, p := range x.at {
		v := eval.Get(x.dtype, *x.store, p)
		v.F += v.F*2*eps*(2*e.jitter.Float64()-1) + largest*2*eps*(2*e.jitter.Float64()-1)
		eval.Put(x.dtype, *x.store, p, v)
	}
}
