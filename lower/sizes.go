package lower

import (
	"errors"
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// Sizes makes nodes of integers that the compiler knows as expressions:
// aten.sym_size.int of a tensor with that size, and arithmetic by
// executorch_prim operators. Each integer is computed once where it is needed
// first; constants become literals. What the types promise of the sizes of
// inputs is asserted at the beginning. Arithmetic on numbers that are known only
// at run time is renamed to the same operators.
var Sizes = Pass{
	Name: "sizes",
	Doc:  "compute integer arguments by nodes, from the sizes of tensors",
	Run: perMethod(func(ctx *Context, _ *ir.Program, m *ir.Method) {
		s := &sizer{table: ctx.Table, names: ir.NewNames(m), method: m}
		s.graph(m.Graph, nil)
		must.Check(errors.Join(s.errs...))
	}),
}

type sizer struct {
	table *ops.Table
	names *ir.Names
	nodes *[]*ir.Node // of the graph under construction
	scope *sizeScope
	loc   ir.Location
	errs  []error

	method *ir.Method
}

// sizeScope holds the integers at hand in a graph: values by their
// expressions, and dimensions of tensors that have such sizes.
type sizeScope struct {
	outer  *sizeScope
	values map[string]*ir.Value
	dims   map[string]dimOf
	order  []dimOf // those of dims, as they came
}

type dimOf struct {
	tensor *ir.Value
	dim    int
}

// add makes v known.
func (sc *sizeScope) add(v *ir.Value) {
	switch {
	case v == nil:
	case v.Type.Kind == ir.TensorKind:
		for d, e := range v.Type.Sizes {
			if _, ok := e.Const(); ok {
				continue
			}
			if _, ok := sc.dim(e.Key()); !ok {
				sc.dims[e.Key()] = dimOf{v, d}
				sc.order = append(sc.order, dimOf{v, d})
			}
		}
	case v.Type.Kind == ir.IntKind && v.Type.HasExpr:
		if _, ok := v.Type.Expr.Const(); !ok && sc.value(v.Type.Expr.Key()) == nil {
			sc.values[v.Type.Expr.Key()] = v
		}
	}
}

func (sc *sizeScope) value(key string) *ir.Value {
	for ; sc != nil; sc = sc.outer {
		if v := sc.values[key]; v != nil {
			return v
		}
	}
	return nil
}

func (sc *sizeScope) dim(key string) (dimOf, bool) {
	for ; sc != nil; sc = sc.outer {
		if d, ok := sc.dims[key]; ok {
			return d, true
		}
	}
	return dimOf{}, false
}

func (s *sizer) graph(g *ir.Graph, outer *sizeScope) {
	nodes, scope := s.nodes, s.scope
	s.nodes, s.scope = &[]*ir.Node{}, &sizeScope{outer: outer, values: map[string]*ir.Value{},
		dims: map[string]dimOf{}}
	for _, v := range g.Inputs {
		s.scope.add(v)
	}
	if outer == nil {
		s.try(nil, func() { s.entry(s.method) })
	}
	for _, n := range g.Nodes {
		s.loc = n.Loc
		if s.known(n) {
			continue // whoever uses it asks for its expression
		}
		s.node(n)
	}
	for i, a := range g.Outputs {
		g.Outputs[i] = s.arg(nil, a)
	}
	g.Nodes = *s.nodes
	s.nodes, s.scope = nodes, scope
}

// known reports whether n does nothing but give an integer that follows from
// sizes.
func (s *sizer) known(n *ir.Node) bool {
	v := n.Output(0)
	if len(n.Outputs) != 1 || v == nil || v.Type.Kind != ir.IntKind || !v.Type.HasExpr ||
		len(n.Regions) > 0 {
		return false
	}
	op, ok := s.table.Lookup(n.Op)
	if !ok || op.Value == nil {
		return false
	}
	c, err := s.table.Bind(n)
	return err == nil && len(c.Scalars()) == 0
}

func (s *sizer) node(n *ir.Node) {
	for i := range n.Args {
		n.Args[i].Value = s.arg(n, n.Args[i].Value)
	}
	if n.Op == "higher_order.scan" {
		s.try(n, func() { s.stacked(n) })
	}
	for _, r := range n.Regions {
		s.graph(r, s.scope)
	}
	s.try(n, func() { s.prim(n) })
	*s.nodes = append(*s.nodes, n)
	for _, v := range n.Outputs {
		s.scope.add(v)
	}
}

// stacked gives a scan an attribute for each size of what it stacks that varies, but for the first
// size of each, which is how many steps there are.
func (s *sizer) stacked(n *ir.Node) {
	init, _ := n.Arg("init").(ir.List)
	for i, v := range n.Outputs {
		if v == nil || i < len(init) {
			continue
		}
		for d, e := range v.Type.Sizes {
			if _, ok := e.Const(); !ok && d > 0 {
				n.Args = append(n.Args, ir.NamedArg{Name: StackedSize(i, d), Value: s.integer(e)})
			}
		}
	}
}

// StackedSize is the attribute of a scan that is size d of its result i.
func StackedSize(i, d int) string { return fmt.Sprintf("size_%d_%d", i, d) }

// try runs f for a node, which may be nil, and notes the error that ends it.
func (s *sizer) try(n *ir.Node, f func()) {
	err := must.Try(f)
	if err != nil && n != nil {
		err = ir.ErrorAt("", n, err)
	}
	if err != nil {
		s.errs = append(s.errs, err)
	}
}

// arg replaces the integers in an argument of n by values at hand or literals.
func (s *sizer) arg(n *ir.Node, a ir.Arg) ir.Arg {
	return ir.MapRefs(a, func(v *ir.Value) (out ir.Arg) {
		out = ir.Ref{Value: v}
		if v.Type.Kind == ir.IntKind && v.Type.HasExpr {
			s.try(n, func() { out = s.integer(v.Type.Expr) })
		}
		return out
	})
}

// integer returns an argument whose value is e.
func (s *sizer) integer(e sym.Expr) ir.Arg {
	if n, ok := e.Const(); ok {
		return ir.Int(n)
	}
	key := e.Key()
	if v := s.scope.value(key); v != nil {
		return ir.Ref{Value: v}
	}
	if d, ok := s.scope.dim(key); ok {
		return s.emit("aten.sym_size.int", e, ir.NamedArg{Name: "self",
			Value: ir.Ref{Value: d.tensor}}, ir.NamedArg{Name: "dim", Value: ir.Int(d.dim)})
	}
	return s.sum(e)
}

// emit appends a node whose result is e.
func (s *sizer) emit(op string, e sym.Expr, args ...ir.NamedArg) ir.Arg {
	n := &ir.Node{Name: s.names.Fresh(ir.OpBase(op)), Op: op, Args: args, Loc: s.loc}
	v := &ir.Value{Name: n.Name, Type: ir.SymInt(e), Def: n}
	n.Outputs = []*ir.Value{v}
	*s.nodes = append(*s.nodes, n)
	s.scope.add(v)
	return ir.Ref{Value: v}
}

// binary returns a op b, which is e.
func (s *sizer) binary(op string, e sym.Expr, a, b ir.Arg) ir.Arg {
	if n, ok := e.Const(); ok {
		return ir.Int(n)
	}
	if v := s.scope.value(e.Key()); v != nil {
		return ir.Ref{Value: v}
	}
	return s.emit(PrimName(op), e, primArgs(a, b)...)
}

// sum computes an expression from its terms: those with positive coefficients
// first, so that the others can be subtracted.
func (s *sizer) sum(e sym.Expr) ir.Arg {
	var total ir.Arg
	at := sym.Int(0)
	add := func(op string, f func(a, b sym.Expr) sym.Expr, sign int64) {
		for _, t := range e.Terms() {
			if t.Coef*sign < 0 {
				continue
			}
			x, v := s.product(sym.Term{Coef: sign * t.Coef, Atoms: t.Atoms})
			if at = f(at, v); total == nil {
				total = x
			} else {
				total = s.binary(op, at, total, x)
			}
		}
	}
	add("add", func(a, b sym.Expr) sym.Expr { return sym.Add(a, b) }, 1)
	if total == nil {
		total = ir.Int(0)
	}
	add("sub", sym.Sub, -1)
	return total
}

// product computes a term with a positive coefficient, which may be a constant.
func (s *sizer) product(t sym.Term) (ir.Arg, sym.Expr) {
	var out ir.Arg = ir.Int(t.Coef)
	at := sym.Int(1)
	for i, a := range t.Atoms {
		x, v := s.atom(a)
		if at = sym.Mul(at, v); i == 0 {
			out = x
		} else {
			out = s.binary("mul", at, out, x)
		}
	}
	at = sym.Mul(at, sym.Int(t.Coef))
	if len(t.Atoms) > 0 && t.Coef != 1 {
		out = s.binary("mul", at, out, ir.Int(t.Coef))
	}
	return out, at
}

// atom computes a symbol, a quotient, a remainder or an extremum.
func (s *sizer) atom(a sym.Atom) (ir.Arg, sym.Expr) {
	join := func(op string, f func(a, b sym.Expr) sym.Expr) (out ir.Arg, at sym.Expr) {
		for i, e := range a.Args {
			x := s.integer(e)
			if i == 0 {
				out, at = x, e
				continue
			}
			at = f(at, e)
			out = s.binary(op, at, out, x)
		}
		return out, at
	}
	switch a.Kind {
	case sym.SymbolAtom:
		e := a.Sym.Expr()
		if _, ok := s.scope.dim(e.Key()); ok || s.scope.value(e.Key()) != nil {
			return s.integer(e), e
		}
		return s.solve(a.Sym)
	case sym.FloorDivAtom:
		return join("floordiv", sym.FloorDiv)
	case sym.ModAtom:
		if nonnegative(a.Args[0]) && nonnegative(a.Args[1]) {
			return join("mod", sym.Mod)
		}
		return s.remainder(a.Args[0], a.Args[1])
	case sym.MaxAtom:
		return join("sym_max", func(a, b sym.Expr) sym.Expr { return sym.Max(a, b) })
	case sym.MinAtom:
		return join("sym_min", func(a, b sym.Expr) sym.Expr { return sym.Min(a, b) })
	}
	must.Fail("an integer it needs has no value")
	return nil, sym.Expr{}
}

func nonnegative(e sym.Expr) bool {
	lo, _ := e.Bounds()
	return lo >= 0
}

// remainder computes a mod b by a quotient: the primitive for it truncates.
func (s *sizer) remainder(a, b sym.Expr) (ir.Arg, sym.Expr) {
	mod := sym.Mod(a, b)
	x := s.integer(a)
	y := s.integer(b)
	quotient := sym.FloorDiv(a, b)
	q := s.binary("floordiv", quotient, x, y)
	whole := sym.Mul(quotient, b)
	return s.binary("sub", mod, x, s.binary("mul", whole, q, y)), mod
}

// solve computes a symbol that is no size itself from a tensor's size that is a
// multiple of it and a constant.
func (s *sizer) solve(x *sym.Symbol) (ir.Arg, sym.Expr) {
	e := x.Expr()
	for sc := s.scope; sc != nil; sc = sc.outer {
		for _, d := range sc.order {
			size := d.tensor.Type.Sizes[d.dim]
			coef, rest, linear := size.Coef(x)
			k, ok := coef.Const()
			if _, isConst := rest.Const(); !linear || !ok || !isConst || k == 0 {
				continue
			}
			have := s.integer(size)
			if !rest.IsZero() {
				size = sym.Sub(size, rest)
				n, _ := rest.Const()
				have = s.binary("sub", size, have, ir.Int(n))
			}
			if k != 1 {
				have = s.binary("floordiv", e, have, ir.Int(k))
			}
			return have, e
		}
	}
	must.Fail("the integer %s is the size of no tensor before it", e)
	return nil, e
}

// Prims are the operators on run-time numbers that have a primitive of the
// same meaning.
var Prims = map[string]string{
	"_operator.add": "add", "_operator.sub": "sub", "_operator.mul": "mul",
	"_operator.floordiv": "floordiv",
	"_operator.truediv":  "truediv", "_operator.neg": "neg", "_operator.eq": "eq",
	"_operator.lt": "lt", "_operator.le": "le", "_operator.gt": "gt", "_operator.ge": "ge",
	"math.ceil":  "ceil",
	"math.trunc": "trunc", "torch.sym_int": "sym_int", "torch.sym_float": "sym_float",
	"torch.sym_not": "sym_not", "torch.sym_ite": "sym_ite",
	"torch.sym_max": "sym_max", "torch.sym_min": "sym_min",
}

// prim makes n, arithmetic on numbers known at run time only, a primitive, after
// those that it takes to say it.
func (s *sizer) prim(n *ir.Node) {
	if n.Op == "aten.item.default" {
		n.Op = "aten._local_scalar_dense.default"
		return
	}
	if !strings.HasPrefix(n.Op, "_operator.") && !strings.HasPrefix(n.Op, "math.") &&
		!strings.HasPrefix(n.Op, "torch.sym_") {
		return
	}
	if name := Prims[n.Op]; name != "" {
		n.Op = PrimName(name)
		return
	}
	a, b := n.Arg("a"), n.Arg("b")
	become := func(name string, args ...ir.Arg) {
		n.Op, n.Args = PrimName(name), primArgs(args...)
	}
	switch n.Op {
	case "_operator.and_":
		become("sym_ite", a, b, ir.BoolArg(false))
	case "_operator.or_":
		become("sym_ite", a, ir.BoolArg(true), b)
	case "_operator.mod": // the primitive truncates
		become("sub", a, s.number("mul", s.number("floordiv", a, b), b))
	case "_operator.ne":
		become("sym_not", s.number("eq", a, b))
	case "math.floor":
		become("sym_int", s.number("floordiv", a, ir.Int(1)))
	default:
		must.Fail("ExecuTorch has no kernel for this arithmetic on numbers")
	}
}

// PrimName is what nodes call a primitive on numbers.
func PrimName(name string) string { return "executorch_prim." + name + ".Scalar" }

// primArgs are the arguments of a primitive. One of three gives the second where the first
// holds, else the third.
func primArgs(values ...ir.Arg) []ir.NamedArg {
	names := []string{"a", "b"}
	if len(values) == 3 {
		names = []string{"b", "t", "f"}
	}
	args := make([]ir.NamedArg, len(values))
	for i, v := range values {
		args[i] = ir.NamedArg{Name: names[i], Value: v}
	}
	return args
}

// number appends a primitive whose result is known at run time only.
func (s *sizer) number(name string, args ...ir.Arg) ir.Arg {
	n := &ir.Node{Name: s.names.Fresh(name), Op: PrimName(name), Args: primArgs(args...),
		Loc: s.loc}
	c := must.Get(s.table.Bind(n))
	v := &ir.Value{Name: n.Name, Type: c.Outs[0], Def: n}
	n.Outputs = []*ir.Value{v}
	*s.nodes = append(*s.nodes, n)
	return ir.Ref{Value: v}
}
