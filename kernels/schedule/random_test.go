package schedule_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
)

// generator makes random tensor expressions with guards, gathers, nested
// reductions and shared nodes over random operands.
type generator struct {
	*rand.Rand
	operands []schedule.OperandInfo
	scope    []*sym.Symbol
	pool     []pooled // nodes made before, to share
	syms     map[*sym.Symbol]int64
	sizes    []sym.Expr
	names    int
}

type pooled struct {
	e     *expr.Expr
	scope []*sym.Symbol
}

func (g *generator) newVar(n sym.Expr) *sym.Symbol {
	g.names++
	return sym.NewVar(fmt.Sprintf("v%d", g.names), n)
}

func (g *generator) value(x sym.Expr) int64 {
	n, err := x.Eval(func(s *sym.Symbol) (int64, bool) { v, ok := g.syms[s]; return v, ok })
	if err != nil {
		panic(err)
	}
	return n
}

func (g *generator) size() sym.Expr { return g.sizes[g.IntN(len(g.sizes))] }

var genTypes = []ir.DType{ir.Float32, ir.Float32, ir.Int32, ir.Int8, ir.Uint8, ir.Int64, ir.Bool,
	ir.Float16, ir.Float64}

func (g *generator) leaf(d ir.DType) *expr.Expr {
	switch g.IntN(6) {
	case 0:
		return expr.Num(d, float64(g.IntN(5)-1))
	case 1:
		if d.IsInt() && len(g.scope) > 0 {
			return expr.Idx(d, g.scope[g.IntN(len(g.scope))].Expr())
		}
	case 2:
		return expr.Cast(d, expr.ScalarRef(0, ir.Int32))
	}
	return g.load(d)
}

// load reads an operand of dtype d at coordinates that are in range, by their
// ranges or by a guard.
func (g *generator) load(d ir.DType) *expr.Expr {
	var fit []int
	for k, o := range g.operands {
		if o.DType == d {
			fit = append(fit, k)
		}
	}
	if len(fit) == 0 {
		k := g.IntN(len(g.operands))
		return expr.Cast(d, g.load(g.operands[k].DType))
	}
	k := fit[g.IntN(len(fit))]
	guard := expr.Bool(true)
	var coords []sym.Expr
	for _, s := range g.operands[k].Sizes {
		x, cond := g.coord(s)
		coords = append(coords, x)
		guard = expr.And(guard, cond)
	}
	return expr.Select(guard, expr.At(k, d, coords...), expr.Num(d, float64(g.IntN(2))))
}

func (g *generator) coord(size sym.Expr) (sym.Expr, *expr.Expr) {
	always := expr.Bool(true)
	if size.Is(1) {
		return sym.Int(0), always
	}
	for range 4 {
		if len(g.scope) == 0 {
			break
		}
		v := g.scope[g.IntN(len(g.scope))]
		if expr.Extent(v).Equal(size) && g.IntN(4) > 0 {
			if g.IntN(4) == 0 { // backwards
				return sym.Sub(v.Hi, v.Expr()), always
			}
			return v.Expr(), always
		}
		switch g.IntN(5) {
		case 0: // a window that sticks out
			w := g.scope[g.IntN(len(g.scope))]
			x := sym.Sub(sym.Add(sym.Mul(sym.Int(int64(1+g.IntN(2))), v.Expr()), w.Expr()),
				sym.Int(int64(g.IntN(2))))
			return x, expr.InRange(x, sym.Int(0), size)
		case 1:
			x := sym.FloorDiv(v.Expr(), sym.Int(2))
			return x, expr.InRange(x, sym.Int(0), size)
		case 2:
			if sym.Less(sym.Int(0), size) {
				return sym.Mod(v.Expr(), size), always
			}
		case 3: // a gather
			if !sym.Less(sym.Int(0), size) {
				break
			}
			idx := g.expr(ir.Int64, 1)
			n := expr.Idx(ir.Int64, size)
			pos := expr.Rem(expr.Add(expr.Rem(idx, n), n), n)
			return expr.Bind("idx", pos, size).Expr(), always
		}
	}
	x := sym.Int(int64(g.IntN(3)))
	return x, expr.InRange(x, sym.Int(0), size)
}

