package tuned

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// MaxPool2D is the largest of each window of images whose channels lie innermost
// in memory: in Go, whose compiler would take the channels one by one.
func MaxPool2D() *Kernel {
	return &Kernel{Name: "max_pool2d_f32", Go: "rows.MaxPool", RunChannels: true, Operands: []string{"x"}, Match: matchMaxPool}
}

func matchMaxPool(r *Request) *Instance {
	c := r.Call
	if c.Op.Name() != "aten.max_pool2d.default" || r.Target.Lang != "go" || !ChannelsLast(r.Target) || !allFloat32(c) {
		return nil
	}
	k := c.Operand("self")
	x, y := c.Tensor("self"), c.Outs[0]
	if x.Rank() != 4 || r.order(k) == nil || r.Out == nil {
		return nil
	}
	in := &Instance{
		Params:   []Param{{"batch", x.Sizes[0]}, {"channels", x.Sizes[1]}, {"ih", x.Sizes[2]}, {"iw", x.Sizes[3]}, {"oh", y.Sizes[2]}, {"ow", y.Sizes[3]}},
		Operands: []int{k},
		Channels: Channels{Inner: sym.Int(1), Count: x.Sizes[1]},
		Tile:     r.Target.tile(),
		MACs:     sym.Int(0),
		Cost:     cost(y.Numel()),
	}
	for _, a := range []struct{ arg, rows, cols string }{
		{"kernel_size", "kh", "kw"}, {"stride", "sh", "sw"}, {"dilation", "dh", "dw"}, {"padding", "ph", "pw"},
	} {
		p, ok := pair(c, a.arg)
		if !ok {
			return nil
		}
		in.Params = append(in.Params, Param{a.rows, p[0]}, Param{a.cols, p[1]})
	}
	return in
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
