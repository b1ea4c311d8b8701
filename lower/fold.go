package lower

import (
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
)

// foldSlack is by how many bytes folding may make the constants of a program
// grow, each time.
const foldSlack = 1024

// foldWidening is how many times the bytes of the constants that nobody else
// needs folding may store where time counts more than space: what weights of
// one byte take as float32.
const foldWidening = 4

// foldLimit is how many bytes each result of a node may take, if it is larger
// than all operands: a model can ask for more than the machine has.
const foldLimit = 64 << 20

// Folding a method runs about no more iterations of loops than foldWork and
// foldPerByte for each byte of the constants that it begins with: what would take
// longer is left to run time.
const (
	foldWork    = 1 << 28
	foldPerByte = 16
)

// FoldConstants computes nodes whose operands are constants, and puts the
// region of a cond whose predicate is constant in its place. It does not fold
// what would make the program bigger: nodes that hang together by constants
// are folded if the results that others read take no more bytes than the
// constants that nobody else needs, give or take foldSlack; if not, those of
// them are that alone do not make it bigger. Permuting, reshaping or scaling
// weights passes; a large mask made of a few numbers does not. Where
// Context.Speed is set, weights that are kept in narrow types may be folded into
// wide ones too. Views of constants share the data. What takes very much memory
// on the way is not folded either.
var FoldConstants = Pass{
	Name: "fold-constants",
	Doc:  "compute what depends on constants only, unless the program grows by it",
	Run:  foldConstants(foldSlack, nil),
}

// FoldConstantsTightly is FoldConstants that lets the constants of a program
// grow by no more than what the instructions it saves take in a file.
var FoldConstantsTightly = Pass{
	Name: "fold-constants-tightly",
	Doc:  "compute what depends on constants only, unless the file grows by it",
	Run:  foldConstants(instructionBytes, nil),
}

// foldUnquantized is FoldConstants that leaves what is quantized to passes that compute in
// integers, but for what recurrent layers begin with, which becomes state.
func foldUnquantized(slack int64) Pass {
	return Pass{
		Name: "fold-constants-unquantized",
		Doc:  "compute what depends on constants only, but for what is quantized",
		Run: func(ctx *Context, p *ir.Program) error {
			begins := map[*ir.Node]bool{}
			var add func(*ir.Value)
			add = func(v *ir.Value) {
				if n := v.Def; n != nil && !begins[n] {
					begins[n] = true
					for _, arg := range n.Args {
						ir.EachRef(arg.Value, add)
					}
				}
			}
			for _, m := range p.Methods {
				for n := range m.Graph.All() {
					if hx := n.Arg("hx"); recurrent[n.Op] > 0 && hx != nil {
						ir.EachRef(hx, add)
					}
				}
			}
			return foldConstants(slack, func(n *ir.Node) bool {
				return strings.HasPrefix(n.Op, "quantized_decomposed.") && !begins[n]
			})(ctx, p)
		},
	}
}

// instructionBytes is about what a call in a .pte takes together with its result
// and arguments: an instruction, a tensor with its place, numbers in lists.
const instructionBytes = 160

// foldConstants lets the constants of a program grow by slack; it leaves the nodes that keep
// tells, if it is not nil.
func foldConstants(slack int64, keep func(*ir.Node) bool) func(*Context, *ir.Program) error {
	return perNode(func(ctx *Context, p *ir.Program, m *ir.Method) visitor {
		f := newFolder(ctx, m, Constants(p, m), keep)
		f.slack, f.widening, f.machine.Done = slack, 1, ctx.Done
		if ctx.Speed {
			f.widening = foldWidening
		}
		f.choose()
		return f.visit
	})
}

type folder struct {
	table    *ops.Table
	custom   CustomKernels       // may be nil
	keep     func(*ir.Node) bool // may be nil
	slack    int64
	widening int64
	machine  *interp.Interpreter
	constant map[*ir.Value]bool
	uses     map[*ir.Value]int
	work     int64              // iterations that may still run
	begins   map[*ir.Value]bool // constants that work has its share of
	nodes    []*ir.Node         // candidates: every operand is constant
	fold     map[*ir.Node]bool
}