func (g *generator) expr(d ir.DType, depth int) *expr.Expr {
	if depth == 0 {
		return g.leaf(d)
	}
	if g.IntN(5) == 0 {
		for range 3 {
			if len(g.pool) == 0 {
				break
			}
			p := g.pool[g.IntN(len(g.pool))]
			if p.e.DType == d && !slices.ContainsFunc(p.scope, func(s *sym.Symbol) bool {
				return !slices.Contains(g.scope, s)
			}) {
				return p.e
			}
		}
	}
	e := g.node(d, depth)
	g.pool = append(g.pool, pooled{e, slices.Clone(g.scope)})
	return e
}

func (g *generator) node(d ir.DType, depth int) *expr.Expr {
	sub := func() *expr.Expr { return g.expr(d, depth-1) }
	switch g.IntN(9) {
	case 0:
		return expr.Select(g.expr(ir.Bool, depth-1), sub(), sub())
	case 1:
		from := genTypes[g.IntN(len(genTypes))]
		if from.IsFloat() && d.IsInt() {
			return sub() // out of range is open
		}
		return expr.Cast(d, g.expr(from, depth-1))
	case 2, 3:
		return g.reduce(d, depth)
	case 4:
		if d == ir.Bool {
			from := genTypes[g.IntN(len(genTypes))]
			return expr.Lt(g.expr(from, depth-1), g.expr(from, depth-1))
		}
		return expr.Min(sub(), sub())
	case 5:
		if d == ir.Bool {
			return expr.Not(sub())
		}
		return expr.Neg(sub())
	case 6:
		return expr.Max(sub(), sub())
	case 7:
		if d.IsInt() {
			return expr.Div(sub(), expr.Or(sub(), expr.Int(d, 1)))
		}
	}
	if d == ir.Bool {
		return expr.Xor(sub(), sub())
	}
	return expr.Sub(sub(), sub())
}

func (g *generator) reduce(d ir.DType, depth int) *expr.Expr {
	var vars []*sym.Symbol
	for range 1 + g.IntN(2) {
		vars = append(vars, g.newVar(g.size()))
	}
	old := g.scope
	g.scope = append(slices.Clip(g.scope), vars...)
	defer func() { g.scope = old }()
	switch g.IntN(4) {
	case 0:
		return expr.MaxOf(vars, g.expr(d, depth-1))
	case 1:
		return expr.MinOf(vars, g.expr(d, depth-1))
	case 2:
		if d == ir.Int64 {
			arg := []func([]*sym.Symbol, *expr.Expr) *expr.Expr{
				expr.ArgMax, expr.ArgMin, expr.ArgMaxLastNaN}[g.IntN(3)]
			return arg(vars, g.expr(genTypes[g.IntN(len(genTypes))], depth-1))
		}
	}
	if d == ir.Bool {
		return expr.MaxOf(vars, g.expr(d, depth-1))
	}
	return expr.Sum(vars, g.expr(d, depth-1))
}

func (g *generator) operand() eval.Operand {
	o := g.operands[len(g.operands)-1]
	out := eval.Operand{DType: o.DType}
	n := int64(1)
	for _, s := range o.Sizes {
		out.Sizes = append(out.Sizes, g.value(s))
		n *= g.value(s)
	}
	out.Data = make([]byte, n*int64(o.DType.Size()))
	for i := range n {
		v := expr.Convert(eval.Value{F: float64(g.IntN(9) - 4)}, ir.Float64, o.DType)
		if o.DType.IsFloat() && g.IntN(40) == 0 {
			v.F = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}[g.IntN(4)]
		}
		eval.Put(o.DType, out.Data, i, v)
	}
	return out
}

