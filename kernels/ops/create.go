package ops

import (
	"hash/fnv"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

const (
	factoryTail     = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
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
		filled("aten::empty_permuted(SymInt[] size, int[] physical_layout, "+factoryTail+") -> Tensor", zero).core(fullCore(0)),
		filled("aten::full_like(Tensor self, Scalar fill_value, "+factoryTailLike+") -> Tensor",
			fill),
		filled("aten::zeros_like(Tensor self, "+factoryTailLike+") -> Tensor", zero).core(
			fullLikeCore(0)),
		filled("aten::ones_like(Tensor self, "+factoryTailLike+") -> Tensor", one).core(
			fullLikeCore(1)),
		filled("aten::empty_like(Tensor self, "+factoryTailLike+") -> Tensor", zero).core(
			fullLikeCore(0)),
		filled("aten::zero(Tensor self) -> Tensor", zero).core(fullLikeCore(0)),
		filled("aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, "+factoryTail+") -> Tensor", fill).core(fullCore(nil)),
		filled("aten::new_zeros(Tensor self, SymInt[] size, "+factoryTail+") -> Tensor", zero).core(
			fullCore(0)),
		filled("aten::new_ones(Tensor self, SymInt[] size, "+factoryTail+") -> Tensor", one).core(
			fullCore(1)),
		filled("aten::new_empty(Tensor self, SymInt[] size, "+factoryTail+") -> Tensor", zero).core(
			fullCore(0)),
		filled("aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, "+factoryTail+") -> Tensor", zero).core(fullCore(0)),
		filled("aten::scalar_tensor(Scalar s, "+factoryTail+") -> Tensor",
			func(c *Call, _ ir.DType) ir.Arg { return c.Arg("s") }),

		arange("aten::arange(Scalar end, " + factoryTail + ") -> Tensor").core(arangeCore),
		arange("aten::arange.start(Scalar start, Scalar end, " + factoryTail + ") -> Tensor").core(
			arangeCore),
		arange("aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, " + factoryTail +
			") -> Tensor"),
		eye("aten::eye(SymInt n, " + factoryTail + ") -> Tensor").core(eyeCore),
		eye("aten::eye.m(SymInt n, SymInt m, " + factoryTail + ") -> Tensor").core(eyeCore),
		filled("prims::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor", func(c *Call, _ ir.DType) ir.Arg { return c.Arg("s") }),
		linspace("aten::linspace(Scalar start, Scalar end, int steps, " + factoryTail +
			") -> Tensor").core(func(b *Builder, c *Call) *ir.Value {
			// Counts from the nearer end, as PyTorch does.
			out := c.Outs[0]
			n := must(c.Int("steps"))
			start := must(c.Float("start"))
			end := must(c.Float("end"))
			if n < 2 {
				return b.aten("full", []int64{n}, start, Kw("dtype", out.DType))
			}
			m := opmath(out.DType)
			if !m.IsFloat() {
				m = ir.Float64
			}
			step := (end - start) / float64(n-1)
			i := b.aten("arange.start_step", 0, n, 1, Kw("dtype", m))
			back := b.aten("arange.start_step", n-1, -1, -1, Kw("dtype", m))
			low, high := b.add(b.mul(i, step), start), b.add(b.mul(back, -step), end)
			return b.cast(b.where(b.aten("lt.Scalar", i, n/2), low, high, m), out.DType)
		}),
	}
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

// arangeLen returns ceil((end - start) / step).
func (c *Call) arangeLen(a [3]ir.Arg) sym.Expr {
	var es [3]sym.Expr
	var fs [3]float64
	ints := true
	for i, x := range a {
		if f, ok := x.(ir.Float); ok {
			fs[i], ints = float64(f), false
			continue
		}
		e := must(c.symInt([]string{"start", "end", "step"}[i], x))
		n, ok := e.Const()
		c.errorIf(!ok && !ints, "a float step over a dynamic size")
		es[i], fs[i] = e, float64(n)
	}
	step, stepKnown := es[2].Const()
	if ints {
		switch {
		case !stepKnown || step == 0:
			panic(c.Errorf("step is zero or not constant"))
		case step > 0:
			return sym.Max(sym.CeilDiv(sym.Sub(es[1], es[0]), es[2]), sym.Int(0))
		}
		return sym.Max(sym.CeilDiv(sym.Sub(es[0], es[1]), sym.Neg(es[2])), sym.Int(0))
	}
	for i, e := range es {
		if _, ok := e.Const(); !ok {
			panic(c.Errorf("argument %d is a dynamic size beside a float", i))
		}
	}
	n := math.Ceil((fs[1] - fs[0]) / fs[2])
	c.errorIf(!(n >= 0 && n < 1<<40), "from %v to %v in steps of %v", fs[0], fs[1], fs[2])
	return sym.Int(int64(n))
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

// linspace spaces evenly from start to end, both included, counting from the
// nearer end as PyTorch does.
func linspace(schema string) entry {
	infer := func(c *Call) ir.Type {
		n := must(c.Int("steps"))
		c.errorIf(n < 0, "%d steps", n)
		return ir.StaticTensor(c.DType("dtype", defaultFloat), n)
	}
	return entry{
		Schema: schema,
		Infer:  func(c *Call) []ir.Type { return one(infer(c)) },
		Compute: element(func(c *Call, coords []sym.Expr) *expr.Expr {
			out := c.Outs[0]
			a := must(c.Float("start"))
			b := must(c.Float("end"))
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

// Random numbers come from a generator without state, Philox 2×32 with ten
// rounds: element i of a node's result is a function of i and of the node's
// name. So nodes draw from streams of their own, and a program draws the same
// numbers in every output language and each time it runs.

// The constants of Philox 2×32.
const (
	philoxFactor = 0xD256D193
	philoxWeyl   = 0x9E3779B9
	word         = 0xFFFFFFFF
)

// stream is the key of a call's generator.
func (c *Call) stream() uint32 {
	h := fnv.New32a()
	h.Write([]byte(c.node.Name))
	return h.Sum32()
}

// randomWords returns two random 32-bit words for element i of the call's
// result, as Int64.
func (c *Call) randomWords(i sym.Expr) (a, b *expr.Expr) {
	num := func(n int64) *expr.Expr { return expr.Int(ir.Int64, n) }
	low := func(x *expr.Expr) *expr.Expr { return expr.And(x, num(word)) }
	high := func(x *expr.Expr) *expr.Expr { return low(expr.Shr(x, num(32))) }
	at := expr.Idx(ir.Int64, i)
	a, b = low(at), high(at)
	key := c.stream()
	for range 10 {
		p := expr.Mul(a, num(philoxFactor))
		a, b = expr.Xor(expr.Xor(high(p), num(int64(key))), b), low(p)
		key += philoxWeyl
	}
	return a, b
}

// uniform turns 32 random bits into a number of dtype m, at least 0 and less
// than 1: so many of the bits as d holds exactly.
func uniform(bits *expr.Expr, d, m ir.DType) *expr.Expr {
	n := int64(32)
	switch d {
	case ir.Float32:
		n = 24
	case ir.Float16:
		n = 11
	case ir.BFloat16:
		n = 8
	}
	x := expr.Cast(m, expr.Shr(bits, expr.Int(ir.Int64, 32-n)))
	return expr.Mul(x, expr.Num(m, math.Ldexp(1, int(-n))))
}

// randomUniform is uniform on [0, 1).
func randomUniform(c *Call, i sym.Expr, d, m ir.DType) *expr.Expr {
	a, b := c.randomWords(i)
	if d == ir.Float64 { // 53 bits
		wide := expr.Add(expr.Shl(expr.Shr(a, expr.Int(ir.Int64, 6)), expr.Int(ir.Int64, 27)),
			expr.Shr(b, expr.Int(ir.Int64, 5)))
		return expr.Mul(expr.Cast(m, wide), expr.Num(m, 0x1p-53))
	}
	return uniform(a, d, m)
}

// randomNormal is normal with mean 0 and variance 1, by Box and Muller.
func randomNormal(c *Call, i sym.Expr, _, m ir.DType) *expr.Expr {
	a, b := c.randomWords(i)
	one := expr.Num(m, 1)
	radius := expr.Sqrt(expr.Mul(expr.Num(m, -2), fn("log")(expr.Sub(one, uniform(a, m, m)))))
	return expr.Mul(radius, fn("cos")(expr.Mul(expr.Num(m, 2*math.Pi), uniform(b, m, m))))
}

// randomOps draw numbers.
func randomOps() []entry {
	return []entry{
		drawn("aten::rand(SymInt[] size, "+factoryTail+") -> Tensor", randomUniform),
		drawn("aten::randn(SymInt[] size, "+factoryTail+") -> Tensor", randomNormal),
		drawn("aten::rand_like(Tensor self, "+factoryTailLike+") -> Tensor", randomUniform),
		drawn("aten::randn_like(Tensor self, "+factoryTailLike+") -> Tensor", randomNormal),
		nativeDropout(),
		drawing("aten::uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			from, to := must(c.Float("from")), must(c.Float("to"))
			c.errorIf(!(from <= to), "from %v to %v", from, to)
			return b.add(b.mul(b.aten("rand_like", c.Value("self")), to-from), from)
		}),
		drawing("aten::normal_functional(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			c.errorIf(!(must(c.Float("std")) >= 0), "a deviation of %v", c.Arg("std"))
			return b.add(b.mul(b.aten("randn_like", c.Value("self")), c.Arg("std")), c.Arg("mean"))
		}),
		drawing("aten::exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			rate := must(c.Float("lambd"))
			c.errorIf(!(rate > 0), "a rate of %v", rate)
			x := c.Value("self")
			return b.cast(b.div(b.exponential(x), rate), x.Type.DType)
		}),
		drawing("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				p := c.Value("self")
				return b.cast(b.aten("lt.Tensor", b.aten("rand_like", p), p), p.Type.DType)
			}),
		drawing("aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				u := b.aten("rand", c.Tensor("self").Sizes)
				return b.cast(b.aten("lt.Scalar", u, c.Arg("p")), c.Tensor("self").DType)
			}),
		randomIntegers("aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
		randomIntegers("aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
		randomIntegers("aten::randint_like(Tensor self, SymInt high, " + factoryTailLike + ") -> Tensor"),
		randomIntegers("aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, " + factoryTailLike + ") -> Tensor"),
		drawing("aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			n := must(c.SymInt("n"))
			c.errorIf(!sym.NonNegative(n), "%s numbers", n)
			u := b.aten("rand", []sym.Expr{n})
			return b.cast(b.aten("argsort", u), c.DType("dtype", ir.Int64))
		}),
		multinomial(),
	}
}

// drawing is a composite of operators that draw numbers.
func drawing(schema string, f func(*Builder, *Call) *ir.Value) entry {
	e := derived(schema, f)
	e.Random = true
	return e
}

// exponential draws numbers over 0 of the exponential distribution, in the shape of x.
func (b *Builder) exponential(x *ir.Value) *ir.Value {
	u := b.aten("rand_like", x, Kw("dtype", opmath(x.Type.DType))) // from 0 to less than 1
	e := b.aten("neg", b.aten("log", b.aten("rsub.Scalar", u, 1)))
	return b.aten("clamp", e, math.Ldexp(1, -25))
}

// randomIntegers draws integers from low, which is 0 where absent, up to high, which is not drawn.
func randomIntegers(schema string) entry {
	return drawing(schema, func(b *Builder, c *Call) *ir.Value {
		low, high := sym.Int(0), must(c.SymInt("high"))
		if c.Op.sch.Index("low") >= 0 {
			low = must(c.SymInt("low"))
		}
		c.errorIf(!sym.LessEq(low, high) || low.Equal(high), "from %s to %s", low, high)
		d, m := c.DType("dtype", ir.Int64), ir.Float64
		span := sym.Sub(high, low)
		if n, ok := span.Const(); ok {
			c.errorIf(n < 1 || n > 1<<53, "from %s to %s", low, high)
			if n <= 1<<20 {
				m = ir.Float32
			}
		}
		var u *ir.Value
		if c.Op.sch.Index("self") >= 0 {
			d = c.DType("dtype", c.Tensor("self").DType)
			u = b.aten("rand_like", c.Value("self"), Kw("dtype", m))
		} else {
			u = b.aten("rand", must(c.SymInts("size")), Kw("dtype", m))
		}
		x := b.aten("floor", b.mul(u, span))
		return b.cast(b.add(x, low), d)
	})
}

// multinomial draws indices by their weights: the larger a weight is over a number of the
// exponential distribution, the earlier. PyTorch does the same where no index comes twice.
func multinomial() entry {
	return drawing("aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor", func(b *Builder, c *Call) *ir.Value {
		p := c.Value("self")
		rank := p.Type.Rank()
		n := must(c.Int("num_samples"))
		c.errorIf(rank != 1 && rank != 2 || !p.Type.DType.IsFloat() || n < 1,
			"%d of %s", n, p.Type)
		size := p.Type.Sizes[rank-1]
		c.need(size)
		c.errorIf(!c.Bool("replacement") && n > 1 && !sym.LessEq(sym.Int(n), size),
			"%d of %s without one twice", n, size)
		p = b.cast(p, opmath(p.Type.DType))
		if c.Bool("replacement") && n > 1 { // each is a draw of its own
			c.errorIf(n > maxPlaces, "%d draws", n)
			sizes := slices.Insert(slices.Clone(p.Type.Sizes), rank-1, sym.Int(n))
			p = b.aten("clone", b.aten("expand", b.aten("unsqueeze", p, rank-1), sizes),
				Kw("memory_format", ir.ContiguousFormat))
			return b.aten("argmax", b.div(p, b.exponential(p)), -1)
		}
		return b.Ops("aten.topk.default", b.div(p, b.exponential(p)), n)[1]
	})
}

// drawn is a factory of tensors whose element i is draw's, of dtype d and
// computed in m.
func drawn(schema string, draw func(c *Call, i sym.Expr, d, m ir.DType) *expr.Expr) entry {
	return entry{
		Schema: schema,
		Random: true,
		Infer: func(c *Call) []ir.Type {
			t := filledType(c)
			c.errorIf(!t.DType.IsFloat(), "random numbers of dtype %s", t.DType)
			return one(t)
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			out := c.Outs[0]
			return draw(c, sym.RowMajor(out.Sizes, at), out.DType, opmath(out.DType))
		}),
	}
}

// nativeDropout zeroes elements with probability p and scales the others so
// that the mean stays. It also tells which ones are left.
func nativeDropout() entry {
	training := func(c *Call) bool { return !c.Has("train") || c.Bool("train") }
	return entry{
		Schema: "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
		Random: true,
		Infer: func(c *Call) []ir.Type {
			p := must(c.Float("p"))
			c.errorIf(!(p >= 0 && p <= 1), "a probability of %v", p)
			t := c.Tensor("input")
			c.errorIf(training(c) && !t.DType.IsFloat(), "not defined on %s", t.DType)
			return []ir.Type{likeType(t, t.DType), likeType(t, ir.Bool)}
		},
		Compute: func(c *Call) []expr.Tensor {
			p := must(c.Float("p"))
			t := c.Tensor("input")
			m := opmath(t.DType)
			return c.elements(func(i int, at []sym.Expr) *expr.Expr {
				keep := expr.Bool(true)
				switch {
				case !training(c) || p == 0:
				case p == 1:
					keep = expr.Bool(false)
				default:
					bits, _ := c.randomWords(sym.RowMajor(t.Sizes, at))
					keep = expr.Ge(bits, expr.Int(ir.Int64, int64(math.Ceil(p*(1<<32)))))
				}
				if i == 1 {
					return keep
				}
				x := expr.Cast(m, c.Load("input", at...))
				if training(c) && p > 0 && p < 1 {
					x = expr.Mul(x, expr.Num(m, 1/(1-p)))
				}
				return expr.Select(keep, x, expr.Num(m, 0))
			})
		},
	}
}
