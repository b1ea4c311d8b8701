package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// pool is a call of a pooling operator over the last n dimensions of self.
type pool struct {
	x                           ir.Type
	n                           int
	kern, stride, pad, dilation []sym.Expr
	ceil                        bool
	out                         []sym.Expr // spatial sizes of the result
	needsGuard                  []bool     // windows may reach outside
}

// poolOf reads the arguments of a pooling operator. dilation may be missing
// from the schema.
func poolOf(c *Call, n int) (*pool, error) { return poolOfArg(c, "self", n) }

// poolOfArg is poolOf of an operator that calls its input otherwise.
func poolOfArg(c *Call, name string, n int) (*pool, error) {
	p := &pool{x: c.Tensor(name), n: n, ceil: c.Bool("ceil_mode")}
	if r := p.x.Rank(); r != n+1 && r != n+2 {
		return nil, c.Errorf("an input with %d dimensions", r)
	}
	var err error
	if p.kern, err = c.spatialArg("kernel_size", n); err != nil {
		return nil, err
	}
	p.stride = p.kern
	if list, ok := c.Arg("stride").(ir.List); !ok || len(list) > 0 {
		if p.stride, err = c.spatialArg("stride", n); err != nil {
			return nil, err
		}
	}
	if p.pad, err = c.spatialArg("padding", n); err != nil {
		return nil, err
	}
	p.dilation = make([]sym.Expr, n)
	for d := range n {
		p.dilation[d] = sym.Int(1)
	}
	if c.Op.sch.Index("dilation") >= 0 {
		if p.dilation, err = c.spatialArg("dilation", n); err != nil {
			return nil, err
		}
	}
	for d := range n {
		one := sym.Int(1)
		if sym.Less(p.kern[d], one) || sym.Less(p.stride[d], one) || sym.Less(p.dilation[d], one) ||
			sym.Less(p.pad[d], sym.Int(0)) {
			return nil, c.Errorf("kernel %s, stride %s, dilation %s, padding %s", p.kern[d],
				p.stride[d], p.dilation[d], p.pad[d])
		}
		if sym.Less(p.kern[d], sym.Mul(sym.Int(2), p.pad[d])) {
			return nil, c.Errorf("padding %s is more than half of kernel %s", p.pad[d], p.kern[d])
		}
		l, guard := p.outSize(d)
		c.need(p.size(d))
		c.need(l)
		if sym.Less(l, one) {
			return nil, c.Errorf("a kernel of %s is larger than the padded input of %s",
				p.kern[d], p.size(d))
		}
		p.out = append(p.out, l)
		p.needsGuard = append(p.needsGuard, guard)
	}
	return p, nil
}

// size returns the input's size in spatial dimension d.
func (p *pool) size(d int) sym.Expr { return p.x.Sizes[p.x.Rank()-p.n+d] }

// outSize returns the number of windows, and whether one may reach outside.
func (p *pool) outSize(d int) (sym.Expr, bool) {
	l := p.size(d)
	reach := sym.Add(sym.Mul(p.dilation[d], sym.Sub(p.kern[d], sym.Int(1))), sym.Int(1))
	span := sym.Sub(sym.Add(l, sym.Mul(sym.Int(2), p.pad[d])), reach)
	if !p.ceil {
		return sym.Add(sym.FloorDiv(span, p.stride[d]), sym.Int(1)), !p.pad[d].IsZero()
	}
	n := sym.Add(sym.CeilDiv(span, p.stride[d]), sym.Int(1))
	// The last window must start inside the input or the padding before it:
	// (n-1)·stride < l + pad.
	last := sym.FloorDiv(sym.Sub(sym.Add(l, p.pad[d]), sym.Int(1)), p.stride[d])
	n = sym.Min(n, sym.Add(last, sym.Int(1)))
	end := sym.Add(sym.Mul(sym.Sub(n, sym.Int(1)), p.stride[d]), reach)
	return n, !p.pad[d].IsZero() || !sym.LessEq(end, l)
}

// outType is the type of a result of dtype d.
func (p *pool) outType(d ir.DType) ir.Type {
	sizes := append(append([]sym.Expr(nil), p.x.Sizes[:p.x.Rank()-p.n]...), p.out...)
	t := ir.TensorOf(d, sizes...)
	if suggestsChannelsLast(p.x) {
		t.Strides = channelsLastStrides(sizes)
	}
	return t
}

// lowest returns the smallest value of d.
func lowest(d ir.DType) *expr.Expr {
	switch {
	case d.IsFloat():
		return expr.Float(d, -inf)
	case d == ir.Bool || d.IsUnsigned():
		return expr.Int(d, 0)
	}
	return expr.Int(d, math.MinInt64>>(64-8*d.Size()))
}

