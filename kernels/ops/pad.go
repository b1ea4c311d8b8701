package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// padArg returns what a pad argument adds: before and after, from the last
// dimension on.
func (c *Call) padArg(name string) []sym.Expr {
	t := c.Tensor("self")
	pad := must(c.SymInts(name))
	c.errorIf(len(pad)%2 != 0 || len(pad) > 2*t.Rank(),
		"padding of %d sides of a tensor with %d dimensions", len(pad), t.Rank())
	for d, s := range paddedSizes(t.Sizes, pad) {
		c.errorIf(sym.Less(s, sym.Int(0)), "padding leaves dimension %d of size %s", d, s)
		c.need(sym.Add(s, sym.Int(1)))
	}
	return pad
}

// constantPad returns the element at of self padded with a constant.
func (c *Call) constantPad(pad, at []sym.Expr, value *expr.Expr) *expr.Expr {
	t := c.Tensor("self")
	in := slices.Clone(at)
	guard := expr.Bool(true)
	for i := 0; i < len(pad); i += 2 {
		d := t.Rank() - 1 - i/2
		in[d] = sym.Sub(at[d], pad[i])
		guard = expr.And(guard, expr.InRange(in[d], sym.Int(0), t.Sizes[d]))
	}
	return expr.Select(guard, c.Load("self", in...), value)
}

// padCoord returns where a padded element comes from: i counts from the first
// element of the unpadded dimension of size n, to which before and after are added.
type padCoord func(i, n, before, after sym.Expr) sym.Expr

func reflected(i, n, _, _ sym.Expr) sym.Expr {
	i = sym.Max(i, sym.Neg(i))
	return sym.Min(i, sym.Sub(sym.Sub(sym.Mul(sym.Int(2), n), sym.Int(2)), i))
}

func replicated(i, n, _, _ sym.Expr) sym.Expr {
	return sym.Min(sym.Max(i, sym.Int(0)), sym.Sub(n, sym.Int(1)))
}

// wrapped repeats what negative padding leaves of the dimension.
func wrapped(i, n, before, after sym.Expr) sym.Expr {
	first, left := uncut(n, before, after)
	return sym.Add(first, sym.Mod(sym.Sub(i, first), left))
}

// uncut is what negative padding leaves of a dimension of size n: from which element, and how
// many.
func uncut(n, before, after sym.Expr) (first, left sym.Expr) {
	first = sym.Max(sym.Neg(before), sym.Int(0))
	return first, sym.Sub(sym.Sub(n, first), sym.Max(sym.Neg(after), sym.Int(0)))
}

// padMode returns how the mode called name pads, nil for "constant".
func (c *Call) padMode(name string) padCoord {
	switch name {
	case "constant":
		return nil
	case "reflect":
		return reflected
	case "replicate":
		return replicated
	case "circular":
		return wrapped
	}
	panic(c.Errorf("no padding is called %q", name))
}

// padFrom returns the coordinates of what stands at in the padded tensor.
func (c *Call) padFrom(pad, at []sym.Expr, f padCoord) []sym.Expr {
	t := c.Tensor("self")
	in := slices.Clone(at)
	for i := 0; i < len(pad); i += 2 {
		d := t.Rank() - 1 - i/2
		in[d] = f(sym.Sub(at[d], pad[i]), t.Sizes[d], pad[i], pad[i+1])
	}
	return in
}

// padChecked rejects padding that reflects or wraps beyond the tensor.
func (c *Call) padChecked(pad []sym.Expr, mode string) {
	t := c.Tensor("self")
	for i, p := range pad {
		n := t.Sizes[t.Rank()-1-i/2]
		c.errorIf(mode == "reflect" && sym.LessEq(n, p) || mode == "circular" && sym.Less(n, p) ||
			mode != "constant" && n.IsZero(), "padding of %s in mode %s of a dimension of size %s",
			p, mode, n)
		switch mode {
		case "reflect":
			c.need(sym.Sub(n, p))
		case "circular":
			c.need(sym.Sub(sym.Add(n, sym.Int(1)), p))
			c.need(n)
		case "replicate":
			c.need(n)
		}
	}
}

