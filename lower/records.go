package lower

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// CheckRecords holds what a file records of every value against what follows
// from the operands, and gives the value the type that follows: the table's
// inference decides what is built. A file that was tampered with, or an operator
// that etgen understands otherwise than PyTorch, must not become code.
//
//   - Kind, dtype, rank and sizes must be those that follow. A symbol that was not
//     seen before is a name for the size that follows. Sizes must be equal for
//     certain: nothing checks at run time those that only may be. The size that
//     follows is the one that is built.
//   - Strides of a view must be those that follow. New memory may be dense in any
//     order: which one is the choice of PyTorch's kernels, and differs between
//     versions. Behind the ATen dialect all results are new memory.
//   - Elements of bool constants are 0 or 1: C and Go would take others differently.
//   - Values of regions have the sizes of what goes in and comes out.
//
// Nodes that do not bind are left to Decompose, which names all of them.
var CheckRecords = Pass{
	Name: "check-records",
	Doc:  "hold the recorded types against those that follow from the operands",
	Run: perMethod(func(ctx *Context, p *ir.Program, m *ir.Method) {
		r := &records{table: ctx.Table, views: p.Dialect == ir.ATen || p.Dialect == "",
			known: map[*sym.Symbol]bool{},
			names: map[*sym.Symbol]sym.Expr{}}
		r.warn = func(n *ir.Node, err error) { warnAt(p, m, n, err) }
		for _, v := range m.Graph.Inputs {
			r.learn(v.Type)
		}
		r.bools(m.Graph)
		r.graph(m.Graph)
		if len(r.errs) > 0 { // Decompose, which would say it, does not come
			r.errs = append(r.errs, unsupported(ctx.Table, m))
		}
		must.Check(errors.Join(r.errs...))
	}),
}

// warnAt adds a warning about n to p.
func warnAt(p *ir.Program, m *ir.Method, n *ir.Node, err error) {
	source := p.Source
	if m.Source != "" {
		source = m.Source
	}
	p.Warnings = append(p.Warnings, ir.ErrorAt(source, n, err))
}

// maxTensor is the bytes that a tensor of known size may have: what a machine could
// address. Products of sizes below it do not overflow.
const maxTensor = 1 << 40

// records checks a method.
type records struct {
	table *ops.Table
	views bool // results may be views
	warn  func(*ir.Node, error)
	errs  []error
	known map[*sym.Symbol]bool     // symbols seen so far
	names map[*sym.Symbol]sym.Expr // those that are names for what follows
}

// mistake is a record that is known to be PyTorch's own mistake. It gives a
// warning, and what follows is built.
type mistake struct {
	op       string
	why      string
	recorded func(recorded, inferred ir.Type) bool
}

// mistakes lists them. The one of autocast is in autocast.go.
var mistakes = []mistake{
	{ // testdata/check-records/known.txtar
		op:  "aten.unique_consecutive.default",
		why: "PyTorch records a rank that its own result does not have",
		recorded: func(rec, inf ir.Type) bool {
			// A size that follows has its symbol from the record.
			return rec.DType == inf.DType && rec.Rank() != inf.Rank() &&
				subset(TypeSymbols(inf), TypeSymbols(rec))
		},
	},
}

// bools checks the bytes of bool constants.
func (r *records) bools(g *ir.Graph) {
	for _, v := range g.Constants {
		if v.Const.Type.DType != ir.Bool {
			continue
		}
		data, err := ir.Tensor(v.Const)
		if err != nil {
			r.errs = append(r.errs, err)
			continue
		}
		if i := slices.IndexFunc(data, func(b byte) bool { return b > 1 }); i >= 0 {
			r.errs = append(r.errs,
				fmt.Errorf("constant %s (%v): element %d is %d, a bool is 0 or 1",
					foreign.Message(v.Name), v.Type, i, data[i]))
		}
	}
}

