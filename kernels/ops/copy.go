package ops

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// copyOps copy, convert or just rename a tensor.
func copyOps() []entry {
	var ops []entry
	for _, s := range []string{
		"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
		"aten::alias_copy(Tensor self) -> Tensor",
		"aten::detach_copy(Tensor self) -> Tensor",
		"aten::lift_fresh_copy(Tensor self) -> Tensor",
		"aten::_conj_physical(Tensor self) -> Tensor",
		"aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, " +
			"Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? " +
			"memory_format=None) -> Tensor",
	} {
		op := converting(s, "self", copyType)
		if strings.Contains(s, "detach_copy") || strings.Contains(s, "alias_copy") {
			op = op.core(sameAs("aten.clone.default"))
		}
		ops = append(ops, op)
	}
	for _, s := range []string{
		"aten::alias(Tensor(a) self) -> Tensor(a)",
		"aten::detach(Tensor(a) self) -> Tensor(a)",
		"aten::lift(Tensor self) -> Tensor",
		"aten::positive(Tensor(a) self) -> Tensor(a)",
		"aten::lift_fresh(Tensor(a) self) -> Tensor(a)",
		"aten::resolve_conj(Tensor(a) self) -> Tensor(a)",
		"aten::resolve_neg(Tensor(a) self) -> Tensor(a)",
	} {
		ops = append(ops, maybeCopy(s, func(c *Call) ir.Type { return c.Tensor("self") }))
	}
	for _, s := range []string{
		"aten::dropout(Tensor input, float p, bool train) -> Tensor",
		"aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor",
		"aten::feature_dropout(Tensor input, float p, bool train) -> Tensor",
		"aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
	} {
		ops = append(ops, maybeCopy(s, func(c *Call) ir.Type {
			c.errorIf(c.Bool("train") && must(c.Float("p")) != 0,
				"dropout in training mode is random; export the model after model.eval()")
			return c.Tensor("input")
		}))
	}
	for _, s := range []string{
		"aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
		"aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, " +
			"MemoryFormat? memory_format=None) -> Tensor(a)",
		"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, " +
			"bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
		"aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, " +
			"Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, " +
			"MemoryFormat? memory_format=None) -> Tensor(a)",
		"aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, " +
			"MemoryFormat? memory_format=None) -> Tensor(a)",
		"aten::type_as(Tensor self, Tensor other) -> Tensor",
	} {
		ops = append(ops, maybeCopy(s, toType))
	}
	return append(ops,
		converting("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", "src",
			func(c *Call) ir.Type {
				t := c.Tensor("self")
				c.errorIf(!broadcastsTo(c.Tensor("src"), t.Sizes), "%s do not broadcast",
					sizesOf{c.Tensor("src"), t})
				if t.Numel().IsZero() {
					t.Offset = sym.Expr{} // PyTorch does not clone a storage of no bytes
				}
				return t // a clone of self's storage: strides and offset too
			}),
		converting("aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", "value",
			fillType).core(func(b *Builder, c *Call) *ir.Value {
			// Copies a value without dimensions to the shape of self.
			v := b.cast(c.Value("value"), c.Outs[0].DType)
			return b.aten("clone", b.aten("expand", v, c.Outs[0].Sizes))
		}),
		converting("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", "value", fillType),
	)
}

func fillType(c *Call) ir.Type {
	if k := c.Operand("value"); k >= 0 && c.operands[k].Type.Rank() > 0 {
		panic(c.Errorf("the value has %d dimensions, not 0", c.operands[k].Type.Rank()))
	}
	return likeType(c.Tensor("self"), c.Tensor("self").DType)
}

// likeType is the type of empty_like(t) of dtype d in preserve_format.
func likeType(t ir.Type, d ir.DType) ir.Type {
	return ir.Type{Kind: ir.TensorKind, DType: d, Sizes: t.Sizes, Strides: likeStrides(t)}
}

