package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
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
		s.loops(top, n.vars, n.roots, true, false, func(b *block) {
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
func (s *scheduler) loops(b *block, vars []*sym.Symbol, roots []*expr.Expr, strip, inOrder bool,
	body func(*block)) {
	if len(vars) == 0 {
		body(b)
		return
	}
	in := s.newBlock(b, vars[0], false, roots)
	if slices.ContainsFunc(vars[1:], maybeEmpty) {
		in.unsure()
	}
	s.loops(in, vars[1:], roots, strip, inOrder, body)
	b.stmts = append(b.stmts, &loop.For{Var: vars[0], Extent: expr.Extent(vars[0]), Body: in.stmts,
		Vectorizable: strip, InOrder: inOrder})
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

// block is a run of statements under construction: the function's body, the
// body of a loop, or an arm of a Select. Statements are only ever appended, and
// a loop is appended to the block around it once its body is done: what its
// body needs from outside stands before it by then.
type block struct {
	parent *block
	v      *sym.Symbol // the loop's variable; nil of the function's body and of arms
	guard  bool        // an arm: evaluated only if chosen
	stmts  []loop.Stmt

	values  map[*expr.Expr]*expr.Expr // what is known here: a node's local
	indices map[*sym.Symbol]bool      // data-dependent indices known here
	uses    map[*expr.Expr]int        // how many places below use a node
	sure    map[*expr.Expr]bool       // evaluated whenever the block runs
	reduces []*expr.Expr              // the reductions among sure, in order
	choices []*expr.Expr              // the Selects likewise
}

func (s *scheduler) newBlock(parent *block, v *sym.Symbol, guard bool, roots []*expr.Expr) *block {
	b := &block{
		parent: parent, v: v, guard: guard,
		values: map[*expr.Expr]*expr.Expr{}, indices: map[*sym.Symbol]bool{},
		uses: map[*expr.Expr]int{}, sure: map[*expr.Expr]bool{},
	}
	for _, r := range roots {
		b.count(r)
		s.certain(r, b.sure, func(e *expr.Expr) {
			switch e.Op {
			case expr.OpReduce:
				b.reduces = append(b.reduces, e)
			case expr.OpSelect:
				b.choices = append(b.choices, e)
			}
		})
	}
	return b
}

// unsure notes that nothing need be evaluated when the block runs.
func (b *block) unsure() { b.sure, b.reduces, b.choices = map[*expr.Expr]bool{}, nil, nil }

// count adds a use of e.
func (b *block) count(e *expr.Expr) {
	b.uses[e]++
	if b.uses[e] > 1 {
		return
	}
	for _, a := range e.Args {
		b.count(a)
	}
	for _, d := range e.Defs() {
		b.count(d)
	}
}

// certain adds to sure what is evaluated whenever e is, and calls f for each
// of these nodes.
func (s *scheduler) certain(e *expr.Expr, sure map[*expr.Expr]bool, f func(*expr.Expr)) {
	if sure[e] {
		return
	}
	sure[e] = true
	f(e)
	for _, d := range e.Defs() {
		s.certain(d, sure, f)
	}
	switch e.Op {
	case expr.OpSelect:
		s.certain(e.Args[0], sure, f)
		for _, x := range s.inBothArms(e) {
			if !sure[x] {
				sure[x] = true
				f(x)
			}
		}
	case expr.OpReduce:
		if !slices.ContainsFunc(e.Vars, maybeEmpty) {
			s.certain(e.Args[0], sure, f)
		}
	default:
		for _, a := range e.Args {
			s.certain(a, sure, f)
		}
	}
}

// inBothArms returns what a Select evaluates whichever arm it chooses.
func (s *scheduler) inBothArms(e *expr.Expr) []*expr.Expr {
	if list, ok := s.both[e]; ok {
		return list
	}
	other := map[*expr.Expr]bool{}
	s.certain(e.Args[2], other, func(*expr.Expr) {})
	var list []*expr.Expr
	s.certain(e.Args[1], map[*expr.Expr]bool{}, func(x *expr.Expr) {
		if other[x] {
			list = append(list, x)
		}
	})
	s.both[e] = list
	return list
}

// maybeEmpty reports whether a loop may have no iteration.
func maybeEmpty(v *sym.Symbol) bool { return !sym.NonNegative(v.Hi) }

// value returns what e is in b or around it, nil if it has no local yet.
func (b *block) value(e *expr.Expr) *expr.Expr {
	for ; b != nil; b = b.parent {
		if v := b.values[e]; v != nil {
			return v
		}
	}
	return nil
}

func (b *block) knows(s *sym.Symbol) bool {
	for ; b != nil; b = b.parent {
		if b.indices[s] {
			return true
		}
	}
	return false
}

// binds reports whether b or a block around it is the loop over v.
func (b *block) binds(v *sym.Symbol) bool {
	for ; b != nil; b = b.parent {
		if b.v == v {
			return true
		}
	}
	return false
}

// dataIndices returns the data-dependent indices directly in e.
func dataIndices(e *expr.Expr) []*sym.Symbol {
	var out []*sym.Symbol
	e.Indices(func(x sym.Expr) {
		if !x.AnySymbol(func(s *sym.Symbol) bool { return expr.DefOf(s) != nil }) {
			return // as in nearly all
		}
		for _, s := range x.Symbols() {
			if expr.DefOf(s) != nil && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	})
	return out
}

// choice returns the value of a Select: as an expression if its arms need no
// statements, else a local that an If sets. It makes the other Selects known
// that depend on the same condition: one If sets them all.
func (s *scheduler) choice(e *expr.Expr, at *block) *expr.Expr {
	group := s.alike(e, at)
	vars := seq.Map(group, func(g *expr.Expr) *expr.Var { return s.local("t", g) })
	branch := s.branch(group, vars, at)
	if values := selects(branch, len(group)); values != nil {
		if len(group) > 1 && at.value(e.Args[0]) == nil {
			s.keep(e.Args[0], branch.Cond, at)
			branch.Cond = at.value(e.Args[0])
			values = selects(branch, len(group))
		}
		for i, g := range group[1:] {
			s.keep(g, values[1+i], at)
		}
		return values[0]
	}
	for i, v := range vars {
		at.stmts = append(at.stmts, &loop.Let{Var: v, Mutable: true})
		at.values[group[i]] = expr.Get(v)
	}
	at.stmts = append(at.stmts, branch)
	return expr.Get(vars[0])
}

// alike returns e and the Selects with its condition that are needed in b in
// any case, computable there, and independent of each other.
func (s *scheduler) alike(e *expr.Expr, b *block) []*expr.Expr {
	return s.group(e, b.choices, b, func(c *expr.Expr) bool { return c.Args[0] == e.Args[0] })
}

// branch returns an If that sets vars to the values of Selects with one
// condition, having emitted to at what has to be known before.
func (s *scheduler) branch(group []*expr.Expr, vars []*expr.Var, at *block) *loop.If {
	cond := group[0].Args[0]
	out := &loop.If{Likely: group[0].Likely}
	if at.value(cond) == nil && at.uses[cond] == len(group) && s.home(cond, at) == at &&
		cond.Op != expr.OpReduce {
		out.Cond = s.build(cond, at) // nobody else needs it
	} else {
		out.Cond = s.value(cond, at)
	}
	for k, stmts := range []*[]loop.Stmt{&out.Then, &out.Else} {
		roots := seq.Map(group, func(g *expr.Expr) *expr.Expr { return g.Args[1+k] })
		arm := s.newBlock(at, nil, true, roots)
		for i, r := range roots {
			s.set(vars[i], r, arm)
		}
		*stmts = arm.stmts
	}
	return out
}

// set emits to b what makes e the value of v: if e is itself a choice, the
// arms set v.
func (s *scheduler) set(v *expr.Var, e *expr.Expr, b *block) {
	if e.Op == expr.OpSelect && b.value(e) == nil && b.uses[e] == 1 && s.home(e, b) == b &&
		len(s.alike(e, b)) == 1 {
		branch := s.branch([]*expr.Expr{e}, []*expr.Var{v}, b)
		if values := selects(branch, 1); values != nil {
			b.stmts = append(b.stmts, &loop.Assign{Var: v, Value: values[0]})
		} else {
			b.stmts = append(b.stmts, branch)
		}
		return
	}
	b.stmts = append(b.stmts, &loop.Assign{Var: v, Value: s.value(e, b)})
}

// selects returns what a branch that only assigns n values assigns, nil if it does
// more.
func selects(branch *loop.If, n int) (values []*expr.Expr) {
	if len(branch.Then) != n || len(branch.Else) != n || !plain(branch.Then) ||
		!plain(branch.Else) {
		return nil
	}
	for i, then := range branch.Then {
		value := expr.Select(branch.Cond, then.(*loop.Assign).Value,
			branch.Else[i].(*loop.Assign).Value)
		if value.Op == expr.OpSelect && value.Args[0] == branch.Cond {
			value.Likely = branch.Likely
		}
		values = append(values, value)
	}
	return values
}

// plain reports whether statements are assignments alone.
func plain(stmts []loop.Stmt) bool {
	return !slices.ContainsFunc(stmts, func(s loop.Stmt) bool {
		_, ok := s.(*loop.Assign)
		return !ok
	})
}

// Function lays out the body of a scalar function: statements that compute what
// is used more than once, then the expression it returns.
func Function(fn *expr.Func) (body []loop.Stmt, result *expr.Expr) {
	root := expr.NewSharer().Share(fn.Body)
	f := &loop.Func{Name: fn.Name}
	s := newScheduler(f, Options{})
	top := s.newBlock(nil, nil, false, []*expr.Expr{root})
	result = s.value(root, top)
	r := renamer{taken: map[string]bool{}}
	for _, p := range fn.Params {
		r.taken[p.Name] = true
	}
	return r.block(top.stmts, nil, 0), result
}
