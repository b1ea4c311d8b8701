package golang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// printer writes the body of one Go function as text; go/format lays it out.
type printer struct {
	unit    *unit
	b       *strings.Builder
	scope   *codegen.Scope
	top     *codegen.Scope // of the function
	bufs    []string       // names of the buffers that Loads and Stores index
	lens    []sym.Expr     // their elements, as far as known
	dtypes  []ir.DType     // of the buffers of a kernel
	temps   []temp
	scalars []string // that Scalars index
	syms    map[*sym.Symbol]string
	vars    map[*expr.Var]string
	used    *uses
	reads   map[any]bool // the symbols and locals that the text mentions
	// fusible tells that the function has floating additions, into which Go
	// could fuse a product.
	fusible bool
	// parts are the shares of divided loops, if a part of a kernel is printed.
	parts map[string]share
}

func (u *unit) newPrinter(body []loop.Stmt, results ...*expr.Expr) *printer {
	p := &printer{unit: u, b: &strings.Builder{}, scope: codegen.NewScope(u.scope),
		syms: map[*sym.Symbol]string{}, vars: map[*expr.Var]string{}, reads: map[any]bool{}}
	p.top = p.scope
	p.used = &uses{vars: map[*expr.Var]bool{}, syms: map[*sym.Symbol]bool{},
		names: map[string]bool{}}
	p.used.find(body, results)
	p.fusible = p.used.adds
	return p
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p.b, format+"\n", args...) }

func (p *printer) helper(name string) string { return p.unit.helper(name) }

// math returns a function of package math.
func (p *printer) math(name string) string { return "math." + name }

func (p *printer) index(e sym.Expr, prec int) string {
	return codegen.Index(indexer{p}, e).at(prec)
}

func (p *printer) symName(s *sym.Symbol) string {
	name, ok := p.syms[s]
	if !ok {
		must.Fail("symbol %s is not bound", s.Name)
	}
	p.reads[s] = true
	return name
}

func (p *printer) varName(v *expr.Var) string {
	name, ok := p.vars[v]
	if !ok {
		must.Fail("local %s is used before it is declared", v.Name)
	}
	p.reads[v] = true
	return name
}

func (p *printer) buf(k int) string {
	if k < 0 || k >= len(p.bufs) {
		must.Fail("buffer %d does not exist", k)
	}
	return p.bufs[k]
}

func (p *printer) scalar(e *expr.Expr) string {
	if e.Buf < 0 || e.Buf >= len(p.scalars) {
		must.Fail("scalar %d does not exist", e.Buf)
	}
	return p.scalars[e.Buf]
}

// element is the buffer element that e loads.
func (p *printer) element(e *expr.Expr) string {
	if len(e.Coords) != 1 {
		must.Fail("load of buffer %d has %d coordinates", e.Buf, len(e.Coords))
	}
	return p.buf(e.Buf) + "[" + p.index(e.Coords[0], precAny) + "]"
}

// uses tells which locals and symbols a function reads: Go does not accept
// variables that nobody reads.
type uses struct {
	vars map[*expr.Var]bool
	syms map[*sym.Symbol]bool
	adds bool
	// names are the names that locals would like to have.
	names map[string]bool
}

func (u *uses) find(body []loop.Stmt, results []*expr.Expr) {
	index := func(e sym.Expr) {
		for _, s := range e.Symbols() {
			u.syms[s] = true
		}
	}
	value := func(e *expr.Expr) {
		expr.Walk(e, func(e *expr.Expr) {
			if e.Op == expr.OpLocal {
				u.vars[e.Var] = true
			}
			if (e.Op == expr.OpAdd || e.Op == expr.OpSub) && e.DType.IsFloat() {
				u.adds = true
			}
		})
	}
	printed := func(s loop.Stmt) {
		loop.Indices(s, index)
		loop.Exprs(s, value)
	}
	var lets []loop.Stmt // what they read is used if they are
	loop.Walk(body, func(s loop.Stmt) {
		switch s := s.(type) {
		case *loop.For:
			u.names[camel(s.Var.Name)] = true
		case *loop.Let:
			u.names[camel(s.Var.Name)] = true
			lets = append(lets, s)
			return
		case *loop.LetIndex:
			u.names[camel(s.Sym.Name)] = true
			lets = append(lets, s)
			return
		case *loop.Store:
			if loads(s, s.Value) {
				return
			}
		}
		printed(s)
	})
	for _, r := range results {
		value(r)
		expr.Walk(r, func(e *expr.Expr) { e.Indices(index) })
	}
	for left := -1; left != len(lets); {
		left = len(lets)
		lets = slices.DeleteFunc(lets, func(s loop.Stmt) bool {
			let, ok := s.(*loop.Let)
			used := ok && u.vars[let.Var]
			if !ok {
				used = u.syms[s.(*loop.LetIndex).Sym]
			}
			if used {
				printed(s)
			}
			return used
		})
	}
}
