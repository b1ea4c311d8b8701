package c

import (
	"github.com/etgen/etgen/kernels/expr"
)

// sharedFrom is from how many operations on a part of an expression that is
// used several times becomes a local.
const sharedFrom = 3

// share makes locals of the parts of e that are used several times: where that
// is certain to be right, because they are evaluated in any case, or could be
// without harm.
func (p *printer) share(e *expr.Expr) {
	u := &uses{count: map[*expr.Expr]int{}, size: map[*expr.Expr]int{}, sure: map[*expr.Expr]bool{}}
	u.visit(e)
	u.certain(e)
	for _, part := range u.order {
		if u.count[part] < 2 || u.size[part] < sharedFrom || part.Op == expr.OpConst {
			continue
		}
		if u.sure[part] || harmless(part) {
			p.localFor(part, p.expr(part))
		}
	}
}

// localFor declares a local for e, printed as c, that stands for e to the end
// of the statement.
func (p *printer) localFor(e *expr.Expr, c code) code {
	t, _ := typeOf(e.DType)
	local := name(p.scope.Take("t"), t)
	p.w.line("const %s %s = %s;", t, local.s, convert(c, t).s)
	if p.spilled == nil {
		p.spilled = map[*expr.Expr]code{}
	}
	p.spilled[e] = local
	return local
}

// uses counts how often the nodes of an expression are used.
type uses struct {
	order []*expr.Expr // operands first
	count map[*expr.Expr]int
	size  map[*expr.Expr]int // operations, written out in full; saturating
	sure  map[*expr.Expr]bool
}

func (u *uses) visit(e *expr.Expr) {
	u.count[e]++
	if u.count[e] > 1 {
		return
	}
	size := 0
	if len(e.Args) > 0 {
		size = 1
	}
	for _, a := range e.Args {
		u.visit(a)
		size += u.size[a]
	}
	u.size[e] = min(size, 1<<20)
	u.order = append(u.order, e)
}

// certain notes what is evaluated whenever e is.
func (u *uses) certain(e *expr.Expr) {
	if u.sure[e] {
		return
	}
	u.sure[e] = true
	args := e.Args
	if e.Op == expr.OpSelect {
		args = args[:1]
	}
	for _, a := range args {
		u.certain(a)
	}
}

// harmless reports whether e may be evaluated although the program would not:
// it touches no memory and divides no integers.
func harmless(e *expr.Expr) bool {
	ok := true
	expr.Walk(e, func(e *expr.Expr) {
		switch e.Op {
		case expr.OpLoad:
			ok = false
		case expr.OpLocal:
			ok = ok && len(e.Coords) == 0
		case expr.OpDiv, expr.OpRem:
			ok = ok && e.DType.IsFloat()
		}
	})
	return ok
}