// padOps add elements around a tensor.
func padOps() []entry {
	ops := []entry{
		{
			Schema: "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				pad := c.padArg("pad")
				return []ir.Type{paddedType(c.Tensor("self"), pad)}
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				pad := c.padArg("pad")
				return c.constantPad(pad, at, c.number(c.Arg("value"), c.Outs[0].DType))
			}),
		},
		{
			Schema: "aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", " +
				"float? value=None) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				pad := c.padArg("pad")
				mode := c.Str("mode")
				c.padMode(mode)
				t := paddedType(c.Tensor("self"), pad)
				if mode == "circular" {
					t = t.Dense()
				}
				c.padChecked(pad, mode)
				return []ir.Type{t}
			},
			Decompose: decomposePad,
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				pad := c.padArg("pad")
				f := c.padMode(c.Str("mode"))
				d := c.Outs[0].DType
				var body *expr.Expr
				if f == nil {
					value := expr.Num(d, 0)
					if c.Has("value") {
						value = c.number(c.Arg("value"), d)
					}
					body = c.constantPad(pad, at, value)
				} else {
					body = c.Load("self", c.padFrom(pad, at, f)...)
				}
				return body
			}),
		},
	}
	for _, e := range []struct {
		schema, mode string
		n            int
	}{
		{"aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor", "reflect", 1},
		{"aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor", "reflect", 2},
		{"aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor", "reflect", 3},
		{"aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor", "replicate", 1},
		{"aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor", "replicate", 2},
		{"aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor", "replicate", 3},
	} {
		ops = append(ops, fixedPad(e.schema, e.mode, e.n))
	}
	return ops
}

// fixedPad pads exactly the last n dimensions.
func fixedPad(schema, mode string, n int) entry {
	return moved(schema, func(c *Call) ir.Type {
		t := c.Tensor("self")
		pad := c.padArg("padding")
		c.errorIf((len(pad) != 2*n || t.Rank() != n+1 && t.Rank() != n+2),
			"padding of %d sides of a tensor with %d dimensions", len(pad), t.Rank())
		c.padChecked(pad, mode)
		return paddedType(t, pad)
	}, func(c *Call, at []sym.Expr) []sym.Expr {
		pad := c.padArg("padding")
		f := c.padMode(mode)
		return c.padFrom(pad, at, f)
	})
}

// paddedType is t with pad added: channels last if t is.
func paddedType(t ir.Type, pad []sym.Expr) ir.Type {
	return inFormatOf(t, t.DType, paddedSizes(t.Sizes, pad))
}

// decomposePad is the pad operator of the mode; circular has none and gathers.
func decomposePad(b *Builder, c *Call) []*ir.Value {
	mode, x := c.Str("mode"), c.Value("self")
	if mode == "constant" {
		value := c.Arg("value")
		if !c.Has("value") {
			value = ir.Int(0)
		}
		return []*ir.Value{b.aten("constant_pad_nd", x, c.Arg("pad"), value)}
	}
	pad := c.padArg("pad")
	name := map[string]string{"reflect": "reflection_pad", "replicate": "replication_pad"}[mode]
	if name != "" {
		return []*ir.Value{b.Op("aten."+name+itoa(len(pad)/2)+"d.default", x, c.Arg("pad"))}
	}
	for i := 0; i < len(pad); i += 2 {
		d := c.Outs[0].Rank() - 1 - i/2
		n := x.Type.Sizes[d]
		first, left := uncut(n, pad[i], pad[i+1])
		idx := b.aten("arange.start", sym.Neg(sym.Add(pad[i], first)),
			sym.Sub(sym.Add(n, pad[i+1]), first))
		idx = b.aten("add.Scalar", b.aten("remainder.Scalar", idx, left), first)
		x = b.aten("index_select", x, d, idx)
	}
	return []*ir.Value{x}
}
