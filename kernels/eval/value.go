package eval

import (
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
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
		must.Fail("buffer %d does not exist", k)
	}
	name := c.p.f.Bufs[k].Name
	return func(fr *frame) int64 {
		i := at(fr)
		if uint64(i) >= uint64(fr.lens[k]) {
			must.Fail("access to element %d of buffer %s, which has %d", i, name, fr.lens[k])
		}
		return i
	}
}

func (c *compiler) loadAt(e *expr.Expr) intFn {
	if len(e.Coords) != 1 {
		must.Fail("load of buffer %d has %d coordinates", e.Buf, len(e.Coords))
	}
	at := c.position(e.Buf, c.index(e.Coords[0]))
	if d := c.p.f.Bufs[e.Buf].DType; d != e.DType {
		must.Fail("load of buffer %d of %s as %s", e.Buf, d, e.DType)
	}
	return at
}

func (c *compiler) store(s *loop.Store) func(*frame) bool {
	at := c.position(s.Buf, c.index(s.At))
	k, d := s.Buf, c.p.f.Bufs[s.Buf].DType
	if d != s.Value.DType {
		must.Fail("store of %s to buffer %d of %s", s.Value.DType, k, d)
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

// call compiles the arguments of a call and the function; the returned statement runs
// it, then the expression is its value.
func (c *compiler) call(e *expr.Expr) (*expr.Expr, func(*frame)) {
	if len(e.Args) > maxParams {
		must.Fail("%s has %d parameters", e.Fn.Name, len(e.Args))
	}
	fn := c.fns[e.Fn]
	if fn == nil {
		fn = &function{}
		for _, p := range e.Fn.Params {
			fn.params = append(fn.params, c.setter(kindOf(p.DType), c.local(p)))
		}
		stmts, result := schedule.Function(e.Fn)
		fn.body, fn.result = c.block(stmts), result
		c.fns[e.Fn] = fn
	}
	if len(e.Args) == 1 && kindOf(e.Args[0].DType) == f32Kind {
		x, slot := c.f32(e.Args[0]), c.known(e.Fn.Params[0])
		return fn.result, func(fr *frame) { fr.f32s[slot] = x(fr); fn.body.run(fr) }
	}
	var args []func(*frame) Value
	for _, x := range e.Args {
		args = append(args, c.value(x))
	}
	return fn.result, func(fr *frame) {
		var got [maxParams]Value // an argument may call the same function
		for k, x := range args {
			got[k] = x(fr)
		}
		for k, set := range fn.params {
			set(fr, got[k])
		}
		fn.body.run(fr)
	}
}

// setter compiles what sets a slot.
func (c *compiler) setter(k kind, slot int) func(*frame, Value) {
	switch k {
	case f32Kind:
		return func(fr *frame, x Value) { fr.f32s[slot] = float32(x.F) }
	case f64Kind:
		return func(fr *frame, x Value) { fr.f64s[slot] = x.F }
	}
	return func(fr *frame, x Value) { fr.ints[slot] = x.I }
}

// bool compiles a condition.
func (c *compiler) bool(e *expr.Expr) boolFn {
	if e.DType != ir.Bool {
		must.Fail("condition of dtype %s", e.DType)
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
		must.Fail("comparison of %s with %s", x.DType, e.Args[1].DType)
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
