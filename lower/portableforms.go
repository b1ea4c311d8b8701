package lower

import (
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// PortableForms brings every node to a form that ExecuTorch's runtime has a kernel
// for: views become copies (or one change of shape), numbers stand where a
// kernel takes a number, casts and copies say the order of dimensions they
// produce. What a kernel refuses of dtypes and shapes is made explicit.
// Tensors must be dense.
var PortableForms = Pass{
	Name: "portable-forms",
	Doc:  "bring every operator to a form that ExecuTorch has a kernel for",
	Run: perNode(func(_ *Context, _ *ir.Program, m *ir.Method) visitor {
		uses := ir.Uses(m.Graph)
		// What does not bind OnlyPortable reports.
		return onCalls(func(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
			vs := portableView(b, n, c, uses)
			if vs == nil {
				vs = portableNumber(b, n, c)
			}
			if rule := portableRules[n.Op]; rule != nil && vs == nil {
				if v := rule(b, n, c); v != nil {
					vs = []*ir.Value{v}
				}
			}
			keepTypes(n, c, vs)
			return vs
		})
	}),
}

// portableRules are the rules for single operators.
var portableRules = map[string]rule{
	"aten._to_copy.default": portableCopy, "aten.clone.default": portableCopy,
	"aten.alias_copy.default": portableCopy, "aten.detach_copy.default": portableCopy,
	"aten.lift_fresh_copy.default": portableCopy, "aten.item.default": portableItem,
	"aten._local_scalar_dense.default": portableItem, "aten.roll.default": portableRoll,
	"aten.remainder.Tensor": portableRemainder, "aten.remainder.Scalar": portableRemainder,
	"aten.constant_pad_nd.default": portablePad, "aten.cat.default": portableCat,
	"aten.pow.Tensor_Scalar": portablePower, "aten.cumsum.default": portableCumsum,
	"aten.convolution.default": portableConvolution,
}

// portableCopy is the rule for copies and casts.
func portableCopy(b *ops.Builder, n *ir.Node, c *ops.Call) *ir.Value {
	x := c.Value("self")
	if x.Type.DType == c.Outs[0].DType {
		return x // functional: nobody writes to either
	}
	return emitOrder(b, x, n.Outputs[0].Type)
}

// emitOrder is toOrder, emitted.
func emitOrder(b *ops.Builder, x *ir.Value, t ir.Type) *ir.Value {
	n := toOrder(b.Names, x, t)
	n.Loc = b.Loc
	b.Append(n)
	return n.Outputs[0]
}

// portableItem is the rule for reading a 16-bit float as a number, which the
// kernel does not do.
func portableItem(b *ops.Builder, _ *ir.Node, c *ops.Call) *ir.Value {
	x := c.Value("self")
	if d := x.Type.DType; d != ir.Float16 && d != ir.BFloat16 {
		return nil
	}
	t := x.Type
	t.DType = ir.Float32
	return b.Op("aten._local_scalar_dense.default", emitOrder(b, x, t))
}

// portableRoll is the rule for rolling a flattened tensor: the kernel wants
// dimensions.
func portableRoll(b *ops.Builder, n *ir.Node, c *ops.Call) *ir.Value {
	x := c.Value("self")
	if dims := must.Get(c.Ints("dims")); len(dims) > 0 {
		return nil
	}
	if x.Type.Rank() == 1 {
		return b.Op(n.Op, x, c.Arg("shifts"), []int64{0})
	}
	flat := b.Op(viewCopyOp, x, shapeArg([]sym.Expr{x.Type.Numel()}))
	rolled := b.Op(n.Op, flat, c.Arg("shifts"), []int64{0})
	return b.Op(viewCopyOp, rolled, shapeArg(x.Type.Sizes))
}

// portableCumsum is the rule for running sums of a tensor without dimensions,
// which the kernel refuses.
func portableCumsum(b *ops.Builder, n *ir.Node, c *ops.Call) *ir.Value {
	if c.Outs[0].Rank() > 0 {
		return nil
	}
	row := b.Op(viewCopyOp, c.Value("self"), []int{1})
	sum := b.Op(n.Op, row, 0, ops.Kw("dtype", c.Outs[0].DType))
	return b.Op(viewCopyOp, sum, []int{})
}

// portableRemainder is the rule for remainders of integers: the kernels give them
// the sign of the dividend.
func portableRemainder(b *ops.Builder, n *ir.Node, c *ops.Call) *ir.Value {
	x, other := c.Value("self"), c.Arg("other")
	if !c.Outs[0].DType.IsInt() || x == nil || x.Type.DType == ir.Bool {
		return nil
	}
	var below *ir.Value
	if n.Op == "aten.remainder.Tensor" {
		below = b.Op("aten.mul.Tensor", b.Op("aten.floor_divide.default", x, other), other)
	} else {
		quotient := b.Op("aten.div.Scalar_mode", x, other, ops.Kw("rounding_mode", ir.Str("floor")))
		below = b.Op("aten.mul.Scalar", quotient, other)
	}
	return b.Op("aten.sub.Tensor", x, below)
}

// portableView is the rule for views, and for what copies like one: each becomes
// the operator that copies what it shows. What has the elements in their order
// is one change of shape.
func portableView(b *ops.Builder, n *ir.Node, c *ops.Call,
	uses map[*ir.Value]int) []*ir.Value {
	if c.Op.View != nil && len(n.Outputs) > 1 {
		return portableParts(b, n, c, uses)
	}
	p, base, ok := viewOf(c)
	if !ok {
		return nil
	}
	out := copyOf(b, p, base)
	if out == nil {
		return copyingForm(b, n, c)
	}
	return []*ir.Value{out}
}

// viewOf returns where each element of the only result of c lies in one of its
// operands, of the same dtype; ok is false if c does more.
func viewOf(c *ops.Call) (p *placement, base *ir.Value, ok bool) {
	if len(c.Outs) != 1 || c.Outs[0].Kind != ir.TensorKind || c.Op.Name() == ToDimOrderOp {
		return nil, nil, false // the elements stay in place but for their order in memory
	}
	operand, from, vars, ok := reads(c)
	if !ok || c.Operands()[operand].Type.DType != c.Outs[0].DType {
		return nil, nil, false
	}
	base = c.Operands()[operand]
	sizes := c.Outs[0].Sizes
	if depends(c, from, vars) {
		return nil, nil, false
	}
	return place(sizes, base.Type.Sizes, func(coords []sym.Expr) []sym.Expr {
		return seq.Map(from, func(e sym.Expr) sym.Expr {
			return e.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
				for d, v := range vars {
					if v.Equal(s.Expr()) {
						return coords[d], true
					}
				}
				return sym.Expr{}, false
			})
		})
	}), base, true
}

