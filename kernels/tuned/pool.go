package tuned

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// MaxPool2D is the largest of each window of images whose channels lie innermost
// in memory: in Go, whose compiler would take the channels one by one.
func MaxPool2D() *Kernel {
	return &Kernel{Name: "max_pool2d_f32", Go: "rows.MaxPool", Phases: []string{"rows"},
		RunChannels: true, Operands: []string{"x"},
		Match: func(r *Request) *Instance { return counted(r, matchMaxPool(r)) }}
}

// MaxPool2DPlanes is MaxPool2D for row-major images.
func MaxPool2DPlanes() *Kernel {
	return &Kernel{Name: "max_pool2d_planes_f32", Go: "rows.MaxPoolPlanes",
		Phases: []string{"rows"}, OwnScratch: true, Operands: []string{"x"},
		Match: func(r *Request) *Instance { return counted(r, matchMaxPoolPlanes(r)) }}
}

// AvgPool2D is the mean of each window, like MaxPool2D.
func AvgPool2D() *Kernel {
	return &Kernel{Name: "avg_pool2d_f32", Go: "rows.AvgPool", Phases: []string{"rows"},
		RunChannels: true, Operands: []string{"x"},
		Match: func(r *Request) *Instance { return counted(r, matchAvgPool(r)) }}
}

func matchMaxPool(r *Request) *Instance { return maxPool(r, true) }

func matchMaxPoolPlanes(r *Request) *Instance {
	in := maxPool(r, false)
	if in == nil {
		return nil
	}
	x, y := r.Call.Tensor("self"), r.Call.Outs[0]
	in.Scratch = sym.Max(sym.Int(4), sym.Mul(sym.Int(4), x.Sizes[3]))
	in.Channels.Inner = sym.Mul(y.Sizes[2], y.Sizes[3])
	return in
}

func maxPool(r *Request, last bool) *Instance {
	name := r.Call.Op.Name()
	if name != "aten.max_pool2d.default" && (name != "aten.max_pool2d_with_indices.default" ||
		len(r.Call.Outs) != 1) {
		return nil
	}
	in := pool(r, last)
	if in == nil || !addPairs(r.Call, in, "kernel_size", "stride", "dilation", "padding") {
		return nil
	}
	return in
}

func matchAvgPool(r *Request) *Instance {
	c := r.Call
	if c.Op.Name() == "aten.adaptive_avg_pool2d.default" ||
		c.Op.Name() == "aten._adaptive_avg_pool2d.default" {
		return matchAdaptive(r)
	}
	if c.Op.Name() != "aten.avg_pool2d.default" {
		return nil
	}
	in := pool(r, true)
	if in == nil || !addPairs(c, in, "kernel_size", "stride", "padding") {
		return nil
	}
	divisor := int64(0) // as many as there are
	switch n := len(in.Params); {
	case c.Has("divisor_override"):
		d, err := c.Int("divisor_override")
		if err != nil || d <= 0 {
			return nil
		}
		divisor = d
	case c.Bool("count_include_pad") && !(in.Params[n-1].Value.IsZero() &&
		in.Params[n-2].Value.IsZero()):
		divisor = -1
	}
	in.Params = append(in.Params, Param{"divisor", sym.Int(divisor)})
	return in
}

// matchAdaptive takes means of windows that lie side by side, all of one size.
func matchAdaptive(r *Request) *Instance {
	in := pool(r, true)
	if in == nil {
		return nil
	}
	x, y := r.Call.Tensor("self"), r.Call.Outs[0]
	var size [2]sym.Expr
	for d := range size {
		n, known := x.Sizes[2+d].Const()
		parts, known2 := y.Sizes[2+d].Const()
		if !known || !known2 || parts == 0 || n == 0 || n%parts != 0 {
			return nil
		}
		size[d] = sym.Int(n / parts)
	}
	in.Params = append(in.Params, Param{"kh", size[0]}, Param{"kw", size[1]}, Param{"sh", size[0]},
		Param{"sw", size[1]},
		Param{"ph", sym.Int(0)}, Param{"pw", sym.Int(0)}, Param{"divisor", sym.Int(0)})
	return in
}

// WorthLastPools reports whether a pooling of a channels-last image is better
// made channels-last itself and copied than made row-major.
func WorthLastPools(c *ops.Call, t Target) bool {
	last := []int{0, 2, 3, 1}
	r := &Request{Call: c, Target: t, Order: func(int) []int { return last }, Out: last}
	return matchMaxPool(r) != nil || matchAvgPool(r) != nil
}

// pool returns an instance for a window that slides over an image, whose channels
// lie innermost or not, without the window, or nil.
func pool(r *Request, last bool) *Instance {
	c := r.Call
	if r.Target.Lang != "go" || !ChannelsLast(r.Target) || !allFloat32(c) {
		return nil
	}
	k := c.Operand("self")
	x, y := c.Tensor("self"), c.Outs[0]
	if x.Rank() != 4 || (r.order(k) != nil) != last || (r.Out != nil) != last {
		return nil
	}
	return &Instance{
		Params: []Param{{"batch", x.Sizes[0]}, {"channels", x.Sizes[1]}, {"ih", x.Sizes[2]},
			{"iw", x.Sizes[3]}, {"oh", y.Sizes[2]}, {"ow", y.Sizes[3]}},
		Operands: []int{k},
		Channels: Channels{Inner: sym.Int(1), Count: x.Sizes[1]},
		Tile:     r.Target.tile(),
		MACs:     sym.Int(0),
		Cost:     cost(y.Numel()),
	}
}

// counted returns an instance, if there is one, that knows how many elements its
// windows see.
func counted(r *Request, in *Instance) *Instance {
	if in == nil {
		return nil
	}
	in.Work = cost(r.Call.Outs[0].Numel())
	for _, p := range in.Params {
		if p.Name == "kh" || p.Name == "kw" {
			in.Work *= cost(p.Value)
		}
	}
	return in
}

// addPairs adds arguments for rows and columns to the parameters.
func addPairs(c *ops.Call, in *Instance, args ...string) bool {
	for _, arg := range args {
		p, ok := pair(c, arg)
		if !ok {
			return false
		}
		short := map[string]string{"kernel_size": "k", "stride": "s", "dilation": "d",
			"padding": "p"}[arg]
		in.Params = append(in.Params, Param{short + "h", p[0]}, Param{short + "w", p[1]})
	}
	return true
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
