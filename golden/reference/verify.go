package reference

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// Report is what Verify found.
type Report struct {
	// Errors are violations of the form: a reader may do anything with such a
	// function.
	Errors []error
	// Unproven lists accesses that cannot be proved to be inside of their
	// buffers: those guarded by conditions, or with data-dependent indices.
	Unproven []Access
}

// Access is a load or store of a buffer.
type Access struct {
	Buf   int
	At    sym.Expr
	Store bool
}

// Verify checks that f is well formed: symbols and locals are declared before
// use and seen only in their block, dtypes agree, only Out, InOut and Scratch
// buffers are written, arrays are indexed and scalars are not.
func Verify(f *loop.Func) Report {
	v := verifier{f: f, syms: map[*sym.Symbol]bool{}, vars: map[*expr.Var]state{}}
	for _, s := range f.Syms {
		v.syms[s] = true
	}
	v.block(f.Body, false)
	return v.report
}

// state is what is known of a declared local.
type state uint8

const (
	undeclared state = iota
	fixed
	mutable
)

type verifier struct {
	f      *loop.Func
	syms   map[*sym.Symbol]bool
	vars   map[*expr.Var]state
	report Report
}

func (v *verifier) errorf(format string, args ...any) {
	v.report.Errors = append(v.report.Errors, fmt.Errorf("%s: %s", v.f.Name,
		fmt.Sprintf(format, args...)))
}

func (v *verifier) block(body []loop.Stmt, inLoop bool) {
	var locals []*expr.Var
	var indices []*sym.Symbol
	for _, s := range body {
		v.stmt(s, inLoop)
		switch s := s.(type) {
		case *loop.Let:
			if v.vars[s.Var] != undeclared {
				v.errorf("local %s is declared twice", s.Var.Name)
			}
			v.vars[s.Var] = fixed
			if s.Mutable || s.Var.Len > 0 {
				v.vars[s.Var] = mutable
			}
			locals = append(locals, s.Var)
		case *loop.LetIndex:
			v.bind(s.Sym)
			indices = append(indices, s.Sym)
		}
	}
	for _, l := range locals {
		delete(v.vars, l)
	}
	for _, s := range indices {
		delete(v.syms, s)
	}
}

func (v *verifier) bind(s *sym.Symbol) {
	if v.syms[s] {
		v.errorf("symbol %s is bound twice", s.Name)
	}
	v.syms[s] = true
}

func (v *verifier) stmt(s loop.Stmt, inLoop bool) {
	loop.Exprs(s, v.expr)
	switch s := s.(type) {
	case *loop.For:
		v.index(s.Extent)
		v.bind(s.Var)
		v.block(s.Body, true)
		delete(v.syms, s.Var)
	case *loop.While:
		v.want(s.Cond, ir.Bool, "condition")
		v.block(s.Body, true)
	case *loop.If:
		v.want(s.Cond, ir.Bool, "condition")
		v.block(s.Then, inLoop)
		v.block(s.Else, inLoop)
	case *loop.Let:
		if s.Value == nil {
			break
		}
		v.want(s.Value, s.Var.DType, "local "+s.Var.Name)
		if s.Var.Len > 0 {
			v.errorf("array %s has a value", s.Var.Name)
		}
	case *loop.Assign:
		v.want(s.Value, s.Var.DType, "local "+s.Var.Name)
		switch v.vars[s.Var] {
		case undeclared:
			v.errorf("local %s is assigned but not declared", s.Var.Name)
		case fixed:
			v.errorf("local %s is assigned but not mutable", s.Var.Name)
		}
		if s.Var.Len > 0 {
			v.index(s.At)
		}
	case *loop.LetIndex:
		if s.Value == nil || !s.Value.DType.IsInt() {
			v.errorf("index %s is no integer", s.Sym.Name)
		}
	case *loop.Store:
		v.store(s)
	case *loop.Break:
		if !inLoop {
			v.errorf("break outside of a loop")
		}
	default:
		v.errorf("unknown statement %T", s)
	}
}

func (v *verifier) want(e *expr.Expr, d ir.DType, what string) {
	if e == nil {
		v.errorf("%s is missing", what)
	} else if e.DType != d {
		v.errorf("%s of %s gets a value of %s", what, d, e.DType)
	}
}

func (v *verifier) store(s *loop.Store) {
	if s.Buf < 0 || s.Buf >= len(v.f.Bufs) {
		v.errorf("store to buffer %d of %d", s.Buf, len(v.f.Bufs))
		return
	}
	b := v.f.Bufs[s.Buf]
	if b.Role == loop.In {
		v.errorf("store to input %s", b.Name)
	}
	v.want(s.Value, b.DType, "buffer "+b.Name)
	v.index(s.At)
	v.access(Access{Buf: s.Buf, At: s.At, Store: true})
}

// access notes an access that is not provably in bounds.
func (v *verifier) access(a Access) {
	if !sym.NonNegative(a.At) || !sym.Less(a.At, v.f.Bufs[a.Buf].Len) {
		v.report.Unproven = append(v.report.Unproven, a)
	}
}

func (v *verifier) index(x sym.Expr) {
	if x.Undefined() {
		v.errorf("an index expression overflows")
	}
	for _, s := range x.Symbols() {
		if !v.syms[s] {
			v.errorf("symbol %s is used where it is not bound", s.Name)
		}
	}
}

func (v *verifier) expr(e *expr.Expr) {
	expr.Walk(e, func(e *expr.Expr) {
		e.Indices(v.index)
		switch e.Op {
		case expr.OpLoad:
			v.load(e)
		case expr.OpLocal:
			if v.vars[e.Var] == undeclared {
				v.errorf("local %s is used where it is not declared", e.Var.Name)
			}
			if (e.Var.Len > 0) != (len(e.Coords) == 1) || e.DType != e.Var.DType {
				v.errorf("local %s is not used as it is declared", e.Var.Name)
			}
		case expr.OpScalar:
			if e.Buf < 0 || e.Buf >= len(v.f.Scalars) || v.f.Scalars[e.Buf].DType != e.DType {
				v.errorf("scalar %d of %s does not exist", e.Buf, e.DType)
			}
		case expr.OpReduce, expr.OpInvalid:
			v.errorf("%s in loop form", e.Op)
		}
	})
}

func (v *verifier) load(e *expr.Expr) {
	switch {
	case e.Buf < 0 || e.Buf >= len(v.f.Bufs):
		v.errorf("load of buffer %d of %d", e.Buf, len(v.f.Bufs))
	case len(e.Coords) != 1:
		v.errorf("load of %s has %d coordinates", v.f.Bufs[e.Buf].Name, len(e.Coords))
	case v.f.Bufs[e.Buf].DType != e.DType:
		v.errorf("load of %s as %s", v.f.Bufs[e.Buf].Name, e.DType)
	default:
		v.access(Access{Buf: e.Buf, At: e.Coords[0]})
	}
}
