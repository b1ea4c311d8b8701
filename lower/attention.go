package lower

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// FindAttention makes one operator of attention that is written out: a product
// of queries and transposed keys, scaled by constants anywhere, with at most one
// mask, softmax over the keys, and a product with values. Views between these,
// repeated heads of keys and values among them, are understood by where elements
// come from. It changes only what the target has a kernel for, and only scores
// that nothing else reads. Tensors must be dense.
var FindAttention = Pass{
	Name: "find-attention",
	Doc:  "make one operator of attention that is written out, where the target has a kernel for it",
	Run: perMethod(func(ctx *Context, p *ir.Program, m *ir.Method) {
		if ctx.Legal == nil {
			return
		}
		f := &attentionFinder{simplifier: simplifier{table: ctx.Table}, constant: Constants(p, m),
			uses: ir.Uses(m.Graph), found: map[*ir.Node]*attention{}}
		m.Graph.Walk(func(g *ir.Graph) {
			f.here = map[*ir.Node]bool{}
			for _, n := range g.Nodes {
				f.here[n] = true
				if a := f.attention(n); a != nil && f.accepted(ctx, a) {
					f.found[n] = a
				}
			}
		})
		if len(f.found) > 0 {
			rewrite(ctx.Table, m, f.visit)
		}
	}),
}

type attentionFinder struct {
	simplifier
	constant map[*ir.Value]bool
	uses     map[*ir.Value]int
	here     map[*ir.Node]bool       // nodes of the graph that is looked at, so far
	found    map[*ir.Node]*attention // by the product with the values
}

// attention is what takes the place of a product with values.
type attention struct {
	q, k, v matrices
	mask    scoreMask
	scale   float64
	rests   bool // see ops.Attention
}

// attention reads n as attention's last product, or returns nil. All of it is in
// n's own graph: what a loop reads from around it would be computed in each turn.
func (f *attentionFinder) attention(n *ir.Node) *attention {
	p, v := factors(n)
	if p == nil {
		return nil
	}
	softmax, rests := f.softmax(p)
	if softmax == nil {
		return nil
	}
	a := &attention{rests: rests}
	scores := softmax.Value("self")
	sizes := scores.Type.Sizes // in front of a matrix's are those of batch and heads
	if len(sizes) > 4 {
		return nil
	}
	var product *ir.Value
	for _, m := range f.masks(scores) {
		if m.Value != nil && f.uses[m.scores] != 1 {
			continue
		}
		if product, a.scale = f.product(m.scores); product != nil {
			a.mask = m
			break
		}
	}
	lead, rows := sizes[:len(sizes)-2], len(sizes)-2
	l, s := sizes[rows], sizes[rows+1]
	if product == nil || !f.here[product.Def] || !batches(product, l, s) || !batches(p, l, s) {
		return nil
	}
	q, k := factors(product.Def)
	last := func(v *ir.Value) sym.Expr { return v.Type.Sizes[v.Type.Rank()-1] }
	a.q = f.matrices(q, lead, l, last(q), factor{scaled: true})
	a.k = f.matrices(k, lead, s, last(q), factor{scaled: true, transposed: true, repeats: true})
	a.v = f.matrices(v, lead, s, last(v), factor{repeats: true})
	if !a.k.whole() || !a.v.whole() {
		return nil // the products' batches are others than those of the scores
	}
	if a.scale *= a.q.scale * a.k.scale; !proper(a.scale) {
		return nil
	}
	return a
}

// batches reports whether v, the scores in another shape, is still matrices of l
// by s, or one matrix of them all.
func batches(v *ir.Value, l, s sym.Expr) bool {
	sizes := v.Type.Sizes
	n := len(sizes)
	return sizes[n-1].Equal(s) && (sizes[n-2].Equal(l) || n == 2 || sizes[0].Is(1))
}

// factors returns what n multiplies if it is a product of matrices, or of
// batches of them.
func factors(n *ir.Node) (x, y *ir.Value) {
	if n == nil || n.Op != "aten.bmm.default" && n.Op != "aten.mm.default" || n.Output(0) == nil {
		return nil, nil
	}
	arg := func(name string) *ir.Value {
		r, _ := n.Arg(name).(ir.Ref)
		return r.Value
	}
	return arg("self"), arg("mat2")
}

