package schedule

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// row is the most results whose reductions run together.
const row = 512

// interchange makes loops over contiguous results the innermost ones, where the elements
// that they reduce are contiguous too:
//
//	for i < 64 strip {
//	  var sum: f32 = 0.0
//	  for j < 9 strip {
//	    sum = sum + in[64*j + i]
//	  }
//	  out[i] = sum/9.0
//	}
//
// becomes
//
//	for i < 64 strip { sum[i] = 0.0 }
//	for j < 9 {
//	  for i < 64 strip { sum[i] = sum[i] + in[64*j + i] }
//	}
//	for i < 64 strip { out[i] = sum[i]/9.0 }
//
// with sum in scratch memory. The order of additions stays the same. Loops of fewer than
// least iterations stay as they are. Some loads may be strided if as many others become
// contiguous, as in a softmax over channels that also moves these from innermost to
// outermost in memory.
// It reports whether it has changed f.
func interchange(f *loop.Func, least int) bool {
	if least <= 0 {
		return false
	}
	x := interchanger{f: f, least: int64(least)}
	f.Body = x.block(f.Body)
	return x.changed
}

type interchanger struct {
	f       *loop.Func
	least   int64
	changed bool
}

func (x *interchanger) block(body []loop.Stmt) []loop.Stmt {
	return loop.Replace(body, func(st *loop.For) []loop.Stmt {
		done := x.loop(st)
		if done == nil {
			st.Body = x.block(st.Body)
		}
		x.changed = x.changed || done != nil
		return done
	})
}

// loop returns what runs instead of st, nil if st shall stay as it is.
func (x *interchanger) loop(st *loop.For) []loop.Stmt {
	n, known := st.Extent.Const()
	_, most := st.Extent.Bounds()
	if !st.Vectorizable || known && n < x.least || most < 4*x.least && !known {
		return nil
	}
	w := witness{v: st.Var, vars: map[*expr.Var]bool{}, syms: map[*sym.Symbol]bool{st.Var: true},
		depth: map[*expr.Var]int{}}
	w.block(st.Body, 0)
	if !w.reduces || w.across > 0 || w.along == 0 && w.strided == 0 ||
		w.strided > w.along+w.stores {
		return nil
	}
	if known && n <= row {
		return x.spread(st, st.Body, n)
	}
	// The rows of a large result one after the other.
	size := int64(row)
	if known {
		count := (n + row - 1) / row
		if size = (n + count - 1) / count; n%size != 0 {
			size = (size + 15) / 16 * 16
		}
	}
	rows := sym.NewVar("row", sym.CeilDiv(st.Extent, sym.Int(size)))
	first := sym.Mul(sym.Int(size), rows.Expr())
	extent := sym.Int(size)
	if !known || n%size != 0 {
		extent = sym.Min(extent, sym.Sub(st.Extent, first))
	}
	lane := sym.NewVar(st.Var.Name, extent)
	m := expr.Subst{st.Var: sym.Add(first, lane.Expr())}
	in := x.spread(&loop.For{Var: lane, Extent: extent}, moved(st.Body, m), size)
	if in == nil {
		return nil
	}
	return []loop.Stmt{&loop.For{Var: rows, Extent: expr.Extent(rows), Body: in}}
}

// witness finds out what depends on the variable v of a loop, and how the loops
// in it access memory.
type witness struct {
	v       *sym.Symbol
	vars    map[*expr.Var]bool // locals that differ from iteration to iteration
	syms    map[*sym.Symbol]bool
	depth   map[*expr.Var]int // of loops around the declaration
	reduces bool              // an inner loop changes a local from outside of it
	along   int               // loads in inner loops at successive positions
	stores  int               // stores likewise
	// loads in inner loops at positions a constant number of elements apart
	strided int
	across  int // others that depend on v
}

