package ops

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	raise "github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// ComplexOp makes complex numbers of their parts. Kernels know real numbers only: RealParts
// says an operator on complex numbers in operators on their parts, of which this one makes
// its result.
const ComplexOp = "aten.complex.default"

// complexOps are operators that make complex numbers, or take them apart. What they do with
// complex numbers is in complexForms.
func complexOps() []entry {
	// parts is an operator that gives a real tensor back as it is; of makes the dtype of the
	// result.
	parts := func(schema string, of func(ir.DType) ir.DType) entry {
		self := view(schema, single(func(_ *Call, t ir.Type) alias { return self(t) }))
		return entry{Schema: schema, Infer: func(c *Call) []ir.Type {
			t := c.Tensor("self")
			return one(likeType(t, of(t.DType)))
		}, variant: func(c *Call) *entry {
			if c.Tensor("self").DType.IsComplex() {
				return nil
			}
			return &self
		}}
	}
	kept := func(d ir.DType) ir.DType { return d }
	return []entry{
		{Schema: "aten::complex(Tensor real, Tensor imag) -> Tensor", Infer: func(c *Call) []ir.Type {
			re, im := c.Tensor("real"), c.Tensor("imag")
			c.errorIf(re.DType != im.DType || complexOf(re.DType).Part() != re.DType,
				"parts of %s and %s", re.DType, im.DType)
			t, ok := pointwiseType(complexOf(re.DType), re, im)
			c.errorIf(!ok, "%s do not broadcast", sizesOf{re, im})
			return []ir.Type{t}
		}},
		insideComplex("aten::polar(Tensor abs, Tensor angle) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				r, angle := c.Value("abs"), c.Value("angle")
				return b.complex(pair{b.mul(r, b.aten("cos", angle)), b.mul(r, b.aten("sin", angle))})
			}),
		// The results of these are copies. Functionalise refuses writes that would tell.
		insideComplex("aten::view_as_complex(Tensor(a) self) -> Tensor(a)",
			func(b *Builder, c *Call) *ir.Value {
				x := c.Value("self")
				last := x.Type.Rank() - 1
				c.errorIf(last < 0 || !x.Type.Sizes[last].Is(2), "the last dimension of %s is not 2",
					sizesOf{x.Type})
				return b.complex(pair{b.aten("select.int", x, last, 0), b.aten("select.int", x, last, 1)})
			}),
		insideComplex("aten::view_as_real(Tensor(a) self) -> Tensor(a)",
			func(b *Builder, c *Call) *ir.Value {
				x := c.Value("self")
				c.errorIf(!x.Type.DType.IsComplex(), "not defined on %s", x.Type.DType)
				return b.aten("stack", []*ir.Value{b.aten("real", x), b.aten("imag", x)}, x.Type.Rank())
			}),
		parts("aten::real(Tensor(a) self) -> Tensor(a)", ir.DType.Part),
		{Schema: "aten::imag(Tensor(a) self) -> Tensor(a)", Infer: func(c *Call) []ir.Type {
			t := c.Tensor("self")
			c.errorIf(!t.DType.IsComplex(), "not defined on %s", t.DType)
			return one(likeType(t, t.DType.Part()))
		}},
		angle(),
		parts("aten::conj(Tensor(a) self) -> Tensor(a)", kept),
		parts("aten::_conj(Tensor(a) self) -> Tensor(a)", kept),
		parts("aten::conj_physical(Tensor self) -> Tensor", kept),
	}
}

// angle is 0 or π of real numbers.
func angle() entry {
	rule := func(d ir.DType) (ir.DType, ir.DType, bool) { return toFloat(d.Part()) }
	return unary("aten::angle(Tensor self) -> Tensor", rule, func(x *expr.Expr) *expr.Expr {
		side := expr.Select(expr.Lt(x, like(x, 0)), like(x, math.Pi), like(x, 0))
		return expr.Select(expr.IsNaN(x), x, side)
	}).core(func(b *Builder, c *Call) *ir.Value {
		x := b.cast(c.Value("self"), c.Outs[0].DType)
		side := b.where(b.aten("lt.Scalar", x, 0), math.Pi, 0, x.Type.DType)
		return b.where(b.aten("isnan", x), x, side, x.Type.DType)
	})
}

// insideComplex is a composite of operators on complex numbers, whose results may be real.
func insideComplex(schema string, f func(*Builder, *Call) *ir.Value) entry {
	e := derived(schema, f)
	e.complex = true
	return e
}

