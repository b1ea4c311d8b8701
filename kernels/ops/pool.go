package ops

import (
	enc "encoding/binary"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
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
func poolOf(c *Call, n int) *pool { return poolOfArg(c, "self", n) }

// poolOfArg is poolOf of an operator that calls its input otherwise.
func poolOfArg(c *Call, name string, n int) *pool {
	p := &pool{x: c.Tensor(name), n: n, ceil: c.Bool("ceil_mode")}
	if r := p.x.Rank(); r != n+1 && r != n+2 {
		panic(c.Errorf("an input with %d dimensions", r))
	}
	p.kern = c.spatialArg("kernel_size", n)
	p.stride = p.kern
	if list, ok := c.Arg("stride").(ir.List); !ok || len(list) > 0 {
		p.stride = c.spatialArg("stride", n)
	}
	p.pad = c.spatialArg("padding", n)
	p.dilation = make([]sym.Expr, n)
	for d := range n {
		p.dilation[d] = sym.Int(1)
	}
	if c.Op.sch.Index("dilation") >= 0 {
		p.dilation = c.spatialArg("dilation", n)
	}
	for d := range n {
		one := sym.Int(1)
		c.errorIf(sym.Less(p.kern[d], one) || sym.Less(p.stride[d], one) || sym.Less(p.dilation[d],
			one) || sym.Less(p.pad[d], sym.Int(0)), "kernel %s, stride %s, dilation %s, padding %s",
			p.kern[d], p.stride[d], p.dilation[d], p.pad[d])
		c.errorIf(sym.Less(p.kern[d], sym.Mul(sym.Int(2), p.pad[d])),
			"padding %s is more than half of kernel %s", p.pad[d], p.kern[d])
		l, guard := p.outSize(d)
		c.need(p.size(d))
		c.need(l)
		c.errorIf(sym.Less(l, one), "a kernel of %s is larger than the padded input of %s",
			p.kern[d], p.size(d))
		p.out = append(p.out, l)
		p.needsGuard = append(p.needsGuard, guard)
	}
	return p
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
	return inFormatOf(p.x, d, slices.Concat(p.x.Sizes[:p.x.Rank()-p.n], p.out))
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

func maxPoolEntry(schema string, n int, indices bool) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			p := poolOf(c, n)
			ts := []ir.Type{p.outType(p.x.DType)}
			if indices {
				ts = append(ts, p.outType(ir.Int64))
			}
			return ts
		},
		Compute: func(c *Call) []expr.Tensor {
			p := poolOf(c, n)
			return p.maxPool(c)
		},
	}
}

func avgPoolEntry(schema string, n int) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			p := poolOf(c, n)
			c.errorIf(p.x.DType == ir.Bool, "not defined on bool")
			return []ir.Type{p.outType(p.x.DType)}
		},
		Compute: func(c *Call) []expr.Tensor {
			p := poolOf(c, n)
			return p.avgPool(c)
		},
	}
}

// avgPool returns the sum of each window over the elements it covers: of the
// padded input if count_include_pad, else of the input; divisor_override takes
// its place.
func (p *pool) avgPool(c *Call) []expr.Tensor {
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
		c.errorIf(n == 0, "divisor_override is 0")
		count = sym.Int(n)
	}
	x := expr.Select(guard, expr.Cast(m, c.Load("self", in...)), expr.Num(m, 0))
	sum := averaged(over, x, true)
	y := expr.Div(sum, expr.Idx(m, count))
	return []expr.Tensor{{DType: p.x.DType, Vars: vars, Body: expr.Cast(p.x.DType, y)}}
}

// An average of at most MostInOrder numbers adds them in the order in which they lie, as PyTorch
// adds a window. The roundings decide about integers that are made of the average: see
// docs/quantisation.md. A mean over dimensions does so if none has more than mostInRow: vectors add
// longer rows in less time.
const (
	MostInOrder = 64
	mostInRow   = 8
)

// MeanInOrder reports whether a mean over dimensions of these sizes adds in order.
func MeanInOrder(sizes []sym.Expr) bool {
	n, known := sym.Mul(sizes...).Const()
	return known && n <= MostInOrder && !slices.ContainsFunc(sizes, func(s sym.Expr) bool {
		return !sym.LessEq(s, sym.Int(mostInRow))
	})
}

// averaged is the sum of body, in order if it has few terms. The window of a program for all sizes
// is taken to be small.
func averaged(vars []*sym.Symbol, body *expr.Expr, window bool) *expr.Expr {
	n, known := sym.Mul(expr.Extents(vars)...).Const()
	if known && n <= MostInOrder || !known && window {
		return expr.SumInOrder(vars, body)
	}
	return expr.Sum(vars, body)
}