func (w *witness) block(body []loop.Stmt, depth int) {
	for _, st := range body {
		if depth > 0 {
			loop.Exprs(st, func(e *expr.Expr) { w.loads(e, map[*expr.Expr]bool{}) })
		}
		switch st := st.(type) {
		case *loop.For:
			if w.index(st.Extent) {
				w.across++
			}
			w.block(st.Body, depth+1)
		case *loop.If:
			if w.varies(st.Cond) && depth > 0 && loop.Any([]loop.Stmt{st}, loads) {
				w.across++ // what is loaded under a condition is loaded one by one
			}
			w.block(st.Then, depth)
			w.block(st.Else, depth)
		case *loop.Let:
			w.depth[st.Var] = depth
			w.vars[st.Var] = st.Mutable || st.Value == nil || w.varies(st.Value)
			if st.Var.Len > 0 {
				w.across++
			}
		case *loop.Assign:
			if d, inside := w.depth[st.Var]; !inside || st.Var.Len > 0 {
				w.across++
			} else if d < depth {
				w.reduces = true
			}
		case *loop.LetIndex:
			w.syms[st.Sym] = w.varies(st.Value)
			if w.index(st.Sym.Lo) || w.index(st.Sym.Hi) {
				w.across++
			}
		case *loop.Store:
			if coef, rest, linear := st.At.Coef(w.v); depth > 0 && linear && coef.Is(1) &&
				!w.index(rest) {
				w.stores++
			}
		case *loop.While, *loop.Break:
			w.across++
		}
	}
}

// index reports whether an index differs from iteration to iteration.
func (w *witness) index(x sym.Expr) bool {
	return x.AnySymbol(func(s *sym.Symbol) bool { return w.syms[s] })
}

// varies reports whether e does.
func (w *witness) varies(e *expr.Expr) bool {
	return anyIndex(e, w.index) || expr.Any(e, func(e *expr.Expr) bool {
		return e.Op == expr.OpLocal && w.vars[e.Var]
	})
}

// loads counts the loads of e.
func (w *witness) loads(e *expr.Expr, seen map[*expr.Expr]bool) {
	if seen[e] {
		return
	}
	seen[e] = true
	switch e.Op {
	case expr.OpSelect:
		if w.varies(e.Args[0]) && len(expr.Loads(e.Args[1]))+len(expr.Loads(e.Args[2])) > 0 {
			w.across++
		}
	case expr.OpLoad:
		at := e.Coords[0]
		coef, rest, linear := at.Coef(w.v)
		switch {
		case !w.index(at):
		case linear && coef.Is(1) && !w.index(rest):
			w.along++
		case linear && isConst(coef) && !w.index(rest):
			w.strided++
		default:
			w.across++
		}
	}
	for _, a := range e.Args {
		w.loads(a, seen)
	}
}

func isConst(x sym.Expr) bool { _, ok := x.Const(); return ok }

// loads reports whether an expression directly in st does.
func loads(st loop.Stmt) bool {
	return loop.AnyNode(st, func(e *expr.Expr) bool { return e.Op == expr.OpLoad })
}

// serializeScratch takes Vectorizable from the loops of f whose iterations use the same
// elements of scratch memory.
func serializeScratch(f *loop.Func) {
	loop.Each(f.Body, func(l *loop.For) {
		loop.Each(l.Body, func(store *loop.Store) {
			if f.Bufs[store.Buf].Role == loop.Scratch && !store.At.Uses(l.Var) {
				l.Vectorizable = false
			}
		})
	})
}

// scratch adds a buffer to work in to f.
func scratch(f *loop.Func, name string, d ir.DType, size sym.Expr) int {
	numbered := name
	for n := 2; slices.ContainsFunc(f.Bufs, func(b loop.Buf) bool {
		return b.Name == numbered
	}); n++ {
		numbered = fmt.Sprintf("%s%d", name, n)
	}
	f.Bufs = append(f.Bufs, loop.Buf{Name: numbered, DType: d, Role: loop.Scratch, Len: size})
	return len(f.Bufs) - 1
}