func (r *records) graph(g *ir.Graph) {
	for _, v := range g.Constants {
		r.learn(v.Type)
	}
	for _, n := range g.Nodes {
		check := r.node
		if len(n.Regions) > 0 {
			check = r.control
		}
		if err := must.Try(func() { check(n) }); err != nil {
			r.errs = append(r.errs, ir.ErrorAt("", n, err))
		}
		for _, v := range n.Outputs {
			if v != nil {
				r.learn(v.Type)
			}
		}
	}
}

// learn notes the symbols of t.
func (r *records) learn(t ir.Type) {
	for _, s := range TypeSymbols(t) {
		r.known[s] = true
	}
}

func (r *records) node(n *ir.Node) {
	c, err := r.table.Bind(n)
	if err != nil {
		return
	}
	view := false
	if r.views && c.Op.View != nil {
		vs, err := c.Op.View(c)
		view = err == nil && vs != nil
	}
	for i, v := range n.Outputs {
		if v == nil {
			continue
		}
		if i >= len(c.Outs) {
			must.Fail("the file records %d results, but it has %d", len(n.Outputs), len(c.Outs))
		}
		recorded := r.renamed(v.Type)
		v.Type = recorded
		inferred := c.Outs[i]
		r.name(recorded, inferred)
		recorded = r.renamed(recorded)
		if recorded.Kind == ir.TensorKind && inferred.Kind == ir.TensorKind &&
			(recorded.DType.IsComplex() || inferred.DType.IsComplex()) &&
			recorded.DType != inferred.DType {
			must.Fail("the operator is not supported on complex numbers: the file says that %s is %v",
				v.Name, recorded.DType)
		}
		ok := agree(recorded, inferred) && (!view || viewAgrees(recorded, inferred))
		v.Type = inferred
		if n, static := denseBytes(inferred); ok && (inferred.Bytes().Undefined() ||
			static && n > maxTensor) {
			must.Fail("%s is %v, more than the %d bytes that a tensor may have", v.Name,
				inferred, int64(maxTensor))
		}
		if ok {
			if inferred.Kind == ir.TensorKind && !view && dense(recorded) {
				v.Type.Strides = recorded.Strides
			}
			continue
		}
		known := slices.IndexFunc(mistakes, func(k mistake) bool {
			return k.op == n.Op && k.recorded(recorded, inferred)
		})
		err := recordError(v.Name, recorded, inferred)
		if known < 0 {
			must.Check(err)
		}
		r.warn(n, fmt.Errorf("%w: %s", err, mistakes[known].why))
	}
}

// recordError says what is recorded and what follows.
func recordError(name string, recorded, inferred ir.Type) error {
	return fmt.Errorf("the file records %v for %s, but it is %v", recorded, name, inferred)
}

// renamed returns t with names replaced by what they are names for.
func (r *records) renamed(t ir.Type) ir.Type {
	if len(r.names) == 0 {
		return t
	}
	return t.MapSizes(func(e sym.Expr) sym.Expr {
		return e.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
			x, ok := r.names[s]
			return x, ok
		})
	})
}

// name notes symbols of recorded that are not known: they are names for what
// follows.
func (r *records) name(recorded, inferred ir.Type) {
	meet := func(rec, inf sym.Expr) {
		ss := rec.Symbols()
		if len(ss) == 1 && !r.known[ss[0]] && rec.Equal(ss[0].Expr()) && !inf.Uses(ss[0]) {
			r.names[ss[0]] = inf
			r.known[ss[0]] = true
		}
	}
	if recorded.Kind != inferred.Kind || len(recorded.Sizes) != len(inferred.Sizes) {
		return
	}
	for d := range recorded.Sizes {
		meet(recorded.Sizes[d], inferred.Sizes[d])
	}
	if recorded.Kind == ir.TensorKind {
		meet(recorded.Offset, inferred.Offset)
	}
	if recorded.HasExpr && inferred.HasExpr {
		meet(recorded.Expr, inferred.Expr)
	}
}

