// Package reference is what tests hold schedules against: the direct meaning of
// tensor expressions, and the rules of the loop form.
package reference

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
)

// Tensor evaluates t element by element straight from its meaning, slowly. syms
// gives the values of its free symbols.
func Tensor(t expr.Tensor, operands []eval.Operand, syms map[*sym.Symbol]int64,
	scalars []expr.Value) (out eval.Operand, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(stop)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("a tensor: %w", s.err)
		}
	}()
	r := &reference{operands: operands, scalars: scalars, symbols: map[*sym.Symbol]*place{},
		values: map[*expr.Expr]func() expr.Value{}}
	for s, n := range syms {
		*r.place(s) = place{n, true}
	}
	out.DType = t.DType
	n := int64(1)
	for _, v := range t.Vars {
		s := r.index(expr.Extent(v))()
		out.Sizes = append(out.Sizes, s)
		n *= s
	}
	out.Data = make([]byte, n*int64(t.DType.Size()))
	at, body := int64(0), r.value(t.Body, nil)
	r.each(t.Vars, func() {
		eval.Put(t.DType, out.Data, at, body())
		at++
	})()
	return out, nil
}

// stop is what a failing operation panics with; Tensor recovers it.
type stop struct{ err error }

func fail(format string, args ...any) { panic(stop{fmt.Errorf(format, args...)}) }

// reference is the meaning of expressions as functions, which fail. It shares
// nothing with the compiler of loops, which it is compared with.
type reference struct {
	operands []eval.Operand
	scalars  []expr.Value
	symbols  map[*sym.Symbol]*place
	values   map[*expr.Expr]func() expr.Value // outside of scalar functions
}

// place holds the value of a symbol, if it has one now.
type place struct {
	n     int64
	bound bool
}

func (r *reference) place(s *sym.Symbol) *place {
	p := r.symbols[s]
	if p == nil {
		p = &place{}
		r.symbols[s] = p
	}
	return p
}

// each runs f for all values of vars in row-major order.
func (r *reference) each(vars []*sym.Symbol, f func()) func() {
	if len(vars) == 0 {
		return f
	}
	p, extent, inner := r.place(vars[0]), r.index(expr.Extent(vars[0])), r.each(vars[1:], f)
	return func() {
		n, old := extent(), *p
		for i := range n {
			*p = place{i, true}
			inner()
		}
		*p = old
	}
}

// fnCall is a place where a scalar function is called. Its values depend on the
// parameters alone, so in each call they are computed once.
type fnCall struct {
	params map[*expr.Var]*expr.Value
	values map[*expr.Expr]func() expr.Value
	calls  int // so far
}

// value returns what computes e, inside a function f is its call.
func (r *reference) value(e *expr.Expr, f *fnCall) func() expr.Value {
	known := r.values
	if f != nil {
		known = f.values
	}
	if v := known[e]; v != nil {
		return v
	}
	v := r.compute(e, f)
	if f != nil && len(e.Args) > 0 {
		v = f.once(v)
	}
	known[e] = v
	return v
}

func (f *fnCall) once(v func() expr.Value) func() expr.Value {
	var last expr.Value
	call := 0
	return func() expr.Value {
		if call != f.calls {
			last, call = v(), f.calls
		}
		return last
	}
}

func (r *reference) compute(e *expr.Expr, f *fnCall) func() expr.Value {
	switch e.Op {
	case expr.OpConst:
		v := expr.Value{I: e.Int, F: e.Float}
		return func() expr.Value { return v }
	case expr.OpIndex:
		n := r.index(e.Idx)
		return func() expr.Value { return expr.Value{I: expr.Wrap(e.DType, n())} }
	case expr.OpLoad:
		return r.load(e)
	case expr.OpLocal:
		if f != nil {
			if v := f.params[e.Var]; v != nil {
				return func() expr.Value { return *v }
			}
		}
		return func() expr.Value { fail("local %s has no value", e.Var.Name); return expr.Value{} }
	case expr.OpScalar:
		return func() expr.Value { return r.scalars[e.Buf] }
	case expr.OpReduce:
		return r.reduce(e, f)
	}
	args := make([]func() expr.Value, len(e.Args))
	for i, a := range e.Args {
		args[i] = r.value(a, f)
	}
	switch e.Op {
	case expr.OpSelect:
		return func() expr.Value {
			if args[0]().I != 0 {
				return args[1]()
			}
			return args[2]()
		}
	case expr.OpCall:
		return r.call(e.Fn, args)
	}
	values := make([]expr.Value, len(args))
	return func() expr.Value {
		for i, a := range args {
			values[i] = a()
		}
		return applied(e.Op, e.DType, e.Args[0].DType, values...)
	}
}