// formatted is the type of a copy of t as dtype d in a memory_format argument;
// absent, it is def.
func (c *Call) formatted(t ir.Type, d ir.DType, def ir.MemoryFormat) ir.Type {
	f := def
	if c.Op.sch.Index("memory_format") >= 0 {
		if m, ok := c.Arg("memory_format").(ir.MemoryFormat); ok {
			f = m
		}
	}
	rank := map[ir.MemoryFormat]int{ir.ChannelsLast: 4, ir.ChannelsLast3d: 5}[f]
	switch {
	case rank == 0 && f == ir.ContiguousFormat:
		return ir.TensorOf(d, t.Sizes...)
	case rank == 0:
		return likeType(t, d)
	case t.Rank() != rank:
		panic(c.Errorf("memory_format channels last needs %d dimensions, the tensor has %d",
			rank, t.Rank()))
	}
	return ir.Type{Kind: ir.TensorKind, DType: d, Sizes: t.Sizes,
		Strides: channelsLastStrides(t.Sizes)}
}

// copyType is the result type of clone and _to_copy.
func copyType(c *Call) ir.Type {
	t, d := c.Tensor("self"), c.Tensor("self").DType
	if c.Op.sch.Index("dtype") >= 0 {
		d = c.DType("dtype", d)
	}
	return c.formatted(t, d, ir.PreserveFormat)
}

// toType is the result type of contiguous and to: self itself where it already
// is as wanted.
func toType(c *Call) ir.Type {
	t, d := c.Tensor("self"), c.Tensor("self").DType
	has := func(name string) bool { return c.Op.sch.Index(name) >= 0 }
	def := ir.PreserveFormat
	switch {
	case has("dtype"):
		d = c.DType("dtype", d)
	case has("other"):
		d = c.Tensor("other").DType
	default:
		def = ir.ContiguousFormat
		if m, _ := c.Arg("memory_format").(ir.MemoryFormat); m == ir.PreserveFormat {
			panic(c.Errorf("preserve_format is no format to make contiguous"))
		}
	}
	u := c.formatted(t, d, def)
	asked := false // a format other than preserve
	if has("memory_format") {
		m, given := c.Arg("memory_format").(ir.MemoryFormat)
		asked = given && m != ir.PreserveFormat
	}
	inPlace := d == t.DType && !(has("copy") && c.Bool("copy"))
	if inPlace && (!asked && def == ir.PreserveFormat || sameStrides(t, u)) {
		return t
	}
	return u
}

// sameStrides reports whether t has u's strides where they matter.
func sameStrides(t, u ir.Type) bool {
	for i, s := range t.Sizes {
		if s.IsZero() {
			return true
		}
		if !s.Is(1) && !t.Strides[i].Equal(u.Strides[i]) {
			return false
		}
	}
	return true
}

// converting is an operator whose result's elements are those of one argument,
// broadcast and converted to the result's dtype.
func converting(schema, operand string, typ func(*Call) ir.Type) entry {
	return entry{
		Schema: schema,
		Infer:  func(c *Call) []ir.Type { return one(typ(c)) },
		Compute: element(func(c *Call, coords []sym.Expr) *expr.Expr {
			out := c.Outs[0]
			x := c.elem(operand, out.Sizes, coords)
			if x == nil {
				x = c.number(c.Arg(operand), out.DType)
			}
			return x
		}),
	}
}

// elem returns the element of a tensor argument, broadcast to sizes, at
// coords; nil if the argument is no tensor.
func (c *Call) elem(name string, sizes, coords []sym.Expr) *expr.Expr {
	k := c.Operand(name)
	if k < 0 {
		return nil
	}
	return c.LoadAt(k, broadcastCoords(c.operands[k].Type, sizes, coords)...)
}

