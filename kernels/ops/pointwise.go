package ops

import (
	"strings"

	"github.com/etgen/etgen/ir"
	raise "github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// A rule gives, for the promoted dtype of the operands, the dtype an
// elementwise operator computes in and that of its result; ok is false if
// PyTorch rejects the dtype.
type rule func(common ir.DType) (compute, result ir.DType, ok bool)

// The rules of elementwise operators.
var (
	// same keeps the dtype.
	same rule = func(d ir.DType) (ir.DType, ir.DType, bool) { return opmath(d), d, true }
	// noBool keeps the dtype and rejects bool.
	noBool rule = func(d ir.DType) (ir.DType, ir.DType, bool) { return opmath(d), d, d != ir.Bool }
	// magnitude is noBool, but that complex numbers give real ones.
	magnitude rule = func(d ir.DType) (ir.DType, ir.DType, bool) {
		return opmath(d), d.Part(), d != ir.Bool
	}
	// toFloat computes integers and bool in the default float.
	toFloat rule = func(d ir.DType) (ir.DType, ir.DType, bool) {
		if d.IsInt() || d == ir.Bool {
			d = defaultFloat
		}
		return opmath(d), d, true
	}
	// floatOnly rejects everything but floats.
	floatOnly rule = func(d ir.DType) (ir.DType, ir.DType, bool) {
		return opmath(d), d, d.IsFloat()
	}
	// toBool compares.
	toBool rule = func(d ir.DType) (ir.DType, ir.DType, bool) { return opmath(d), ir.Bool, true }
	// logical converts to bool first.
	logical rule = func(d ir.DType) (ir.DType, ir.DType, bool) { return ir.Bool, ir.Bool, true }
	// intOrBool keeps integers and bool and rejects the rest.
	intOrBool rule = func(d ir.DType) (ir.DType, ir.DType, bool) {
		return d, d, d.IsInt() || d == ir.Bool
	}
)

// point is one element of an elementwise operator under definition.
type point struct {
	c      *Call
	dt     ir.DType     // compute dtype
	x      []*expr.Expr // the operands as elements of dt, or of their own dtype where marked "?"
	coords []sym.Expr   // of the element
}

// num returns a Scalar argument as a value of the compute dtype.
func (p *point) num(name string) *expr.Expr { return p.c.number(p.c.Arg(name), p.dt) }

// konst returns x as a constant of the compute dtype.
func (p *point) konst(x float64) *expr.Expr { return expr.Num(p.dt, x) }

// like returns x as a constant of e's dtype.
func like(e *expr.Expr, x float64) *expr.Expr { return expr.Num(e.DType, x) }

// elementwise is the general form of an operator that maps elements to an
// element.
type elementwise struct {
	schema string
	names  []string // operands: arguments that broadcast and, if not loose, promote
	loose  []bool
	rule   rule
	body   func(p *point) *expr.Expr
}

// pointwise is an entry whose result's elements are body of the operands'
// elements. operands names the arguments, tensors or numbers, that broadcast
// and promote, separated by spaces; one marked "?" broadcasts but keeps its
// dtype. Absent operands are nil in point.x.
func pointwise(schema, operands string, r rule, body func(p *point) *expr.Expr) entry {
	e := &elementwise{schema: schema, rule: r, body: body}
	for _, name := range strings.Fields(operands) {
		name, loose := strings.CutPrefix(name, "?")
		e.names = append(e.names, name)
		e.loose = append(e.loose, loose)
	}
	return entry{Schema: schema, numbers: len(e.names) > 1, Infer: e.infer, Compute: e.compute}
}

// unary is a pointwise operator of argument self.
func unary(schema string, r rule, f func(x *expr.Expr) *expr.Expr) entry {
	return pointwise(schema, "self", r, func(p *point) *expr.Expr { return f(p.x[0]) })
}

// binary is a pointwise operator of arguments self and other.
func binary(schema string, r rule, f func(a, b *expr.Expr) *expr.Expr) entry {
	return pointwise(schema, "self other", r, func(p *point) *expr.Expr {
		return f(p.x[0], p.x[1])
	})
}

// dtypes returns the compute and result dtypes of c.
func (e *elementwise) dtypes(c *Call) (compute, result ir.DType) {
	var names []string
	for i, name := range e.names {
		if !e.loose[i] {
			names = append(names, name)
		}
	}
	d := must(c.Promote(names...))
	compute, result, ok := e.rule(d)
	c.errorIf(!ok, "not defined on %s", d)
	return compute, result
}

func (e *elementwise) infer(c *Call) []ir.Type {
	_, d := e.dtypes(c)
	var ts []ir.Type
	for _, name := range e.names {
		if k := c.Operand(name); k >= 0 {
			ts = append(ts, c.operands[k].Type)
		}
	}
	t, ok := pointwiseType(d, ts...)
	c.errorIf(!ok, "%s do not broadcast", sizesOf(ts))
	return []ir.Type{t}
}

func (e *elementwise) compute(c *Call) []expr.Tensor {
	dt, d := e.dtypes(c)
	vars, coords := indexVars(c.Outs[0].Sizes)
	p := &point{c: c, dt: dt, coords: coords}
	for i, name := range e.names {
		var x *expr.Expr
		if k := c.Operand(name); k >= 0 {
			x = c.LoadAt(k, broadcastCoords(c.operands[k].Type, c.Outs[0].Sizes, coords)...)
			if !e.loose[i] {
				x = expr.Cast(dt, x)
			}
		} else if c.Has(name) {
			x = c.number(c.Arg(name), dt)
		}
		p.x = append(p.x, x)
	}
	return []expr.Tensor{{DType: d, Vars: vars, Body: expr.Cast(d, e.body(p))}}
}

// Defined returns an error if the call cannot be computed although its types can be
// inferred: a program that has it fails where it is run.
func (c *Call) Defined() (err error) {
	if c.Op.View != nil || c.Op.Value != nil {
		return nil
	}
	defer raise.Catch(&err)
	c.real()
	return nil
}

// element makes the Compute of an entry with one result from f, which gives the element
// at coordinates at. What it gives is cast to the result's dtype.
func element(f func(c *Call, at []sym.Expr) *expr.Expr) func(*Call) []expr.Tensor {
	return func(c *Call) []expr.Tensor {
		return c.elements(func(_ int, at []sym.Expr) *expr.Expr { return f(c, at) })
	}
}

// elements returns the results of which f gives the element of number i at coordinates at.
func (c *Call) elements(f func(i int, at []sym.Expr) *expr.Expr) []expr.Tensor {
	ts := make([]expr.Tensor, len(c.Outs))
	for i, out := range c.Outs {
		vars, at := indexVars(out.Sizes)
		ts[i] = expr.Tensor{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType, f(i, at))}
	}
	return ts
}

