package ops

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

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
		drawing("aten::uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> "+
			"Tensor", func(b *Builder, c *Call) *ir.Value {
			from, to := must(c.Float("from")), must(c.Float("to"))
			c.errorIf(!(from <= to), "from %v to %v", from, to)
			return b.add(b.mul(b.aten("rand_like", c.Value("self")), to-from), from)
		}),
		drawing("aten::normal_functional(Tensor self, float mean=0, float std=1, *, "+
			"Generator? generator=None) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			c.errorIf(!(must(c.Float("std")) >= 0), "a deviation of %v", c.Arg("std"))
			return b.add(b.mul(b.aten("randn_like", c.Value("self")), c.Arg("std")), c.Arg("mean"))
		}),
		drawing("aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> "+
			"Tensor", normalOf),
		drawing("aten::normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> "+
			"Tensor", normalOf),
		drawing("aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> "+
			"Tensor", normalOf),
		drawing("aten::normal.float_float(float mean, float std, SymInt[] size, *, "+
			"Generator? generator=None, "+
			strings.TrimPrefix(factoryTail, "*, ")+") -> Tensor", func(b *Builder, c *Call) *ir.Value {
			d := c.DType("dtype", defaultFloat)
			x := b.aten("randn", c.Arg("size"), Kw("dtype", d))
			return b.add(b.mul(x, c.Arg("std")), c.Arg("mean"))
		}),
		drawing("aten::exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
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
		randomIntegers("aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, " +
			"Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
		randomIntegers("aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, " +
			"ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> " +
			"Tensor"),
		randomIntegers("aten::randint_like(Tensor self, SymInt high, " + factoryTailLike + ") -> Tensor"),
		randomIntegers("aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, " +
			factoryTailLike + ") -> Tensor"),
		drawing("aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, "+
			"Device? device=None, bool? pin_memory=None) -> Tensor", func(b *Builder, c *Call) *ir.Value {
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

// normalOf draws numbers with means and deviations of which one may be a number.
func normalOf(b *Builder, c *Call) *ir.Value {
	like := c.operands[0].Type
	if len(c.operands) == 2 {
		sizes, ok := Broadcast(like, c.operands[1].Type)
		c.errorIf(!ok, "%s do not broadcast", sizesOf{like, c.operands[1].Type})
		like.Sizes = sizes
	}
	x := b.aten("randn", like.Sizes, Kw("dtype", like.DType))
	return b.add(b.mul(x, c.Arg("std")), c.Arg("mean"))
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
	return drawing("aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, "+
		"Generator? generator=None) -> Tensor", func(b *Builder, c *Call) *ir.Value {
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