// agree checks kind, dtype and sizes, and the value of an integer.
func agree(recorded, inferred ir.Type) bool {
	return sameShape(recorded, inferred) && !(recorded.HasExpr && inferred.HasExpr &&
		differ(recorded.Expr, inferred.Expr))
}

// alike reports whether two values have the same kind and dtype, and sizes that are
// equal for certain: regions hand them on, and nothing checks them at run time.
func alike(t, u ir.Type) bool {
	return t.Kind == u.Kind && t.DType == u.DType && sym.AllEqual(t.Sizes, u.Sizes)
}

// passes checks that what goes into or comes out of a region that is inlined has the sizes
// that are recorded for the value it becomes. The dtype may be autocast's.
func passes(in *ir.Value, operand ir.Arg) {
	t, ok := argType(operand)
	recorded := in.Type
	if ok && recorded.Kind == t.Kind {
		recorded.DType = t.DType
	}
	if ok && !agree(recorded, t) {
		must.Check(recordError(in.Name, in.Type, t))
	}
}

// differ reports whether two expressions never have the same value.
func differ(a, b sym.Expr) bool {
	d := sym.Sub(a, b)
	return sym.Less(d, sym.Int(0)) || sym.Less(sym.Int(0), d)
}

// viewAgrees checks strides and offset of a view. Dimensions of size 1 have any
// stride, and torch 2.6 writes no offsets.
func viewAgrees(recorded, inferred ir.Type) bool {
	if slices.ContainsFunc(inferred.Sizes, sym.Expr.IsZero) {
		return true
	}
	for d, s := range inferred.Sizes {
		if !s.Is(1) && differ(recorded.Strides[d], inferred.Strides[d]) {
			return false
		}
	}
	return recorded.Offset.IsZero() || !differ(recorded.Offset, inferred.Offset)
}

// dense reports whether the elements of t fill its memory from the start, in
// any order of the dimensions.
func dense(t ir.Type) bool {
	if !t.Offset.IsZero() {
		return false
	}
	_, ok := storageOrder(t)
	return ok
}

// control checks a node with regions, which Capture has brought to its form.
func (r *records) control(n *ir.Node) {
	switch n.Op {
	case "higher_order.cond":
		predicate(n.Args[0].Value)
		for _, g := range n.Regions {
			r.graph(g)
		}
		for _, g := range n.Regions {
			r.results(n, g.Outputs)
		}
		for i, a := range n.Regions[0].Outputs {
			t, _ := argType(a)
			if u, _ := argType(n.Regions[1].Outputs[i]); !alike(t, u) {
				must.Fail("one branch gives %v as result %d, the other %v", t, i, u)
			}
		}
	case "higher_order.while_loop":
		carried := operandsOf(n)
		for _, g := range n.Regions {
			r.inputs(g.Inputs, carried)
			r.graph(g)
		}
		if len(n.Regions[0].Outputs) != 1 {
			must.Fail("its condition gives %d values", len(n.Regions[0].Outputs))
		}
		predicate(n.Regions[0].Outputs[0])
		r.again(n.Regions[1], len(carried))
		r.results(n, carried)
	case "higher_order.scan":
		r.scan(n)
	default: // what has no entry is for Decompose to name
		if _, ok := r.table.Lookup(n.Op); ok {
			must.Fail("it has %d regions: it is no control flow", len(n.Regions))
		}
	}
}

// predicate checks that what a branch or loop is decided by is one truth value.
func predicate(a ir.Arg) {
	t, ok := argType(a)
	if !ok || t.Kind != ir.BoolKind && (t.Kind != ir.TensorKind || t.DType != ir.Bool ||
		!t.Numel().Is(1)) {
		must.Fail("it is decided by %v, not by one bool", t)
	}
}