// real raises an error if an operand, a number or a result is complex.
func (c *Call) real() {
	for _, v := range c.operands {
		c.errorIf(v.Type.DType.IsComplex(), "not yet defined on %s", v.Type.DType)
	}
	for _, t := range c.Outs {
		c.errorIf(t.DType.IsComplex(), "not yet defined on %s", t.DType)
	}
	for _, a := range c.Args {
		_, complex := a.(ir.Complex)
		c.errorIf(complex, "not yet defined on complex numbers")
	}
}

// onReals makes f, a form of an entry, reject complex numbers.
func onReals[T any](f func(*Call) T) func(*Call) T {
	if f == nil {
		return nil
	}
	return func(c *Call) T {
		c.real()
		return f(c)
	}
}

// number returns a number argument as a value of dtype d.
func (c *Call) number(a ir.Arg, d ir.DType) *expr.Expr {
	switch a := a.(type) {
	case ir.Int:
		return expr.Cast(d, expr.Int(ir.Int64, int64(a)))
	case ir.BoolArg:
		return expr.Cast(d, expr.Bool(bool(a)))
	case ir.Float:
		return expr.Cast(d, expr.Float(ir.Float64, float64(a)))
	case ir.Ref:
		t := a.Value.Type
		if t.Kind == ir.IntKind && t.HasExpr {
			return expr.Idx(d, t.Expr)
		}
		for i, v := range c.scalars {
			if v == a.Value {
				return expr.Cast(d, expr.ScalarRef(i, ScalarDType(t.Kind)))
			}
		}
	}
	return expr.Num(d, 0) // not reached: Bind checks kinds, real rejects complex
}

// ScalarDType is the dtype in which kernels take a run-time scalar.
func ScalarDType(k ir.Kind) ir.DType {
	switch k {
	case ir.IntKind:
		return ir.Int64
	case ir.BoolKind:
		return ir.Bool
	}
	return ir.Float64
}

// indexVars returns a loop variable for each dimension, and the variables as
// expressions.
func indexVars(sizes []sym.Expr) ([]*sym.Symbol, []sym.Expr) {
	const names = "ijklmnopq"
	vars, coords := make([]*sym.Symbol, len(sizes)), make([]sym.Expr, len(sizes))
	for d, s := range sizes {
		name := names[d%len(names) : d%len(names)+1]
		if d >= len(names) {
			name += itoa(d / len(names))
		}
		vars[d] = sym.NewVar(name, s)
		coords[d] = vars[d].Expr()
	}
	return vars, coords
}

// broadcastCoords returns the coordinates in t of the element at coords of a
// tensor of the given sizes, to which t broadcasts.
func broadcastCoords(t ir.Type, sizes, coords []sym.Expr) []sym.Expr {
	at := make([]sym.Expr, t.Rank())
	for i, s := range t.Sizes {
		d := len(sizes) - t.Rank() + i
		if !s.Is(1) {
			at[i] = coords[d]
		}
	}
	return at
}

// sizesOf describes the sizes of tensors in an error.
type sizesOf []ir.Type

func (ts sizesOf) String() string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		dims := make([]string, t.Rank())
		for j, s := range t.Sizes {
			dims[j] = s.String()
		}
		parts[i] = "[" + strings.Join(dims, ", ") + "]"
	}
	return "sizes " + strings.Join(parts, " and ")
}
