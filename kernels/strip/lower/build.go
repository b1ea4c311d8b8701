package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// value is an operand before temporaries are shared: of Kind Temp, Temp counts
// the values computed, each by one call.
type value = Operand

type builder struct {
	v       *sym.Symbol
	opts    Options
	calls   []Call
	values  int
	vars    map[*expr.Var]value
	scalars map[*expr.Var]bool // locals of the loop that are the same in all iterations
	syms    map[*sym.Symbol]value
	memo    map[*expr.Expr]value
	vary    map[*expr.Expr]bool       // what varies has found, with the vars and syms there are
	bodies  map[*expr.Func]*expr.Expr // of inlined functions, equal nodes shared
	accs    []*expr.Var
	guarded bool // in the arm of a Select
	// overwrites tells that something is stored before the last statement.
	overwrites bool
}

// body lowers the statements of the loop; it reports false if one has no form
// in calls.
func (b *builder) body(stmts []loop.Stmt) bool {
	for i, s := range stmts {
		if st, ok := s.(*loop.Store); ok {
			if b.loads(stmts, st) {
				return false
			}
			b.overwrites = b.overwrites || i < len(stmts)-1
		}
	}
	for _, s := range stmts {
		b.memo, b.vary = map[*expr.Expr]value{}, map[*expr.Expr]bool{}
		if !b.stmt(b.shared(s)) {
			return false
		}
	}
	return true
}

// shared returns s with equal expressions made one, so that each is computed
// once, and before it is needed under a guard if it is needed elsewhere too.
func (b *builder) shared(s loop.Stmt) loop.Stmt {
	share := expr.NewSharer()
	switch s := s.(type) {
	case *loop.Let:
		if s.Value != nil && b.varies(s.Value) {
			c := *s
			c.Value = share.Share(s.Value)
			return &c
		}
	case *loop.Assign:
		c := *s
		c.Value = share.Share(s.Value)
		return &c
	case *loop.Store:
		c := *s
		c.Value = share.Share(s.Value)
		return &c
	}
	return s
}

// loads reports whether some statement loads from the buffer that st stores
// to, other than what it overwrites before or as it does.
func (b *builder) loads(stmts []loop.Stmt, st *loop.Store) bool {
	found, before := false, true
	for _, s := range stmts {
		if o, ok := s.(*loop.Store); ok && s != st && o.Buf == st.Buf {
			return true
		}
		loop.Exprs(s, func(e *expr.Expr) {
			expr.Walk(e, func(e *expr.Expr) {
				if e.Op == expr.OpLoad && e.Buf == st.Buf {
					found = found || !before || !e.Coords[0].Equal(st.At)
				}
			})
		})
		before = before && s != loop.Stmt(st)
	}
	return found
}

func (b *builder) stmt(s loop.Stmt) bool {
	switch s := s.(type) {
	case *loop.Let:
		return b.let(s)
	case *loop.LetIndex:
		x, ok := b.expr(s.Value)
		if !ok || x.Invariant() {
			return false
		}
		b.syms[s.Sym] = b.keep(x)
		return true
	case *loop.Assign:
		return b.reduce(s)
	case *loop.Store:
		return b.store(s)
	}
	return false
}

func (b *builder) let(s *loop.Let) bool {
	if s.Value == nil || s.Mutable || s.Var.Len > 0 {
		return false
	}
	if !b.varies(s.Value) {
		b.calls = append(b.calls, Call{Let: s})
		b.scalars[s.Var] = true
		return true
	}
	x, ok := b.expr(s.Value)
	if !ok {
		return false
	}
	b.vars[s.Var] = b.keep(x)
	return true
}

// keep makes sure that a value can be used later: a run of a buffer could be
// overwritten by then if something is stored in its place.
func (b *builder) keep(x value) value {
	if x.Kind != Run || !b.overwrites {
		return x
	}
	return b.call(Call{Prim: "Copy", Args: []Operand{x}}, x.DType)
}

// call adds a call that computes a new value of dtype d.
func (b *builder) call(c Call, d ir.DType) value {
	c.Dst = Operand{Kind: Temp, DType: d, Temp: b.values}
	b.values++
	b.calls = append(b.calls, c)
	return c.Dst
}

func (b *builder) store(s *loop.Store) bool {
	coef, rest, ok := b.linear(s.At)
	if !ok {
		return false
	}
	x, ok := b.expr(s.Value)
	if !ok {
		return false
	}
	if x.Kind == Index {
		return false
	}
	if coef.Is(1) {
		b.into(Operand{Kind: Run, DType: x.DType, Buf: s.Buf, At: s.At}, x)
		return true
	}
	if coef.IsZero() {
		return false
	}
	if x.Kind == Scalar {
		x = b.call(Call{Prim: "Fill", Args: []Operand{x}}, x.DType)
	}
	b.calls = append(b.calls, Call{Prim: "Store", Dst: Operand{Kind: Whole, DType: x.DType,
		Buf: s.Buf},
		Args: []Operand{index(sym.Add(rest, sym.Mul(coef, b.v.Expr()))), index(coef), x}})
	return true
}

