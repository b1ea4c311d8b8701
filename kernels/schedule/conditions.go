package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// split returns statements that do what s does, an innermost loop that stores
// one of two values: one loop for the iterations from which on, and up to which,
// the first is stored, and loops before and behind it. Conditions on the variable
// are gone from them then, and other conditions are looked at once. Padding is of
// that form. It returns nil if s is not, or nothing would be gained.
func split(s *loop.For) []loop.Stmt {
	n, ok := s.Extent.Const()
	if !ok || !s.Vectorizable || len(s.Body) != 1 {
		return nil
	}
	st, ok := s.Body[0].(*loop.Store)
	if !ok || st.Value.Op != expr.OpSelect {
		return nil
	}
	from, to, rest := int64(0), n, expr.Bool(true)
	for _, c := range conjuncts(st.Value.Args[0], nil) {
		if !indexed(c, s.Var) {
			rest = expr.And(rest, c)
			continue
		}
		lo, hi, ok := interval(c, s.Var, n)
		if !ok {
			return nil
		}
		from, to = max(from, lo), min(to, hi)
	}
	to = max(to, from)
	if from == 0 && to == n && rest.Op == expr.OpConst || from == n {
		return nil
	}
	part := func(v *expr.Expr, from, to int64) []loop.Stmt {
		if from >= to {
			return nil
		}
		k := sym.NewVar(s.Var.Name, sym.Int(to-from))
		at := expr.Subst{s.Var: sym.Add(k.Expr(), sym.Int(from))}
		if to-from == 1 {
			at[s.Var] = sym.Int(from)
		}
		store := &loop.Store{Buf: st.Buf, At: subst(st.At, at), Value: expr.SubstIndex(v, at)}
		if to-from == 1 {
			return []loop.Stmt{store}
		}
		return []loop.Stmt{&loop.For{Var: k, Extent: sym.Int(to - from), Vectorizable: true,
			Body: []loop.Stmt{store}}}
	}
	yes, no := st.Value.Args[1], st.Value.Args[2]
	in := append(append(part(no, 0, from), part(yes, from, to)...), part(no, to, n)...)
	if rest.Op == expr.OpConst && rest.Int != 0 {
		return in
	}
	return []loop.Stmt{&loop.If{Cond: rest, Then: in, Else: part(no, 0, n)}}
}

// conjuncts appends the conditions that c is made of.
func conjuncts(c *expr.Expr, list []*expr.Expr) []*expr.Expr {
	if c.Op == expr.OpAnd {
		return conjuncts(c.Args[1], conjuncts(c.Args[0], list))
	}
	return append(list, c)
}

// interval returns the values of v, from lo up to but without hi, of n in all, for
// which a comparison of indices holds; ok is false if c is something else.
func interval(c *expr.Expr, v *sym.Symbol, n int64) (lo, hi int64, ok bool) {
	if len(c.Args) != 2 {
		return 0, 0, false
	}
	a, okA := indexOf(c.Args[0])
	b, okB := indexOf(c.Args[1])
	gap := int64(0)
	switch c.Op {
	case expr.OpLt:
		gap = 1
	case expr.OpLe:
	case expr.OpGt:
		a, b, gap = b, a, 1
	case expr.OpGe:
		a, b = b, a
	default:
		return 0, 0, false
	}
	if !okA || !okB {
		return 0, 0, false
	}
	coef, rest, ok := sym.Sub(b, a).Coef(v)
	if !ok {
		return 0, 0, false
	}
	k, okK := coef.Const()
	r, okR := rest.Const()
	r -= gap
	switch { // k·v + r is not negative
	case !okK || !okR || r != int64(int32(r)):
		return 0, 0, false
	case k == 1:
		return min(max(-r, 0), n), n, true
	case k == -1:
		return 0, min(max(r+1, 0), n), true
	}
	return 0, 0, false
}

