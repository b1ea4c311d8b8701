package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

const (
	factoryTail = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, " +
		"bool? pin_memory=None"
	factoryTailLike = factoryTail + ", MemoryFormat? memory_format=None"
)

// creationOps make tensors out of nothing. What empty leaves undefined is 0.
func creationOps() []entry {
	zero := func(*Call, ir.DType) ir.Arg { return ir.Int(0) }
	one := func(*Call, ir.DType) ir.Arg { return ir.Int(1) }
	fill := func(c *Call, _ ir.DType) ir.Arg { return c.Arg("fill_value") }
	return []entry{
		filled("aten::full(SymInt[] size, Scalar fill_value, "+factoryTail+") -> Tensor", fill),
		filled("aten::zeros(SymInt[] size, "+factoryTail+") -> Tensor", zero).core(fullCore(0)),
		filled("aten::ones(SymInt[] size, "+factoryTail+") -> Tensor", one).core(fullCore(1)),
		filled("aten::empty.memory_format(SymInt[] size, "+factoryTailLike+") -> Tensor", zero),
		filled("aten::empty_strided(SymInt[] size, SymInt[] stride, "+factoryTail+") -> Tensor",
			zero).core(fullCore(0)),
		filled("aten::empty_permuted(SymInt[] size, int[] physical_layout, "+factoryTail+") -> Tensor",
			zero).core(fullCore(0)),
		filled("aten::full_like(Tensor self, Scalar fill_value, "+factoryTailLike+") -> Tensor",
			fill),
		filled("aten::zeros_like(Tensor self, "+factoryTailLike+") -> Tensor", zero).core(
			fullLikeCore(0)),
		filled("aten::ones_like(Tensor self, "+factoryTailLike+") -> Tensor", one).core(
			fullLikeCore(1)),
		filled("aten::empty_like(Tensor self, "+factoryTailLike+") -> Tensor", zero).core(
			fullLikeCore(0)),
		filled("aten::zero(Tensor self) -> Tensor", zero).core(fullLikeCore(0)),
		filled("aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, "+factoryTail+") -> Tensor",
			fill).core(fullCore(nil)),
		filled("aten::new_zeros(Tensor self, SymInt[] size, "+factoryTail+") -> Tensor", zero).core(
			fullCore(0)),
		filled("aten::new_ones(Tensor self, SymInt[] size, "+factoryTail+") -> Tensor", one).core(
			fullCore(1)),
		filled("aten::new_empty(Tensor self, SymInt[] size, "+factoryTail+") -> Tensor", zero).core(
			fullCore(0)),
		filled("aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, "+factoryTail+
			") -> Tensor", zero).core(fullCore(0)),
		filled("aten::scalar_tensor(Scalar s, "+factoryTail+") -> Tensor",
			func(c *Call, _ ir.DType) ir.Arg { return c.Arg("s") }),

		arange("aten::arange(Scalar end, " + factoryTail + ") -> Tensor").core(arangeCore),
		arange("aten::arange.start(Scalar start, Scalar end, " + factoryTail + ") -> Tensor").core(
			arangeCore),
		arange("aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, " + factoryTail +
			") -> Tensor"),
		eye("aten::eye(SymInt n, " + factoryTail + ") -> Tensor").core(eyeCore),
		eye("aten::eye.m(SymInt n, SymInt m, " + factoryTail + ") -> Tensor").core(eyeCore),
		filled("prims::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> "+
			"Tensor", func(c *Call, _ ir.DType) ir.Arg { return c.Arg("s") }),
		linspaceOf("Scalar start, Tensor end", "Scalar_Tensor"),
		linspaceOf("Tensor start, Scalar end", "Tensor_Scalar"),
		linspaceOf("Tensor start, Tensor end", "Tensor_Tensor"),
		linspace("aten::linspace(Scalar start, Scalar end, int steps, " + factoryTail +
			") -> Tensor").core(func(b *Builder, c *Call) *ir.Value {
			out := c.Outs[0]
			n := must(c.Int("steps"))
			start, end := c.linspaceEnds(out.DType)
			if n < 2 {
				return b.aten("full", []int64{n}, start, Kw("dtype", out.DType))
			}
			m := opmath(out.DType)
			if !m.IsFloat() {
				m = ir.Float64
			}
			step := (end - start) / float64(n-1)
			return b.cast(b.spaced(start, end, step, -step, n, m), out.DType)
		}),
	}
}