// Complex reports whether the operator becomes operators on complex numbers whatever it takes.
func (op *Op) Complex() bool { return op.entry.complex }

// pair is a complex number: tensors or numbers. im is nil where the number is real.
type pair struct{ re, im any }

// complex returns the tensor of p, whose real part is a tensor.
func (b *Builder) complex(p pair) *ir.Value {
	if p.im == nil {
		p.im = b.aten("zeros_like", p.re)
	}
	return b.Op(ComplexOp, p.re, p.im)
}

// pair returns the parts of an argument, a tensor or a number.
func (c *Call) pair(name string) pair { return pairOf(c.Arg(name)) }

func pairOf(a ir.Arg) pair {
	switch x := a.(type) {
	case ir.Complex:
		return pair{real(x), imag(x)}
	case ir.Ref:
		if isComplex(a) {
			def := x.Value.Def
			return pair{def.Arg("real"), def.Arg("imag")}
		}
	}
	return pair{a, nil}
}

// isComplex reports whether a holds complex numbers.
func isComplex(a ir.Arg) bool {
	switch a := a.(type) {
	case ir.Complex:
		return true
	case ir.DTypeArg:
		return ir.DType(a).IsComplex()
	case ir.Ref:
		return a.Value.Type.Kind == ir.TensorKind && a.Value.Type.DType.IsComplex()
	case ir.List:
		return slices.ContainsFunc(a, isComplex)
	}
	return false
}

// plus and minus are those of parts, of which nil is 0.
func (b *Builder) plus(x, y any) any {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return b.add(x, y)
}

func (b *Builder) minus(x, y any) any {
	switch {
	case y == nil:
		return x
	case x == nil:
		return b.aten("neg", y)
	}
	return b.sub(x, y)
}

// bilinear is a product of x and y, f that of their parts.
func (b *Builder) bilinear(x, y pair, f func(x, y any) *ir.Value) pair {
	part := func(x, y any) any {
		if x == nil || y == nil {
			return nil
		}
		return f(x, y)
	}
	return pair{b.minus(part(x.re, y.re), part(x.im, y.im)),
		b.plus(part(x.re, y.im), part(x.im, y.re))}
}

func (b *Builder) times(x, y pair) pair {
	return b.bilinear(x, y, func(x, y any) *ir.Value { return b.mul(x, y) })
}

// reciprocal is 1/x, of tensors. The larger part is divided by first, so that no square leaves the
// range of numbers.
func (b *Builder) reciprocal(x pair) pair {
	s := b.aten("maximum", b.aten("abs", x.re), b.aten("abs", x.im))
	s = b.where(b.aten("eq.Scalar", s, 0), 1, s, s.Type.DType)
	re, im := b.div(x.re, s), b.div(x.im, s)
	norm := b.add(b.mul(re, re), b.mul(im, im))
	return pair{b.div(b.div(re, norm), s), b.aten("neg", b.div(b.div(im, norm), s))}
}

// exp is e^x.
func (b *Builder) exp(x pair) pair {
	r := b.aten("exp", x.re)
	return pair{b.mul(r, b.aten("cos", x.im)), b.mul(r, b.aten("sin", x.im))}
}

// log is the logarithm of x whose imaginary part is the angle.
func (b *Builder) log(x pair) pair {
	return pair{b.aten("log", b.aten("hypot", x.re, x.im)), b.aten("atan2", x.im, x.re)}
}

// complexForm says a call on complex numbers in real ones.
type complexForm func(b *Builder, c *Call) *ir.Value

// productOf is the form of a product op of the arguments x and y.
func productOf(op, x, y string) complexForm {
	return func(b *Builder, c *Call) *ir.Value {
		return b.complex(b.bilinear(c.pair(x), c.pair(y),
			func(x, y any) *ir.Value { return b.Op(op, x, y) }))
	}
}

// byMagnitude is the form of an operator that only asks how large numbers are.
func byMagnitude(b *Builder, c *Call) *ir.Value {
	x := c.pair("self")
	return b.Op(c.Op.Name(), c.given(func(name string, a ir.Arg) any {
		if name == "self" {
			return b.aten("hypot", x.re, x.im)
		}
		if d, ok := a.(ir.DTypeArg); ok {
			return ir.DType(d).Part()
		}
		return a
	})...)
}

// ofBoth is the form of an operator that is op of what it says of the parts.
func ofBoth(op string) complexForm {
	return func(b *Builder, c *Call) *ir.Value {
		parts := b.parts(c)
		return b.aten(op, parts[0][0], parts[1][0])
	}
}

