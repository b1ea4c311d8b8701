package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// SplitTransposed makes transposed convolutions with constant weights ordinary ones: of a stride
// of s, every s-th row and column of the result sees the same taps, so that the results are those
// of s·s times as many channels, moved to their places. What quantizes or limits the elements is
// done before they move. The taps are multiplied once each, but for weights of zero where s does
// not divide the kernel: they are added only where no input may be infinite. Hosts with vectors
// have a kernel of floats for it.
var SplitTransposed = Pass{
	Name: "split-transposed",
	Doc:  "make transposed convolutions ordinary ones whose results are moved to their places",
	Run: perNode(func(ctx *Context, p *ir.Program, m *ir.Method) visitor {
		s := &transposedSplit{constant: Constants(p, m), apart: map[*ir.Value]*apart{}}
		return onCalls(func(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
			if ctx.Speed || len(n.Outputs) != 1 || n.Output(0) == nil {
				return nil
			}
			return s.visit(b, n, c)
		})
	}),
}

type transposedSplit struct {
	constant map[*ir.Value]bool
	apart    map[*ir.Value]*apart // by what they are in their places
}

// apart is a result before its elements are moved.
type apart struct {
	v    *ir.Value // [n, stride…, channels, steps…]
	dims []phaseDim
}

// phaseDim is a spatial dimension of a transposed convolution: the result at o is phase
// (o + skip) mod stride of step (o + skip) / stride.
type phaseDim struct {
	kernel, stride      int64
	taps, before, after int64 // of the ordinary convolution
	steps, skip, out    int64
}

func (s *transposedSplit) visit(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	if n.Op == "aten.convolution.default" {
		return s.convolution(b, n, c)
	}
	if _, limited := limitsOf(c); limited || n.Op == quantizeOp+".default" {
		from := s.apart[c.Operands()[0]]
		if from == nil || len(c.Operands()) > 1 {
			return nil
		}
		v := again(b, []*ir.Node{n}, map[*ir.Value]*ir.Value{c.Operands()[0]: from.v})
		return s.together(b, &apart{v, from.dims})
	}
	return nil
}

// together moves the elements to their places.
func (s *transposedSplit) together(b *ops.Builder, a *apart) []*ir.Value {
	t := a.v.Type
	n := len(a.dims)
	channels := t.Sizes[1]
	apartSizes, sizes := []sym.Expr{t.Sizes[0]}, []sym.Expr{t.Sizes[0]}
	order := []int{0, n + 1}
	for _, d := range a.dims {
		apartSizes = append(apartSizes, sym.Int(d.stride))
		channels = sym.FloorDiv(channels, sym.Int(d.stride))
	}
	apartSizes, sizes = append(apartSizes, channels), append(sizes, channels)
	for i, d := range a.dims {
		apartSizes = append(apartSizes, sym.Int(d.steps))
		sizes = append(sizes, sym.Int(d.steps*d.stride))
		order = append(order, n+2+i, 1+i)
	}
	v := denseOp(b, "aten.view.default", a.v, apartSizes)
	v = denseOp(b, "aten.view.default", denseOp(b, "aten.permute.default", v, order), sizes)
	for i, d := range a.dims {
		if d.skip > 0 || d.out < d.steps*d.stride {
			v = denseOp(b, "aten.slice.Tensor", v, 2+i, d.skip, d.skip+d.out)
		}
	}
	s.apart[v] = a
	return []*ir.Value{v}
}

// convolution is what stands for a transposed one, nil if it stays.
func (s *transposedSplit) convolution(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	w, bias := c.Value("weight"), c.Value("bias")
	if !c.Bool("transposed") || !isOne(c.Arg("groups")) {
		return nil
	}
	dims := phaseDims(c)
	if dims == nil {
		return nil
	}
	whole := s.dequantized(b, c.Value("input")) != nil
	for _, d := range dims {
		if d.kernel%d.stride != 0 && !whole {
			return nil
		}
	}
	phases := int64(1)
	for _, d := range dims {
		phases *= d.stride
	}
	if bias != nil {
		if bias = s.repeated(b, bias, phases); bias == nil {
			return nil
		}
	}
	split := s.weight(b, w, dims, phases)
	if split == nil {
		return nil
	}
	var stride, before, dilation, outside []int64
	for _, d := range dims {
		// Padding is the same on both sides: what is too much of it gives results that are dropped.
		pad := max(d.before, d.after)
		stride, dilation, outside = append(stride, 1), append(dilation, 1), append(outside, 0)
		before = append(before, pad)
	}
	for i := range dims {
		d := &dims[i]
		d.skip += (before[i] - d.before) * d.stride
		d.steps += 2*before[i] - d.before - d.after
	}
	return s.together(b, &apart{b.Op(n.Op, c.Value("input"), split, bias, stride, before, dilation,
		false, outside, 1), dims})
}

