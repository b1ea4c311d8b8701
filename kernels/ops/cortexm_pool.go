package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// cortexMPools pool windows of the two last dimensions.
func cortexMPools() []Op {
	const window = "(Tensor input, int[] kernel_size, int[] stride, int[] padding, "
	return []Op{
		int8Pool(cm+"quantized_avg_pool2d"+window+"bool ceil_mode=False, int zero_point, int multiplier, int shift, Tensor? scratch=None) -> Tensor",
			func(_ *Call, p *pool, x *poolWindow) (*expr.Expr, error) {
				return p.roundedMean(x), nil
			}),
		int8Pool(cm+"quantized_max_pool2d"+window+"int[] dilation, bool ceil_mode, int input_zero_point, int output_zero_point, int activation_min, int activation_max) -> Tensor",
			func(c *Call, _ *pool, x *poolWindow) (*expr.Expr, error) {
				lim := must(c.int32Args("activation_min", "activation_max"))
				y := expr.MaxOf(x.over, expr.Select(x.inside, x.x, expr.Int(ir.Int32, -128)))
				return between(y, lim[0], lim[1]), nil
			}),
	}
}

// poolWindow is the element of a window that the variables over select, as int32;
// it may be read if inside holds.
type poolWindow struct {
	over      []*sym.Symbol
	x, inside *expr.Expr
	count     sym.Expr // elements of the window that are inside
}

// window returns the elements of the window of the result's element at.
func (p *pool) window(c *Call, at []sym.Expr) *poolWindow {
	lead := p.x.Rank() - p.n
	w := &poolWindow{inside: expr.Bool(true), count: sym.Int(1)}
	in := append([]sym.Expr(nil), at[:lead]...)
	for d := range p.n {
		k := sym.NewVar("k"+itoa(d), p.kern[d])
		w.over = append(w.over, k)
		start := sym.Sub(sym.Mul(at[lead+d], p.stride[d]), p.pad[d])
		i, n := sym.Add(start, k.Expr()), p.kern[d]
		if p.needsGuard[d] {
			w.inside = expr.And(w.inside, expr.InRange(i, sym.Int(0), p.size(d)))
			n = sym.Sub(sym.Min(sym.Add(start, n), p.size(d)), sym.Max(start, sym.Int(0)))
		}
		in, w.count = append(in, i), sym.Mul(w.count, n)
	}
	w.x = expr.Cast(ir.Int32, c.Load("input", in...))
	return w
}

// roundedMean rounds to the nearest, ties away from zero.
func (p *pool) roundedMean(w *poolWindow) *expr.Expr {
	sum := expr.Sum(w.over, expr.Select(w.inside, w.x, expr.Int(ir.Int32, 0)))
	n := expr.Idx(ir.Int32, w.count)
	half := expr.Idx(ir.Int32, sym.FloorDiv(w.count, sym.Int(2)))
	toward := expr.Select(expr.Gt(sum, expr.Int(ir.Int32, 0)), half, expr.Neg(half))
	lo, hi := int8Limits(ir.Int32)
	return between(expr.Div(expr.Add(sum, toward), n), lo, hi)
}

// int8Pool is an entry in which f gives what becomes of a window, an int32.
// Windows count only what is inside of the input.
func int8Pool(schema string, f func(*Call, *pool, *poolWindow) (*expr.Expr, error)) Op {
	read := func(c *Call) (*pool, error) {
		must(c.int8Input("input", 4))
		p, err := poolOfArg(c, "input", 2)
		if err == nil && (!p.dilation[0].Is(1) || !p.dilation[1].Is(1)) {
			err = c.Errorf("a dilation of %s and %s, which CMSIS-NN's pooling does not have",
				p.dilation[0], p.dilation[1])
		}
		return p, err
	}
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			p := must(read(c))
			t := p.outType(ir.Int8)
			t.Strides = channelsLastStrides(t.Sizes)
			return []ir.Type{t}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			p := must(read(c))
			vars, at := indexVars(c.Outs[0].Sizes)
			y := must(f(c, p, p.window(c, at)))
			return []expr.Tensor{{DType: ir.Int8, Vars: vars, Body: expr.Cast(ir.Int8, y)}}, nil
		},
	}
}