// complexForms are those of operators that take numbers as wholes.
var complexForms = map[string]complexForm{
	"aten.real.default": func(b *Builder, c *Call) *ir.Value { return valueOf(c.pair("self").re) },
	"aten.imag.default": func(b *Builder, c *Call) *ir.Value { return valueOf(c.pair("self").im) },
	"aten.angle.default": func(b *Builder, c *Call) *ir.Value {
		x := c.pair("self")
		return b.aten("atan2", x.im, x.re)
	},
	"aten.abs.default": func(b *Builder, c *Call) *ir.Value {
		x := c.pair("self")
		return b.aten("hypot", x.re, x.im)
	},
	"aten.pow.Tensor_Scalar": func(b *Builder, c *Call) *ir.Value {
		if isComplex(c.Arg("exponent")) {
			return b.onNumbers(c, powerOf)
		}
		return b.complex(b.power(c.pair("self"), must(c.Float("exponent"))))
	},
	"aten.mul.Tensor":         productOf("aten.mul.Tensor", "self", "other"),
	"aten.mul.Scalar":         productOf("aten.mul.Tensor", "self", "other"),
	"aten.mm.default":         productOf("aten.mm.default", "self", "mat2"),
	"aten.bmm.default":        productOf("aten.bmm.default", "self", "mat2"),
	"aten.div.Tensor":         quotient,
	"aten.true_divide.Tensor": quotient,
	"aten.div.Scalar":         quotient,
	"aten.addmm.default": func(b *Builder, c *Call) *ir.Value {
		return b.addProduct(c, b.aten("mm", c.Value("mat1"), c.Value("mat2")))
	},
	"aten.baddbmm.default": func(b *Builder, c *Call) *ir.Value {
		return b.addProduct(c, b.aten("bmm", c.Value("batch1"), c.Value("batch2")))
	},
	"aten.mv.default":  productOf("aten.mv.default", "self", "vec"),
	"aten.dot.default": productOf("aten.dot.default", "self", "tensor"),
	"aten.vdot.default": func(b *Builder, c *Call) *ir.Value {
		return b.aten("dot", b.complex(b.conjugate(c.pair("self"))), c.Value("other"))
	},
	"aten.mH.default":       hermitian,
	"aten.adjoint.default":  hermitian,
	"aten.matrix_H.default": hermitian,
	"aten.isreal.default": func(b *Builder, c *Call) *ir.Value {
		return b.aten("eq.Scalar", c.pair("self").im, 0)
	},
	"aten.linalg_vector_norm.default": byMagnitude,
	"aten.eq.Tensor":                  ofBoth("logical_and"),
	"aten.eq.Scalar":                  ofBoth("logical_and"),
	"aten.ne.Tensor":                  ofBoth("logical_or"),
	"aten.ne.Scalar":                  ofBoth("logical_or"),
	"aten.isnan.default":              ofBoth("logical_or"),
	"aten.isinf.default":              ofBoth("logical_or"),
	"aten.isfinite.default":           ofBoth("logical_and"),
	"aten.new_ones.default":           ones,
	"aten.ones.default":               ones,
	"aten.ones_like.default":          ones,
	"aten.eye.default":                ones,
	"aten.eye.m":                      ones,
	"aten.isclose.default":            closeBy,
	"aten.convolution.default":        convolve,
	"aten.prod.default":               running(pair{1.0, 0.0}, (*Builder).times),
	"aten.prod.dim_int":               running(pair{1.0, 0.0}, (*Builder).times),
	"aten.cumprod.default":            running(pair{1.0, 0.0}, (*Builder).times),
	"aten.logcumsumexp.default":       running(pair{-inf, 0.0}, (*Builder).logAdd),
	"aten.logaddexp.default": func(b *Builder, c *Call) *ir.Value {
		x, y := c.pair("self"), c.pair("other")
		return b.complex(b.logAdd(x, y))
	},
}

// hermitian is the form of the conjugate of a transposed matrix.
func hermitian(b *Builder, c *Call) *ir.Value {
	y := b.complex(b.conjugate(c.pair("self")))
	if y.Type.Rank() == 0 {
		return y
	}
	return b.aten("transpose.int", y, -2, -1)
}