// maxPool returns the largest element of each window and its position in the
// flattened spatial dimensions. Positions of a window that lie outside count
// as its nearest one inside, which changes neither.
func (p *pool) maxPool(c *Call) []expr.Tensor {
	lead := p.x.Rank() - p.n
	vars, at := indexVars(c.Outs[0].Sizes)
	// inside returns the input coordinates of positions k of the window.
	inside := func(k []sym.Expr) []sym.Expr {
		in := append([]sym.Expr(nil), at[:lead]...)
		for d := range p.n {
			start := sym.Sub(sym.Mul(at[lead+d], p.stride[d]), p.pad[d])
			kd := k[d]
			if p.needsGuard[d] {
				first := sym.Max(sym.CeilDiv(sym.Neg(start), p.dilation[d]), sym.Int(0))
				last := sym.FloorDiv(sym.Sub(sym.Sub(p.size(d), sym.Int(1)), start), p.dilation[d])
				kd = sym.Min(sym.Max(kd, first), last)
			}
			in = append(in, sym.Add(start, sym.Mul(p.dilation[d], kd)))
		}
		return in
	}
	window := func(name string) ([]*sym.Symbol, *expr.Expr) {
		over, k := make([]*sym.Symbol, p.n), make([]sym.Expr, p.n)
		for d := range p.n {
			over[d] = sym.NewVar(name+itoa(d), p.kern[d])
			k[d] = over[d].Expr()
		}
		return over, c.Load("self", inside(k)...)
	}
	over, x := window("k")
	out := []expr.Tensor{{DType: p.x.DType, Vars: vars, Body: expr.MaxOf(over, x)}}
	if len(c.Outs) > 1 {
		over, x := window("m")
		best := expr.Bind("best", expr.ArgMaxLastNaN(over, x), sym.Mul(p.kern...))
		in := inside(unflatten(best.Expr(), p.kern))[lead:]
		flat := sym.RowMajor(p.x.Sizes[lead:], in)
		out = append(out, expr.Tensor{DType: ir.Int64, Vars: vars, Body: expr.Idx(ir.Int64, flat)})
	}
	return out
}

func maxPoolEntry(schema string, n int, indices bool) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			p := must(poolOf(c, n))
			ts := []ir.Type{p.outType(p.x.DType)}
			if indices {
				ts = append(ts, p.outType(ir.Int64))
			}
			return ts, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			p := must(poolOf(c, n))
			return p.maxPool(c), nil
		},
	}
}

func avgPoolEntry(schema string, n int) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			p, err := poolOf(c, n)
			if err == nil && p.x.DType == ir.Bool {
				err = c.Errorf("not defined on bool")
			}
			if err != nil {
				return nil, err
			}
			return []ir.Type{p.outType(p.x.DType)}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			p := must(poolOf(c, n))
			return p.avgPool(c)
		},
	}
}

// avgPool returns the sum of each window over the elements it covers: of the
// padded input if count_include_pad, else of the input; divisor_override takes
// its place.
func (p *pool) avgPool(c *Call) ([]expr.Tensor, error) {
	m, lead := opmath(p.x.DType), p.x.Rank()-p.n
	vars, at := indexVars(c.Outs[0].Sizes)
	in := append([]sym.Expr(nil), at[:lead]...)
	var over []*sym.Symbol
	guard := expr.Bool(true)
	count := sym.Int(1)
	for d := range p.n {
		k := sym.NewVar("k"+itoa(d), p.kern[d])
		over = append(over, k)
		start := sym.Sub(sym.Mul(at[lead+d], p.stride[d]), p.pad[d])
		i := sym.Add(start, k.Expr())
		in = append(in, i)
		size := p.size(d)
		if !p.needsGuard[d] {
			count = sym.Mul(count, p.kern[d])
			continue
		}
		guard = expr.And(guard, expr.InRange(i, sym.Int(0), size))
		end := sym.Add(start, p.kern[d])
		if c.Bool("count_include_pad") {
			count = sym.Mul(count, sym.Sub(sym.Min(end, sym.Add(size, p.pad[d])), start))
		} else {
			count = sym.Mul(count, sym.Sub(sym.Min(end, size), sym.Max(start, sym.Int(0))))
		}
	}
	if c.Op.sch.Index("divisor_override") >= 0 && c.Has("divisor_override") {
		n := must(c.Int("divisor_override"))
		if n == 0 {
			return nil, c.Errorf("divisor_override is 0")
		}
		count = sym.Int(n)
	}
	sum := expr.Sum(over, expr.Select(guard, expr.Cast(m, c.Load("self", in...)), expr.Num(m, 0)))
	y := expr.Div(sum, expr.Idx(m, count))
	return []expr.Tensor{{DType: p.x.DType, Vars: vars, Body: expr.Cast(p.x.DType, y)}}, nil
}

// poolOps are the poolings.
func poolOps() []Op {
	return append([]Op{
		maxPoolEntry(
			"aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor", 1, false).cores(maxPoolCore(1)),
		maxPoolEntry(
			"aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor", 2, false).cores(maxPoolCore(2)),
		maxPoolEntry(
			"aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor", 3, false).cores(maxPoolCore(3)),
		maxPoolEntry(
			"aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)", 1, true).cores(maxPoolCore(1)),
		maxPoolEntry(
			"aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)", 2, true),
		maxPoolEntry(
			"aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)", 3, true).cores(maxPoolCore(3)),
		avgPoolEntry(
			"aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor", 1).core(avgPoolCore(1)),
		avgPoolEntry(
			"aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor", 2),
		avgPoolEntry(
			"aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor", 3).core(avgPoolCore(3)),
	}, adaptiveOps()...)
}