// depends reports whether coordinates depend on more than vars, sizes and
// integer arguments: on data, as those of a gather.
func depends(c *ops.Call, from, vars []sym.Expr) bool {
	known := map[*sym.Symbol]bool{}
	add := func(es []sym.Expr) {
		for _, e := range es {
			for _, s := range e.Symbols() {
				known[s] = true
			}
		}
	}
	add(vars)
	add(c.Outs[0].Sizes)
	for _, v := range c.Operands() {
		add(v.Type.Sizes)
	}
	for _, a := range c.Args {
		ir.EachRef(a, func(v *ir.Value) { add([]sym.Expr{v.Type.Expr}) })
	}
	for _, e := range from {
		for _, s := range e.Symbols() {
			if !known[s] {
				return true
			}
		}
	}
	return false
}

// copyingForm is the operator of the view's name that copies.
func copyingForm(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	if c.Op.View == nil {
		return nil
	}
	base := ir.OpBase(n.Op)
	op := "aten." + base + "_copy" + n.Op[len("aten."+base):]
	if _, ok := b.Table.Lookup(op); !ok || !HasPortableKernel(op) {
		return nil
	}
	args := make([]any, 0, len(c.Args))
	for i, p := range c.Op.ParsedSchema().Args {
		args = append(args, ops.Kw(p.Name, c.Args[i]))
	}
	return must.Get(b.Call(op, args...))
}

