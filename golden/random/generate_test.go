package random

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// Bounds of generated programs.
const (
	maxNodes = 12
	maxElems = 1500 // of a tensor, at the bound of dynamic sizes
	maxRank  = 5
	maxDepth = 2 // of regions in regions
)

// Generate makes a program. The same seed gives the same one.
func Generate(table *ops.Table, seed uint64) (*ir.Program, error) {
	r := rand.New(rand.NewPCG(seed, 77))
	m := &ir.Method{Name: "forward", Graph: &ir.Graph{}}
	g := &generator{r: r, m: m, names: ir.NewNames(m)}
	if r.IntN(4) == 0 {
		lo := int64(1 + r.IntN(2))
		g.batch = sym.NewSymbol("s0", lo, lo+int64(1+r.IntN(7)))
		m.Symbols = []*sym.Symbol{g.batch}
	}
	g.main = dtypes[weighted(r, []int{60, 10, 12, 4, 7, 7})]
	g.mix = mixes[mixOf(seed)]
	graph, err := ir.BuildGraph(g.names, nil, func(e *ir.Emitter) ([]ir.Arg, error) {
		g.b = ops.NewBuilder(table, e)
		if g.batch != nil { // an input to tell it by
			g.input(g.main, []sym.Expr{g.batch.Expr(), sym.Int(1 + r.Int64N(5))})
		}
		for range 1 + r.IntN(3) {
			g.input(g.main, g.shape())
		}
		if last := mixes[len(mixes)-1]; r.IntN(3) == 0 || slices.Equal(g.mix, last) {
			g.buffer()
		}
		for range 1 + r.IntN(maxNodes) {
			g.step()
		}
		return g.outputs(), nil
	})
	if err != nil {
		return nil, err
	}
	graph.Inputs = g.inputs
	m.Graph = graph
	p := &ir.Program{Source: "random", Methods: []*ir.Method{m}}
	clean(p)
	return p, ir.Verify(p)
}

var dtypes = []ir.DType{ir.Float32, ir.Float64, ir.Int64, ir.Bool, ir.Float16, ir.BFloat16}

// mixes are how often operators of each family are tried: in the order of
// families.
var mixes = [][]int{
	{26, 22, 8, 12, 5, 9, 5, 7, 9, 6, 3, 4, 3, 2},   // a bit of all
	{26, 14, 4, 4, 3, 30, 22, 2, 2, 2, 4, 4, 4, 2},  // products and what follows them
	{16, 22, 8, 8, 2, 3, 1, 5, 22, 20, 2, 2, 2, 2},  // control flow, writes and views
	{10, 8, 6, 3, 2, 8, 2, 2, 1, 2, 90, 0, 0, 2},    // attention
	{8, 4, 6, 2, 1, 4, 2, 1, 1, 1, 0, 90, 0, 2},     // integers
	{10, 4, 8, 2, 1, 2, 8, 1, 1, 1, 0, 0, 90, 2},    // images
	{12, 18, 6, 6, 1, 3, 4, 5, 14, 12, 0, 0, 0, 50}, // updates of state
}

func mixOf(seed uint64) int { return int(seed % uint64(len(mixes))) }

// generator makes one method.
type generator struct {
	r      *rand.Rand
	b      *ops.Builder
	m      *ir.Method
	names  *ir.Names
	main   ir.DType    // of most tensors
	mix    []int       // of families
	batch  *sym.Symbol // the dynamic size; nil if all are constant
	inputs []*ir.Value // of the method
	live   []*ir.Value // tensors that may be used
	depth  int         // of regions around
	wrote  bool        // something is written in place
}

func weighted(r *rand.Rand, weights []int) int {
	all := 0
	for _, w := range weights {
		all += w
	}
	k := r.IntN(all)
	for i, w := range weights {
		if k -= w; k < 0 {
			return i
		}
	}
	return 0
}

func (g *generator) chance(n int) bool { return g.r.IntN(n) == 0 }

func pick[T any](r *rand.Rand, xs ...T) T { return xs[r.IntN(len(xs))] }

// size returns a size of a dimension.
func (g *generator) size() sym.Expr {
	if g.batch != nil && g.chance(3) {
		return g.batch.Expr()
	}
	switch {
	case g.chance(25):
		return sym.Int(0)
	case g.chance(5):
		return sym.Int(1)
	case g.chance(12):
		return sym.Int(pick(g.r, int64(16), 17, 33, 70))
	}
	return sym.Int(2 + g.r.Int64N(6))
}

// shape returns sizes of a new tensor.
func (g *generator) shape() []sym.Expr {
	for {
		sizes := make([]sym.Expr, weighted(g.r, []int{1, 4, 6, 5, 3}))
		for i := range sizes {
			sizes[i] = g.size()
		}
		if fits(sizes) {
			return sizes
		}
	}
}

