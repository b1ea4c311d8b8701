package c

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// roundedNumber is a number that is rounded, what is added to that, and the limits of the sum.
type roundedNumber struct {
	of     *expr.Expr
	zero   int64
	scalar *expr.Expr // that is added, too, if not nil: an integer that a call gives
	limits []limit    // the first that is applied first
	interval
}

// limit is a Min or Max with an integer, and an integer added to it.
type limit struct {
	op   expr.Op
	by   *expr.Expr // a constant, or a number that a call gives
	zero int64
}

// roundedTo reads a conversion of a float to a small integer type that limits a rounded number and
// may add an integer to it; ok is false if a is no such conversion, or if the number may be too
// large for the processor's own rounding.
func (p *printer) roundedTo(a *expr.Expr, t ctype) (n roundedNumber, ok bool) {
	n, ok = p.limitedTo(a, t)
	return n, ok && p.roundable(n.of)
}

// roundable reports whether a float is a number that is not too large for the processor's own
// rounding.
func (p *printer) roundable(x *expr.Expr) bool {
	b := p.ranges.floatBounds(x)
	return !b.nan && b.lo >= -1<<30 && b.hi <= 1<<30
}

// limitedTo reads what roundedTo reads, of any float.
func (p *printer) limitedTo(a *expr.Expr, t ctype) (n roundedNumber, ok bool) {
	if t.bits() > 16 || a.DType != ir.Float32 {
		return n, false
	}
	a, outer := limitsOf(a)
	if a.Op == expr.OpAdd {
		switch z := a.Args[1]; {
		case whole(z):
			n.zero, a = int64(z.Float), a.Args[0]
		case wholeScalar(z):
			n.scalar, a = z.Args[0], a.Args[0]
		}
	}
	if a.Op != expr.OpRound {
		return n, false
	}
	of, inner := limitsOf(a.Args[0])
	for i := range inner {
		inner[i].zero = n.zero
	}
	n.of, n.limits, n.interval = of, slices.Concat(inner, outer),
		interval{math.MinInt32, math.MaxInt32}
	for _, l := range n.limits {
		by := interval{int64(l.by.Float), int64(l.by.Float)}
		if !whole(l.by) {
			if by, ok = p.ranges.intRange(l.by.Args[0]); !ok {
				return n, false
			}
		}
		n.interval, _ = combine(l.op, n.interval, interval{by.lo + l.zero, by.hi + l.zero})
	}
	return n, n.in(rangeOf(t)) && (n.scalar == nil || len(inner) == 0)
}

// inShorts reports whether what is added may be added to numbers that saturate 16 bits: their bytes
// saturate as they should.
func (n *roundedNumber) inShorts() bool {
	const most = math.MaxInt16 - math.MaxInt8
	return -most <= n.zero && n.zero <= most
}

// constant reports whether no call gives any of it.
func (n *roundedNumber) constant() bool {
	return n.scalar == nil && !slices.ContainsFunc(n.limits,
		func(l limit) bool { return !whole(l.by) })
}

// limitsOf takes limits from a float.
func limitsOf(x *expr.Expr) (of *expr.Expr, list []limit) {
	for x.Op == expr.OpMin || x.Op == expr.OpMax {
		by, of := x.Args[0], x.Args[1]
		if !whole(by) && !wholeScalar(by) {
			by, of = of, by
		}
		if !whole(by) && !wholeScalar(by) {
			break
		}
		list = slices.Insert(list, 0, limit{x.Op, by, 0})
		x = of
	}
	return x, list
}

// wholeScalar reports whether e is an integer that a call gives.
func wholeScalar(e *expr.Expr) bool {
	return e.Op == expr.OpCast && e.DType == ir.Float32 && e.Args[0].Op == expr.OpScalar &&
		e.Args[0].DType == ir.Int32
}

// nearest prints a conversion that roundedTo reads by the processor's own rounding, if it has one;
// on hosts by rounding in the bits of a sum, whose limits are those of integers: compilers make
// vectors of these.
func (p *printer) nearest(a *expr.Expr, t ctype) (c code, ok bool) {
	m := p.g.opt.Machine
	if m == nil || m.Microcontroller && !m.Floats {
		return code{}, false
	}
	if !m.Microcontroller {
		return p.throughBits(a, t)
	}
	r, ok := p.roundedTo(a, t)
	if !ok {
		return code{}, false
	}
	n := call(p.g.helper("nearest", ir.Float32), tI32, p.expr(r.of))
	switch {
	case r.scalar != nil:
		n = join("+", n, p.expr(r.scalar), tI32)
	case r.zero > 0:
		n = join("+", n, intLiteral(r.zero, tI32), tI32)
	case r.zero < 0:
		n = join("-", n, intLiteral(-r.zero, tI32), tI32)
	}
	limits := r.limits
	if !slices.ContainsFunc(limits, func(l limit) bool { return !whole(l.by) }) {
		if t.bits() == 8 && r.interval == rangeOf(tI8) {
			return call(p.g.helper("saturate"), tI32, n), true
		}
		limits = []limit{{expr.OpMax, expr.Float(ir.Float32, float64(r.lo)), 0},
			{expr.OpMin, expr.Float(ir.Float32, float64(r.hi)), 0}}
	}
	for _, l := range limits {
		word := "min"
		if l.op == expr.OpMax {
			word = "max"
		}
		by := intLiteral(int64(l.by.Float)+l.zero, tI32)
		if !whole(l.by) {
			by = p.expr(l.by.Args[0])
		}
		n = call(p.g.helper(word, ir.Int32), tI32, by, n)
	}
	return n, true
}

// bitsOfRounded is what stands for 0 in the bits of a small number that 1.5·2^23 was added to.
const bitsOfRounded = 0x4b400000

// inBits prints a rounded number with its limits as an int32, if only constants limit it.
func (p *printer) inBits(r *roundedNumber) (c code, ok bool) {
	least, most := r.lo-r.zero, r.hi-r.zero
	if !r.constant() || least < -roundable || most > roundable {
		return code{}, false
	}
	n := call(p.g.helper("rounded_bits", ir.Float32), tI32, p.expr(r.of))
	n = call(p.g.helper("max", ir.Int32), tI32, intLiteral(bitsOfRounded+least, tI32), n)
	n = call(p.g.helper("min", ir.Int32), tI32, intLiteral(bitsOfRounded+most, tI32), n)
	return join("-", n, intLiteral(bitsOfRounded-r.zero, tI32), tI32), true
}

// throughBits prints what a conversion to a small integer type makes of x as an int32, if nearest
// prints it so on hosts.
func (p *printer) throughBits(x *expr.Expr, t ctype) (c code, ok bool) {
	if m := p.g.opt.Machine; m == nil || m.Microcontroller {
		return code{}, false
	}
	r, ok := p.roundedTo(x, t)
	if !ok {
		return code{}, false
	}
	return p.inBits(&r)
}
