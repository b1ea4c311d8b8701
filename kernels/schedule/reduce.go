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
	strip, inOrder := true, false
	var bodies []*expr.Expr
	for _, r := range group {
		strip, inOrder = strip && !r.Kind.IsArg(), inOrder || r.InOrder
		bodies = append(bodies, r.Args[0])
	}
	vars := e.Vars
	if strip && !inOrder { // else the first of equal values counts
		vars = s.order(vars, bodies)
	}
	accs := s.accumulators(group)
	s.loops(b, vars, bodies, strip, inOrder, func(in *block) {
		for _, r := range group {
			s.store(s.saves[r], in)
		}
		for _, acc := range accs {
			s.accumulate(acc, acc.body, in)
		}
	})
	for _, acc := range accs {
		b.stmts = slices.Insert(b.stmts, len(b.stmts)-1, acc.declare()...) // before the loop
		for _, r := range acc.of {
			b.values[r] = expr.Get(acc.result(r))
		}
	}
}

// store saves a value that is needed again.
func (s *scheduler) store(sv *saved, in *block) {
	if sv == nil {
		return
	}
	v := in.value(sv.value)
	if v == nil {
		s.keep(sv.value, s.build(sv.value, in), in)
		v = in.value(sv.value)
	}
	in.stmts = append(in.stmts, &loop.Store{Buf: sv.buf, At: sv.at, Value: v})
}

// companions returns e and the reductions that may share its loops: over the
// same variables, needed in b in any case, computable there, independent.
func (s *scheduler) companions(e *expr.Expr, b *block) []*expr.Expr {
	if b.guard {
		return []*expr.Expr{e}
	}
	return s.group(e, b.reduces, b, func(r *expr.Expr) bool { return slices.Equal(r.Vars, e.Vars) })
}

// group returns e and those of a list for which like holds that are not known in b
// yet, computable there, and independent of each other.
func (s *scheduler) group(e *expr.Expr, list []*expr.Expr, b *block,
	like func(*expr.Expr) bool) []*expr.Expr {
	group := []*expr.Expr{e}
	for _, x := range list {
		if x != e && like(x) && b.value(x) == nil && s.computable(x, b) &&
			!slices.ContainsFunc(group, func(g *expr.Expr) bool {
				return contains(g, x) || contains(x, g)
			}) {
			group = append(group, x)
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
	return expr.Any(e, func(n *expr.Expr) bool { return n == sub })
}

// accumulator is the locals of a reduction, or of an extremum and its position.
type accumulator struct {
	kind expr.ReduceKind // of the position if there is one
	of   []*expr.Expr    // the reductions
	body *expr.Expr
	vars []*sym.Symbol // position of ArgMax counts over them
	acc  *expr.Var     // the sum, product or extremum so far
	pos  *expr.Var     // of ArgMax and ArgMin
	init *expr.Expr
}

var accNames = map[expr.ReduceKind]string{
	expr.ReduceSum: "sum", expr.ReduceProd: "prod", expr.ReduceMax: "top", expr.ReduceMin: "low",
	expr.ReduceArgMax: "top", expr.ReduceArgMin: "low", expr.ReduceArgMaxLastNaN: "top",
}

// extremumOf is what a reduction to a position compares by.
var extremumOf = map[expr.ReduceKind]expr.ReduceKind{
	expr.ReduceArgMax: expr.ReduceMax, expr.ReduceArgMin: expr.ReduceMin,
	expr.ReduceArgMaxLastNaN: expr.ReduceMax,
}

// accumulators returns accumulators for a group of reductions: one for each,
// but an extremum and its position share the running value.
func (s *scheduler) accumulators(group []*expr.Expr) []*accumulator {
	var out []*accumulator
	for _, r := range group {
		a := &accumulator{kind: r.Kind, of: []*expr.Expr{r}, body: r.Args[0], vars: r.Vars}
		pair := slices.IndexFunc(out, func(o *accumulator) bool {
			return o.body == a.body && (extremumOf[o.kind] == a.kind ||
				extremumOf[a.kind] == o.kind) &&
				(o.kind.IsArg() != a.kind.IsArg())
		})
		if pair >= 0 {
			o := out[pair]
			o.of = append(o.of, r)
			if r.Kind.IsArg() {
				o.kind = r.Kind
			}
			continue
		}
		out = append(out, a)
	}
	for _, a := range out {
		a.acc, a.init = s.local(accNames[a.kind], a.body), expr.Neutral(a.kind, a.body.DType)
		if a.kind.IsArg() {
			a.pos = &expr.Var{Name: "pos", DType: ir.Int64}
		}
	}
	return out
}

func (a *accumulator) declare() []loop.Stmt {
	out := []loop.Stmt{&loop.Let{Var: a.acc, Value: a.init, Mutable: true}}
	if a.pos != nil {
		out = append(out, &loop.Let{Var: a.pos, Value: expr.Int(ir.Int64, 0), Mutable: true})
	}
	return out
}

// result is the local that has the value of r, one of a's reductions.
func (a *accumulator) result(r *expr.Expr) *expr.Var {
	if r.Kind.IsArg() {
		return a.pos
	}
	return a.acc
}

// accumulate combines one value of body into a.
func (s *scheduler) accumulate(a *accumulator, body *expr.Expr, in *block) {
	// A sum of select(condition, value, 0) adds the value in an If.
	if a.kind == expr.ReduceSum && body.Op == expr.OpSelect && in.uses[body] == 1 &&
		in.value(body) == nil && isZero(body.Args[2]) {
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
	if v.DType.IsFloat() {
		nan := expr.IsNaN(v)
		if a.kind != expr.ReduceArgMaxLastNaN { // the first NaN wins
			nan = expr.And(nan, expr.Eq(acc, acc))
		}
		better = expr.Or(better, nan)
	}
	in.stmts = append(in.stmts, &loop.If{Cond: better, Then: []loop.Stmt{
		&loop.Assign{Var: a.acc, Value: v},
		&loop.Assign{Var: a.pos, Value: expr.Idx(ir.Int64,
			sym.RowMajor(expr.Extents(a.vars), expr.Coords(a.vars)))},
	}})
}

func boolExtremum(k expr.ReduceKind, a, b *expr.Expr) *expr.Expr {
	if k == expr.ReduceMax {
		return expr.Or(a, b)
	}
	return expr.And(a, b)
}

// isZero reports whether adding e to a sum that began with 0 changes nothing.
func isZero(e *expr.Expr) bool { return e.Op == expr.OpConst && e.Float == 0 && e.Int == 0 }