func newFolder(ctx *Context, m *ir.Method, constant map[*ir.Value]bool,
	keep func(*ir.Node) bool) *folder {
	f := &folder{table: ctx.Table, custom: ctx.Custom, keep: keep, machine: interp.New(ctx.Table),
		constant: constant, uses: ir.Uses(m.Graph), fold: map[*ir.Node]bool{}}
	f.work, f.begins = foldWork, map[*ir.Value]bool{}
	f.collect(m.Graph)
	most := int64(foldWork) // for loops whose end only running them tells
	for v := range f.begins {
		most += foldPerByte * storedBytes(v)
	}
	f.machine.Limit = &most
	return f
}

// collect finds the candidates.
func (f *folder) collect(g *ir.Graph) {
	for _, n := range g.Nodes {
		for _, r := range n.Regions {
			f.collect(r)
		}
		if f.foldable(n) {
			f.nodes = append(f.nodes, n)
			for _, v := range n.Outputs {
				f.constant[v] = true
			}
		}
	}
}

func (f *folder) foldable(n *ir.Node) bool {
	if len(n.Regions) > 0 || HasEffect(f.table, n) || n.Op == ops.UnpackInt4 ||
		f.keep != nil && f.keep(n) {
		return false
	}
	most := int64(foldLimit)
	operands(n, func(v *ir.Value) { most = max(most, storedBytes(v)) })
	for _, v := range n.Outputs {
		if v == nil {
			continue
		}
		if b, ok := denseBytes(v.Type); !ok || b > most {
			return false
		}
	}
	for _, a := range n.Args {
		ok := true
		ir.EachRef(a.Value, func(v *ir.Value) { ok = ok && (f.constant[v] || knownInt(v)) })
		if !ok {
			return false
		}
	}
	c, err := f.table.Bind(n)
	if err == nil && c.Op.Custom != nil {
		return f.custom != nil && f.custom.Has(c.Op.Name())
	}
	return err == nil && HasKernel(c.Op) && f.afford(c)
}

// afford reports whether there is time left for a call, which it takes.
func (f *folder) afford(c *ops.Call) bool {
	for _, v := range c.Operands() {
		if v.Const != nil && !f.begins[v] {
			f.begins[v] = true
			f.work += foldPerByte * storedBytes(v)
		}
	}
	work := iterations(c)
	if work > f.work {
		return false
	}
	f.work -= work
	return true
}

// storedBytes returns what a constant takes: less than its elements if it repeats
// some.
func storedBytes(v *ir.Value) int64 {
	n, _ := denseBytes(v.Type)
	if v.Const != nil && v.Const.Data != nil {
		n = min(n, v.Const.Data.Size())
	}
	return n
}

// knownInt reports whether v is an integer constant.
func knownInt(v *ir.Value) bool {
	if v.Type.Kind != ir.IntKind || !v.Type.HasExpr {
		return false
	}
	_, ok := v.Type.Expr.Const()
	return ok
}

// operands calls do for every tensor operand of n, once for each time it is
// given.
func operands(n *ir.Node, do func(*ir.Value)) {
	for _, a := range n.Args {
		ir.EachRef(a.Value, func(v *ir.Value) {
			if v.Type.Kind == ir.TensorKind {
				do(v)
			}
		})
	}
}

func (f *folder) visit(b *ops.Builder, n *ir.Node) []*ir.Value {
	if n.Op == "higher_order.cond" {
		return f.cond(b, n)
	}
	if !f.fold[n] {
		return nil
	}
	c, err := f.table.Bind(n)
	if err != nil {
		return nil
	}
	repl := make([]*ir.Value, len(n.Outputs))
	if v := n.Output(0); len(n.Outputs) == 1 && v != nil {
		if k, ok := restride(c, v.Type); ok {
			repl[0] = f.made(b, v, k)
			return repl
		}
	}
	if slices.ContainsFunc(c.Operands(), func(v *ir.Value) bool { return v.Const == nil }) {
		return nil // what it reads could not be folded
	}
	outs, err := f.results(n, c)
	if err != nil {
		return nil // left to run time, which reports it
	}
	for i, v := range n.Outputs {
		if v == nil || f.uses[v] == 0 {
			continue
		}
		t := v.Type
		t.Strides, t.Offset = ir.Contiguous(t.Sizes), sym.Expr{}
		repl[i] = f.made(b, v, &ir.Constant{Type: t, Data: ir.Bytes(outs[i])})
	}
	return repl
}

