package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

type scheduler struct {
	f          *loop.Func
	opts       Options
	free       expr.Free
	costs      map[*expr.Expr]float64
	isHarmless map[*expr.Expr]bool
	hasReduce  map[*expr.Expr]bool
	both       map[*expr.Expr][]*expr.Expr // of a Select: what either arm evaluates
	loopVars   map[*sym.Symbol]bool
	saves      map[*expr.Expr]*saved // by reduction
}

func newScheduler(f *loop.Func, opts Options) *scheduler {
	return &scheduler{
		f: f, opts: opts, costs: map[*expr.Expr]float64{}, isHarmless: map[*expr.Expr]bool{},
		hasReduce: map[*expr.Expr]bool{},
		both:      map[*expr.Expr][]*expr.Expr{}, loopVars: map[*sym.Symbol]bool{},
		saves: map[*expr.Expr]*saved{},
	}
}

// run emits the nests.
func (s *scheduler) run(nests []*nest) []loop.Stmt {
	var sure []*expr.Expr
	for _, n := range nests {
		n.vars = s.order(n.vars, n.roots)
		s.save(n)
		sure = append(sure, n.roots...)
	}
	for _, n := range nests {
		for _, v := range n.vars {
			s.loopVars[v] = true
		}
		for _, r := range n.roots {
			expr.Walk(r, func(e *expr.Expr) {
				for _, v := range e.Vars {
					s.loopVars[v] = true
				}
			})
		}
	}
	top := s.newBlock(nil, nil, false, sure)
	for _, n := range nests {
		if slices.ContainsFunc(n.vars, maybeEmpty) {
			top.unsure()
		}
	}
	for _, n := range nests {
		s.loops(top, n.vars, n.roots, true, func(b *block) {
			for i, r := range n.roots {
				v := s.value(r, b)
				b.stmts = append(b.stmts, &loop.Store{Buf: n.outs[i], At: n.at, Value: v})
			}
		})
	}
	return top.stmts
}

// loops appends to b loops over vars, within which roots are evaluated; body
// fills the innermost block.
func (s *scheduler) loops(b *block, vars []*sym.Symbol, roots []*expr.Expr, strip bool,
	body func(*block)) {
	if len(vars) == 0 {
		body(b)
		return
	}
	in := s.newBlock(b, vars[0], false, roots)
	if slices.ContainsFunc(vars[1:], maybeEmpty) {
		in.unsure()
	}
	s.loops(in, vars[1:], roots, strip, body)
	b.stmts = append(b.stmts, &loop.For{Var: vars[0], Extent: expr.Extent(vars[0]), Body: in.stmts,
		Strip: strip})
}

// value returns an expression for e that may stand in a statement of at,
// having emitted what has to be known before.
func (s *scheduler) value(e *expr.Expr, at *block) *expr.Expr {
	if v := at.value(e); v != nil {
		return v
	}
	home := s.home(e, at)
	switch {
	case e.Op == expr.OpReduce:
		s.reduce(e, home)
		return home.values[e]
	case s.worthLocal(e, home, at):
		s.keep(e, s.build(e, home), home)
		return home.values[e]
	}
	return s.build(e, at)
}

// keep makes e known in b as v, in a local unless v is as good as one.
func (s *scheduler) keep(e, v *expr.Expr, b *block) {
	if !trivial(v) {
		local := s.local("t", e)
		b.stmts = append(b.stmts, &loop.Let{Var: local, Value: v})
		v = expr.Get(local)
	}
	b.values[e] = v
}

// build returns e in terms of values in at.
func (s *scheduler) build(e *expr.Expr, at *block) *expr.Expr {
	for _, d := range dataIndices(e) {
		s.index(d, at)
	}
	if e.Op == expr.OpSelect {
		return s.choice(e, at)
	}
	if len(e.Args) == 0 {
		return e
	}
	c := *e
	c.Args = make([]*expr.Expr, len(e.Args))
	for i, a := range e.Args {
		c.Args[i] = s.value(a, at)
	}
	return &c
}

// index makes the data-dependent index d known in at.
func (s *scheduler) index(d *sym.Symbol, at *block) {
	if at.knows(d) {
		return
	}
	def := expr.DefOf(d)
	home := s.home(def, at)
	v := home.value(def)
	switch {
	case v != nil:
	case def.Op == expr.OpReduce:
		s.reduce(def, home)
		v = home.values[def]
	default:
		v = s.build(def, home)
		home.values[def] = expr.Idx(def.DType, d.Expr())
	}
	home.stmts = append(home.stmts, &loop.LetIndex{Sym: d, Value: v})
	home.indices[d] = true
}

// local makes a local variable for e; rename makes its name unique.
func (s *scheduler) local(base string, e *expr.Expr) *expr.Var {
	if e.DType == ir.Bool && base == "t" {
		base = "ok"
	}
	return &expr.Var{Name: base, DType: e.DType}
}
