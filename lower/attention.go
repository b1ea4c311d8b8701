package lower

import (
	"fmt"
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
	Run: func(ctx *Context, p *ir.Program) error {
		if ctx.Whole == nil {
			return nil
		}
		written := p.Written()
		return perMethod(func(ctx *Context, m *ir.Method) error {
			f := &attentionFinder{simplifier: simplifier{table: ctx.Table}, constant: constants(m,
				written), uses: ir.Uses(m.Graph), found: map[*ir.Node]*attention{}}
			m.Graph.Walk(func(g *ir.Graph) {
				f.here = map[*ir.Node]bool{}
				for _, n := range g.Nodes {
					f.here[n] = true
					if a := f.attention(n); a != nil && f.accepted(ctx, a) {
						f.found[n] = a
					}
				}
			})
			if len(f.found) == 0 {
				return nil
			}
			return (&ir.Rewriter{Visit: f.visit}).Run(m)
		})(ctx, p)
	},
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
	by, err := c.Float("other")
	ok := err == nil
	if y != nil && y.Type.Kind == ir.TensorKind {
		if by, ok = f.number(y); !ok && ir.OpBase(name) == "mul" {
			x = y
			by, ok = f.number(c.Value("self"))
		}
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
	return err == nil && ctx.Whole(c)
}

func (f *attentionFinder) visit(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
	a := f.found[n]
	if a == nil {
		return nil, true, nil
	}
	b := ops.NewBuilder(f.table, e)
	var out *ir.Value
	err := b.Do(func() error {
		mask := a.mask.Value
		if a.mask.inverted {
			mask = b.Op("aten.logical_not.default", mask)
		}
		q, k, v := a.q.emit(b), a.k.emit(b), a.v.emit(b)
		out = b.Op(ops.Attention, a.args(q, k, v, mask)...)
		if t := n.Outputs[0].Type; !sym.AllEqual(out.Type.Sizes, t.Sizes) {
			out = b.Op("aten.view.default", out, t.Sizes)
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("as attention: %w", err)
	}
	return []*ir.Value{out}, false, nil
}