// phaseDims returns the spatial dimensions of a transposed convolution, nil if sizes are not known,
// it has a dilation, or stays as it is.
func phaseDims(c *ops.Call) []phaseDim {
	spatial := c.Outs[0].Rank() - 2
	w, ok := c.Tensor("weight").StaticSizes()
	stride, err1 := spatialInts(c, "stride", spatial)
	padding, err2 := spatialInts(c, "padding", spatial)
	dilation, err3 := spatialInts(c, "dilation", spatial)
	if !ok || err1 != nil || err2 != nil || err3 != nil || slices.Max(dilation) > 1 {
		return nil
	}
	var dims []phaseDim
	for i := range spatial {
		in, ok1 := c.Tensor("input").Sizes[2+i].Const()
		out, ok2 := c.Outs[0].Sizes[2+i].Const()
		if !ok1 || !ok2 || out < 1 || in < 1 || stride[i] > maxPhases {
			return nil
		}
		d := phaseDim{kernel: w[2+i], stride: stride[i], out: out}
		d.taps = (d.kernel + d.stride - 1) / d.stride
		first, last := padding[i]/d.stride, (out-1+padding[i])/d.stride
		d.before, d.after = d.taps-1-first, last+1-in
		d.steps, d.skip = last-first+1, padding[i]-first*d.stride
		if d.kernel < 1 || d.before < 0 || d.after < 0 {
			return nil
		}
		dims = append(dims, d)
	}
	return dims
}

// maxPhases is the largest stride that is worth so many channels.
const maxPhases = 8

// dequantized returns the integers that v is dequantized of, nil if it is not.
func (s *transposedSplit) dequantized(b *ops.Builder, v *ir.Value) *ir.Value {
	if v == nil || v.Def == nil || v.Def.Op != dequantizeOp+".default" && v.Def.Op != perChannelOp {
		return nil
	}
	c, err := b.Table.Bind(v.Def)
	if err != nil {
		return nil
	}
	return c.Value("input")
}

// weight is the weight of the ordinary convolution: [stride…, out, in, taps…] of
// [in, out, kernel…], a constant or what is dequantized of one. It is nil if it is neither.
func (s *transposedSplit) weight(b *ops.Builder, w *ir.Value, dims []phaseDim,
	times int64) *ir.Value {
	if s.constant[w] {
		return s.phases(b, w, dims, nil)
	}
	ints := s.dequantized(b, w)
	if ints == nil || !s.constant[ints] || ints.Type.DType.Size() != 1 {
		return nil
	}
	c, _ := b.Table.Bind(w.Def)
	a := newIntegerArithmetic(&Context{}, s.constant)
	q := a.quantity(c)
	if q == nil || q.dynamic[0] != nil || !q.uniform() && q.axis != 1 {
		return nil
	}
	split := s.phases(b, ints, dims, q.zero)
	if split == nil {
		return nil
	}
	s.constant[split] = true
	if q.uniform() {
		return a.float(b, &quantity{ints: split, scale: q.scale, zero: q.zero, least: q.least,
			most: q.most})
	}
	repeated := func(arg ir.Arg) ir.Arg {
		if r, ok := arg.(ir.Ref); ok {
			return ir.Ref{Value: s.repeated(b, r.Value, times)}
		}
		return arg
	}
	args := []any{split, repeated(q.scales), repeated(q.zeros), 0, c.Arg("quant_min"),
		c.Arg("quant_max"), c.Arg("dtype")}
	return b.Op(perChannelOp, args...)
}

// repeated is v so many times, which is constant or dequantized of constants; nil if it is not.
func (s *transposedSplit) repeated(b *ops.Builder, v *ir.Value, times int64) *ir.Value {
	from := s.dequantized(b, v)
	if !s.constant[v] && !s.constant[from] {
		return nil
	}
	made := computed(b.Table, func(b *ops.Builder) []*ir.Value {
		one := (*ir.Value)(nil)
		if v.Const != nil {
			one = b.Constant(v.Name, v.Const)
		} else {
			one = again(b, []*ir.Node{v.Def}, map[*ir.Value]*ir.Value{})
		}
		return b.Ops("aten.repeat.default", one, []int64{times})
	})
	if made == nil {
		return nil
	}
	v = b.Constant(v.Name+"_phases", made[0])
	s.constant[v] = true
	return v
}

// phases is such a constant. What is not there is the zero point of its channel, or zero.
func (s *transposedSplit) phases(b *ops.Builder, w *ir.Value, dims []phaseDim,
	zero []int64) *ir.Value {
	raw, err := ir.Tensor(w.Const)
	sizes, ok := w.Type.StaticSizes()
	if err != nil || !ok {
		return nil
	}
	in, out, size := sizes[0], sizes[1], int64(w.Type.DType.Size())
	kernel, taps, phases := int64(1), int64(1), int64(1)
	now := []int64{out, in}
	for _, d := range dims {
		kernel, taps, phases = kernel*d.kernel, taps*d.taps, phases*d.stride
		now = append(now, d.taps)
	}
	now[0] *= phases
	data := make(ir.Bytes, 0, phases*out*in*taps*size)
	for p := range phases {
		for o := range out {
			for i := range in {
				for t := range taps {
					at, inside := kernelPlace(dims, p, t)
					if inside {
						at = ((i*out+o)*kernel + at) * size
						data = append(data, raw[at:at+size]...)
						continue
					}
					fill := make([]byte, size)
					if len(zero) > 0 {
						fill[0] = byte(zero[min(int(o), len(zero)-1)])
					}
					data = append(data, fill...)
				}
			}
		}
	}
	return b.Constant(w.Name+"_phases", &ir.Constant{Data: data,
		Type: ir.StaticTensor(w.Type.DType, now...)})
}

// kernelPlace returns which tap of the kernel that of a phase is: from the last of the phase's to
// its first.
func kernelPlace(dims []phaseDim, phase, tap int64) (at int64, inside bool) {
	step := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		d := &dims[i]
		k := phase%d.stride + d.stride*(d.taps-1-tap%d.taps)
		if k >= d.kernel {
			return 0, false
		}
		at += k * step
		step *= d.kernel
		phase, tap = phase/d.stride, tap/d.taps
	}
	return at, true
}