// partwise are the operators of which a part of the result is that of the part: they move
// elements, or add them up.
var partwise = nodeSet(`_to_copy add alias alias_copy as_strided_copy as_strided_scatter cat clone
	constant_pad_nd contiguous copy cumsum detach detach_copy diag_embed diagonal_copy
	diagonal_scatter empty empty_like empty_permuted empty_strided expand expand_copy fill flip
	full full_like gather im2col col2im index index_add index_copy index_fill index_put
	index_select lift_fresh_copy linspace masked_fill masked_scatter mean narrow_copy neg
	new_empty new_empty_strided new_full new_zeros pad permute_copy pixel_shuffle
	pixel_unshuffle reflection_pad1d reflection_pad2d reflection_pad3d repeat replication_pad1d
	replication_pad2d replication_pad3d resolve_conj resolve_neg roll rsub scalar_tensor scatter
	scatter_add select_copy select_scatter slice_copy slice_scatter split_copy
	split_with_sizes_copy squeeze_copy sub sum t_copy take transpose_copy tril triu unbind_copy
	unfold_copy unsqueeze_copy view_copy where zero zeros zeros_like`)

// byTruth are the operators that only ask which numbers are 0, byParts those whose composite
// form holds of complex numbers too, though they have a kernel for real ones.
var (
	byTruth = nodeSet(`all any count_nonzero logical_and logical_not logical_or logical_xor
		nonzero_static`)
	byComposite = nodeSet(
		"addmv linear rms_norm special_exp2 special_expm1 special_expit special_log1p")
)

func nodeSet(names string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}

// valueOf returns a part that is a tensor.
func valueOf(x any) *ir.Value {
	if r, ok := x.(ir.Ref); ok {
		return r.Value
	}
	return x.(*ir.Value)
}

func (b *Builder) conjugate(x pair) pair { return pair{x.re, b.aten("neg", x.im)} }

// power is x^n.
func (b *Builder) power(x pair, n float64) pair {
	if n == math.Trunc(n) && n >= 1 && n <= 8 {
		y := x
		for range int(n) - 1 {
			y = b.times(y, x)
		}
		return y
	}
	// 0 has no logarithm.
	r, angle := b.aten("hypot", x.re, x.im), b.mul(b.aten("atan2", x.im, x.re), n)
	r = b.aten("pow.Tensor_Scalar", r, n)
	return pair{b.mul(r, b.aten("cos", angle)), b.mul(r, b.aten("sin", angle))}
}

func quotient(b *Builder, c *Call) *ir.Value {
	x, y := c.pair("self"), c.pair("other")
	if n, ok := c.Arg("other").(ir.Complex); ok {
		n = 1 / n
		return b.complex(b.times(x, pair{real(n), imag(n)}))
	}
	if y.im != nil {
		return b.complex(b.times(x, b.reciprocal(y)))
	}
	return b.complex(pair{b.div(x.re, y.re), b.div(x.im, y.re)})
}

// ones are those of a complex dtype, or in the shape of complex numbers.
func ones(b *Builder, c *Call) *ir.Value {
	re := b.Op(c.Op.Name(), b.partArgs(c, 0)...)
	if !c.Outs[0].DType.IsComplex() {
		return re
	}
	return b.complex(pair{re, nil})
}

// addProduct is beta·self + alpha·p. With a beta of 0, self does not count.
func (b *Builder) addProduct(c *Call, p *ir.Value) *ir.Value {
	p = b.mul(p, c.Arg("alpha"))
	if beta := c.Arg("beta"); beta != ir.Int(0) && beta != ir.Float(0) {
		p = b.add(b.mul(c.Value("self"), beta), p)
	}
	return p
}

// given returns the arguments of c by name, each as f has it.
func (c *Call) given(f func(name string, a ir.Arg) any) []any {
	args := make([]any, len(c.Args))
	for i, a := range c.Args {
		args[i] = Kw(c.Op.sch.Args[i].Name, f(c.Op.sch.Args[i].Name, a))
	}
	return args
}

// partArgs returns the arguments of c for part k of its numbers, 0 the real one.
func (b *Builder) partArgs(c *Call, k int) []any {
	return c.given(func(name string, a ir.Arg) any {
		switch name {
		case "self", "other", "input", "tensors", "values", "src", "source", "value", "fill_value",
			"s":
			return b.partOf(a, k)
		case "start", "end": // of linspace; of a slice they are sizes
			if c.Op.sch.Args[c.Op.sch.Index(name)].Type.Name == "Scalar" {
				return b.partOf(a, k)
			}
		}
		if _, tensor := a.(ir.Ref); tensor && isComplex(a) {
			return b.partOf(a, k)
		}
		if d, ok := a.(ir.DTypeArg); ok {
			return ir.DType(d).Part()
		}
		return a
	})
}

