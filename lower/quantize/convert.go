package quantize

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// PassName is that of the pass that converts a program by a recipe.
const PassName = "quantize"

// Pipeline is the passes that convert p, a program as it was read, by a recipe, and then those of
// another pipeline. It fails if the recipe is of another program.
func Pipeline(p *ir.Program, r *Recipe, then lower.Pipeline) (lower.Pipeline, error) {
	if r.Digest != "" {
		digest, err := Digest(p)
		if err != nil {
			return lower.Pipeline{}, err
		}
		if digest != r.Digest {
			return lower.Pipeline{}, lower.InFile(p.Source, fmt.Errorf(
				"the recipe is of another model, or of another version of it: quantize this one "+
					"(its digest is %s, the recipe's %s)", digest, r.Digest))
		}
	}
	first := lower.Quantizable
	return lower.Pipeline{From: first.From, To: then.To, Passes: slices.Concat(first.Passes,
		[]lower.Pass{{Name: PassName, Doc: "insert what a recipe says",
			Run: func(ctx *lower.Context, p *ir.Program) error { return Convert(ctx.Table, p, r) },
		}}, then.Passes)}, nil
}

// Convert inserts what a recipe says into a program that Prepare has brought into form: behind
// each activation that is quantized, nodes that quantize and dequantize it, which all its readers
// see; in the place of each weight, integers and a node that dequantizes them.
func Convert(t *ops.Table, p *ir.Program, r *Recipe) error {
	var errs []error
	for i := range r.Methods {
		m := methodNamed(p, r.Methods[i].Name)
		if m == nil {
			errs = append(errs, fmt.Errorf("the recipe is of a method %q, which the model lacks",
				r.Methods[i].Name))
			continue
		}
		if err := convert(t, p, m, &r.Methods[i], r.IO == IntegerIO); err != nil {
			errs = append(errs, fmt.Errorf("method %q: %w", m.Name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return lower.InFile(p.Source, err)
	}
	return ir.Verify(p)
}

func methodNamed(p *ir.Program, name string) *ir.Method {
	for _, m := range p.Methods {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// converter holds what a recipe says of the values of a method.
type converter struct {
	table       *ops.Table
	activations map[*ir.Value]*ActivationRecipe
	constants   map[*ir.Value]func(b *ops.Builder) *ir.Value // what stands for them
	dynamic     map[*ir.Value]*ir.Value                      // dequantized
	moved       map[*ir.Value]bool                           // have other strides than before
}

func convert(t *ops.Table, p *ir.Program, m *ir.Method, r *MethodRecipe, integers bool) error {
	c := &converter{table: t, activations: map[*ir.Value]*ActivationRecipe{},
		constants: map[*ir.Value]func(*ops.Builder) *ir.Value{}, dynamic: map[*ir.Value]*ir.Value{},
		moved: map[*ir.Value]bool{}}
	values := map[string]*ir.Value{}
	for _, v := range m.Graph.Inputs {
		values[v.Name] = v
	}
	for _, v := range m.Graph.Constants {
		values[v.Name] = v
	}
	for _, n := range m.Graph.Nodes {
		for _, v := range n.Outputs {
			if v != nil {
				values[v.Name] = v
			}
		}
	}
	constant := lower.Constants(p, m)
	var errs []error
	find := func(name string, isConstant bool) *ir.Value {
		v := values[name]
		switch {
		case v == nil:
			errs = append(errs, fmt.Errorf("the recipe names a value %q, which the model lacks", name))
		case v.Type.Kind != ir.TensorKind || v.Type.DType != ir.Float32:
			errs = append(errs, fmt.Errorf("value %q is %s, not a tensor of float32", name, v.Type))
		case constant[v] != isConstant:
			errs = append(errs, fmt.Errorf("value %q: a weight or bias is a constant, "+
				"an activation is none", name))
		default:
			return v
		}
		return nil
	}
	for i := range r.Activations {
		if v := find(r.Activations[i].Value, false); v != nil {
			c.activations[v] = &r.Activations[i]
		}
	}
	for i := range r.Weights {
		if v := find(r.Weights[i].Value, true); v != nil {
			made, err := weight(v, &r.Weights[i])
			errs = append(errs, err)
			c.constants[v] = made
		}
	}
	for i := range r.Biases {
		if v := find(r.Biases[i].Value, true); v != nil {
			made, err := bias(v, &r.Biases[i])
			errs = append(errs, err)
			c.constants[v] = made
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	inside := map[*ir.Node]bool{} // of the method's own graph
	for _, n := range m.Graph.Nodes {
		inside[n] = true
	}
	first := m.Graph.Nodes
	rw := &ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) (_ []*ir.Value, keep bool, _ error) {
		if !inside[n] {
			return nil, true, nil
		}
		err := must.Try(func() {
			b := ops.NewBuilder(t, e)
			if n == first[0] {
				c.begin(b, m, n)
			}
			c.node(b, n)
		})
		return nil, false, err
	}}
	if err := rw.Run(m); err != nil || !integers {
		return err
	}
	return outside(m)
}

// begin puts what stands for inputs and constants in front of the graph.
func (c *converter) begin(b *ops.Builder, m *ir.Method, n *ir.Node) {
	for _, list := range [][]*ir.Value{m.Graph.Inputs, m.Graph.Constants} {
		for _, v := range list {
			if made := c.constants[v]; made != nil {
				c.stand(b, v, made(b))
			} else if r := c.activations[v]; r != nil && r.Dynamic == "" {
				c.stand(b, v, static(b, v, r))
			}
		}
	}
}

// node puts n in its place, and behind it what quantizes its results.
func (c *converter) node(b *ops.Builder, n *ir.Node) {
	if p, ok := products[ir.OpBase(n.Op)]; ok {
		for i, a := range n.Args {
			ref, isRef := a.Value.(ir.Ref)
			if r := c.activations[ref.Value]; isRef && (a.Name == p.x || a.Name == p.w) && r != nil &&
				r.Dynamic != "" {
				if c.dynamic[ref.Value] == nil {
					c.dynamic[ref.Value] = dynamic(b, ref.Value, r.Dynamic == "per_token")
				}
				n.Args[i].Value = ir.Ref{Value: c.dynamic[ref.Value]}
			}
		}
	}
	c.retype(n)
	b.Append(n)
	for _, v := range n.Outputs {
		if r := c.activations[v]; v != nil && r != nil && r.Dynamic == "" {
			c.stand(b, v, static(b, v, r))
		}
	}
}

// retype gives the results of n the types that follow from its operands, if one of them has
// other strides than before: what is quantized is dense, and what it is made of may have been a
// view. A view that these strides do not allow becomes a reshape.
func (c *converter) retype(n *ir.Node) {
	touched := false
	for _, a := range n.Args {
		ir.EachRef(a.Value, func(v *ir.Value) { touched = touched || c.moved[v] })
	}
	if !touched || len(n.Regions) > 0 {
		return
	}
	call, err := c.table.Bind(n)
	if base := ir.OpBase(n.Op); err != nil && (base == "view" || base == "_unsafe_view") {
		n.Op = "aten.reshape.default"
		n.Args = []ir.NamedArg{{Name: "self", Value: n.Args[0].Value},
			{Name: "shape", Value: n.Args[1].Value}}
		call, err = c.table.Bind(n)
	}
	must.Check(err)
	for i, v := range n.Outputs {
		if v != nil && i < len(call.Outs) && v.Type.Kind == ir.TensorKind &&
			!v.Type.Equal(call.Outs[i]) {
			v.Type = call.Outs[i]
			c.moved[v] = true
		}
	}
}

// stand makes later readers of v read to.
func (c *converter) stand(b *ops.Builder, v, to *ir.Value) {
	if c.moved[v] || !v.Type.Equal(to.Type) {
		c.moved[to] = true
	}
	b.Substitute(v, to)
}

const decomposed = "quantized_decomposed."

// static quantizes and dequantizes v.
func static(b *ops.Builder, v *ir.Value, r *ActivationRecipe) *ir.Value {
	d, _ := ir.ParseDType(r.DType)
	to := integersOf(d, d == ir.Int16)
	scale := float64(float32(r.Scale))
	q := b.Op(decomposed+"quantize_per_tensor.default", v, scale, r.ZeroPoint, to.least, to.most, d)
	return b.Op(decomposed+"dequantize_per_tensor.default", q, scale, r.ZeroPoint, to.least,
		to.most, d)
}

// dynamic quantizes and dequantizes v with the range that it has, of all or of each row.
func dynamic(b *ops.Builder, v *ir.Value, perToken bool) *ir.Value {
	to := integersOf(ir.Int8, false)
	if perToken {
		ps := b.Ops(decomposed+"choose_qparams_per_token_asymmetric.default", v, ir.Int8)
		q := b.Op(decomposed+"quantize_per_token.default", v, ps[0], ps[1], to.least, to.most,
			ir.Int8)
		return b.Op(decomposed+"dequantize_per_token.default", q, ps[0], ps[1], to.least, to.most,
			ir.Int8, ir.Float32)
	}
	const eps = 0x1p-23
	ps := b.Ops(decomposed+"choose_qparams.tensor", v, to.least, to.most, eps, ir.Int8)
	q := b.Op(decomposed+"quantize_per_tensor.tensor", v, ps[0], ps[1], to.least, to.most, ir.Int8)
	return b.Op(decomposed+"dequantize_per_tensor.tensor", q, ps[0], ps[1], to.least, to.most,
		ir.Int8)
}

// weight returns what makes integers of v and dequantizes them.
func weight(v *ir.Value, r *WeightRecipe) (func(b *ops.Builder) *ir.Value, error) {
	k, err := constantOf(v, r)
	if err != nil {
		return nil, err
	}
	to := weightIntegers(r.DType)
	scales := toFloats(r.Scales)
	for i, s := range scales {
		scales[i] = float64(float32(s))
	}
	if len(scales) == 0 {
		scales = k.scales(to, nil)
	}
	if len(scales) != k.channels {
		return nil, fmt.Errorf("value %q has %d scales, not %d", v.Name, len(scales), k.channels)
	}
	ints := &ir.Constant{Name: v.Const.Name, Type: ir.StaticTensor(ir.Int8, k.sizes...),
		Data: ir.Bytes(k.quantized(to, scales))}
	return func(b *ops.Builder) *ir.Value {
		w := b.Constant(v.Name+"_int8", ints)
		if r.Axis == nil {
			return b.Op(decomposed+"dequantize_per_tensor.default", w, scales[0], 0, to.least, to.most,
				ir.Int8)
		}
		zeros := func(sizes ...int64) *ir.Value {
			return b.Constant(v.Name+"_zero_point", &ir.Constant{
				Type: ir.StaticTensor(ir.Int64, sizes...), Data: make(ir.Bytes, 8*len(scales))})
		}
		if r.Group > 0 {
			groups := []int64{k.sizes[0], k.sizes[1] / int64(r.Group)}
			rows := b.Op(decomposed+"dequantize_per_channel_group.default", w,
				b.Constant(v.Name+"_scale", float32s(scales, groups...)), zeros(groups...), to.least,
				to.most, ir.Int8, r.Group, ir.Float32)
			sizes, _ := v.Type.StaticSizes()
			switch {
			case *r.Axis == 1:
				return b.Op("aten.permute.default", rows, []int{1, 0})
			case len(sizes) != 2:
				return b.Op("aten.view.default", rows, sizes)
			}
			return rows
		}
		n := int64(len(scales))
		return b.Op(decomposed+"dequantize_per_channel.default", w,
			b.Constant(v.Name+"_scale", float32s(scales, n)), zeros(n), *r.Axis, to.least, to.most,
			ir.Int8)
	}, nil
}

// bias returns what makes another bias of v.
func bias(v *ir.Value, r *BiasRecipe) (func(b *ops.Builder) *ir.Value, error) {
	k, err := constantOf(v, &WeightRecipe{})
	if err != nil {
		return nil, err
	}
	for _, list := range [][]Float32{r.Factors, r.Add} {
		if list != nil && len(list) != len(k.elements) {
			return nil, fmt.Errorf("value %q has %d elements, not %d", v.Name, len(k.elements), len(list))
		}
	}
	for i := range k.elements {
		if r.Factors != nil {
			k.elements[i] *= float64(r.Factors[i])
		}
		if r.Add != nil {
			k.elements[i] += float64(r.Add[i])
		}
	}
	made := float32s(k.elements, k.sizes...)
	made.Name = v.Const.Name
	return func(b *ops.Builder) *ir.Value { return b.Constant(v.Name+"_corrected", made) }, nil
}
