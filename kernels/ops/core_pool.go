package ops

import (
	enc "encoding/binary"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// cores is core for an operator with several results.
func (op Op) cores(f func(b *Builder, c *Call) []*ir.Value) Op {
	op.Decompose = func(b *Builder, c *Call) ([]*ir.Value, error) { return f(b, c), nil }
	return op
}

// reshaped gives x another shape.
func (b *Builder) reshaped(x *ir.Value, sizes ...sym.Expr) *ir.Value {
	return b.Op("aten.reshape.default", x, sizes)
}

// maxPlaces bounds the elements of a constant that tells places: a call can ask
// for more than the machine has.
const maxPlaces = 1 << 22

// limit ends the enclosing Do if the product of ns is negative or more than
// maxPlaces.
func (b *Builder) limit(c *Call, ns ...int64) {
	product := int64(1)
	for _, n := range ns {
		if n < 0 || n > maxPlaces || product*n > maxPlaces {
			check(c.Errorf("it would take a table of more than %d places", maxPlaces))
		}
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
		p := must(poolOf(c, n))
		out, at := b.maxPool(n, p, c.Value("self"), len(c.Outs) > 1)
		return []*ir.Value{out, at}[:len(c.Outs)]
	}
}

// maxPool pools x over n dimensions. Positions are nil without indices in three.
func (b *Builder) maxPool(n int, p *pool, x *ir.Value, indices bool) (out, at *ir.Value) {
	switch n {
	case 1:
		out, at = b.maxPool2d(b.Op("aten.unsqueeze.default", x, -2), p.in(-1, 0))
		return b.Op("aten.squeeze.dim", out, -2), b.Op("aten.squeeze.dim", at, -2)
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
	which := b.Op("aten.gather.default", b.reshaped(inPlane, many, sym.Mul(depth, plane)), 1, row)
	layer := b.Op("aten.div.Tensor_mode", row, plane, Kw("rounding_mode", "floor"))
	at = b.add(b.mul(layer, sym.Mul(h, w)), which)
	return b.reshaped(out, result...), b.reshaped(at, result...)
}

func (b *Builder) avgPool2d(x *ir.Value, p planes, pads bool, divisor any) *ir.Value {
	return b.Op("aten.avg_pool2d.default", x, p.kern[:], p.stride[:], p.pad[:], p.ceil,
		pads, divisor)
}

// avgPoolCore is average pooling by that of planes: the windows are boxes, so
// that the depth can be averaged after.
func avgPoolCore(n int) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		p := must(poolOf(c, n))
		x, pads := c.Value("self"), c.Bool("count_include_pad")
		if n == 1 {
			y := b.avgPool2d(b.Op("aten.unsqueeze.default", x, -2), p.in(-1, 0), pads, nil)
			return b.Op("aten.squeeze.dim", y, -2)
		}
		lead := x.Type.Sizes[:x.Type.Rank()-3]
		many, divisor, one := sym.Mul(lead...), c.Arg("divisor_override"), any(nil)
		if c.Has("divisor_override") {
			one = 1
		}
		x = b.cast(x, opmath(x.Type.DType))
		y := b.avgPool2d(b.reshaped(x, sym.Mul(many, p.size(0)), p.size(1), p.size(2)), p.in(1, 2),
			pads, divisor)
		y = b.avgPool2d(b.reshaped(y, many, p.size(0), sym.Mul(p.out[1], p.out[2])),
			p.in(0, -1), pads, one)
		return b.cast(b.reshaped(y, slices.Concat(lead, p.out)...), c.Outs[0].DType)
	}
}

// adaptiveAvgCore is adaptive average pooling by that of planes, or by the
// mean where each plane becomes one number.
func adaptiveAvgCore(n int) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		a := must(adaptiveOf(c, n))
		x := c.Value("self")
		single := !slices.ContainsFunc(a.out, func(e sym.Expr) bool { return !e.Is(1) })
		planes := func(x *ir.Value, h, w sym.Expr) *ir.Value {
			return b.Op("aten._adaptive_avg_pool2d.default", x, []sym.Expr{h, w})
		}
		switch {
		case single && x.Type.DType.IsFloat():
			dims := make([]int, n)
			for d := range dims {
				dims[d] = d - n
			}
			return b.Op("aten.mean.dim", x, dims, true)
		case n == 1:
			return b.Op("aten.squeeze.dim", planes(b.Op("aten.unsqueeze.default", x, -2),
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
func adaptiveMaxCore(n int) func(b *Builder, c *Call) []*ir.Value {
	return func(b *Builder, c *Call) []*ir.Value {
		a := must(adaptiveOf(c, n))
		x := c.Value("self")
		in := x.Type.Sizes[x.Type.Rank()-n:]
		p := &pool{n: n, out: a.out}
		places := make([][]int64, n) // of the rows laid out, by dimension
		lead := x.Type.Rank() - n
		even := true
		for d := range n {
			size, ok := in[d].Const()
			count, ok2 := a.out[d].Const()
			if !ok || !ok2 || count == 0 {
				check(c.Errorf("adaptive max pooling of a dynamic size"))
			}
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
				x = b.Op("aten.index_select.default", x, lead+d, b.integers(places[d]))
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
			at = b.Op("aten.index.Tensor", b.integers(back), []*ir.Value{at})
		}
		return []*ir.Value{out, at}
	}
}