// maybeCopy is an operator that returns its first argument itself if that has
// the type wanted, else a copy of that type.
func maybeCopy(schema string, typ func(*Call) ir.Type) entry {
	op := converting(schema, firstArg(schema), typ)
	copies := func(c *Call) bool {
		return !c.Outs[0].Equal(c.operands[0].Type) || c.Op.sch.Index("copy") >= 0 && c.Bool("copy")
	}
	op.View = func(c *Call) []View {
		if copies(c) {
			return nil
		}
		return []View{{Of: 0, Map: func(coords []sym.Expr) []sym.Expr { return coords }}}
	}
	return op.core(func(b *Builder, c *Call) *ir.Value {
		if !copies(c) {
			return c.operands[0]
		}
		format := ir.PreserveFormat
		switch out := c.Outs[0]; {
		case sameStrides(out, ir.TensorOf(out.DType, out.Sizes...)):
			format = ir.ContiguousFormat
		case isChannelsLast(out) && out.Rank() == 4:
			format = ir.ChannelsLast
		case isChannelsLast(out):
			format = ir.ChannelsLast3d
		}
		return b.aten("_to_copy", c.operands[0], Kw("dtype", c.Outs[0].DType),
			Kw("memory_format", format))
	})
}

// firstArg returns the name of the first argument of a schema.
func firstArg(schema string) string {
	s, err := aten.Parse(schema)
	if err != nil || len(s.Args) == 0 {
		return "" // NewTable tells
	}
	return s.Args[0].Name
}

// dimOrderOps are ExecuTorch's copies that say where the result's elements
// lie by an order of dimensions, outermost first, instead of a memory format,
// and its copies between devices.
func dimOrderOps() []entry {
	const ns = "dim_order_ops::"
	out := []entry{
		dimOrderCopy(ns + "_to_dim_order_copy(Tensor self, " + factoryTail +
			", bool non_blocking=False, int[]? dim_order=None) -> Tensor"),
		dimOrderCopy(ns +
			"_clone_dim_order(Tensor self, *, bool non_blocking=False, int[]? dim_order=None) -> Tensor"),
		dimOrderEmpty(ns + "_empty_dim_order(int[] size, " + factoryTail +
			", int[]? dim_order=None) -> Tensor"),
	}
	for _, s := range []string{"et_copy::_h2d_copy(Tensor self) -> Tensor",
		"et_copy::_d2h_copy(Tensor self) -> Tensor"} {
		out = append(out, converting(s, "self", copyType).core(sameAs("aten.clone.default")))
	}
	return out
}

// dimOrdered is t as dtype d with its dimensions in the order of the dim_order
// argument; absent, in the order they are in.
func (c *Call) dimOrdered(t ir.Type, d ir.DType) ir.Type {
	if !c.Has("dim_order") {
		return likeType(t, d)
	}
	order := must(c.Ints("dim_order"))
	c.errorIf(len(order) != t.Rank(), "an order of %d dimensions for a tensor with %d", len(order),
		t.Rank())
	perm := make([]int, len(order))
	for i, n := range order {
		c.errorIf(n < 0 || n >= int64(len(order)) || slices.Contains(order[:i], n),
			"%v is no order of %d dimensions", order, len(order))
		perm[len(order)-1-i] = int(n)
	}
	return ir.Type{Kind: ir.TensorKind, DType: d, Sizes: t.Sizes, Strides: stridesInOrder(t.Sizes,
		perm)}
}

func dimOrderCopy(schema string) entry {
	return converting(schema, "self", func(c *Call) ir.Type {
		t := c.Tensor("self")
		d := t.DType
		if c.Op.sch.Index("dtype") >= 0 {
			d = c.DType("dtype", d)
		}
		return c.dimOrdered(t, d)
	})
}

// dimOrderEmpty makes a tensor of zeros: what it holds is undefined.
func dimOrderEmpty(schema string) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			sizes := c.sizes("size")
			d := c.DType("dtype", defaultFloat)
			return one(c.dimOrdered(ir.TensorOf(d, sizes...), d))
		},
		Compute: element(func(c *Call, _ []sym.Expr) *expr.Expr {
			return expr.Num(c.Outs[0].DType, 0)
		}),
	}
}
