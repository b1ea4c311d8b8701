package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// chunker makes calls of primitives of a loop's body. Before temporaries are shared,
// Temp of an operand counts the values computed, each by one call.
type chunker struct {
	v       *sym.Symbol
	bufs    []loop.Buf
	to      VectorReader
	calls   []loop.Stmt // Vectors, and Lets of scalars
	values  int
	vars    map[*expr.Var]loop.Operand
	scalars map[*expr.Var]bool // locals of the loop that are the same in all iterations
	syms    map[*sym.Symbol]loop.Operand
	memo    map[*expr.Expr]loop.Operand
	vary    map[*expr.Expr]bool       // what varies has found, with the vars and syms there are
	bodies  map[*expr.Func]*expr.Expr // of inlined functions, equal nodes shared
	accs    []*expr.Var
	guarded bool // in the arm of a Select
	// overwrites tells that something is stored before the last statement.
	overwrites bool
}

// body lowers the statements of the loop; it reports false if one has no form
// in calls.
func (b *chunker) body(stmts []loop.Stmt) bool {
	for i, s := range stmts {
		if st, ok := s.(*loop.Store); ok {
			if readsOther(stmts, st) {
				return false
			}
			b.overwrites = b.overwrites || i < len(stmts)-1
		}
	}
	for _, s := range stmts {
		b.memo, b.vary = map[*expr.Expr]loop.Operand{}, map[*expr.Expr]bool{}
		if !b.stmt(b.shared(s)) {
			return false
		}
	}
	return true
}

// shared returns s with equal expressions made one, so that each is computed
// once, and before it is needed under a guard if it is needed elsewhere too.
func (b *chunker) shared(s loop.Stmt) loop.Stmt {
	switch s := s.(type) {
	case *loop.Let:
		if s.Value == nil || !b.varies(s.Value) {
			return s
		}
	case *loop.LetIndex:
		return s
	}
	return loop.Map(s, expr.NewSharer().Share, same)
}

func same(x sym.Expr) sym.Expr { return x }

// MayChunk reports whether the iterations of an innermost loop may run in chunks, statement by
// statement.
func MayChunk(s *loop.For) bool {
	return s.Vectorizable && !slices.ContainsFunc(s.Body, func(st loop.Stmt) bool {
		to, store := st.(*loop.Store)
		return store && readsOther(s.Body, to) || loop.Blocks(st) != nil
	})
}

// readsOther reports whether some statement loads from the buffer that st stores
// to, other than what it overwrites before or as it does.
func readsOther(stmts []loop.Stmt, st *loop.Store) bool {
	found, before := false, true
	for _, s := range stmts {
		if o, ok := s.(*loop.Store); ok && s != st && o.Buf == st.Buf {
			return true
		}
		found = found || loop.AnyNode(s, func(e *expr.Expr) bool {
			return e.Op == expr.OpLoad && e.Buf == st.Buf && !(before && e.Coords[0].Equal(st.At))
		})
		before = before && s != loop.Stmt(st)
	}
	return found
}

func (b *chunker) stmt(s loop.Stmt) bool {
	switch s := s.(type) {
	case *loop.Let:
		return b.let(s)
	case *loop.LetIndex:
		x := b.expr(s.Value)
		if x.Invariant() {
			return false
		}
		b.syms[s.Sym] = b.keep(x)
		return known(x)
	case *loop.Assign:
		return b.reduce(s)
	case *loop.Store:
		return b.store(s)
	}
	return false
}

func (b *chunker) let(s *loop.Let) bool {
	if s.Value == nil || s.Mutable || s.Var.Len > 0 {
		return false
	}
	if !b.varies(s.Value) {
		b.calls = append(b.calls, s)
		b.scalars[s.Var] = true
		return true
	}
	x := b.expr(s.Value)
	b.vars[s.Var] = b.keep(x)
	return known(x)
}

