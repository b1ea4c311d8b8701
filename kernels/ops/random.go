package ops

import (
	"hash/fnv"
	"math"

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
func randomOps() []Op {
	return []Op{
		drawn("aten::rand(SymInt[] size, "+factoryTail+") -> Tensor", randomUniform),
		drawn("aten::randn(SymInt[] size, "+factoryTail+") -> Tensor", randomNormal),
		drawn("aten::rand_like(Tensor self, "+factoryTailLike+") -> Tensor", randomUniform),
		drawn("aten::randn_like(Tensor self, "+factoryTailLike+") -> Tensor", randomNormal),
		nativeDropout(),
	}
}

// drawn is a factory of tensors whose element i is draw's, of dtype d and
// computed in m.
func drawn(schema string, draw func(c *Call, i sym.Expr, d, m ir.DType) *expr.Expr) Op {
	return Op{
		Schema: schema,
		Random: true,
		Infer: func(c *Call) ([]ir.Type, error) {
			t, err := filledType(c)
			if err == nil && !t.DType.IsFloat() {
				err = c.Errorf("random numbers of dtype %s", t.DType)
			}
			return one(t, err)
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			out := c.Outs[0]
			vars, at := indexVars(out.Sizes)
			x := draw(c, sym.RowMajor(out.Sizes, at), out.DType, opmath(out.DType))
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType, x)}}, nil
		},
	}
}

// nativeDropout zeroes elements with probability p and scales the others so
// that the mean stays. It also tells which ones are left.
func nativeDropout() Op {
	training := func(c *Call) bool { return !c.Has("train") || c.Bool("train") }
	return Op{
		Schema: "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
		Random: true,
		Infer: func(c *Call) ([]ir.Type, error) {
			p, err := c.Float("p")
			if err == nil && !(p >= 0 && p <= 1) {
				err = c.Errorf("a probability of %v", p)
			}
			t := c.Tensor("input")
			if err == nil && training(c) && !t.DType.IsFloat() {
				err = c.Errorf("not defined on %s", t.DType)
			}
			return []ir.Type{likeType(t, t.DType), likeType(t, ir.Bool)}, err
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			p := must(c.Float("p"))
			t := c.Tensor("input")
			m := opmath(t.DType)
			var out []expr.Tensor
			for i, o := range c.Outs {
				vars, at := indexVars(o.Sizes)
				keep := expr.Bool(true)
				switch {
				case !training(c) || p == 0:
				case p == 1:
					keep = expr.Bool(false)
				default:
					bits, _ := c.randomWords(sym.RowMajor(o.Sizes, at))
					keep = expr.Ge(bits, expr.Int(ir.Int64, int64(math.Ceil(p*(1<<32)))))
				}
				body := keep
				if i == 0 {
					x := expr.Cast(m, c.Load("input", at...))
					if training(c) && p > 0 && p < 1 {
						x = expr.Mul(x, expr.Num(m, 1/(1-p)))
					}
					body = expr.Cast(t.DType, expr.Select(keep, x, expr.Num(m, 0)))
				}
				out = append(out, expr.Tensor{DType: o.DType, Vars: vars, Body: body})
			}
			return out, nil
		},
	}
}