// results computes the elements of a node's results, of those that are used.
func (f *folder) results(n *ir.Node, c *ops.Call) (outs [][]byte, err error) {
	outs = make([][]byte, len(n.Outputs))
	if c.Op.Custom != nil {
		for i, t := range c.Outs {
			size, _ := denseBytes(t)
			outs[i] = make([]byte, size)
		}
		return outs, f.custom.Run(c, outs)
	}
	if err = f.machine.Node(n); err != nil {
		return nil, err
	}
	for i, v := range n.Outputs {
		if v == nil || f.uses[v] == 0 {
			continue
		}
		x, err := f.machine.Get(v)
		if err != nil {
			return nil, err
		}
		outs[i] = x.Tensor.Data
	}
	return outs, nil
}

// made returns the constant that v is.
func (f *folder) made(b *ops.Builder, v *ir.Value, k *ir.Constant) *ir.Value {
	c := b.Constant(v.Name, k)
	c.Type = v.Type
	f.constant[c] = true
	return c
}

// cond replaces a cond whose predicate is a constant by the region it chooses.
func (f *folder) cond(b *ops.Builder, n *ir.Node) []*ir.Value {
	ref, ok := n.Args[0].Value.(ir.Ref)
	if !ok || ref.Value.Const == nil || !f.constant[ref.Value] {
		return nil
	}
	data, err := ir.Tensor(ref.Value.Const)
	if err != nil || len(data) != 1 {
		return nil
	}
	chosen := n.Regions[1]
	if data[0] != 0 {
		chosen = n.Regions[0]
	}
	return inlineRegion(b, n, chosen, nil)
}

// choose decides which candidates to fold.
func (f *folder) choose() {
	for _, group := range f.groups() {
		if f.grown(group) {
			f.chooseSingly(group)
			continue
		}
		for _, n := range group {
			f.fold[n] = true
		}
	}
}

// grown reports whether folding nodes makes the program bigger.
func (f *folder) grown(nodes []*ir.Node) bool {
	stored, freed := f.cost(nodes)
	return stored > f.widening*freed+f.slack
}

// groups returns the candidates that hang together by constants, in order.
func (f *folder) groups() [][]*ir.Node {
	parent := make([]int, len(f.nodes))
	var find func(int) int
	find = func(i int) int {
		if parent[i] != i {
			parent[i] = find(parent[i])
		}
		return parent[i]
	}
	first := map[*ir.Value]int{} // the candidate that a constant was met at
	for i, n := range f.nodes {
		parent[i] = i
		join := func(v *ir.Value) {
			if k, ok := first[v]; ok {
				parent[find(i)] = find(k)
			} else {
				first[v] = i
			}
		}
		operands(n, join)
		for _, v := range n.Outputs {
			if v != nil {
				join(v)
			}
		}
	}
	index := map[int]int{}
	var groups [][]*ir.Node
	for i, n := range f.nodes {
		root := find(i)
		at, ok := index[root]
		if !ok {
			at = len(groups)
			index[root] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], n)
	}
	return groups
}

// cost returns the bytes of the results of nodes that others read, and of the
// constants that others do not.
func (f *folder) cost(nodes []*ir.Node) (stored, freed int64) {
	inside := map[*ir.Value]int{} // uses by nodes
	var order []*ir.Value
	for _, n := range nodes {
		operands(n, func(v *ir.Value) {
			if inside[v] == 0 {
				order = append(order, v)
			}
			inside[v]++
		})
	}
	made := map[*ir.Value]bool{}
	for _, n := range nodes {
		for _, v := range n.Outputs {
			if v == nil {
				continue
			}
			made[v] = true
			if f.uses[v] > inside[v] {
				n, _ := denseBytes(v.Type)
				stored += n
			}
		}
	}
	for _, v := range order {
		if !made[v] && f.uses[v] == inside[v] {
			freed += storedBytes(v)
		}
	}
	return stored, freed
}

// chooseSingly folds those of a group that alone do not make the program
// bigger.
func (f *folder) chooseSingly(group []*ir.Node) {
	left := map[*ir.Value]bool{} // results that stay computed at run time
	for _, n := range group {
		ok := true
		operands(n, func(v *ir.Value) { ok = ok && !left[v] })
		if ok && !f.grown([]*ir.Node{n}) {
			f.fold[n] = true
			continue
		}
		for _, v := range n.Outputs {
			left[v] = true
		}
	}
}

