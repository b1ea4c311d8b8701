package eval

import (
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
)

type (
	f32Fn  = func(*frame) float32
	f64Fn  = func(*frame) float64
	boolFn = func(*frame) bool
)

// position compiles the bounds-checked position of an access to buffer k.
func (c *compiler) position(k int, at intFn) intFn {
	if k < 0 || k >= len(c.p.f.Bufs) {
		fail("buffer %d does not exist", k)
	}
	name := c.p.f.Bufs[k].Name
	return func(fr *frame) int64 {
		i := at(fr)
		if uint64(i) >= uint64(fr.lens[k]) {
			fail("access to element %d of buffer %s, which has %d", i, name, fr.lens[k])
		}
		return i
	}
}

func (c *compiler) loadAt(e *expr.Expr) intFn {
	if len(e.Coords) != 1 {
		fail("load of buffer %d has %d coordinates", e.Buf, len(e.Coords))
	}
	at := c.position(e.Buf, c.index(e.Coords[0]))
	if d := c.p.f.Bufs[e.Buf].DType; d != e.DType {
		fail("load of buffer %d of %s as %s", e.Buf, d, e.DType)
	}
	return at
}

func (c *compiler) store(s *loop.Store) func(*frame) bool {
	at := c.position(s.Buf, c.index(s.At))
	k, d := s.Buf, c.p.f.Bufs[s.Buf].DType
	if d != s.Value.DType {
		fail("store of %s to buffer %d of %s", s.Value.DType, k, d)
	}
	switch {
	case d == ir.Float32:
		v := c.f32(s.Value)
		return func(fr *frame) bool {
			x := v(fr)
			binary.LittleEndian.PutUint32(fr.bufs[k][4*at(fr):], math.Float32bits(x))
			return false
		}
	case d == ir.Float64:
		v := c.f64(s.Value)
		return func(fr *frame) bool {
			x := v(fr)
			binary.LittleEndian.PutUint64(fr.bufs[k][8*at(fr):], math.Float64bits(x))
			return false
		}
	case half.Is(d):
		v := c.f32(s.Value)
		return func(fr *frame) bool {
			x := v(fr)
			Put(d, fr.bufs[k], at(fr), Value{F: float64(x)})
			return false
		}
	}
	v := c.int(s.Value)
	return func(fr *frame) bool {
		x := v(fr)
		Put(d, fr.bufs[k], at(fr), Value{I: x})
		return false
	}
}

// either evaluates one of two values.
func either[T any](cond boolFn, a, b func(*frame) T) func(*frame) T {
	return func(fr *frame) T {
		if cond(fr) {
			return a(fr)
		}
		return b(fr)
	}
}

// maxParams is the most parameters a scalar function has.
const maxParams = 4

// call compiles the arguments of a call and the function; the returned
// statement runs it.
func (c *compiler) call(e *expr.Expr) (*function, func(*frame)) {
	if len(e.Args) > maxParams {
		fail("%s has %d parameters", e.Fn.Name, len(e.Args))
	}
	fn := c.fns[e.Fn]
	if fn == nil {
		fn = &function{}
		for _, p := range e.Fn.Params {
			fn.params = append(fn.params, c.local(p))
		}
		stmts, result := schedule.Function(e.Fn)
		fn.body = c.block(stmts)
		switch kindOf(result.DType) {
		case f32Kind:
			fn.s = c.f32(result)
		case f64Kind:
			fn.d = c.f64(result)
		default:
			fn.i = c.int(result)
		}
		c.fns[e.Fn] = fn
	}
	if len(e.Args) == 1 && kindOf(e.Args[0].DType) == f32Kind {
		x, slot := c.f32(e.Args[0]), fn.params[0]
		return fn, func(fr *frame) { fr.f32s[slot] = x(fr); fn.body.run(fr) }
	}
	type arg struct {
		kind kind
		slot int
		i    intFn
		s    f32Fn
		d    f64Fn
	}
	var args []arg
	for i, x := range e.Args {
		a := arg{kind: kindOf(x.DType), slot: fn.params[i]}
		switch a.kind {
		case f32Kind:
			a.s = c.f32(x)
		case f64Kind:
			a.d = c.f64(x)
		default:
			a.i = c.int(x)
		}
		args = append(args, a)
	}
	return fn, func(fr *frame) {
		var got [maxParams]Value // an argument may call the same function
		for k, a := range args {
			switch a.kind {
			case f32Kind:
				got[k].F = float64(a.s(fr))
			case f64Kind:
				got[k].F = a.d(fr)
			default:
				got[k].I = a.i(fr)
			}
		}
		for k, a := range args {
			switch a.kind {
			case f32Kind:
				fr.f32s[a.slot] = float32(got[k].F)
			case f64Kind:
				fr.f64s[a.slot] = got[k].F
			default:
				fr.ints[a.slot] = got[k].I
			}
		}
		fn.body.run(fr)
	}
}

// bool compiles a condition.
func (c *compiler) bool(e *expr.Expr) boolFn {
	if e.DType != ir.Bool {
		fail("condition of dtype %s", e.DType)
	}
	switch e.Op {
	case expr.OpEq, expr.OpNe, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
		return c.compare(e)
	case expr.OpAnd:
		a, b := c.bool(e.Args[0]), c.bool(e.Args[1])
		return func(fr *frame) bool { x, y := a(fr), b(fr); return x && y }
	case expr.OpOr:
		a, b := c.bool(e.Args[0]), c.bool(e.Args[1])
		return func(fr *frame) bool { x, y := a(fr), b(fr); return x || y }
	case expr.OpNot:
		a := c.bool(e.Args[0])
		return func(fr *frame) bool { return !a(fr) }
	}
	v := c.int(e)
	return func(fr *frame) bool { return v(fr) != 0 }
}

func (c *compiler) compare(e *expr.Expr) boolFn {
	x := e.Args[0]
	if x.DType != e.Args[1].DType {
		fail("comparison of %s with %s", x.DType, e.Args[1].DType)
	}
	switch kindOf(x.DType) {
	case f32Kind:
		return comparison(e.Op, c.f32(x), c.f32(e.Args[1]))
	case f64Kind:
		return comparison(e.Op, c.f64(x), c.f64(e.Args[1]))
	}
	a, b := c.int(x), c.int(e.Args[1])
	if x.DType == ir.Uint64 {
		return comparison(e.Op, func(fr *frame) uint64 { return uint64(a(fr)) },
			func(fr *frame) uint64 { return uint64(b(fr)) })
	}
	return comparison(e.Op, a, b)
}

func comparison[T int64 | uint64 | float32 | float64](op expr.Op, a, b func(*frame) T) boolFn {
	switch op {
	case expr.OpEq:
		return func(fr *frame) bool { return a(fr) == b(fr) }
	case expr.OpNe:
		return func(fr *frame) bool { return a(fr) != b(fr) }
	case expr.OpLt:
		return func(fr *frame) bool { return a(fr) < b(fr) }
	case expr.OpLe:
		return func(fr *frame) bool { return a(fr) <= b(fr) }
	case expr.OpGt:
		return func(fr *frame) bool { return a(fr) > b(fr) }
	}
	return func(fr *frame) bool { return a(fr) >= b(fr) }
}