func TestRandom(t *testing.T) {
	for seed := range tier.Of[uint64](200, 3000, 10_000) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), syms: map[*sym.Symbol]int64{}}
		n := sym.NewSymbol("n", int64(seed%2), 6)
		g.syms[n] = int64(seed%2) + int64(g.IntN(5))
		g.sizes = []sym.Expr{sym.Int(1), sym.Int(2), sym.Int(3), sym.Int(4), n.Expr()}
		var data []eval.Operand
		for range 1 + g.IntN(3) {
			o := schedule.OperandInfo{DType: genTypes[g.IntN(len(genTypes))]}
			for range g.IntN(4) {
				o.Sizes = append(o.Sizes, g.size())
			}
			g.operands = append(g.operands, o)
			data = append(data, g.operand())
		}
		var vars []*sym.Symbol
		for range g.IntN(4) {
			vars = append(vars, g.newVar(g.size()))
		}
		var outs []expr.Tensor
		for range 1 + g.IntN(2) {
			if g.IntN(4) == 0 {
				vars = []*sym.Symbol{g.newVar(g.size())}
				g.pool = nil
			}
			g.scope = vars
			d := genTypes[g.IntN(len(genTypes))]
			outs = append(outs, expr.Tensor{DType: d, Vars: vars, Body: g.expr(d, 1+g.IntN(4))})
		}
		checkOuts(t, fmt.Sprintf("seed%d", seed), outs, g.operands, data, g.syms,
			schedule.Options{Lanes: int(seed%3) * 2, Interchange: int(seed % 2)})
		if t.Failed() {
			return
		}
	}
}

// checkOuts builds the loops of outs and compares what they compute with the
// direct meaning.
func checkOuts(t *testing.T, name string, outs []expr.Tensor, operands []schedule.OperandInfo,
	data []eval.Operand, syms map[*sym.Symbol]int64, opts schedule.Options) *loop.Func {
	t.Helper()
	opts.Scalars = []ir.DType{ir.Int32}
	scalars := []eval.Value{{I: 2}}
	var want []eval.Operand
	for _, o := range outs {
		w, err := reference.Tensor(o, data, syms, scalars)
		if err != nil {
			t.Fatalf("%s: reference: %v\n%s", name, err, o)
		}
		want = append(want, w)
	}
	f, err := schedule.Build(name, outs, operands, opts)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var bufs [][]byte
	for _, w := range want {
		bufs = append(bufs, make([]byte, len(w.Data)))
	}
	for _, o := range data {
		bufs = append(bufs, o.Data)
	}
	bufs = append(bufs, scratchOf(f)...)
	var values []int64
	for _, s := range f.Syms {
		values = append(values, syms[s])
	}
	dump := func() string {
		out := f.String()
		for _, o := range outs {
			out += o.String() + "\n"
		}
		return out
	}
	if r := reference.Verify(f); len(r.Errors) > 0 {
		t.Fatalf("%s: %v\n%s", name, r.Errors, dump())
	}
	if err := eval.Run(f, bufs, values, scalars); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, dump())
	}
	for k, w := range want {
		for i := range int64(len(w.Data) / w.DType.Size()) {
			a, b := eval.Get(w.DType, bufs[k], i), eval.Get(w.DType, w.Data, i)
			if !same(a, b) {
				t.Fatalf("%s: output %d element %d is %v, want %v\n%s", name, k, i, a, b, dump())
			}
		}
	}
	checkParts(t, f, bufs, values, scalars)
	return f
}

// scratchOf makes scratch memory for f, with something in it.
func scratchOf(f *loop.Func) [][]byte {
	var out [][]byte
	for _, b := range f.Bufs {
		if n, _ := b.Len.Const(); b.Role == loop.Scratch {
			out = append(out, bytes.Repeat([]byte{0xA5}, int(n)*b.DType.Size()))
		}
	}
	return out
}

func same(a, b eval.Value) bool {
	if a.F != a.F || b.F != b.F {
		return a.F != a.F && b.F != b.F
	}
	return a.I == b.I && (a.F == b.F || math.Abs(a.F-b.F) <= 1e-4*math.Max(1, math.Abs(b.F)))
}