// iterations is about how often the innermost statements of a call's loops run,
// 0 if that is not known. Loops with a condition count once.
func iterations(c *ops.Call) int64 {
	sum := int64(0)
	switch {
	case c.Op.Compute != nil:
		tensors, err := c.Op.Compute(c)
		if err != nil {
			return 0
		}
		for _, x := range tensors {
			sum = plus(sum, times(values(x.Vars), terms(x.Body, map[*expr.Expr]bool{})))
		}
	case c.Op.Loops != nil:
		if f, err := c.Op.Loops(c); err == nil {
			sum = rounds(f.Body)
		}
	}
	return sum
}

// terms is the number of values that the reductions in e combine, at least 1.
func terms(e *expr.Expr, seen map[*expr.Expr]bool) int64 {
	if e == nil || seen[e] {
		return 1
	}
	seen[e] = true
	sum := int64(0)
	for _, a := range e.Args {
		if n := terms(a, seen); n > 1 {
			sum = plus(sum, n)
		}
	}
	sum = max(sum, 1)
	if e.Op == expr.OpReduce {
		sum = times(sum, values(e.Vars))
	}
	return sum
}

func rounds(body []loop.Stmt) int64 {
	sum := int64(1)
	for _, s := range body {
		switch s := s.(type) {
		case *loop.For:
			_, most := s.Extent.Bounds()
			if most == math.MaxInt64 {
				most = 1 // nothing is known
			}
			sum = plus(sum, times(max(most, 0), rounds(s.Body)))
		case *loop.While:
			sum = plus(sum, rounds(s.Body))
		case *loop.If:
			sum = plus(sum, max(rounds(s.Then), rounds(s.Else)))
		}
	}
	return sum
}

// values is how many values variables take together, at their bounds.
func values(vars []*sym.Symbol) int64 {
	n := int64(1)
	for _, v := range vars {
		if _, hi := v.Hi.Bounds(); hi != math.MaxInt64 {
			n = times(n, max(hi+1, 0))
		}
	}
	return n
}

// plus and times of numbers that are not negative end at the largest.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	if b != 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// Constants returns the values of m and its regions whose data is there and never changes,
// except what nodes compute of them.
func Constants(p *ir.Program, m *ir.Method) map[*ir.Value]bool {
	out, written := map[*ir.Value]bool{}, p.Written()
	for i, v := range m.Graph.Inputs {
		out[v] = v.Const != nil && v.Const.Data != nil && (m.Inputs[i].Kind == ir.TensorConstant ||
			!written[m.Inputs[i].Target])
	}
	m.Graph.Walk(func(g *ir.Graph) {
		for _, v := range g.Constants {
			out[v] = v.Const != nil && v.Const.Data != nil
		}
	})
	return out
}

// denseBytes returns the bytes that a tensor of static sizes takes; ok is
// false for others.
func denseBytes(t ir.Type) (n int64, ok bool) {
	if t.Kind != ir.TensorKind {
		return 0, false
	}
	return t.Bytes().Const()
}

// restride returns the constant that a call makes of a constant operand by
// looking at its elements another way, without touching the data; ok is false
// if it does more, or needs no constant strides for it.
func restride(c *ops.Call, out ir.Type) (k *ir.Constant, ok bool) {
	if len(c.Outs) != 1 {
		return nil, false
	}
	operand, from, coords, ok := reads(c)
	if !ok || c.Operands()[operand].Const == nil || c.Operands()[operand].Type.DType != out.DType {
		return nil, false
	}
	src := c.Operands()[operand].Const
	at := src.Type.Offset
	for d, x := range from {
		at = sym.Add(at, sym.Mul(x, src.Type.Strides[d]))
	}
	t := out
	t.Strides = make([]sym.Expr, len(coords))
	for d, x := range coords {
		v := x.Symbols()
		if len(v) != 1 { // a dimension of size 1 or 0
			t.Strides[d] = sym.Int(1)
			continue
		}
		if t.Strides[d], at, ok = at.Coef(v[0]); !ok {
			return nil, false
		}
		if n, isConst := t.Strides[d].Const(); !isConst || n < 0 {
			return nil, false
		}
	}
	if n, isConst := at.Const(); !isConst || n < 0 {
		return nil, false
	}
	t.Offset = at
	k = &ir.Constant{Name: src.Name, Type: t, Data: src.Data}
	return k, ir.CheckConstant(k) == nil
}
