package ops_test

import (
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/schedule"
)

// machine runs graphs node by node through eval: the entries of the table as
// they stand, without passes.
type machine struct {
	table   *ops.Table
	syms    map[*sym.Symbol]int64
	tensors map[*ir.Value]eval.Operand
	scalars map[*ir.Value]eval.Value // run-time scalars, and integers
	longest int64                    // elements of the longest reduction seen
}

func newMachine() *machine {
	return &machine{table: ops.Standard(), syms: map[*sym.Symbol]int64{}, tensors: map[*ir.Value]eval.Operand{}, scalars: map[*ir.Value]eval.Value{}, longest: 1}
}

func (m *machine) int(e sym.Expr) (int64, error) {
	return e.Eval(func(s *sym.Symbol) (int64, bool) {
		n, ok := m.syms[s]
		return n, ok
	})
}

func (m *machine) ints(es []sym.Expr) ([]int64, error) {
	out := make([]int64, len(es))
	for i, e := range es {
		n, err := m.int(e)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// input sets a graph input, and the symbols its sizes are.
func (m *machine) input(v *ir.Value, o eval.Operand) {
	m.tensors[v] = o
	for i, s := range v.Type.Sizes {
		for _, x := range s.Symbols() {
			if a, b, ok := s.Coef(x); ok {
				ka, okA := a.Const()
				kb, okB := b.Const()
				if okA && okB && ka != 0 {
					m.syms[x] = (o.Sizes[i] - kb) / ka
				}
			}
		}
	}
}

func (m *machine) constants(g *ir.Graph) error {
	for _, v := range slices.Concat(g.Constants, g.Inputs) {
		if v.Const == nil {
			continue
		}
		data, err := ir.Tensor(v.Const)
		if err != nil {
			return err
		}
		sizes, _ := v.Type.StaticSizes()
		m.tensors[v] = eval.Operand{DType: v.Type.DType, Sizes: sizes, Data: data}
	}
	return nil
}

func (m *machine) graph(g *ir.Graph) error {
	if err := m.constants(g); err != nil {
		return err
	}
	for _, n := range g.Nodes {
		if err := m.node(n); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	return nil
}

func (m *machine) node(n *ir.Node) error {
	if n.Op == ops.ScanOp && len(n.Args) >= 2 {
		return m.scan(n)
	}
	c, err := m.table.Bind(n)
	if err != nil {
		return err
	}
	for _, v := range c.Operands() {
		if v.Type.DType.IsComplex() {
			return errSkip
		}
	}
	outs, err := m.call(c)
	if err != nil {
		return err
	}
	for i, v := range n.Outputs {
		if v == nil || i >= len(outs) {
			continue
		}
		if v.Type.Kind == ir.TensorKind {
			m.tensors[v] = outs[i]
		} else if len(outs[i].Data) > 0 {
			m.scalars[v] = eval.Get(outs[i].DType, outs[i].Data, 0)
		}
	}
	if _, ok := m.table.Functional(n.Op); ok {
		v := c.Operands()[0]
		if v.Def != nil {
			if d, err := m.table.Bind(v.Def); err != nil || d.Op.View != nil {
				return errSkip // what it is a view of changes too
			}
		}
		m.tensors[v] = outs[0]
	}
	return nil
}

var errSkip = fmt.Errorf("beyond the machine of this test")

// call returns the results of c.
func (m *machine) call(c *ops.Call) ([]eval.Operand, error) {
	op := c.Op
	if op.View != nil {
		views, err := op.View(c)
		if err != nil {
			return nil, err
		}
		if views != nil {
			return m.views(c, views)
		}
	}
	switch {
	case op.Compute != nil && !op.Effect:
		ts, err := op.Compute(c)
		if err != nil {
			return nil, err
		}
		return m.compute(c, ts)
	case op.Loops != nil:
		f, err := op.Loops(c)
		if err != nil {
			return nil, err
		}
		return m.loops(c, f)
	case op.Decompose != nil:
		return m.decompose(c)
	}
	return nil, m.scalar(c)
}

// scalar runs operators on integers; others are beyond the machine.
func (m *machine) scalar(c *ops.Call) error {
	if c.Op.Effect || c.Op.Value != nil {
		return nil
	}
	return errSkip
}

func (m *machine) views(c *ops.Call, views []ops.View) ([]eval.Operand, error) {
	ts := make([]expr.Tensor, len(views))
	for i, v := range views {
		t := c.Outs[i]
		vars := make([]*sym.Symbol, t.Rank())
		coords := make([]sym.Expr, t.Rank())
		for d, s := range t.Sizes {
			vars[d] = sym.NewVar("i"+fmt.Sprint(d), s)
			coords[d] = vars[d].Expr()
		}
		ts[i] = expr.Tensor{DType: t.DType, Vars: vars, Body: c.LoadAt(v.Of, v.Map(coords)...)}
	}
	return m.compute(c, ts)
}

func (m *machine) operands(c *ops.Call) (infos []schedule.OperandInfo, vals []eval.Operand, err error) {
	for _, v := range c.Operands() {
		o, ok := m.tensors[v]
		if !ok {
			return nil, nil, fmt.Errorf("operand %s has no value", v.Name)
		}
		infos = append(infos, schedule.OperandInfo{DType: v.Type.DType, Sizes: v.Type.Sizes})
		vals = append(vals, o)
	}
	return infos, vals, nil
}

func (m *machine) compute(c *ops.Call, ts []expr.Tensor) ([]eval.Operand, error) {
	infos, vals, err := m.operands(c)
	if err != nil {
		return nil, err
	}
	for _, t := range ts {
		expr.Walk(t.Body, func(e *expr.Expr) {
			if e.Op != expr.OpReduce {
				return
			}
			n := int64(1)
			for _, v := range e.Vars {
				if k, err := m.int(expr.Extent(v)); err == nil {
					n *= k
				}
			}
			m.longest = max(m.longest, n)
		})
	}
	dtypes, scalars := m.runtime(c)
	f, err := schedule.Build("kernel", ts, infos, schedule.Options{Scalars: dtypes})
	if err != nil {
		return nil, err
	}
	return m.run(c, f, vals, scalars)
}

// runtime returns the run-time scalars of c.
func (m *machine) runtime(c *ops.Call) (dtypes []ir.DType, vals []eval.Value) {
	for _, v := range c.Scalars() {
		d := ir.Float64
		switch v.Type.Kind {
		case ir.IntKind:
			d = ir.Int64
		case ir.BoolKind:
			d = ir.Bool
		}
		dtypes, vals = append(dtypes, d), append(vals, m.scalars[v])
	}
	return dtypes, vals
}

func (m *machine) loops(c *ops.Call, f *loop.Func) ([]eval.Operand, error) {
	_, vals, err := m.operands(c)
	if err != nil {
		return nil, err
	}
	_, scalars := m.runtime(c)
	return m.run(c, f, vals, scalars)
}

// run executes f with fresh buffers for results and scratch.
func (m *machine) run(c *ops.Call, f *loop.Func, vals []eval.Operand, scalars []eval.Value) ([]eval.Operand, error) {
	outs := make([]eval.Operand, len(c.Outs))
	bufs := make([][]byte, len(f.Bufs))
	for i, b := range f.Bufs {
		if k := i - len(outs); k >= 0 && k < len(vals) {
			bufs[i] = vals[k].Data
			continue
		}
		n, err := m.int(b.Len)
		if err != nil {
			return nil, err
		}
		bufs[i] = make([]byte, n*int64(b.DType.Size()))
		for j := range bufs[i] {
			bufs[i][j] = 0x5a // nobody may rely on zeros
		}
	}
	for i, b := range f.Bufs {
		if b.Role == loop.InOut {
			copy(bufs[i], bufs[b.Init])
		}
	}
	syms := make([]int64, len(f.Syms))
	for i, s := range f.Syms {
		n, ok := m.syms[s]
		if !ok {
			return nil, fmt.Errorf("symbol %s has no value", s.Name)
		}
		syms[i] = n
	}
	for _, s := range freeSymbols(f) {
		if !slices.Contains(f.Syms, s) {
			f.Syms = append(f.Syms, s)
			syms = append(syms, m.syms[s])
		}
	}
	if err := eval.Run(f, bufs, syms, scalars); err != nil {
		return nil, err
	}
	for i, t := range c.Outs {
		sizes, err := m.ints(t.Sizes)
		if err != nil {
			return nil, err
		}
		outs[i] = eval.Operand{DType: t.DType, Sizes: sizes, Data: bufs[i]}
	}
	return outs, nil
}

// decompose runs what the entry is made of.
func (m *machine) decompose(c *ops.Call) ([]eval.Operand, error) {
	names := ir.NewNames(&ir.Method{Graph: &ir.Graph{}})
	g, err := ir.BuildGraph(names, nil, func(e *ir.Emitter) ([]ir.Arg, error) {
		vs, err := ops.NewBuilder(m.table, e).Decompose(c)
		out := make([]ir.Arg, len(vs))
		for i, v := range vs {
			out[i] = ir.Ref{Value: v}
		}
		return out, err
	})
	if err != nil {
		return nil, err
	}
	if err := m.graph(g); err != nil {
		return nil, err
	}
	outs := make([]eval.Operand, len(g.Outputs))
	for i, a := range g.Outputs {
		outs[i] = m.tensors[a.(ir.Ref).Value]
		want, err := m.ints(c.Outs[i].Sizes)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(outs[i].Sizes, want) || outs[i].DType != c.Outs[i].DType {
			return nil, fmt.Errorf("%s decomposes into result %d of %s%v, inferred is %s%v", c.Op.Name(), i, outs[i].DType, outs[i].Sizes, c.Outs[i].DType, want)
		}
	}
	return outs, nil
}

// scan runs a loop over dimension 0.
func (m *machine) scan(n *ir.Node) error {
	list := func(i int) (out []eval.Operand) {
		ir.EachRef(n.Args[i].Value, func(v *ir.Value) { out = append(out, m.tensors[v]) })
		return out
	}
	carry, xs, more := list(0), list(1), []eval.Operand(nil)
	if len(n.Args) > 2 && n.Args[2].Name == "" {
		more = list(2)
	}
	reverse, _ := n.Arg("reverse").(ir.BoolArg)
	g := n.Regions[0]
	steps := xs[0].Sizes[0]
	var stacked [][]byte
	var sizes [][]int64
	for k := range steps {
		at := k
		if reverse {
			at = steps - 1 - k
		}
		ins := slices.Clone(carry)
		for _, x := range xs {
			size := int64(len(x.Data)) / steps
			ins = append(ins, eval.Operand{DType: x.DType, Sizes: x.Sizes[1:], Data: x.Data[at*size : (at+1)*size]})
		}
		for i, v := range g.Inputs {
			m.tensors[v] = slices.Concat(ins, more)[i]
		}
		if err := m.graph(g); err != nil {
			return err
		}
		var outs []eval.Operand
		for _, a := range g.Outputs {
			outs = append(outs, m.tensors[a.(ir.Ref).Value])
		}
		carry = outs[:len(carry)]
		for i, y := range outs[len(carry):] {
			if k == 0 {
				stacked, sizes = append(stacked, make([]byte, steps*int64(len(y.Data)))), append(sizes, y.Sizes)
			}
			copy(stacked[i][at*int64(len(y.Data)):], y.Data)
		}
	}
	for i, v := range n.Outputs {
		if i < len(carry) {
			m.tensors[v] = carry[i]
		} else {
			j := i - len(carry)
			m.tensors[v] = eval.Operand{DType: v.Type.DType, Sizes: slices.Concat([]int64{steps}, sizes[j]), Data: stacked[j]}
		}
	}
	return nil
}

// freeSymbols returns the dynamic sizes that a function's code refers to.
func freeSymbols(f *loop.Func) []*sym.Symbol {
	bound, seen := map[*sym.Symbol]bool{}, map[*sym.Symbol]bool{}
	var order []*sym.Symbol
	note := func(e sym.Expr) {
		for _, s := range e.Symbols() {
			if !seen[s] {
				seen[s] = true
				order = append(order, s)
			}
		}
	}
	noteExpr := func(e *expr.Expr) {
		if e != nil {
			expr.Walk(e, func(e *expr.Expr) { e.Indices(note) })
		}
	}
	var walk func([]loop.Stmt)
	walk = func(body []loop.Stmt) {
		for _, s := range body {
			switch s := s.(type) {
			case *loop.For:
				bound[s.Var] = true
				note(s.Extent)
				walk(s.Body)
			case *loop.While:
				noteExpr(s.Cond)
				walk(s.Body)
			case *loop.If:
				noteExpr(s.Cond)
				walk(s.Then)
				walk(s.Else)
			case *loop.Let:
				noteExpr(s.Value)
			case *loop.Assign:
				note(s.At)
				noteExpr(s.Value)
			case *loop.LetIndex:
				bound[s.Sym] = true
				noteExpr(s.Value)
			case *loop.Store:
				note(s.At)
				noteExpr(s.Value)
			}
		}
	}
	walk(f.Body)
	return slices.DeleteFunc(order, func(s *sym.Symbol) bool { return bound[s] })
}

// tolerance is DESIGN.md's bound for an element, given the largest reference.
func tolerance(d ir.DType, ref, largest, floor float64, longest int64) float64 {
	bounds := map[ir.DType][3]float64{ // atol, rtol, eps
		ir.Float32: {1e-5, 1.3e-6, 0x1p-23}, ir.Float64: {1e-7, 1e-7, 0x1p-52},
		ir.Float16: {1e-5, 1e-3, 0x1p-10}, ir.BFloat16: {1e-5, 1.6e-2, 0x1p-7},
	}
	b, ok := bounds[d]
	if !ok {
		return 0
	}
	return b[0] + b[1]*math.Abs(ref) + 4*b[2]*math.Sqrt(float64(longest))*largest + 4*floor
}