func applied(op expr.Op, d, from ir.DType, args ...expr.Value) expr.Value {
	v, err := expr.Apply(op, d, from, args...)
	if err != nil {
		panic(stop{err})
	}
	return v
}

func (r *reference) call(fn *expr.Func, args []func() expr.Value) func() expr.Value {
	f := &fnCall{params: map[*expr.Var]*expr.Value{}, values: map[*expr.Expr]func() expr.Value{}}
	params := make([]expr.Value, len(args))
	for i, p := range fn.Params {
		f.params[p] = &params[i]
	}
	body := r.value(fn.Body, f)
	return func() expr.Value {
		for i, a := range args {
			params[i] = a()
		}
		f.calls++
		return body()
	}
}

func (r *reference) load(e *expr.Expr) func() expr.Value {
	coords := make([]func() int64, len(e.Coords))
	for d, c := range e.Coords {
		coords[d] = r.index(c)
	}
	return func() expr.Value {
		o := &r.operands[e.Buf]
		at := int64(0)
		for d, c := range coords {
			i := c()
			if i < 0 || i >= o.Sizes[d] {
				fail("operand %d: index %d of dimension %d is not below %d", e.Buf, i, d,
					o.Sizes[d])
			}
			at = at*o.Sizes[d] + i
		}
		return eval.Get(o.DType, o.Data, at)
	}
}

func (r *reference) reduce(e *expr.Expr, f *fnCall) func() expr.Value {
	if f != nil {
		return func() expr.Value { fail("a reduction in a scalar function"); return expr.Value{} }
	}
	d, first := e.Args[0].DType, expr.Neutral(e.Kind, e.Args[0].DType)
	var acc expr.Value
	var n, best int64
	body := r.value(e.Args[0], nil)
	op := expr.OpGt
	if e.Kind == expr.ReduceMin || e.Kind == expr.ReduceArgMin {
		op = expr.OpLt
	}
	walk := r.each(e.Vars, func() {
		v := body()
		switch e.Kind {
		case expr.ReduceSum:
			acc = applied(expr.OpAdd, d, d, acc, v)
		case expr.ReduceProd:
			acc = applied(expr.OpMul, d, d, acc, v)
		default:
			better := applied(op, ir.Bool, d, v, acc)
			nan := v.F != v.F && (acc.F == acc.F || e.Kind == expr.ReduceArgMaxLastNaN)
			if better.I != 0 || nan {
				acc, best = v, n
			}
		}
		n++
	})
	return func() expr.Value {
		acc, n, best = expr.Value{I: first.Int, F: first.Float}, 0, 0
		walk()
		if e.Kind.IsArg() {
			return expr.Value{I: best}
		}
		return acc
	}
}

// index returns what computes x.
func (r *reference) index(x sym.Expr) func() int64 {
	if f := r.linear(x); f != nil {
		return f
	}
	symbols := map[*sym.Symbol]func() int64{}
	for _, s := range x.Symbols() {
		symbols[s] = r.symbol(s)
	}
	get := func(s *sym.Symbol) (int64, bool) { return symbols[s](), true }
	return func() int64 {
		n, err := x.Eval(get)
		if err != nil {
			panic(stop{err})
		}
		return n
	}
}

// symbol returns what computes the value of s: what it is bound to, or its
// definition.
func (r *reference) symbol(s *sym.Symbol) func() int64 {
	p := r.place(s)
	d := expr.DefOf(s)
	if d == nil {
		return func() int64 {
			if !p.bound {
				fail("sym: no value for %s", s.Name)
			}
			return p.n
		}
	}
	v := r.value(d, nil)
	return func() int64 {
		if p.bound {
			return p.n
		}
		return v().I
	}
}

// linear returns what computes a sum of symbols with constant factors; nil if x is
// another sum.
func (r *reference) linear(x sym.Expr) func() int64 {
	constant := int64(0)
	var coefs []int64
	var symbols []func() int64
	for _, t := range x.Terms() {
		switch {
		case len(t.Atoms) == 0:
			constant = t.Coef
		case len(t.Atoms) == 1 && t.Atoms[0].Kind == sym.SymbolAtom:
			coefs, symbols = append(coefs, t.Coef), append(symbols, r.symbol(t.Atoms[0].Sym))
		default:
			return nil
		}
	}
	return func() int64 {
		sum := constant
		for i, s := range symbols {
			v := s()
			p := coefs[i] * v
			if v != 0 && p/v != coefs[i] || p > 0 && sum+p < sum || p < 0 && sum+p > sum {
				panic(stop{fmt.Errorf("%v overflows", x)})
			}
			sum += p
		}
		return sum
	}
}