// poolOps are the poolings.
func poolOps() []entry {
	return append([]entry{
		maxPoolEntry(
			"aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "+
				"int[1] dilation=[1], bool ceil_mode=False) -> Tensor", 1, false).cores(maxPoolCore(1)),
		maxPoolEntry(
			"aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "+
				"int[2] dilation=1, bool ceil_mode=False) -> Tensor", 2, false).cores(maxPoolCore(2)),
		maxPoolEntry(
			"aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "+
				"int[3] dilation=1, bool ceil_mode=False) -> Tensor", 3, false).cores(maxPoolCore(3)),
		maxPoolEntry(
			"aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], "+
				"int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)", 1,
			true).cores(maxPoolCore(1)),
		maxPoolEntry(
			"aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "+
				"int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)", 2, true),
		maxPoolEntry(
			"aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], "+
				"int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)", 3,
			true).cores(maxPoolCore(3)),
		avgPoolEntry(
			"aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "+
				"bool ceil_mode=False, bool count_include_pad=True) -> Tensor", 1).core(avgPoolCore(1)),
		avgPoolEntry(
			"aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "+
				"bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor", 2),
		avgPoolEntry(
			"aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "+
				"bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
			3).core(avgPoolCore(3)),
	}, adaptiveOps()...)
}

// reshaped gives x another shape.
func (b *Builder) reshaped(x *ir.Value, sizes ...sym.Expr) *ir.Value {
	return b.aten("reshape", x, sizes)
}

// maxPlaces bounds the elements of a constant that tells places: a call can ask
// for more than the machine has.
const maxPlaces = 1 << 22

// limit ends the enclosing Do if the product of ns is negative or more than
// maxPlaces.
func (b *Builder) limit(c *Call, ns ...int64) {
	product := int64(1)
	for _, n := range ns {
		c.errorIf(n < 0 || n > maxPlaces || product*n > maxPlaces,
			"it would take a table of more than %d places", maxPlaces)
		product *= n
	}
}

// integers is an int64 constant.
func (b *Builder) integers(xs []int64, sizes ...int64) *ir.Value {
	raw := make([]byte, 0, 8*len(xs))
	for _, x := range xs {
		raw = enc.LittleEndian.AppendUint64(raw, uint64(x))
	}
	if sizes == nil {
		sizes = []int64{int64(len(xs))}
	}
	return b.Constant("index", &ir.Constant{Type: ir.StaticTensor(ir.Int64, sizes...),
		Data: ir.Bytes(raw)})
}

// planes are windows over the last two dimensions of a tensor.
type planes struct {
	kern, stride, pad, dilation [2]sym.Expr
	ceil                        bool
}

// in returns the windows of p in its spatial dimensions i and j; -1 is a
// dimension that is none of them and stays as it is.
func (p *pool) in(i, j int) planes {
	q := planes{ceil: p.ceil}
	for k, d := range []int{i, j} {
		q.kern[k], q.stride[k], q.dilation[k] = sym.Int(1), sym.Int(1), sym.Int(1)
		if d >= 0 {
			q.kern[k], q.stride[k], q.pad[k], q.dilation[k] = p.kern[d], p.stride[d], p.pad[d],
				p.dilation[d]
		}
	}
	return q
}

func (b *Builder) maxPool2d(x *ir.Value, p planes) (values, places *ir.Value) {
	out := b.Ops("aten.max_pool2d_with_indices.default", x, p.kern[:], p.stride[:], p.pad[:],
		p.dilation[:], p.ceil)
	return out[0], out[1]
}

// maxPoolCore is max pooling by that of planes. In three dimensions planes are
// pooled first, then the maxima along the depth.
func maxPoolCore(n int) func(b *Builder, c *Call) []*ir.Value {
	return func(b *Builder, c *Call) []*ir.Value {
		p := poolOf(c, n)
		out, at := b.maxPool(n, p, c.Value("self"), len(c.Outs) > 1)
		return []*ir.Value{out, at}[:len(c.Outs)]
	}
}

// maxPool pools x over n dimensions. Positions are nil without indices in three.
func (b *Builder) maxPool(n int, p *pool, x *ir.Value, indices bool) (out, at *ir.Value) {
	switch n {
	case 1:
		out, at = b.maxPool2d(b.aten("unsqueeze", x, -2), p.in(-1, 0))
		return b.aten("squeeze.dim", out, -2), b.aten("squeeze.dim", at, -2)
	case 2:
		return b.maxPool2d(x, p.in(0, 1))
	}
	return b.maxPool3d(p, x, indices)
}