// into makes x, a value just computed, the contents of dst.
func (b *builder) into(dst, x value) {
	last := len(b.calls) - 1
	switch {
	case x.Kind == Scalar:
		b.calls = append(b.calls, Call{Prim: "Fill", Dst: dst, Args: []Operand{x}})
	case x.Kind == Temp && last >= 0 && b.calls[last].Dst.Kind == Temp &&
		b.calls[last].Dst.Temp == x.Temp:
		b.calls[last].Dst = dst
		b.renamed(x, dst)
	default:
		b.calls = append(b.calls, Call{Prim: "Copy", Dst: dst, Args: []Operand{x}})
	}
}

// renamed makes dst, which nothing else is stored to, what has the name of x.
func (b *builder) renamed(x, dst value) {
	for k, v := range b.vars {
		if v.Kind == Temp && v.Temp == x.Temp {
			b.vars[k] = dst
		}
	}
	for k, v := range b.syms {
		if v.Kind == Temp && v.Temp == x.Temp {
			b.syms[k] = dst
		}
	}
}

func index(e sym.Expr) Operand { return Operand{Kind: Index, DType: ir.Int64, At: e} }

// reduce lowers acc = acc op x.
func (b *builder) reduce(s *loop.Assign) bool {
	acc := s.Var
	if acc.Len > 0 || b.scalars[acc] {
		return false
	}
	if _, own := b.vars[acc]; own {
		return false
	}
	prim, x := reduction(acc, s.Value)
	if prim == "" || uses(x, acc) || !b.varies(x) {
		return false
	}
	for _, a := range b.accs {
		if a == acc {
			return false
		}
	}
	b.accs = append(b.accs, acc)
	if prim == "Sum" && x.Op == expr.OpMul && b.varies(x.Args[0]) && b.varies(x.Args[1]) {
		p, ok := b.expr(x.Args[0])
		q, ok2 := b.expr(x.Args[1])
		if !ok || !ok2 {
			return false
		}
		b.calls = append(b.calls, Call{Prim: "Dot", Acc: acc, Args: []Operand{p, q}})
		return true
	}
	v, ok := b.expr(x)
	if !ok {
		return false
	}
	b.calls = append(b.calls, Call{Prim: prim, Acc: acc, Args: []Operand{v}})
	return true
}

// reduction returns the primitive that e, the new value of acc, stands for,
// and what is combined; "" if there is none.
func reduction(acc *expr.Var, e *expr.Expr) (string, *expr.Expr) {
	isAcc := func(e *expr.Expr) bool { return e.Op == expr.OpLocal && e.Var == acc }
	if e.Op == expr.OpSelect {
		return extremum(e, isAcc)
	}
	if len(e.Args) != 2 || !isAcc(e.Args[0]) {
		return "", nil
	}
	x := e.Args[1]
	switch {
	case e.Op == expr.OpAdd && e.DType.IsFloat():
		return "Sum", x
	case e.Op == expr.OpAdd:
		return "SumInt", x
	case e.Op == expr.OpOr && e.DType == ir.Bool:
		return "Any", x
	case e.Op == expr.OpAnd && e.DType == ir.Bool:
		return "All", x
	case e.Op == expr.OpMax && e.DType.IsInt():
		return "Largest", x
	case e.Op == expr.OpMin && e.DType.IsInt():
		return "Smallest", x
	}
	return "", nil
}

// extremum recognises x > acc || x != x ? x : acc, for integers without the
// test for NaN.
func extremum(e *expr.Expr, isAcc func(*expr.Expr) bool) (string, *expr.Expr) {
	cond, x := e.Args[0], e.Args[1]
	if !isAcc(e.Args[2]) {
		return "", nil
	}
	if x.DType.IsFloat() {
		if cond.Op != expr.OpOr {
			return "", nil
		}
		nan := cond.Args[1]
		if nan.Op != expr.OpNe || !expr.Equal(nan.Args[0], x) || !expr.Equal(nan.Args[1], x) {
			return "", nil
		}
		cond = cond.Args[0]
	}
	if len(cond.Args) != 2 || !expr.Equal(cond.Args[0], x) || !isAcc(cond.Args[1]) {
		return "", nil
	}
	switch cond.Op {
	case expr.OpGt:
		return "Largest", x
	case expr.OpLt:
		return "Smallest", x
	}
	return "", nil
}

func uses(e *expr.Expr, v *expr.Var) bool {
	found := false
	expr.Walk(e, func(e *expr.Expr) { found = found || e.Op == expr.OpLocal && e.Var == v })
	return found
}

// varies reports whether e depends on the iteration.
func (b *builder) varies(e *expr.Expr) bool {
	found, known := b.vary[e]
	if known {
		return found
	}
	if e.Op == expr.OpLocal {
		_, found = b.vars[e.Var]
	}
	e.Indices(func(x sym.Expr) { found = found || b.indexVaries(x) })
	for _, d := range e.Defs() {
		found = found || b.varies(d)
	}
	for _, a := range e.Args {
		found = found || b.varies(a)
	}
	b.vary[e] = found
	return found
}

func (b *builder) indexVaries(x sym.Expr) bool {
	return x.AnySymbol(func(s *sym.Symbol) bool {
		_, own := b.syms[s]
		return own || s == b.v
	})
}

// linear splits an index into coef·v + rest, which are the same in all
// iterations.
func (b *builder) linear(x sym.Expr) (coef, rest sym.Expr, ok bool) {
	coef, rest, ok = x.Coef(b.v)
	return coef, rest, ok && !b.indexVaries(coef) && !b.indexVaries(rest)
}
