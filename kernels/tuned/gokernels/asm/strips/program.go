package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// inst computes a value from earlier ones: Op of expr on elements of a vector.
type inst struct {
	op   expr.Op
	d    ir.DType
	from ir.DType // of the operands
	args []int
	bits uint32 // of a Const
	in   int    // a Local is parameter in of the function
}

// program is a function of elements as instructions, the last of which is its
// result. Calls are inlined, equal instructions are one.
type program struct {
	insts []inst
	known map[string]int
}

// flatten returns the program of fn.
func flatten(fn *expr.Func) (*program, error) {
	p := &program{known: map[string]int{}}
	vars := map[*expr.Var]int{}
	for i, v := range fn.Params {
		vars[v] = p.add(inst{op: expr.OpLocal, d: v.DType, in: i})
	}
	last, err := p.expr(expr.NewSharer().Share(fn.Body), vars, map[*expr.Expr]int{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fn.Name, err)
	}
	p.insts = p.insts[:last+1]
	return p, nil
}

func (p *program) add(i inst) int {
	key := fmt.Sprint(i)
	if k, ok := p.known[key]; ok {
		return k
	}
	p.insts = append(p.insts, i)
	p.known[key] = len(p.insts) - 1
	return len(p.insts) - 1
}

func (p *program) expr(e *expr.Expr, vars map[*expr.Var]int, memo map[*expr.Expr]int) (int, error) {
	if k, ok := memo[e]; ok {
		return k, nil
	}
	switch e.Op {
	case expr.OpLocal:
		return vars[e.Var], nil
	case expr.OpConst:
		bits := uint32(e.Int)
		if e.DType == ir.Float32 {
			bits = math.Float32bits(float32(e.Float))
		}
		return p.add(inst{op: e.Op, d: e.DType, bits: bits}), nil
	}
	i := inst{op: e.Op, d: e.DType}
	for _, a := range e.Args {
		k, err := p.expr(a, vars, memo)
		if err != nil {
			return 0, err
		}
		i.args = append(i.args, k)
	}
	if e.Op == expr.OpCall {
		inner := map[*expr.Var]int{}
		for k, v := range e.Fn.Params {
			inner[v] = i.args[k]
		}
		k, err := p.expr(expr.NewSharer().Share(e.Fn.Body), inner, map[*expr.Expr]int{})
		memo[e] = k
		return k, err
	}
	i.from = p.insts[i.args[len(i.args)-1]].d
	if i.from.IsInt() {
		i.from = ir.Int32 // smaller ones are widened as they are loaded
	}
	for _, d := range []ir.DType{i.d, i.from} {
		if d != ir.Float32 && d != ir.Int32 && d.Size() > 1 {
			return 0, fmt.Errorf("%s of %s has no form in vectors", e.Op, d)
		}
	}
	if e.Op == expr.OpCast && i.d.IsInt() && i.from.IsInt() {
		i.op = expr.OpBitcast
	}
	if i.op == expr.OpBitcast {
		// Vectors have no type; the dtype of an instruction is what users of
		// it say.
		k := p.add(i)
		memo[e] = k
		return k, nil
	}
	k := p.add(i)
	memo[e] = k
	return k, nil
}

// isConst reports whether value k is a constant.
func (p *program) isConst(k int) bool { return p.insts[k].op == expr.OpConst }

// indefinite is p for machines that make the smallest integer of what does not fit: it does not
// choose that by itself.
func (p *program) indefinite() *program {
	q := &program{insts: slices.Clone(p.insts)}
	isConst := func(k int, bits uint32) bool { return p.isConst(k) && p.insts[k].bits == bits }
	used := make([]bool, len(q.insts))
	used[len(used)-1] = true
	for k, i := range slices.Backward(q.insts) {
		if i.op == expr.OpSelect && isConst(i.args[2], 1<<31) {
			fits, cast := p.insts[i.args[0]], p.insts[i.args[1]]
			if cast.op == expr.OpCast && cast.d == ir.Int32 && cast.from == ir.Float32 &&
				fits.op == expr.OpLt && fits.args[0] == cast.args[0] &&
				isConst(fits.args[1], math.Float32bits(0x1p31)) {
				i.op, i.args = expr.OpBitcast, i.args[1:2]
			}
		}
		if !used[k] {
			i = inst{op: expr.OpConst} // which takes no instruction
		}
		for _, a := range i.args {
			used[a] = true
		}
		q.insts[k] = i
	}
	return q
}