// linspaceOf is linspace between ends of which at least one is a tensor without dimensions.
func linspaceOf(ends, overload string) entry {
	return derived("aten::linspace."+overload+"("+ends+", int steps, "+factoryTail+") -> Tensor",
		func(b *Builder, c *Call) *ir.Value {
			d := defaultFloat
			if isComplex(c.Arg("start")) || isComplex(c.Arg("end")) {
				d = complexOf(d)
			}
			d, n := c.DType("dtype", d), must(c.Int("steps"))
			m := opmath(d)
			if !m.Part().IsFloat() {
				m = ir.Float64
			}
			bound := func(name string) *ir.Value { // of integers, an integer too
				if d.IsInt() {
					return b.cast(b.aten("trunc", b.tensor(c, name, m)), m)
				}
				return b.tensor(c, name, m)
			}
			start, end := bound("start"), bound("end")
			c.errorIf(start.Type.Rank() > 0 || end.Type.Rank() > 0, "ends with dimensions")
			if n < 2 {
				return b.cast(b.aten("expand", b.aten("unsqueeze", start, 0), []int64{n}), d)
			}
			step := b.div(b.sub(end, start), float64(n-1))
			return b.cast(b.spaced(start, end, step, b.aten("neg", step), n, m), d)
		})
}

// spaced are n numbers, a step from each other, counted from the nearer end as PyTorch does.
// back is -step. All are numbers, or tensors without dimensions.
func (b *Builder) spaced(start, end, step, back any, n int64, m ir.DType) *ir.Value {
	i := b.aten("arange.start_step", 0, n, 1, Kw("dtype", m.Part()))
	left := b.aten("arange.start_step", n-1, -1, -1, Kw("dtype", m.Part()))
	low, high := b.add(b.mul(i, step), start), b.add(b.mul(left, back), end)
	return b.where(b.aten("lt.Scalar", i, n/2), low, high, m)
}

// filled is a factory of tensors whose elements are all value.
//
//go:noinline
func filled(schema string, value func(*Call, ir.DType) ir.Arg) entry {
	return entry{
		Schema: schema,
		Infer:  func(c *Call) []ir.Type { return one(filledType(c)) },
		Compute: element(func(c *Call, _ []sym.Expr) *expr.Expr {
			out := c.Outs[0]
			return c.number(value(c, out.DType), out.DType)
		}),
	}
}

func filledType(c *Call) ir.Type {
	s := c.Op.sch
	has := func(name string) bool { return s.Index(name) >= 0 }
	d := defaultFloat
	switch {
	case has("self"):
		d = c.Tensor("self").DType
	case has("fill_value"):
		d = numberDType(c.Arg("fill_value"))
	}
	if has("dtype") {
		d = c.DType("dtype", d)
	}
	if !has("size") {
		if !has("self") {
			return ir.TensorOf(d)
		}
		return c.formatted(c.Tensor("self"), d, ir.PreserveFormat)
	}
	sizes := c.sizes("size")
	t := ir.TensorOf(d, sizes...)
	switch {
	case has("stride"):
		t.Strides = c.sizes("stride")
		c.errorIf(len(t.Strides) != len(sizes), "%d strides for %d sizes", len(t.Strides),
			len(sizes))
	case has("physical_layout"):
		t.Strides = c.physicalStrides(sizes)
	case has("memory_format"):
		t = c.formatted(t, d, ir.ContiguousFormat)
	}
	return t
}

// sizes returns a SymInt[] argument of sizes, none negative.
func (c *Call) sizes(name string) []sym.Expr {
	sizes := must(c.SymInts(name))
	for _, s := range sizes {
		if n, ok := s.Const(); ok && n < 0 {
			panic(c.Errorf("size %d", n))
		}
	}
	return sizes
}

// physicalStrides returns the strides of empty_permuted.
func (c *Call) physicalStrides(sizes []sym.Expr) []sym.Expr {
	layout := must(c.Ints("physical_layout"))
	strides, seen := make([]sym.Expr, len(sizes)), make([]bool, len(sizes))
	c.errorIf(len(layout) != len(sizes), "a layout of %d dimensions for %d sizes", len(layout),
		len(sizes))
	next := sym.Int(1)
	for i := len(layout) - 1; i >= 0; i-- {
		d := c.wrapDim(layout[i], len(sizes))
		c.errorIf(seen[d], "dimension %d is twice in the layout", d)
		seen[d] = true
		strides[d] = next
		next = sym.Mul(next, sym.Max(sizes[d], sym.Int(1)))
	}
	return strides
}

// bound returns a number argument of a factory, def if the schema has none.
func (c *Call) bound(name string, def ir.Arg) ir.Arg {
	if c.Op.sch.Index(name) < 0 {
		return def
	}
	return c.Arg(name)
}

// arange counts from start in steps to before end.
func arange(schema string) entry {
	args := func(c *Call) [3]ir.Arg {
		return [3]ir.Arg{c.bound("start", ir.Int(0)), c.bound("end", nil),
			c.bound("step", ir.Int(1))}
	}
	infer := func(c *Call) ir.Type {
		d := ir.Int64
		for _, a := range args(c) {
			if numberDType(a).IsFloat() {
				d = defaultFloat
			}
		}
		n := c.arangeLen(args(c))
		return ir.TensorOf(c.DType("dtype", d), n)
	}
	return entry{
		Schema: schema,
		Infer:  func(c *Call) []ir.Type { return one(infer(c)) },
		Compute: element(func(c *Call, coords []sym.Expr) *expr.Expr {
			out, a := c.Outs[0], args(c)
			dt := ir.Int64
			if out.DType.IsFloat() {
				dt = ir.Float64
				if wholeFloat32(a[0]) && wholeFloat32(a[2]) {
					dt = ir.Float32
				}
			}
			return expr.Add(c.number(a[0], dt), expr.Mul(expr.Idx(dt, coords[0]),
				c.number(a[2], dt)))
		}),
	}
}