func fits(sizes []sym.Expr) bool {
	_, hi := sym.Mul(sizes...).Bounds()
	return hi <= maxElems && len(sizes) <= maxRank
}

// keep makes a tensor usable.
func (g *generator) keep(vs ...*ir.Value) {
	for _, v := range vs {
		if v != nil && v.Type.Kind == ir.TensorKind && fits(v.Type.Sizes) &&
			!v.Type.DType.IsComplex() {
			g.live = append(g.live, v)
		}
	}
}

// input adds an input of the method.
func (g *generator) input(d ir.DType, sizes []sym.Expr) *ir.Value {
	return g.named("x", d, sizes)
}

func (g *generator) named(base string, d ir.DType, sizes []sym.Expr) *ir.Value {
	v := &ir.Value{Name: g.names.Fresh(base), Type: ir.TensorOf(d, sizes...)}
	g.inputs = append(g.inputs, v)
	g.m.Inputs = append(g.m.Inputs, ir.InputSpec{Kind: ir.UserInput})
	if base == "x" {
		g.keep(v)
	}
	return v
}

// buffer adds a buffer.
func (g *generator) buffer() *ir.Value { return g.held("b", ir.Buffer, g.main, g.constShape()) }

// constShape is a shape without dynamic sizes.
func (g *generator) constShape() []sym.Expr {
	batch := g.batch
	g.batch = nil
	defer func() { g.batch = batch }()
	return g.shape()
}

// held adds a parameter or buffer.
func (g *generator) held(base string, kind ir.InputKind, d ir.DType, sizes []sym.Expr) *ir.Value {
	t := ir.TensorOf(d, sizes...)
	n, _ := t.Numel().Const()
	name := g.names.Fresh(base)
	v := &ir.Value{Name: name, Type: t, Const: &ir.Constant{Name: name, Type: t,
		Data: ir.Bytes(fill(name, 0, d, n))}}
	g.inputs = append(g.inputs, v)
	g.m.Inputs = append(g.m.Inputs, ir.InputSpec{Kind: kind, Target: name, Persistent: kind ==
		ir.Buffer})
	if kind == ir.Buffer {
		g.keep(v)
	}
	return v
}

// weight returns a tensor that is not computed: a parameter, a constant, or an
// input of the method.
func (g *generator) weight(d ir.DType, sizes ...sym.Expr) *ir.Value { return g.data("w", d, sizes) }

func (g *generator) data(base string, d ir.DType, sizes []sym.Expr) *ir.Value {
	n, _ := sym.Mul(sizes...).Const()
	constant := !slices.ContainsFunc(sizes, func(s sym.Expr) bool { return len(s.Symbols()) > 0 })
	switch k := g.r.IntN(4); {
	case !constant || k == 0:
		return g.named(base, d, sizes)
	case k == 1:
		t := ir.TensorOf(d, sizes...)
		c := &ir.Constant{Type: t}
		v := g.b.Constant(base, c)
		c.Data = ir.Bytes(fill(v.Name, 0, d, n))
		return v
	}
	return g.held(base, ir.Parameter, d, sizes)
}

// indices returns a tensor of indices below bound.
func (g *generator) indices(bound int64, sizes ...sym.Expr) *ir.Value {
	return g.data(fmt.Sprintf("idx%d", bound), ir.Int64, sizes)
}

// any returns a usable tensor for which ok holds, or nil.
func (g *generator) any(ok func(*ir.Value) bool) *ir.Value {
	var found []*ir.Value
	for i, v := range g.live {
		if ok(v) {
			found = append(found, v)
			if i >= len(g.live)-3 { // rather what is new
				found = append(found, v, v)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[g.r.IntN(len(found))]
}

func isFloat(v *ir.Value) bool  { return v.Type.DType.IsFloat() }
func isTensor(*ir.Value) bool   { return true }
func isBool(v *ir.Value) bool   { return v.Type.DType == ir.Bool }
func isNumber(v *ir.Value) bool { return v.Type.DType != ir.Bool }

// dim returns the size of a dimension if it is constant.
func dim(v *ir.Value, d int) int64 {
	n, ok := v.Type.Sizes[d].Const()
	if !ok {
		return -1
	}
	return n
}

// step emits something. A call that does not fit its operands is left out.
func (g *generator) step() {
	families := []func() error{
		g.pointwise, g.view, g.join, g.reduce, g.normalise, g.product, g.spatial, g.selecting,
		g.write, g.control, g.attention, g.integers, g.images, g.update}
	for range 5 {
		if families[weighted(g.r, g.mix)]() == nil {
			return
		}
	}
}

var errNoFit = fmt.Errorf("no operand fits")

// call emits a call and keeps its results.
func (g *generator) call(op string, args ...any) error {
	vs, err := g.b.Call(op, args...)
	if err == nil {
		g.keep(vs...)
	}
	return err
}