// partOf returns part k of the numbers in a.
func (b *Builder) partOf(a ir.Arg, k int) ir.Arg {
	if list, ok := a.(ir.List); ok {
		out := make(ir.List, len(list))
		for i, x := range list {
			out[i] = b.partOf(x, k)
		}
		return out
	}
	p := pairOf(a)
	x := p.re
	if k == 1 {
		x = p.im
	}
	if x == nil {
		if r, ok := a.(ir.Ref); ok && r.Value.Type.Kind == ir.TensorKind {
			x = b.aten("zeros_like", r)
		} else {
			x = 0
		}
	}
	return must(ToArg(x))
}

// parts are the results of c's operator on each part of its numbers.
func (b *Builder) parts(c *Call) (parts [2][]*ir.Value) {
	for k := range parts {
		parts[k] = b.Ops(c.Op.Name(), b.partArgs(c, k)...)
	}
	return parts
}

// partwise is c's operator on each part of its numbers.
func (b *Builder) partwise(c *Call) (vs []*ir.Value) {
	// the number is multiplied with first
	if i := c.Op.sch.Index("alpha"); i >= 0 && isComplex(c.Args[i]) {
		of := "other"
		switch ir.OpBase(c.Op.Name()) {
		case "rsub":
			of = "self"
		case "index_add":
			of = "source"
		}
		return b.Ops(c.Op.Name(), c.given(func(name string, a ir.Arg) any {
			switch name {
			case of:
				return b.mul(a, c.Arg("alpha"))
			case "alpha":
				return 1
			}
			return a
		})...)
	}
	parts := b.parts(c)
	for i, v := range parts[0] {
		switch d := c.Outs[i].DType; {
		case d.IsComplex():
			v = b.complex(pair{v, parts[1][i]})
		case d == ir.Bool: // a conversion
			v = b.aten("logical_or", v, parts[1][i])
		}
		vs = append(vs, v)
	}
	return vs
}

// onNumbers is f of the numbers of c as tensors of the dtype of its result.
func (b *Builder) onNumbers(c *Call, f composite) *ir.Value {
	return f(b, func(name string) *ir.Value { return b.tensor(c, name, c.Outs[0].DType) }, c)
}

// expandParts makes the parts of complex numbers as large as these, nil if they are.
func expandParts(b *Builder, c *Call) ([]*ir.Value, error) {
	re, im := c.Value("real"), c.Value("imag")
	if sym.AllEqual(re.Type.Sizes, im.Type.Sizes) {
		return nil, nil
	}
	sizes := c.Outs[0].Sizes
	return b.Ops(ComplexOp, b.aten("expand", re, sizes), b.aten("expand", im, sizes)), nil
}

// RealParts says c, if it has to do with complex numbers, in operators on their parts; the
// complex ones among its results are results of ComplexOp. It returns nil if there is nothing
// to do, or if an operand is not yet such a result.
func (b *Builder) RealParts(c *Call) ([]*ir.Value, error) {
	if c.Op.Name() == ComplexOp {
		return b.say(c, expandParts)
	}
	if !c.Op.Complex() && !slices.ContainsFunc(c.Args, isComplex) &&
		!slices.ContainsFunc(c.Outs, func(t ir.Type) bool { return t.DType.IsComplex() }) {
		return nil, nil
	}
	for _, v := range c.operands {
		if v.Type.DType.IsComplex() && (v.Def == nil || v.Def.Op != ComplexOp) {
			return nil, nil
		}
	}
	return b.say(c, func(b *Builder, c *Call) (vs []*ir.Value, err error) {
		defer raise.Catch(&err)
		name, base := c.Op.Name(), ir.OpBase(c.Op.Name())
		if form := complexForms[name]; form != nil {
			return []*ir.Value{form(b, c)}, nil
		}
		if f := complexFunctions[base]; f != nil {
			return []*ir.Value{b.complex(f(b, c.pair("self")))}, nil
		}
		if f := complexComposites[name]; f != nil {
			return []*ir.Value{b.onNumbers(c, f)}, nil
		}
		switch {
		case variances[base]:
			return b.variances(c), nil
		case byTruth[base]:
			return []*ir.Value{ofTruth(b, c)}, nil
		case c.Op.View != nil || partwise[base]:
			return b.partwise(c), nil
		case c.Op.Value != nil:
			return b.Ops(name, b.partArgs(c, 0)...), nil
		case c.Op.Decompose != nil && (byComposite[base] || c.Op.Compute == nil && c.Op.Loops == nil):
			return c.Op.Decompose(b, c)
		}
		return nil, fmt.Errorf("not defined on complex numbers")
	})
}