func (r *records) scan(n *ir.Node) {
	init, _ := n.Arg("init").(ir.List)
	xs, _ := n.Arg("xs").(ir.List)
	g := n.Regions[0]
	if len(g.Inputs) != len(init)+len(xs) || len(g.Outputs) != len(n.Outputs) ||
		len(g.Outputs) < len(init) || len(xs) == 0 {
		must.Fail("it has %d operands and %d results, its region %d and %d",
			len(init)+len(xs), len(n.Outputs), len(g.Inputs), len(g.Outputs))
	}
	operands := slices.Clone(init)
	var steps sym.Expr
	for i, a := range xs {
		t := a.(ir.Ref).Value.Type // a tensor: Capture has seen to it
		if t.Rank() == 0 {
			must.Fail("it runs over a tensor without dimensions")
		}
		if i == 0 {
			steps = t.Sizes[0]
		} else if !steps.Equal(t.Sizes[0]) {
			must.Fail("it runs over tensors of %v and of %v rows", steps, t.Sizes[0])
		}
		t.Sizes, t.Strides = t.Sizes[1:], t.Strides[1:]
		operands = append(operands, ir.Ref{Value: &ir.Value{Type: t}})
	}
	r.inputs(g.Inputs, operands)
	r.graph(g)
	r.again(g, len(init))
	results := slices.Clone(init)
	for i, a := range g.Outputs[len(init):] {
		t, ok := argType(a)
		if !ok || t.Kind != ir.TensorKind {
			must.Fail("its region gives no tensor as output %d", len(init)+i)
		}
		results = append(results,
			ir.Ref{Value: &ir.Value{Type: ir.TensorOf(t.DType, append([]sym.Expr{steps},
				t.Sizes...)...)}})
	}
	r.results(n, results)
}

// argType returns the type of an argument that is one value.
func argType(a ir.Arg) (ir.Type, bool) {
	switch a := a.(type) {
	case ir.Ref:
		return a.Value.Type, true
	case ir.Int:
		return ir.SymInt(sym.Int(int64(a))), true
	case ir.Float:
		return ir.Type{Kind: ir.FloatKind}, true
	case ir.BoolArg:
		return ir.Type{Kind: ir.BoolKind}, true
	}
	return ir.Type{}, false
}

// inputs gives the inputs of a region the sizes of the operands.
func (r *records) inputs(inputs []*ir.Value, operands []ir.Arg) {
	if len(inputs) != len(operands) {
		must.Fail("a region has %d inputs for %d operands", len(inputs), len(operands))
	}
	for i, v := range inputs {
		t, ok := argType(operands[i])
		if !ok {
			continue
		}
		r.take(v, t, "a region")
	}
}

// again checks that what a loop's body carries fits what it began with.
func (r *records) again(body *ir.Graph, carried int) {
	for i, v := range body.Inputs[:carried] {
		if i >= len(body.Outputs) {
			must.Fail("its body gives %d values for %d", len(body.Outputs), carried)
		}
		if t, ok := argType(body.Outputs[i]); !ok || !alike(v.Type, t) {
			must.Fail("its body takes %v as %s and gives %v for the next round",
				v.Type, v.Name, t)
		}
	}
}

// results holds the results of n against what its regions give.
func (r *records) results(n *ir.Node, given []ir.Arg) {
	for i, v := range n.Outputs {
		if v == nil || i >= len(given) {
			continue
		}
		t, ok := argType(given[i])
		if !ok {
			must.Fail("a region gives %v for %s", given[i], v.Name)
		}
		r.take(v, t, "it")
	}
}

// take gives v the sizes of what it takes, and keeps the strides that are
// recorded: regions may give other ones each time.
func (r *records) take(v *ir.Value, t ir.Type, who string) {
	recorded := r.renamed(v.Type)
	r.name(recorded, t)
	recorded = r.renamed(recorded)
	v.Type = recorded
	if !agree(recorded, t) {
		must.Fail("the file records %v for %s, but %s gets %v", recorded, v.Name, who, t)
	}
	if t.Kind == ir.TensorKind {
		v.Type.Sizes = t.Sizes
	}
}

// subset reports whether all symbols of a are in b.
func subset(a, b []*sym.Symbol) bool {
	return !slices.ContainsFunc(a, func(s *sym.Symbol) bool { return !slices.Contains(b, s) })
}