// wholeFloat32 reports whether a is an integer that Float32 holds with room to
// count in.
func wholeFloat32(a ir.Arg) bool {
	switch a := a.(type) {
	case ir.Int:
		return a > -1<<16 && a < 1<<16
	case ir.Float:
		return float64(a) == math.Trunc(float64(a)) && math.Abs(float64(a)) < 1<<16
	}
	return false
}

// arangeLen returns ceil((end - start) / step). Beside a dynamic number, those with a fraction are
// brought to integers.
func (c *Call) arangeLen(a [3]ir.Arg) sym.Expr {
	var es [3]sym.Expr
	var fs [3]float64
	var dens [3]int64
	most, exact, dynamic, floats := int64(1), true, false, false
	for i, x := range a {
		if f, ok := x.(ir.Float); ok {
			num, den, binary := sym.BinaryFraction(float64(f))
			es[i], fs[i], dens[i] = sym.Int(num), float64(f), den
			most, exact, floats = max(most, den), exact && binary, true
			continue
		}
		es[i], dens[i] = must(c.symInt([]string{"start", "end", "step"}[i], x)), 1
		n, ok := es[i].Const()
		fs[i], dynamic = float64(n), dynamic || !ok
	}
	c.errorIf(dynamic && !exact,
		"steps of a fraction that no short binary number is over a dynamic size")
	if floats && !dynamic {
		n := math.Ceil((fs[1] - fs[0]) / fs[2])
		c.errorIf(!(n >= 0 && n < 1<<40), "from %v to %v in steps of %v", fs[0], fs[1], fs[2])
		return sym.Int(int64(n))
	}
	for i, den := range dens {
		es[i] = sym.Mul(es[i], sym.Int(most/den))
		c.errorIf(es[i].Undefined(), "a number that is too large beside a fraction")
	}
	step, ok := es[2].Const()
	c.errorIf(!ok || step == 0, "step is zero or not constant")
	if step < 0 {
		es = [3]sym.Expr{es[1], es[0], sym.Neg(es[2])}
	}
	return sym.Max(sym.CeilDiv(sym.Sub(es[1], es[0]), es[2]), sym.Int(0))
}

// eye is the identity matrix.
func eye(schema string) entry {
	infer := func(c *Call) ir.Type {
		n := must(c.SymInt("n"))
		m := n
		if c.Op.sch.Index("m") >= 0 {
			m = must(c.SymInt("m"))
		}
		return ir.TensorOf(c.DType("dtype", defaultFloat), n, m)
	}
	return entry{
		Schema: schema,
		Infer:  func(c *Call) []ir.Type { return one(infer(c)) },
		Compute: element(func(c *Call, ij []sym.Expr) *expr.Expr {
			return expr.Eq(expr.Idx(ir.Int64, ij[0]), expr.Idx(ir.Int64, ij[1]))
		}),
	}
}

// linspaceEnds are the numbers between which d are spaced: integers between integers.
func (c *Call) linspaceEnds(d ir.DType) (start, end float64) {
	start, end = must(c.Float("start")), must(c.Float("end"))
	if d.IsInt() {
		return math.Trunc(start), math.Trunc(end)
	}
	return start, end
}

// linspace spaces evenly from start to end, both included, counting from the
// nearer end as PyTorch does.
func linspace(schema string) entry {
	infer := func(c *Call) ir.Type {
		n := must(c.Int("steps"))
		c.errorIf(n < 0, "%d steps", n)
		d := defaultFloat
		if isComplex(c.Arg("start")) || isComplex(c.Arg("end")) {
			d = complexOf(d)
		}
		return ir.StaticTensor(c.DType("dtype", d), n)
	}
	return entry{
		Schema: schema,
		Infer:  func(c *Call) []ir.Type { return one(infer(c)) },
		Compute: element(func(c *Call, coords []sym.Expr) *expr.Expr {
			out := c.Outs[0]
			a, b := c.linspaceEnds(out.DType)
			n, _ := out.Sizes[0].Const()
			dt := ir.Float64
			if out.DType.IsFloat() {
				dt = opmath(out.DType)
			}
			step := expr.Num(dt, (b-a)/math.Max(float64(n-1), 1))
			up := expr.Add(expr.Num(dt, a), expr.Mul(step, expr.Idx(dt, coords[0])))
			down := expr.Sub(expr.Num(dt, b),
				expr.Mul(step, expr.Idx(dt, sym.Sub(sym.Int(n-1), coords[0]))))
			return expr.Select(expr.IdxLt(coords[0], sym.Int((n+1)/2)), up, down)
		}),
	}
}