// keep makes sure that a value can be used later: a run of a buffer could be
// overwritten by then if something is stored in its place.
func (b *chunker) keep(x loop.Operand) loop.Operand {
	if x.Kind != loop.RunOperand || !b.overwrites {
		return x
	}
	return b.op("Copy", x.DType, x)
}

// call adds a call that computes a new value of dtype d.
func (b *chunker) call(prim string, d ir.DType, args []loop.Operand) loop.Operand {
	dst := loop.Operand{Kind: loop.TempOperand, DType: d, Temp: b.values}
	b.values++
	b.calls = append(b.calls, loop.Call(prim, dst, args...))
	return dst
}

func (b *chunker) store(s *loop.Store) bool {
	coef, rest, ok := b.linear(s.At)
	if !ok {
		return false
	}
	x := b.expr(s.Value)
	if !known(x) || x.Kind == loop.IndexOperand {
		return false
	}
	if coef.Is(1) {
		b.into(loop.Operand{Kind: loop.RunOperand, DType: x.DType, Buf: s.Buf, At: s.At}, x)
		return true
	}
	if coef.IsZero() {
		return false
	}
	x = b.vector(x)
	first := index(sym.Add(rest, sym.Mul(coef, b.v.Expr())))
	dst := loop.Operand{Kind: loop.BufferOperand, DType: x.DType, Buf: s.Buf}
	b.calls = append(b.calls, loop.Call("Store", dst, first, index(coef), x))
	return true
}

// into makes x, a value just computed, the contents of dst.
func (b *chunker) into(dst, x loop.Operand) {
	var last *loop.Vector
	if n := len(b.calls); n > 0 {
		last, _ = b.calls[n-1].(*loop.Vector)
	}
	switch {
	case x.Kind == loop.ScalarOperand:
		b.calls = append(b.calls, loop.Call("Fill", dst, x))
	case last != nil && last.Dst.SameTemp(x):
		last.Dst = dst
		b.renamed(x, dst)
	default:
		b.calls = append(b.calls, loop.Call("Copy", dst, x))
	}
}

// renamed makes dst, which nothing else is stored to, what has the name of x.
func (b *chunker) renamed(x, dst loop.Operand) {
	for k, v := range b.vars {
		if v.SameTemp(x) {
			b.vars[k] = dst
		}
	}
	for k, v := range b.syms {
		if v.SameTemp(x) {
			b.syms[k] = dst
		}
	}
}

func index(e sym.Expr) loop.Operand {
	return loop.Operand{Kind: loop.IndexOperand, DType: ir.Int64, At: e}
}

func scalar(e *expr.Expr) loop.Operand {
	return loop.Operand{Kind: loop.ScalarOperand, DType: e.DType, Value: e}
}