// indexOf returns an integer expression as an index.
func indexOf(e *expr.Expr) (sym.Expr, bool) {
	switch {
	case e.Op == expr.OpIndex:
		return e.Idx, true
	case e.Op == expr.OpConst && e.DType.IsInt():
		return sym.Int(e.Int), true
	}
	return sym.Expr{}, false
}

// maxStraight bounds the statements of a loop's body made straight, maxWindow
// the iterations of a loop in it: longer ones are better run in chunks
// themselves.
const (
	maxStraight = 160
	maxWindow   = 12
)

// straight returns s with a body that only declares values and stores: inner
// loops of few iterations are unrolled, and instead of changing a local a
// branch chooses its new value. Loops over windows become ones that run in
// chunks that way. It returns nil if the body has another form, or would be
// long.
func straight(s *loop.For) *loop.For {
	if !s.Vectorizable || unrolled(s.Body) > maxStraight {
		return nil
	}
	u := &straightener{own: map[*expr.Var]bool{}, values: map[*expr.Var]*expr.Expr{},
		at: expr.Subst{}, known: map[*sym.Symbol]*expr.Expr{}}
	if !u.block(s.Body, nil) {
		return nil
	}
	c := *s
	c.Body = u.out
	return &c
}

// unrolled counts the statements of a block with its loops unrolled; more than
// maxStraight if it cannot be.
func unrolled(body []loop.Stmt) int {
	n := 0
	for _, s := range body {
		switch s := s.(type) {
		case *loop.For:
			k, ok := s.Extent.Const()
			if !ok || k > maxWindow {
				return maxStraight + 1
			}
			n += int(k) * unrolled(s.Body)
		case *loop.If:
			n += 1 + unrolled(s.Then) + unrolled(s.Else)
		case *loop.While, *loop.Break:
			return maxStraight + 1
		default:
			n++
		}
		if n > maxStraight {
			break
		}
	}
	return n
}

// straightener makes a block straight.
type straightener struct {
	out    []loop.Stmt
	own    map[*expr.Var]bool       // declared in the block
	values map[*expr.Var]*expr.Expr // what locals are now
	at     expr.Subst               // what indices are
	known  map[*sym.Symbol]*expr.Expr
}

// block adds statements that run if cond, nil for always, holds.
func (u *straightener) block(body []loop.Stmt, cond *expr.Expr) bool {
	return !slices.ContainsFunc(body, func(s loop.Stmt) bool {
		return len(u.out) > maxStraight || !u.stmt(s, cond)
	})
}

func (u *straightener) stmt(s loop.Stmt, cond *expr.Expr) bool {
	switch s := s.(type) {
	case *loop.For:
		n, ok := s.Extent.Const()
		for i := int64(0); ok && i < n; i++ {
			u.at[s.Var] = sym.Int(i)
			ok = u.block(s.Body, cond)
		}
		return ok
	case *loop.If:
		c := u.keep(u.expr(s.Cond), nil)
		return u.block(s.Then, both(cond, c)) && (len(s.Else) == 0 ||
			u.block(s.Else, both(cond, u.keep(expr.Not(c), nil))))
	case *loop.Let:
		if s.Var.Len > 0 {
			return false
		}
		v := zero(s.Var.DType)
		if s.Value != nil {
			v = u.keep(u.expr(s.Value), cond)
		}
		u.own[s.Var], u.values[s.Var] = true, v
		return true
	case *loop.Assign:
		if !u.own[s.Var] || s.Var.Len > 0 {
			return false
		}
		v := u.expr(s.Value)
		if cond != nil {
			v = expr.Select(cond, v, u.values[s.Var])
		}
		u.values[s.Var] = u.keep(v, nil)
		return true
	case *loop.LetIndex:
		if cond != nil {
			return false
		}
		v := u.keep(u.expr(s.Value), nil)
		to := &sym.Symbol{Name: s.Sym.Name, Lo: u.index(s.Sym.Lo), Hi: u.index(s.Sym.Hi)}
		u.out = append(u.out, &loop.LetIndex{Sym: to, Value: v})
		u.at[s.Sym], u.known[to] = to.Expr(), expr.Cast(ir.Int64, v)
		return true
	case *loop.Store:
		if cond != nil {
			return false
		}
		u.out = append(u.out, &loop.Store{Buf: s.Buf, At: u.index(s.At), Value: u.expr(s.Value)})
		return true
	}
	return false
}