// portableParts is the rule for views with several results: all the parts of a
// tensor along a dimension are made at once, a single one by itself.
func portableParts(b *ops.Builder, n *ir.Node, c *ops.Call,
	uses map[*ir.Value]int) []*ir.Value {
	views := must.Get(c.Op.View(c))
	if len(views) != len(n.Outputs) {
		return nil
	}
	places := make([]*placement, len(views))
	used := 0
	for i, view := range views {
		places[i] = place(c.Outs[i].Sizes, c.Operands()[view.Of].Type.Sizes, view.Map)
		if v := n.Output(i); v != nil && uses[v] > 0 {
			used++
		}
	}
	base := c.Operands()[views[0].Of]
	if used > 1 {
		if vs := together(b, places, base); vs != nil {
			return vs
		}
	}
	out := make([]*ir.Value, len(views))
	for i, view := range views {
		if v := n.Output(i); v == nil || uses[v] == 0 {
			continue
		}
		if out[i] = copyOf(b, places[i], c.Operands()[view.Of]); out[i] == nil {
			return nil
		}
	}
	return out
}

// together makes tensors that are consecutive parts of base, or all it has at
// one index each; nil if they are neither.
func together(b *ops.Builder, places []*placement, base *ir.Value) []*ir.Value {
	at := -1
	var sizes []sym.Expr
	next := sym.Int(0)
	for _, p := range places {
		dim, start, _, step, ok := p.sliced()
		if !ok || at >= 0 && dim != at || !step.Is(1) || !start.Equal(next) {
			sizes = nil
			break
		}
		at = dim
		sizes = append(sizes, p.sizes[dim])
		next = sym.Add(next, p.sizes[dim])
	}
	if len(sizes) == len(places) && next.Equal(base.Type.Sizes[at]) {
		return must.Get(b.Call("aten.split_with_sizes_copy.default", base, sizes, at))
	}
	for i, p := range places {
		dim, index, ok := p.selected()
		if !ok || i > 0 && dim != at || !index.Is(int64(i)) {
			return nil
		}
		at = dim
	}
	if !base.Type.Sizes[at].Is(int64(len(places))) {
		return nil
	}
	return must.Get(b.Call("aten.unbind_copy.int", base, at))
}

// copyOf emits the tensor that p places in base as a tensor of its own; nil if
// no operator makes it.
func copyOf(b *ops.Builder, p *placement, base *ir.Value) *ir.Value {
	if p.identity() {
		return base
	}
	if p.whole() {
		for base.Def != nil && base.Def.Op == viewCopyOp { // another shape of the same
			base = base.Def.Arg("self").(ir.Ref).Value
		}
		if sym.AllEqual(base.Type.Sizes, p.sizes) {
			return base
		}
		return b.Op(viewCopyOp, base, shapeArg(p.sizes))
	}
	op, overload, args := p.form()
	switch {
	case op == "":
		return nil
	case op == "expand":
		args[0] = expandArg(b, p)
	case op == "slice" && args[2].(sym.Expr).Equal(base.Type.Sizes[args[0].(int)]):
		args[2] = int64(math.MaxInt64)
	}
	return b.Op("aten."+op+"_copy."+overload, append([]any{base}, args...)...)
}

// shapeArg returns sizes as the argument of view_copy: if all but one are
// constants, that one follows from the number of elements.
func shapeArg(sizes []sym.Expr) any {
	dynamic := -1
	for d, s := range sizes {
		n, ok := s.Const()
		switch {
		case ok && n == 0: // then the number of elements tells nothing
			return sizes
		case ok:
		case dynamic >= 0:
			return sizes
		default:
			dynamic = d
		}
	}
	if dynamic < 0 {
		return sizes
	}
	list := make(ir.List, len(sizes))
	for d, s := range sizes {
		n, _ := s.Const()
		list[d] = ir.Int(n)
	}
	list[dynamic] = ir.Int(-1)
	return list
}

// expandArg returns the sizes of an expansion, -1 where the base's stays.
func expandArg(b *ops.Builder, p *placement) ir.List {
	skip := len(p.sizes) - len(p.base)
	list := make(ir.List, len(p.sizes))
	for d, s := range p.sizes {
		if _, ok := s.Const(); !ok && d >= skip && p.base[d-skip].Equal(s) {
			list[d] = ir.Int(-1)
			continue
		}
		list[d] = sizeArg(b, s)
	}
	return list
}

