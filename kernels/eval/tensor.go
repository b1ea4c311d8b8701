package eval

import (
	"fmt"
	"maps"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// Operand is a dense tensor.
type Operand struct {
	DType ir.DType
	Sizes []int64
	Data  []byte
}

// Tensor evaluates t element by element straight from its meaning. syms gives
// the values of its free symbols.
func Tensor(t expr.Tensor, operands []Operand, syms map[*sym.Symbol]int64, scalars []Value) (Operand, error) {
	r := &reference{operands: operands, scalars: scalars, env: maps.Clone(syms)}
	if r.env == nil {
		r.env = map[*sym.Symbol]int64{}
	}
	out := Operand{DType: t.DType}
	n := int64(1)
	for _, v := range t.Vars {
		s, err := r.index(expr.Extent(v))
		if err != nil {
			return out, err
		}
		out.Sizes = append(out.Sizes, s)
		n *= s
	}
	out.Data = make([]byte, n*int64(t.DType.Size()))
	at := int64(0)
	err := r.each(t.Vars, func() error {
		v, err := r.expr(t.Body, nil)
		if err == nil {
			Put(t.DType, out.Data, at, v)
			at++
		}
		return err
	})
	return out, err
}

type reference struct {
	operands []Operand
	scalars  []Value
	env      map[*sym.Symbol]int64
}

// each calls f for all values of vars in row-major order.
func (r *reference) each(vars []*sym.Symbol, f func() error) error {
	if len(vars) == 0 {
		return f()
	}
	v := vars[0]
	n, err := r.index(expr.Extent(v))
	if err != nil {
		return err
	}
	old, shadowed := r.env[v]
	for i := range n {
		r.env[v] = i
		if err := r.each(vars[1:], f); err != nil {
			return err
		}
	}
	delete(r.env, v)
	if shadowed {
		r.env[v] = old
	}
	return nil
}

func (r *reference) index(x sym.Expr) (int64, error) {
	var failed error
	n, err := x.Eval(func(s *sym.Symbol) (int64, bool) {
		if n, ok := r.env[s]; ok {
			return n, true
		}
		d := expr.DefOf(s)
		if d == nil {
			return 0, false
		}
		v, err := r.expr(d, nil)
		if err != nil {
			failed = err
		}
		return v.I, true
	})
	if failed != nil {
		return 0, failed
	}
	return n, err
}

// fnCall is a call of a scalar function. Its values depend on the parameters
// alone, so each is computed once.
type fnCall struct {
	params map[*expr.Var]Value
	known  map[*expr.Expr]Value
}

// expr evaluates e, inside a function f is its call.
func (r *reference) expr(e *expr.Expr, f *fnCall) (Value, error) {
	if f == nil || len(e.Args) == 0 {
		return r.compute(e, f)
	}
	if v, ok := f.known[e]; ok {
		return v, nil
	}
	v, err := r.compute(e, f)
	if err == nil {
		f.known[e] = v
	}
	return v, err
}

func (r *reference) compute(e *expr.Expr, f *fnCall) (Value, error) {
	switch e.Op {
	case expr.OpConst:
		return Value{I: e.Int, F: e.Float}, nil
	case expr.OpIndex:
		n, err := r.index(e.Idx)
		return Value{I: expr.Wrap(e.DType, n)}, err
	case expr.OpLoad:
		return r.load(e)
	case expr.OpLocal:
		if f != nil {
			if v, ok := f.params[e.Var]; ok {
				return v, nil
			}
		}
		return Value{}, fmt.Errorf("local %s has no value", e.Var.Name)
	case expr.OpScalar:
		return r.scalars[e.Buf], nil
	case expr.OpReduce:
		return r.reduce(e, f)
	case expr.OpSelect:
		c, err := r.expr(e.Args[0], f)
		if err != nil {
			return c, err
		}
		if c.I != 0 {
			return r.expr(e.Args[1], f)
		}
		return r.expr(e.Args[2], f)
	}
	args := make([]Value, len(e.Args))
	for i, a := range e.Args {
		v, err := r.expr(a, f)
		if err != nil {
			return v, err
		}
		args[i] = v
	}
	if e.Op == expr.OpCall {
		inner := &fnCall{map[*expr.Var]Value{}, map[*expr.Expr]Value{}}
		for i, p := range e.Fn.Params {
			inner.params[p] = args[i]
		}
		return r.expr(e.Fn.Body, inner)
	}
	return expr.Apply(e.Op, e.DType, e.Args[0].DType, args...)
}

func (r *reference) load(e *expr.Expr) (Value, error) {
	o := r.operands[e.Buf]
	at := int64(0)
	for d, c := range e.Coords {
		i, err := r.index(c)
		if err != nil {
			return Value{}, err
		}
		if i < 0 || i >= o.Sizes[d] {
			return Value{}, fmt.Errorf("operand %d: index %d of dimension %d is not below %d", e.Buf, i, d, o.Sizes[d])
		}
		at = at*o.Sizes[d] + i
	}
	return Get(o.DType, o.Data, at), nil
}

func (r *reference) reduce(e *expr.Expr, f *fnCall) (Value, error) {
	d := e.Args[0].DType
	first := expr.Neutral(e.Kind, d)
	acc := Value{I: first.Int, F: first.Float}
	n, best := int64(0), int64(0)
	err := r.each(e.Vars, func() error {
		v, err := r.expr(e.Args[0], f)
		if err != nil {
			return err
		}
		switch e.Kind {
		case expr.ReduceSum:
			acc, err = expr.Apply(expr.OpAdd, d, d, acc, v)
		case expr.ReduceProd:
			acc, err = expr.Apply(expr.OpMul, d, d, acc, v)
		default:
			op := expr.OpGt
			if e.Kind == expr.ReduceMin || e.Kind == expr.ReduceArgMin {
				op = expr.OpLt
			}
			better, _ := expr.Apply(op, ir.Bool, d, v, acc)
			nan := v.F != v.F && (acc.F == acc.F || e.Kind == expr.ReduceArgMaxLastNaN)
			if better.I != 0 || nan {
				acc, best = v, n
			}
		}
		n++
		return err
	})
	if e.Kind.IsArg() {
		return Value{I: best}, err
	}
	return acc, err
}
