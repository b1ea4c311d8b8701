package tuned

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// MaxPool2D is the largest of each window of images in Go, whose compiler would take
// elements one by one. Channels lie innermost in image and result, or both are
// row-major. Of these, and of few channels, a row's largest are taken in scratch first.
func MaxPool2D() *Kernel {
	return &Kernel{Name: "max_pool2d_f32", Descriptor: poolParams, Go: "rows.MaxPool",
		Buffers: []string{"scratch"}, Phases: []string{"rows"}, OwnScratch: true,
		Operands: []string{"x"}, Match: matchMaxPool}
}

// AvgPool2D is the mean of each window of images whose channels lie innermost, like
// MaxPool2D.
func AvgPool2D() *Kernel {
	return &Kernel{Name: "avg_pool2d_f32", Descriptor: poolParams, Go: "rows.AvgPool",
		Phases: []string{"rows"}, Operands: []string{"x"}, Match: matchAvgPool}
}

func matchMaxPool(r *Request) *Instance {
	c := r.Call
	name := c.Op.Name()
	if name != "aten.max_pool2d.default" && (name != "aten.max_pool2d_with_indices.default" ||
		len(c.Outs) != 1) {
		return nil
	}
	w := pooled{divisor: sym.Int(0)}
	if !w.read(c, &w.kernel, "kernel_size") || !w.read(c, &w.stride, "stride") ||
		!w.read(c, &w.dilation, "dilation") || !w.read(c, &w.pad, "padding") {
		return nil
	}
	in := w.instance(r, r.Out != nil)
	if in == nil {
		return nil
	}
	// Padding is at most half of a window: without dilation, each sees some of the image.
	in.PassesBytes = r.Out != nil && w.dilation[0].Is(1) && w.dilation[1].Is(1)
	x, y := c.Tensor("self"), c.Outs[0]
	row := x.Sizes[3] // of which a part has scratch for one
	if r.Out == nil {
		in.Channels.Inner = sym.Mul(y.Sizes[2], y.Sizes[3])
	} else if row = sym.Mul(row, x.Sizes[1]); !sym.Less(x.Sizes[1], num(fewLanes)) {
		return in
	}
	in.Scratch = sym.Max(sym.Int(4), sym.Mul(sym.Int(4), row))
	return in
}

func matchAvgPool(r *Request) *Instance {
	c, one := r.Call, sym.Int(1)
	if c.Op.Name() == "aten.adaptive_avg_pool2d.default" ||
		c.Op.Name() == "aten._adaptive_avg_pool2d.default" {
		return matchAdaptive(r)
	}
	w := pooled{dilation: [2]sym.Expr{one, one}}
	if c.Op.Name() != "aten.avg_pool2d.default" || !w.read(c, &w.kernel, "kernel_size") ||
		!w.read(c, &w.stride, "stride") || !w.read(c, &w.pad, "padding") {
		return nil
	}
	divisor := int64(0) // as many as there are
	switch {
	case c.Has("divisor_override"):
		d, err := c.Int("divisor_override")
		if err != nil || d <= 0 {
			return nil
		}
		divisor = d
	case c.Bool("count_include_pad") && !(w.pad[0].IsZero() && w.pad[1].IsZero()):
		divisor = -1
	}
	w.divisor = sym.Int(divisor)
	return w.instance(r, true)
}

// matchAdaptive takes means of windows that lie side by side, all of one size.
func matchAdaptive(r *Request) *Instance {
	x, y := r.Call.Tensor("self"), r.Call.Outs[0]
	if x.Rank() != 4 {
		return nil
	}
	zero, one := sym.Int(0), sym.Int(1)
	w := pooled{dilation: [2]sym.Expr{one, one}, pad: [2]sym.Expr{zero, zero}, divisor: zero}
	for d := range w.kernel {
		n, known := x.Sizes[2+d].Const()
		parts, known2 := y.Sizes[2+d].Const()
		if !known || !known2 || parts == 0 || n == 0 || n%parts != 0 {
			return nil
		}
		w.kernel[d] = sym.Int(n / parts)
	}
	w.stride = w.kernel
	return w.instance(r, true)
}

// WorthLastPools reports whether a pooling of a channels-last image is better
// made channels-last itself and copied than made row-major.
func WorthLastPools(c *ops.Call, t Target) bool {
	r := &Request{Call: c, Target: t, Order: func(int) []int { return NHWC }, Out: NHWC}
	return Select([]*Kernel{MaxPool2D(), AvgPool2D()}, r) != nil
}

// pooled is the window of a pooling, and what its sums are divided by.
type pooled struct {
	kernel, stride, dilation, pad [2]sym.Expr // of rows and columns
	divisor                       sym.Expr
}

// read reads an argument for rows and columns.
func (w *pooled) read(c *ops.Call, to *[2]sym.Expr, name string) (ok bool) {
	*to, ok = pair(c, name)
	return ok
}

// instance returns an instance for images whose channels lie innermost or, if last is
// false, that are row-major; nil if those of r are not such.
func (w *pooled) instance(r *Request, last bool) *Instance {
	c := r.Call
	if !ChannelsLast(r.Target) || !allFloat32(c) {
		return nil
	}
	k := c.Operand("self")
	x, y := c.Tensor("self"), c.Outs[0]
	if x.Rank() != 4 || (r.order(k) != nil) != last || (r.Out != nil) != last {
		return nil
	}
	return &Instance{
		Params: poolParams.params(Values{"batch": x.Sizes[0], "channels": x.Sizes[1],
			"in_h": x.Sizes[2], "in_w": x.Sizes[3], "out_h": y.Sizes[2], "out_w": y.Sizes[3],
			"kernel_h": w.kernel[0], "kernel_w": w.kernel[1], "stride_h": w.stride[0],
			"stride_w": w.stride[1], "dilation_h": w.dilation[0], "dilation_w": w.dilation[1],
			"pad_h": w.pad[0], "pad_w": w.pad[1], "channels_inner": truth(last),
			"divisor": w.divisor, "in_bytes": sym.Int(0)}, nil),
		Operands:    []int{k},
		Channels:    Channels{Inner: sym.Int(1), Count: x.Sizes[1]},
		RunChannels: last,
		Tile:        r.Target.tile(),
		MACs:        sym.Int(0),
		Cost:        cost(y.Numel()),
		Work:        cost(y.Numel(), w.kernel[0], w.kernel[1]), // elements that windows see
	}
}

// pair reads an argument for two axes, which may be one number for both. A
// window without a stride moves by its size.
func pair(c *ops.Call, name string) ([2]sym.Expr, bool) {
	list, err := c.SymInts(name)
	switch {
	case err == nil && len(list) == 2:
		return [2]sym.Expr{list[0], list[1]}, true
	case err == nil && len(list) == 1:
		return [2]sym.Expr{list[0], list[0]}, true
	case err == nil && len(list) == 0 && name == "stride":
		return pair(c, "kernel_size")
	}
	return [2]sym.Expr{}, false
}