// swapped are the elementwise operators that give the same with their operands
// exchanged, under the name they then have.
var swapped = map[string]string{
	"aten.add.Tensor": "aten.add.Scalar", "aten.mul.Tensor": "aten.mul.Scalar",
	"aten.bitwise_and.Tensor": "aten.bitwise_and.Scalar",
	"aten.bitwise_or.Tensor":  "aten.bitwise_or.Scalar",
	"aten.bitwise_xor.Tensor": "aten.bitwise_xor.Scalar",
	"aten.eq.Tensor":          "aten.eq.Scalar", "aten.ne.Tensor": "aten.ne.Scalar",
	"aten.lt.Tensor": "aten.gt.Scalar", "aten.gt.Tensor": "aten.lt.Scalar",
	"aten.le.Tensor": "aten.ge.Scalar", "aten.ge.Tensor": "aten.le.Scalar",
}

// portableNumber is the rule for numbers in the place of tensors: the operator's
// form for a number where there is a kernel for it, else a tensor without
// dimensions.
func portableNumber(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
	schema := c.Op.ParsedSchema()
	number := func(i int) bool {
		if i >= len(c.Args) || schema.Args[i].Type.Name != "Tensor" {
			return false
		}
		switch a := c.Args[i].(type) {
		case ir.None, ir.List:
			return false
		case ir.Ref:
			return a.Value.Type.Kind != ir.TensorKind
		}
		return true
	}
	args := make([]any, len(c.Args))
	for i, a := range c.Args {
		args[i] = ops.Kw(schema.Args[i].Name, a)
	}
	switch {
	case number(1) && !number(0):
		scalar := strings.TrimSuffix(strings.TrimSuffix(n.Op, ".Tensor"), ".default") + ".Scalar"
		switch n.Op {
		case "aten.div.Tensor_mode":
			scalar = "aten.div.Scalar_mode"
		case "aten.pow.Tensor_Tensor":
			scalar = "aten.pow.Tensor_Scalar"
		case "aten.bitwise_left_shift.Tensor", "aten.bitwise_right_shift.Tensor":
			scalar = n.Op + "_Scalar"
		}
		if _, ok := b.Table.Lookup(scalar); ok && HasPortableKernel(scalar) {
			return must.Get(b.Call(scalar, append([]any{c.Args[0], c.Args[1]}, args[2:]...)...))
		}
	case number(0) && len(c.Args) > 1 && !number(1):
		if op := swapped[n.Op]; op != "" && (schema.Index("alpha") < 0 || isOne(c.Arg("alpha"))) {
			return must.Get(b.Call(op, c.Args[1], c.Args[0]))
		}
		switch n.Op {
		case "aten.sub.Tensor":
			return must.Get(b.Call("aten.rsub.Scalar", c.Args[1], c.Args[0], args[2]))
		case "aten.pow.Tensor_Tensor":
			return must.Get(b.Call("aten.pow.Scalar", c.Args[0], c.Args[1]))
		}
	}
	found := false
	for i, a := range c.Args {
		if number(i) {
			found = true
			args[i] = ops.Kw(schema.Args[i].Name, b.Op("aten.scalar_tensor.default", a,
				ops.Kw("dtype", numberType(c, a))))
		}
	}
	if !found {
		return nil
	}
	return must.Get(b.Call(n.Op, args...))
}

func isOne(a ir.Arg) bool { return a == ir.Int(1) || a == ir.Float(1) }

// numberType is the dtype of a tensor without dimensions that stands for a
// number in c: the number does not decide the dtype of the result further than
// by its kind.
func numberType(c *ops.Call, a ir.Arg) ir.DType {
	kind := ir.NoneKind
	if r, ok := a.(ir.Ref); ok {
		kind = r.Value.Type.Kind
	}
	_, isBool := a.(ir.BoolArg)
	_, isInt := a.(ir.Int)
	switch {
	case isBool || kind == ir.BoolKind:
		return ir.Bool
	case isInt || kind == ir.IntKind:
		return ir.Int64
	}
	for _, v := range c.Operands() {
		if v.Type.DType == ir.Float64 {
			return ir.Float64
		}
	}
	return ir.Float32
}

