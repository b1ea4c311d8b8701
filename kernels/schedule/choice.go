package schedule

import (
	"slices"

	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// choice returns the value of a Select: as an expression if its arms need no
// statements, else a local that an If sets. It makes the other Selects known
// that depend on the same condition: one If sets them all.
func (s *scheduler) choice(e *expr.Expr, at *block) *expr.Expr {
	group := s.alike(e, at)
	vars := make([]*expr.Var, len(group))
	for i, g := range group {
		vars[i] = s.local("t", g)
	}
	branch := s.branch(group, vars, at)
	if len(branch.Then) == len(group) && len(branch.Else) == len(group) && plain(branch.Then) &&
		plain(branch.Else) {
		value := func(i int) *expr.Expr {
			return expr.Select(branch.Cond, branch.Then[i].(*loop.Assign).Value,
				branch.Else[i].(*loop.Assign).Value)
		}
		if len(group) > 1 && at.value(e.Args[0]) == nil {
			s.keep(e.Args[0], branch.Cond, at)
			branch.Cond = at.value(e.Args[0])
		}
		for i, g := range group[1:] {
			s.keep(g, value(1+i), at)
		}
		return value(0)
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
	group := []*expr.Expr{e}
	for _, c := range b.choices {
		if c != e && c.Args[0] == e.Args[0] && b.value(c) == nil && s.computable(c, b) &&
			!slices.ContainsFunc(group, func(g *expr.Expr) bool {
				return contains(g, c) ||
					contains(c, g)
			}) {
			group = append(group, c)
		}
	}
	return group
}

// branch returns an If that sets vars to the values of Selects with one
// condition, having emitted to at what has to be known before.
func (s *scheduler) branch(group []*expr.Expr, vars []*expr.Var, at *block) *loop.If {
	cond := group[0].Args[0]
	out := &loop.If{}
	if at.value(cond) == nil && at.uses[cond] == len(group) && s.home(cond, at) == at &&
		cond.Op != expr.OpReduce {
		out.Cond = s.build(cond, at) // nobody else needs it
	} else {
		out.Cond = s.value(cond, at)
	}
	for k, stmts := range []*[]loop.Stmt{&out.Then, &out.Else} {
		var roots []*expr.Expr
		for _, g := range group {
			roots = append(roots, g.Args[1+k])
		}
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
		if len(branch.Then) == 1 && len(branch.Else) == 1 && plain(branch.Then) &&
			plain(branch.Else) {
			value := expr.Select(branch.Cond, branch.Then[0].(*loop.Assign).Value,
				branch.Else[0].(*loop.Assign).Value)
			b.stmts = append(b.stmts, &loop.Assign{Var: v, Value: value})
		} else {
			b.stmts = append(b.stmts, branch)
		}
		return
	}
	b.stmts = append(b.stmts, &loop.Assign{Var: v, Value: s.value(e, b)})
}

// plain reports whether statements are assignments alone.
func plain(stmts []loop.Stmt) bool {
	return !slices.ContainsFunc(stmts, func(s loop.Stmt) bool {
		_, ok := s.(*loop.Assign)
		return !ok
	})
}