// product returns the product of matrices that scores are but for their shape
// and a factor, nil if something else reads it or what is between.
func (f *attentionFinder) product(scores *ir.Value) (v *ir.Value, scale float64) {
	scale = 1
	for v = scores; ; {
		if v = f.shown(v); v == nil {
			return nil, 0
		}
		if x, _ := factors(v.Def); x != nil {
			return v, scale
		}
		x, by := f.multiplied(v)
		if x == nil {
			return nil, 0
		}
		if f.uses[x] != 1 {
			return nil, 0
		}
		v, scale = x, scale*by
	}
}

// multiplied returns what v is a multiple of, and by which constant.
func (f *attentionFinder) multiplied(v *ir.Value) (*ir.Value, float64) {
	c := f.definition(v)
	if c == nil {
		return nil, 0
	}
	name := c.Op.Name()
	switch name {
	case "aten.mul.Tensor", "aten.mul.Scalar", "aten.div.Tensor", "aten.div.Scalar":
	default:
		return nil, 0
	}
	x, y := c.Value("self"), c.Value("other")
	by, ok := f.numberArg(c, "other")
	if !ok && y != nil && y.Type.Kind == ir.TensorKind && ir.OpBase(name) == "mul" {
		x = y
		by, ok = f.number(c.Value("self"))
	}
	if ir.OpBase(name) == "div" {
		by = 1 / by
	}
	if !ok || x == nil || x.Type.DType != v.Type.DType ||
		!sym.AllEqual(x.Type.Sizes, v.Type.Sizes) || !proper(by) {
		return nil, 0
	}
	return x, by
}

// proper reports whether float32 holds a factor as a number that is not zero.
func proper(x float64) bool {
	y := math.Abs(float64(float32(x)))
	return y > 0 && y <= math.MaxFloat32
}

// args returns the arguments of ops.Attention.
func (a *attention) args(q, k, v, mask *ir.Value) []any {
	var m any
	if mask != nil {
		m = mask
	}
	return []any{q, k, v, m, a.scale, a.mask.none, a.rests}
}

// accepted reports whether the target does a as a whole.
func (f *attentionFinder) accepted(ctx *Context, a *attention) bool {
	of := func(m matrices) *ir.Value {
		return &ir.Value{Name: m.Name, Type: ir.TensorOf(m.Type.DType, m.sizes...)}
	}
	n := &ir.Node{Op: ops.Attention}
	for i, x := range a.args(of(a.q), of(a.k), of(a.v), a.mask.Value) {
		arg, err := ops.ToArg(x)
		if err != nil {
			return false
		}
		n.Args = append(n.Args, ir.NamedArg{Name: attentionArgs[i], Value: arg})
	}
	c, err := f.table.Bind(n)
	return err == nil && ctx.Legal(c)
}

func (f *attentionFinder) visit(b *ops.Builder, n *ir.Node) []*ir.Value {
	a := f.found[n]
	if a == nil {
		return nil
	}
	mask := a.mask.Value
	if a.mask.inverted {
		mask = b.Op("aten.logical_not.default", mask)
	}
	q, k, v := a.q.emit(b), a.k.emit(b), a.v.emit(b)
	out := b.Op(ops.Attention, a.args(q, k, v, mask)...)
	if t := n.Outputs[0].Type; !sym.AllEqual(out.Type.Sizes, t.Sizes) {
		out = b.Op("aten.view.default", out, t.Sizes)
	}
	return []*ir.Value{out}
}

// matrices is a value as matrices: its dimensions are put in an order and then
// seen as sizes.
type matrices struct {
	*ir.Value
	order []int
	sizes []sym.Expr
	scale float64 // what the elements are multiplied with
}

// whole reports whether the matrices are all of the value.
func (m *matrices) whole() bool {
	return m.Type.Numel().Equal(sym.Mul(m.sizes...))
}

// factor says how a product takes matrices.
type factor struct {
	transposed bool
	scaled     bool // constant factors may stand in between
	repeats    bool // there may be fewer than the sizes in front ask for
}