// portableConvolution is the rule for convolutions of three dimensions, where the
// kernel takes two: the sum over the depth of the weights of convolutions of
// all planes they meet, which count as further images of the batch. A transposed one meets
// planes of zeros between those of its input, and the weights from the last to the first.
func portableConvolution(b *ops.Builder, n *ir.Node, c *ops.Call) *ir.Value {
	x, w, out, transposed := c.Value("input"), c.Value("weight"), c.Outs[0], c.Bool("transposed")
	if x.Type.Rank() != 5 || w.Type.Rank() != 5 {
		return nil
	}
	depth, ok := w.Type.Sizes[2].Const()
	if !ok || depth == 0 {
		return nil
	}
	var first []int64     // of the depth: stride, padding, dilation
	var others [4][]int64 // of height and width: these, and output_padding
	for i, name := range []string{"stride", "padding", "dilation", "output_padding"} {
		v := must.Get(spatialInts(c, name, 3))
		first, others[i] = append(first, v[0]), v[1:]
	}
	stride, pad, dilation := first[0], first[1], first[2]
	s, o, wt := x.Type.Sizes, out.Sizes, w.Type.Sizes
	planes := sym.Mul(s[0], o[2])
	front, back := sym.Int(pad), sym.Int(pad)
	if transposed {
		x = portableZerosBetween(b, x, 2, stride)
		stride = 1
		spread := dilation * (depth - 1)
		front = sym.Int(spread - pad)
		back = sym.Sub(sym.Add(o[2], sym.Int(pad)), x.Type.Sizes[2])
	}
	zero := sym.Int(0)
	x = padOrCrop(b, x, []sym.Expr{zero, zero, zero, zero, front, back}, ir.Int(0))
	reach := sym.Add(sym.Mul(sym.Sub(o[2], sym.Int(1)), sym.Int(stride)), sym.Int(1))
	var sum *ir.Value
	bias := c.Arg("bias")
	for t := range depth {
		from := t * dilation
		if transposed {
			from = (depth - 1 - t) * dilation
		}
		part := b.Op("aten.slice_copy.Tensor", x, 2, from, sym.Add(reach, sym.Int(from)), stride)
		part = b.Op("aten.permute_copy.default", part, []int{0, 2, 1, 3, 4})
		part = b.Op(viewCopyOp, part, []sym.Expr{planes, s[1], s[3], s[4]})
		kernel := b.Op("aten.slice_copy.Tensor", w, 2, t, t+1)
		kernel = b.Op(viewCopyOp, kernel, []sym.Expr{wt[0], wt[1], wt[3], wt[4]})
		y := b.Op(n.Op, part, kernel, bias, others[0], others[1], others[2], transposed, others[3],
			c.Arg("groups"))
		if sum == nil {
			sum, bias = y, ir.None{}
		} else {
			sum = b.Op("aten.add.Tensor", sum, y)
		}
	}
	sum = b.Op(viewCopyOp, sum, []sym.Expr{o[0], o[2], o[1], o[3], o[4]})
	return b.Op("aten.permute_copy.default", sum, []int{0, 2, 1, 3, 4})
}

// portableZerosBetween puts step-1 slices of zeros behind each slice of x along dimension d.
func portableZerosBetween(b *ops.Builder, x *ir.Value, d int, step int64) *ir.Value {
	if step == 1 {
		return x
	}
	s := x.Type.Sizes
	rows := b.Op(viewCopyOp, x, []sym.Expr{sym.Mul(s[:d+1]...), sym.Int(1), sym.Mul(s[d+1:]...)})
	zeros := b.Op("aten.constant_pad_nd.default", rows, []int64{0, 0, 0, step - 1}, 0)
	sizes := slices.Clone(s)
	sizes[d] = sym.Mul(s[d], sym.Int(step))
	return b.Op(viewCopyOp, zeros, sizes)
}