func (b *Builder) maxPool3d(p *pool, x *ir.Value, indices bool) (out, at *ir.Value) {
	lead := x.Type.Sizes[:x.Type.Rank()-3]
	many := sym.Mul(lead...)
	depth, h, w := p.size(0), p.size(1), p.size(2)
	plane := sym.Mul(p.out[1], p.out[2])
	flat, inPlane := b.maxPool2d(b.reshaped(x, sym.Mul(many, depth), h, w), p.in(1, 2))
	out, inDepth := b.maxPool2d(b.reshaped(flat, many, depth, plane), p.in(0, -1))
	result := slices.Concat(lead, p.out)
	if !indices {
		return b.reshaped(out, result...), nil
	}
	// The place along the depth tells which plane the maximum is in, and that
	// plane's place is where it is there.
	row := b.reshaped(inDepth, many, sym.Mul(p.out[0], plane))
	which := b.aten("gather", b.reshaped(inPlane, many, sym.Mul(depth, plane)), 1, row)
	layer := b.aten("div.Tensor_mode", row, plane, Kw("rounding_mode", "floor"))
	at = b.add(b.mul(layer, sym.Mul(h, w)), which)
	return b.reshaped(out, result...), b.reshaped(at, result...)
}

func (b *Builder) avgPool2d(x *ir.Value, p planes, pads bool, divisor any) *ir.Value {
	return b.aten("avg_pool2d", x, p.kern[:], p.stride[:], p.pad[:], p.ceil, pads, divisor)
}

// avgPoolCore is average pooling by that of planes: the windows are boxes, so
// that the depth can be averaged after.
func avgPoolCore(n int) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		p := poolOf(c, n)
		x, pads := c.Value("self"), c.Bool("count_include_pad")
		if n == 1 {
			y := b.avgPool2d(b.aten("unsqueeze", x, -2), p.in(-1, 0), pads, nil)
			return b.aten("squeeze.dim", y, -2)
		}
		lead := x.Type.Sizes[:x.Type.Rank()-3]
		many, divisor, one := sym.Mul(lead...), c.Arg("divisor_override"), any(nil)
		whole := !x.Type.DType.IsFloat() // sums of integers, which are divided once
		if whole {
			divisor = ir.Int(1)
		}
		if whole || c.Has("divisor_override") {
			one = 1
		}
		x = b.cast(x, opmath(x.Type.DType))
		y := b.avgPool2d(b.reshaped(x, sym.Mul(many, p.size(0)), p.size(1), p.size(2)), p.in(1, 2),
			pads, divisor)
		y = b.avgPool2d(b.reshaped(y, many, p.size(0), sym.Mul(p.out[1], p.out[2])),
			p.in(0, -1), pads, one)
		y = b.reshaped(y, slices.Concat(lead, p.out)...)
		if whole {
			by := any(c.Arg("divisor_override"))
			if !c.Has("divisor_override") {
				by = b.windowSizes(p, pads)
			}
			y = b.aten("div.Tensor_mode", y, by, Kw("rounding_mode", "trunc"))
		}
		return b.cast(y, c.Outs[0].DType)
	}
}

// windowSizes are the elements of the windows, of which none reaches beyond the padding:
// a tensor of p's outputs.
func (b *Builder) windowSizes(p *pool, pads bool) *ir.Value {
	var all *ir.Value
	for d := range p.n {
		start := b.sub(b.mul(b.aten("arange", p.out[d]), p.stride[d]), p.pad[d])
		size, end := p.size(d), b.add(start, p.kern[d])
		if pads {
			size = sym.Add(size, p.pad[d])
		} else {
			start = b.aten("clamp", start, Kw("min", 0))
		}
		shape := slices.Repeat([]sym.Expr{sym.Int(1)}, p.n)
		shape[d] = p.out[d]
		sizes := b.reshaped(b.sub(b.aten("clamp", end, Kw("max", size)), start), shape...)
		if all == nil {
			all = sizes
		} else {
			all = b.mul(all, sizes)
		}
	}
	return all
}