// matrices returns where the elements of v come from, a factor of a product,
// seen as matrices of rows by cols for sizes lead, with fewer heads if those are
// repeated: the furthest value that has them, in any order of its dimensions.
// v itself is a batch of matrices, or one matrix of the rows of all.
func (f *attentionFinder) matrices(v *ir.Value, lead []sym.Expr, rows, cols sym.Expr,
	as factor) matrices {
	sizes := append(lead[:len(lead):len(lead)], rows, cols)
	_, want := newVars(sizes)
	rank := v.Type.Rank()
	batch, r, c := sym.RowMajor(lead, want[:len(lead)]), want[len(lead)], want[len(lead)+1]
	if rank == 2 || v.Type.Sizes[0].Is(1) {
		batch = sym.Int(0)
		if !as.transposed && !v.Type.Sizes[rank-2].Equal(rows) { // of all
			r = sym.RowMajor(sizes[:len(sizes)-1], want[:len(want)-1])
		}
	}
	order := []int{0, 1, 2}
	at := []sym.Expr{batch, r, c}
	if as.transposed {
		order, at = []int{0, 2, 1}, []sym.Expr{batch, c, r}
	}
	if rank == 2 {
		order, at = []int{order[1] - 1, order[2] - 1}, at[1:]
	}
	best := matrices{v, order, sizes, 1}
	scale := 1.0
	for {
		if m, ok := matched(v, at, want, sizes); ok && (as.repeats ||
			sym.AllEqual(m.sizes, sizes)) {
			m.scale = scale
			best = m
		}
		d := f.definition(v)
		if d != nil && d.Op.View != nil {
			views, err := d.Op.View(d)
			if err != nil || len(views) != 1 {
				return best
			}
			at, v = views[0].Map(at), d.Operands()[views[0].Of]
			continue
		}
		x, by := f.multiplied(v)
		if x == nil || !as.scaled {
			return best
		}
		v, scale = x, scale*by
	}
}

// matched returns v as matrices of sizes, element want of which is at at. A size
// of heads may divide what is wanted, and so repeat; one of 1 repeats too.
func matched(v *ir.Value, at, want, sizes []sym.Expr) (matrices, bool) {
	m := matrices{Value: v}
	used := make([]bool, len(at))
	heads := len(sizes) - 3
	var order []int
	for d, w := range want {
		size, found := sym.Int(1), -1
		for x := range at {
			if !used[x] && !v.Type.Sizes[x].Is(1) && v.Type.Sizes[x].Equal(sizes[d]) &&
				at[x].Equal(w) {
				size, found = sizes[d], x
				break
			}
		}
		if few, group := 0, int64(0); found < 0 && d == heads {
			for few = range at {
				if group = groupOf(sizes[d], v.Type.Sizes[few]); !used[few] && group > 1 &&
					at[few].Equal(sym.FloorDiv(w, sym.Int(group))) {
					size, found = v.Type.Sizes[few], few
					break
				}
			}
		}
		if found >= 0 {
			used[found] = true
			order = append(order, found)
		} else if d > heads && !sizes[d].Is(1) {
			return m, false
		}
		m.sizes = append(m.sizes, size)
	}
	for x := len(at) - 1; x >= 0; x-- {
		switch {
		case used[x]:
		case v.Type.Sizes[x].Is(1):
			order = append([]int{x}, order...)
		default:
			return m, false
		}
	}
	m.order = order
	return m, true
}

// groupOf returns how often few repeat to be many, 0 if they do not.
func groupOf(many, few sym.Expr) int64 {
	m, ok1 := many.Const()
	n, ok2 := few.Const()
	if !ok1 || !ok2 || n <= 1 || m%n != 0 {
		return 0
	}
	return m / n
}

var attentionArgs = []string{"query", "key", "value", "attn_mask", "scale", "none", "rests"}

// emit returns the value in its order and of its sizes.
func (m matrices) emit(b *ops.Builder) *ir.Value {
	v := m.Value
	for i, d := range m.order {
		if i != d {
			v = b.Op("aten.permute.default", v, m.order)
			v.Type = v.Type.Dense()
			break
		}
	}
	if !sym.AllEqual(v.Type.Sizes, m.sizes) {
		v = b.Op("aten.view.default", v, m.sizes)
		v.Type = v.Type.Dense()
	}
	return v
}
