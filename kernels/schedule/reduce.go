package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// reduce computes the reduction e in b, along with others over the same range
// that are needed there too.
func (s *scheduler) reduce(e *expr.Expr, b *block) {
	group := s.companions(e, b)
	strip := true
	var bodies []*expr.Expr
	for _, r := range group {
		strip = strip && !isArg(r.Kind)
		bodies = append(bodies, r.Args[0])
	}
	vars := e.Vars
	if strip { // else the first of equal values counts
		vars = s.order(vars, bodies)
	}
	if len(group) == 1 && s.laneable(e, vars) {
		s.lanes(e, vars, b)
		return
	}
	var accs []accumulator
	for _, r := range group {
		acc := s.accumulator(r)
		b.stmts = append(b.stmts, acc.declare()...)
		accs = append(accs, acc)
	}
	s.loops(b, vars, bodies, strip, func(in *block) {
		for i, body := range bodies {
			s.accumulate(accs[i], body, in)
		}
	})
	for i, r := range group {
		b.values[r] = expr.Get(accs[i].result())
	}
}

// companions returns e and the reductions that may share its loops: over the
// same variables, needed in b in any case, computable there, independent.
func (s *scheduler) companions(e *expr.Expr, b *block) []*expr.Expr {
	group := []*expr.Expr{e}
	if b.guard {
		return group
	}
	for _, r := range b.reduces {
		if r != e && slices.Equal(r.Vars, e.Vars) && b.value(r) == nil && s.computable(r, b) &&
			!slices.ContainsFunc(group, func(g *expr.Expr) bool { return contains(g, r) || contains(r, g) }) {
			group = append(group, r)
		}
	}
	return group
}

// computable reports whether all loop variables e depends on are bound in b
// and b is the outermost such block.
func (s *scheduler) computable(e *expr.Expr, b *block) bool {
	for _, v := range s.free.Of(e) {
		if s.loopVars[v] && !b.binds(v) {
			return false
		}
	}
	return s.home(e, b) == b
}

func contains(e, sub *expr.Expr) bool {
	found := false
	expr.Walk(e, func(n *expr.Expr) { found = found || n == sub })
	return found
}

func isArg(k expr.ReduceKind) bool { return k == expr.ReduceArgMax || k == expr.ReduceArgMin }

// accumulator is the locals of a reduction.
type accumulator struct {
	kind expr.ReduceKind
	vars []*sym.Symbol // position of ArgMax counts over them
	acc  *expr.Var     // the sum, product or extremum so far
	pos  *expr.Var     // of ArgMax and ArgMin
	init *expr.Expr
}

var accNames = map[expr.ReduceKind]string{
	expr.ReduceSum: "sum", expr.ReduceProd: "prod", expr.ReduceMax: "top", expr.ReduceMin: "low",
	expr.ReduceArgMax: "top", expr.ReduceArgMin: "low",
}

func (s *scheduler) accumulator(r *expr.Expr) accumulator {
	d := r.Args[0].DType
	a := accumulator{kind: r.Kind, vars: r.Vars, acc: s.local(accNames[r.Kind], r.Args[0]), init: expr.Neutral(r.Kind, d)}
	if isArg(r.Kind) {
		a.pos = s.local("pos", r)
	}
	return a
}

func (a accumulator) declare() []loop.Stmt {
	out := []loop.Stmt{&loop.Let{Var: a.acc, Value: a.init, Mutable: true}}
	if a.pos != nil {
		out = append(out, &loop.Let{Var: a.pos, Value: expr.Int(ir.Int64, 0), Mutable: true})
	}
	return out
}

func (a accumulator) result() *expr.Var {
	if a.pos != nil {
		return a.pos
	}
	return a.acc
}

// accumulate combines one value of body into a.
func (s *scheduler) accumulate(a accumulator, body *expr.Expr, in *block) {
	// A value that is only combined under a condition makes an If.
	if a.kind == expr.ReduceSum && body.Op == expr.OpSelect && in.uses[body] == 1 && in.value(body) == nil && isZero(body.Args[2]) {
		cond := s.value(body.Args[0], in)
		then := s.newBlock(in, nil, true, body.Args[1:2])
		s.accumulate(a, body.Args[1], then)
		in.stmts = append(in.stmts, &loop.If{Cond: cond, Then: then.stmts})
		return
	}
	v := s.value(body, in)
	acc := expr.Get(a.acc)
	switch a.kind {
	case expr.ReduceSum:
		in.stmts = append(in.stmts, &loop.Assign{Var: a.acc, Value: expr.Add(acc, v)})
		return
	case expr.ReduceProd:
		in.stmts = append(in.stmts, &loop.Assign{Var: a.acc, Value: expr.Mul(acc, v)})
		return
	}
	if v.DType == ir.Bool {
		in.stmts = append(in.stmts, &loop.Assign{Var: a.acc, Value: boolExtremum(a.kind, acc, v)})
		return
	}
	if !trivial(v) {
		t := s.local("v", v)
		in.stmts = append(in.stmts, &loop.Let{Var: t, Value: v})
		in.values[body] = expr.Get(t)
		v = expr.Get(t)
	}
	better := expr.Gt(v, acc)
	if a.kind == expr.ReduceMin || a.kind == expr.ReduceArgMin {
		better = expr.Lt(v, acc)
	}
	if a.pos == nil {
		// A NaN is taken and stays, for nothing compares to it.
		better = expr.Or(better, expr.IsNaN(v))
		in.stmts = append(in.stmts, &loop.Assign{Var: a.acc, Value: expr.Select(better, v, acc)})
		return
	}
	if v.DType.IsFloat() { // the first NaN wins
		better = expr.Or(better, expr.And(expr.IsNaN(v), expr.Eq(acc, acc)))
	}
	in.stmts = append(in.stmts, &loop.If{Cond: better, Then: []loop.Stmt{
		&loop.Assign{Var: a.acc, Value: v},
		&loop.Assign{Var: a.pos, Value: expr.Idx(ir.Int64, a.position())},
	}})
}

// position is the row-major position of the current iteration.
func (a accumulator) position() sym.Expr {
	coords := make([]sym.Expr, len(a.vars))
	sizes := make([]sym.Expr, len(a.vars))
	for i, v := range a.vars {
		coords[i], sizes[i] = v.Expr(), expr.Extent(v)
	}
	return sym.RowMajor(sizes, coords)
}

func boolExtremum(k expr.ReduceKind, a, b *expr.Expr) *expr.Expr {
	if k == expr.ReduceMax {
		return expr.Or(a, b)
	}
	return expr.And(a, b)
}

// isZero reports whether adding e to a sum that began with 0 changes nothing.
func isZero(e *expr.Expr) bool { return e.Op == expr.OpConst && e.Float == 0 && e.Int == 0 }