// reduce lowers acc = acc op x.
func (b *chunker) reduce(s *loop.Assign) bool {
	acc := s.Var
	if acc.Len > 0 || b.scalars[acc] {
		return false
	}
	if _, own := b.vars[acc]; own {
		return false
	}
	prim, x := reduction(acc, s.Value)
	if prim == "" || mentions(x, acc) || !b.varies(x) {
		return false
	}
	if slices.Contains(b.accs, acc) {
		return false
	}
	b.accs = append(b.accs, acc)
	of := []*expr.Expr{x}
	if prim == "Sum" && x.Op == expr.OpMul && b.varies(x.Args[0]) && b.varies(x.Args[1]) {
		prim, of = "Dot", x.Args
	}
	args := b.exprs(of)
	if args == nil {
		return false
	}
	call := loop.Call(prim, none, args...)
	call.Acc = acc
	b.calls = append(b.calls, call)
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

func mentions(e *expr.Expr, v *expr.Var) bool {
	return expr.Any(e, func(e *expr.Expr) bool { return e.Op == expr.OpLocal && e.Var == v })
}

// varies reports whether e depends on the iteration.
func (b *chunker) varies(e *expr.Expr) bool {
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

func (b *chunker) indexVaries(x sym.Expr) bool {
	return x.AnySymbol(func(s *sym.Symbol) bool {
		_, own := b.syms[s]
		return own || s == b.v
	})
}

// linear splits an index into coef·v + rest, which are the same in all
// iterations.
func (b *chunker) linear(x sym.Expr) (coef, rest sym.Expr, ok bool) {
	coef, rest, ok = x.Coef(b.v)
	return coef, rest, ok && !b.indexVaries(coef) && !b.indexVaries(rest)
}

// finish shares temporaries among the values and fills in c.
func (b *chunker) finish(c *loop.Chunks) {
	b.reuseResult()
	last := map[int]int{} // the last call that uses a value
	for i, s := range b.calls {
		if call, ok := s.(*loop.Vector); ok {
			for _, a := range call.Args {
				if a.Kind == loop.TempOperand {
					last[a.Temp] = i
				}
			}
		}
	}
	temp := map[int]int{} // of a value
	var free []int
	for i, s := range b.calls {
		c.Body = append(c.Body, s)
		call, ok := s.(*loop.Vector)
		if !ok {
			continue
		}
		call.Args = slices.Clone(call.Args)
		var done []int
		for k, a := range call.Args {
			if a.Kind != loop.TempOperand {
				continue
			}
			call.Args[k].Temp = temp[a.Temp]
			if last[a.Temp] == i {
				last[a.Temp] = -1 // once, if it is used twice
				done = append(done, temp[a.Temp])
			}
		}
		if call.Prim != "Gather" && call.Prim != "Store" { // the others may write what they read
			free = append(free, done...)
			done = nil
		}
		if call.Dst.Kind == loop.TempOperand {
			temp[call.Dst.Temp] = take(c, &free, call.Dst.DType)
			call.Dst.Temp = temp[call.Dst.Temp]
		}
		free = append(free, done...)
	}
}

// take returns a free temporary of type d, else a new one.
func take(c *loop.Chunks, free *[]int, d ir.DType) int {
	for i, t := range *free {
		if c.Temps[t] == d {
			*free = append((*free)[:i], (*free)[i+1:]...)
			return t
		}
	}
	c.Temps = append(c.Temps, d)
	return len(c.Temps) - 1
}

// reuseResult computes what leads to the only result in the result's own
// place, from where on no other memory is read: the result may lie where an
// operand lies.
func (b *chunker) reuseResult() {
	n := len(b.calls) - 1
	if n < 1 {
		return
	}
	next, ok := b.calls[n].(*loop.Vector)
	if !ok || next.Dst.Kind != loop.RunOperand {
		return
	}
	dst := next.Dst
	uses := map[int]int{} // calls that use a value
	for _, s := range b.calls {
		if c, ok := s.(*loop.Vector); ok {
			for k, a := range c.Args {
				if a.Kind == loop.TempOperand && !slices.ContainsFunc(c.Args[:k], a.SameTemp) {
					uses[a.Temp]++
				}
			}
		}
	}
	for i := n - 1; i >= 0 && !readsMemory(next); i-- {
		c, ok := b.calls[i].(*loop.Vector)
		if !ok {
			return
		}
		d := c.Dst
		feeds := slices.ContainsFunc(next.Args, d.SameTemp)
		if d.Kind != loop.TempOperand || d.DType != dst.DType || uses[d.Temp] > 1 ||
			uses[d.Temp] == 1 && !feeds {
			return
		}
		c.Dst = dst
		for k, a := range next.Args {
			if a.SameTemp(d) {
				next.Args[k] = dst
			}
		}
		next = c
	}
}

// readsMemory reports whether a call reads buffers.
func readsMemory(c *loop.Vector) bool {
	return slices.ContainsFunc(c.Args, func(a loop.Operand) bool {
		return a.Kind == loop.RunOperand || a.Kind == loop.BufferOperand
	}) || loads(c)
}