// adaptiveAvgCore is adaptive average pooling by that of planes, or by the
// mean where each plane becomes one number.
//
//go:noinline
func adaptiveAvgCore(n int) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		a := adaptiveOf(c, n)
		x := c.Value("self")
		single := !slices.ContainsFunc(a.out, func(e sym.Expr) bool { return !e.Is(1) })
		planes := func(x *ir.Value, h, w sym.Expr) *ir.Value {
			return b.aten("_adaptive_avg_pool2d", x, []sym.Expr{h, w})
		}
		switch {
		case single && x.Type.DType.IsFloat():
			dims := seq.Of(n, func(d int) int { return d - n })
			return b.aten("mean.dim", x, dims, true)
		case n == 1:
			return b.aten("squeeze.dim", planes(b.aten("unsqueeze", x, -2),
				sym.Int(1), a.out[0]), -2)
		case n == 2:
			return planes(x, a.out[0], a.out[1])
		}
		sizes := x.Type.Sizes
		lead := sizes[:len(sizes)-3]
		many, depth := sym.Mul(lead...), sizes[len(lead)]
		x = b.cast(x, opmath(x.Type.DType))
		y := planes(b.reshaped(x, sym.Mul(many, depth), sizes[len(lead)+1], sizes[len(lead)+2]),
			a.out[1], a.out[2])
		plane := sym.Mul(a.out[1], a.out[2])
		y = planes(b.reshaped(y, many, depth, plane), a.out[0], plane)
		return b.cast(b.reshaped(y, slices.Concat(lead, a.out)...), c.Outs[0].DType)
	}
}

// adaptiveMaxCore is adaptive max pooling of static sizes by max pooling of
// windows of equal size: the rows of each window are laid out one after the
// other, the last of a shorter one again.
//
//go:noinline
func adaptiveMaxCore(n int) func(b *Builder, c *Call) []*ir.Value {
	return func(b *Builder, c *Call) []*ir.Value {
		a := adaptiveOf(c, n)
		x := c.Value("self")
		in := x.Type.Sizes[x.Type.Rank()-n:]
		p := &pool{n: n, out: a.out}
		places := make([][]int64, n) // of the rows laid out, by dimension
		lead := x.Type.Rank() - n
		even := true
		for d := range n {
			size, ok := in[d].Const()
			count, ok2 := a.out[d].Const()
			c.errorIf(!ok || !ok2 || count == 0, "adaptive max pooling of a dynamic size")
			_, _, most := a.span(d, sym.Int(0))
			k, _ := most.Const()
			b.limit(c, count, k)
			for o := range count {
				start, end := o*size/count, ((o+1)*size+count-1)/count
				for i := range k {
					places[d] = append(places[d], min(start+i, end-1))
				}
			}
			if size%count != 0 {
				even = false
				x = b.aten("index_select", x, lead+d, b.integers(places[d]))
			}
			p.kern, p.stride = append(p.kern, most), append(p.stride, most)
			p.pad, p.dilation = append(p.pad, sym.Int(0)), append(p.dilation, sym.Int(1))
		}
		p.x = x.Type
		out, at := b.maxPool(n, p, x, true)
		if !even { // from places in what was laid out to places in self
			back := []int64{0}
			for d, rows := range places {
				b.limit(c, int64(len(back)), int64(len(rows)))
				size, _ := in[d].Const()
				var next []int64
				for _, i := range back {
					for _, k := range rows {
						next = append(next, i*size+k)
					}
				}
				back = next
			}
			at = b.aten("index.Tensor", b.integers(back), []*ir.Value{at})
		}
		return []*ir.Value{out, at}
	}
}

// unpoolOps put elements where a pooling had found them.
func unpoolOps() []entry {
	return []entry{
		derived("aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
			maxUnpool(2)),
		derived("aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, "+
			"int[3] padding) -> Tensor", maxUnpool(3)),
	}
}

// maxUnpool is 0 but where an index of the last dims dimensions says that an element was.
func maxUnpool(dims int) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		x, at := c.Value("self"), c.Value("indices")
		sizes := must(c.SymInts("output_size"))
		lead := x.Type.Rank() - dims
		c.errorIf(lead < 1 || len(sizes) != dims || !sameSizes(x.Type.Sizes, at.Type.Sizes),
			"%s to %d sizes", sizesOf{x.Type, at.Type}, len(sizes))
		flat := func(v *ir.Value) *ir.Value {
			return b.reshaped(v, append(slices.Clone(v.Type.Sizes[:lead]),
				sym.Mul(v.Type.Sizes[lead:]...))...)
		}
		to := append(slices.Clone(x.Type.Sizes[:lead]), sym.Mul(sizes...))
		zeros := b.aten("zeros", to, Kw("dtype", x.Type.DType))
		return b.reshaped(b.aten("scatter.src", zeros, -1, flat(at), flat(x)),
			append(slices.Clone(x.Type.Sizes[:lead]), sizes...)...)
	}
}