// both returns the conjunction of two conditions, the first of which may be nil.
func both(a, b *expr.Expr) *expr.Expr {
	if a == nil {
		return b
	}
	return expr.And(a, b)
}

func zero(d ir.DType) *expr.Expr {
	if d == ir.Bool {
		return expr.Bool(false)
	}
	return expr.Num(d, 0)
}

// keep gives a value a name. What is computed under a condition only must not
// be without it.
func (u *straightener) keep(e, cond *expr.Expr) *expr.Expr {
	if e.Op == expr.OpConst || e.Op == expr.OpLocal && e.Var.Len == 0 {
		return e
	}
	if cond != nil {
		e = expr.Select(cond, e, zero(e.DType))
	}
	v := &expr.Var{Name: "s", DType: e.DType}
	u.out = append(u.out, &loop.Let{Var: v, Value: e})
	return expr.Get(v)
}

func (u *straightener) index(x sym.Expr) sym.Expr {
	return subst(x, u.at)
}

// expr returns e with the present values of locals and indices.
func (u *straightener) expr(e *expr.Expr) *expr.Expr {
	return expr.Rewrite(expr.SubstIndex(e, u.at), func(e *expr.Expr) *expr.Expr {
		switch {
		case e.Op == expr.OpLocal && u.values[e.Var] != nil:
			return u.values[e.Var]
		case e.Op == expr.OpIndex && u.depends(e.Idx):
			if x := u.arithmetic(e.Idx); x != nil {
				return expr.Cast(e.DType, x)
			}
		}
		return e
	})
}

// depends reports whether x uses an index that data decides.
func (u *straightener) depends(x sym.Expr) bool {
	return x.AnySymbol(func(s *sym.Symbol) bool { return u.known[s] != nil })
}

// arithmetic returns x as Int64 arithmetic on values, nil if it has no such
// form.
func (u *straightener) arithmetic(x sym.Expr) *expr.Expr {
	if !u.depends(x) {
		return expr.Idx(ir.Int64, x)
	}
	var sum *expr.Expr
	for _, t := range x.Terms() {
		p := expr.Int(ir.Int64, t.Coef)
		for _, a := range t.Atoms {
			f := u.atom(a)
			if f == nil {
				return nil
			}
			p = expr.Mul(p, f)
		}
		if sum == nil {
			sum = p
		} else {
			sum = expr.Add(sum, p)
		}
	}
	return sum
}

// exact bounds numbers whose quotients by integers, computed as floats, round
// to their floor.
const exact = 1 << 50

func (u *straightener) atom(a sym.Atom) *expr.Expr {
	switch a.Kind {
	case sym.SymbolAtom:
		if v := u.known[a.Sym]; v != nil {
			return v
		}
		return expr.Idx(ir.Int64, a.Sym.Expr())
	case sym.FloorDivAtom, sym.ModAtom:
		x := u.arithmetic(a.Args[0])
		n, ok := a.Args[1].Const()
		lo, hi := a.Args[0].Bounds()
		if x == nil || !ok || n <= 0 || lo < -exact || hi > exact {
			return nil
		}
		q := expr.Cast(ir.Int64, expr.Floor(expr.Div(expr.Cast(ir.Float64, x),
			expr.Float(ir.Float64, float64(n)))))
		if a.Kind == sym.ModAtom {
			return expr.Sub(x, expr.Mul(q, expr.Int(ir.Int64, n)))
		}
		return q
	}
	return nil
}
