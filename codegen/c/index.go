package c

import (
	"math"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// index prints an index expression, in the package's index type.
func (p *printer) index(e sym.Expr) code { return p.indexIn(indexer{p}, e) }

func (p *printer) indexIn(how codegen.Arithmetic[code], e sym.Expr) code {
	if len(p.unrolled) > 0 {
		e = e.Subst(func(s *sym.Symbol) (sym.Expr, bool) { x, ok := p.unrolled[s]; return x, ok })
	}
	c := codegen.Index(how, e)
	c.t = p.g.idx
	return c
}

// indexer is C's [codegen.Arithmetic].
type indexer struct{ *printer }

func (p indexer) Int(n int64) code { return intLiteral(n, p.g.idx) }

func (p indexer) Symbol(s *sym.Symbol) code {
	text, ok := p.syms[s]
	if !ok {
		must.Fail("symbol %s is not bound", s.Name)
	}
	p.use(text)
	return name(text, p.g.idx)
}

func (p indexer) Negate(x code) code { return negate(x) }

func (p indexer) Binary(op string, x, y code) code { return join(op, x, y, p.g.idx) }

func (p indexer) Floor(op string, x, y code) code {
	word := map[string]string{"/": "floor_div", "%": "floor_mod"}[op]
	return call(p.g.helper(word, p.g.idxDType()), p.g.idx, x, y)
}

func (p indexer) Extremum(greatest bool, args []code) code {
	word, op := "max", ">"
	if !greatest {
		word, op = "min", "<"
	}
	x := args[0]
	for _, y := range args[1:] {
		if x.simple() && y.simple() {
			x = ternary(join(op, x, y, tBool), x, y, p.g.idx)
		} else {
			x = call(p.g.helper(word, p.g.idxDType()), p.g.idx, x, y)
		}
	}
	return x
}

func (p indexer) Undefined() code {
	must.Fail("an index is undefined: its arithmetic overflows or divides by zero")
	return code{}
}

// offset prints where a view begins: the products of a sum are in parentheses, as MISRA C asks.
type offset struct{ indexer }

func (o offset) Binary(op string, x, y code) code {
	c := o.indexer.Binary(op, x, y)
	if op == "*" {
		c = code{s: "(" + c.s + ")", p: precPostfix, t: c.t}
	}
	return c
}

// idxDType is the dtype that corresponds to the index type.
func (g *gen) idxDType() ir.DType {
	if g.idx == tI64 {
		return ir.Int64
	}
	return ir.Int32
}

// indexType returns the type of the package's index arithmetic: 32 bits unless
// some index, or a number on the way to one, may not fit. One type serves the
// whole package, so that no conversions are needed between its functions.
func indexType(p *native.Program) ctype {
	w := &widths{}
	for _, m := range p.Methods {
		w.method(m)
	}
	if w.most >= math.MaxInt32 {
		return tI64
	}
	return tI32
}

// widths finds the largest magnitude in index arithmetic. Kernels are looked at
// once per call, with the numbers of that call: of what a shared kernel's
// parameters could be, most never meet.
type widths struct {
	most   float64
	params map[*sym.Symbol]float64
}

func (w *widths) method(m *native.Method) {
	for _, p := range codegen.Ports(m) {
		for _, s := range p.Type.Sizes {
			w.of(s)
		}
		if p.Type.HasExpr {
			w.of(p.Type.Expr)
		}
		if p.Sym != nil {
			w.of(p.Sym.Expr())
		}
	}
	codegen.Walk(m.Body, func(s native.Stmt) {
		w.params = nil
		for _, b := range native.Operands(s) {
			w.of(b.Len)
			if b.Root != nil {
				w.of(b.At)
			}
		}
		switch s := s.(type) {
		case *native.For:
			w.of(s.Extent)
		case *native.Await:
			w.of(sym.Int(s.Until + s.Extent*s.Step))
		case *native.Let:
			if s.Sym != nil {
				w.of(s.Sym.Expr())
			}
		case *native.Call:
			w.call(s)
		}
	})
}

func (w *widths) call(c *native.Call) {
	params := map[*sym.Symbol]float64{}
	for i, e := range c.Ints {
		params[c.Kernel.Params[i]] = w.of(e)
	}
	w.params = params
	if c.Kernel.Loop == nil {
		for _, p := range c.Kernel.Tuned.Params {
			w.of(p.Value)
		}
		return
	}
	loop.Walk(c.Kernel.Loop.Body, func(s loop.Stmt) {
		loop.Indices(s, func(e sym.Expr) { w.of(e) })
		if l, ok := s.(*loop.LetIndex); ok {
			w.of(l.Sym.Expr())
		}
	})
}

// of returns a bound of |e| and of all that is computed on the way to it.
func (w *widths) of(e sym.Expr) float64 {
	sum := 0.0
	for _, t := range e.Terms() {
		p := math.Abs(float64(t.Coef))
		for _, a := range t.Atoms {
			if x := w.atom(a); p == 0 || x == 0 {
				p = 0
			} else {
				p *= x
			}
		}
		sum += p
	}
	w.most = max(w.most, sum)
	return sum
}

func (w *widths) atom(a sym.Atom) float64 {
	switch a.Kind {
	case sym.SymbolAtom:
		if x, ok := w.params[a.Sym]; ok {
			return x
		}
		return max(w.bound(a.Sym.Lo), w.bound(a.Sym.Hi))
	case sym.FloorDivAtom:
		x, d := w.of(a.Args[0]), w.of(a.Args[1])
		if lo, _ := a.Args[0].Bounds(); lo < 0 {
			return x + 1
		}
		if n, ok := a.Args[1].Const(); ok && n > 0 {
			return math.Floor(x / d)
		}
		return x
	case sym.ModAtom:
		x, d := w.of(a.Args[0]), w.of(a.Args[1])
		if lo, _ := a.Args[0].Bounds(); lo >= 0 {
			return min(x, d)
		}
		return d
	case sym.MaxAtom, sym.MinAtom:
		most := 0.0
		for _, x := range a.Args {
			most = max(most, w.of(x))
		}
		return most
	}
	return math.Inf(1)
}

// bound is of for the bound of a symbol, which may be one below an extent of 0.
func (w *widths) bound(e sym.Expr) float64 {
	if n, ok := e.Const(); ok {
		if n == math.MinInt64 || n == math.MaxInt64 {
			return math.Inf(1)
		}
		return math.Abs(float64(n))
	}
	most := w.most
	x := w.of(e)
	w.most = most // the bound itself is never computed
	return x
}
