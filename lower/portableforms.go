package lower

import (
	"math"
	"strings"

	"github.com/etgen/etgen/ir"
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
	Run: perNode(func(ctx *Context, m *ir.Method) visitor {
		uses := ir.Uses(m.Graph)
		return func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			if len(n.Regions) > 0 {
				return nil, true, nil
			}
			c, err := ctx.Table.Bind(n)
			if err != nil {
				return nil, true, nil // OnlyPortable reports it
			}
			b := ops.NewBuilder(ctx.Table, e)
			for _, rule := range portableRules {
				vs, err := rule(b, n, c, uses)
				if err != nil {
					return nil, false, err
				}
				if vs == nil {
					continue
				}
				for i, v := range vs {
					if old := n.Output(i); old != nil && v != nil && v.Def != nil && v.Def != n &&
						!isOperand(c, v) {
						v.Type = old.Type
					}
				}
				return vs, false, nil
			}
			return nil, true, nil
		}
	}),
}

// portableRule returns what may stand for n's results, nil if it does not apply.
// Uses counts the references to each value.
type portableRule func(b *ops.Builder, n *ir.Node, c *ops.Call,
	uses map[*ir.Value]int) ([]*ir.Value, error)

var portableRules = []portableRule{portableView, portableCopy, portableNumber, portableItem, portableRoll,
	portableRemainder, portablePad, portableCat, portablePower, portableCumsum, portableConvolution}

// portableCopy is the rule for copies and casts.
func portableCopy(b *ops.Builder, n *ir.Node, c *ops.Call, _ map[*ir.Value]int) ([]*ir.Value, error) {
	switch n.Op {
	case "aten._to_copy.default", "aten.clone.default", "aten.alias_copy.default",
		"aten.detach_copy.default", "aten.lift_fresh_copy.default":
	default:
		return nil, nil
	}
	x := c.Value("self")
	if x.Type.DType == c.Outs[0].DType {
		return []*ir.Value{x}, nil // functional: nobody writes to either
	}
	out := toOrder(b.Names, x, n.Outputs[0].Type)
	out.Loc = n.Loc
	b.Append(out)
	return out.Outputs, nil
}

// portableItem is the rule for reading a 16-bit float as a number, which the
// kernel does not do.
func portableItem(b *ops.Builder, n *ir.Node, c *ops.Call, _ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.item.default" && n.Op != "aten._local_scalar_dense.default" {
		return nil, nil
	}
	x := c.Value("self")
	if d := x.Type.DType; d != ir.Float16 && d != ir.BFloat16 {
		return nil, nil
	}
	t := x.Type
	t.DType = ir.Float32
	wide := toOrder(b.Names, x, t)
	wide.Loc = n.Loc
	b.Append(wide)
	return b.Call("aten._local_scalar_dense.default", wide.Outputs[0])
}

// portableRoll is the rule for rolling a flattened tensor: the kernel wants
// dimensions.
func portableRoll(b *ops.Builder, n *ir.Node, c *ops.Call, _ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.roll.default" {
		return nil, nil
	}
	x := c.Value("self")
	dims, err := c.Ints("dims")
	if err != nil || len(dims) > 0 {
		return nil, err
	}
	if x.Type.Rank() == 1 {
		return b.Call(n.Op, x, c.Arg("shifts"), []int64{0})
	}
	flat, err := call(b, viewCopyOp, x, shapeArg([]sym.Expr{x.Type.Numel()}))
	if err != nil {
		return nil, err
	}
	rolled, err := call(b, n.Op, flat, c.Arg("shifts"), []int64{0})
	if err != nil {
		return nil, err
	}
	return b.Call(viewCopyOp, rolled, shapeArg(x.Type.Sizes))
}

// portableCumsum is the rule for running sums of a tensor without dimensions,
// which the kernel refuses.
func portableCumsum(b *ops.Builder, n *ir.Node, c *ops.Call,
	_ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.cumsum.default" || c.Outs[0].Rank() > 0 {
		return nil, nil
	}
	row, err := call(b, viewCopyOp, c.Value("self"), []int{1})
	if err != nil {
		return nil, err
	}
	sum, err := call(b, n.Op, row, 0, ops.Kw("dtype", c.Outs[0].DType))
	if err != nil {
		return nil, err
	}
	return b.Call(viewCopyOp, sum, []int{})
}

// portableRemainder is the rule for remainders of integers: the kernels give them
// the sign of the dividend.
func portableRemainder(b *ops.Builder, n *ir.Node, c *ops.Call,
	_ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.remainder.Tensor" && n.Op != "aten.remainder.Scalar" {
		return nil, nil
	}
	x, other := c.Value("self"), c.Arg("other")
	if !c.Outs[0].DType.IsInt() || x == nil || x.Type.DType == ir.Bool {
		return nil, nil
	}
	var quotient *ir.Value
	var err error
	product := "aten.mul.Tensor"
	if n.Op == "aten.remainder.Tensor" {
		quotient, err = call(b, "aten.floor_divide.default", x, other)
	} else {
		product = "aten.mul.Scalar"
		quotient, err = call(b, "aten.div.Scalar_mode", x, other, ops.Kw("rounding_mode",
			ir.Str("floor")))
	}
	if err != nil {
		return nil, err
	}
	below, err := call(b, product, quotient, other)
	if err != nil {
		return nil, err
	}
	return b.Call("aten.sub.Tensor", x, below)
}

// portableView is the rule for views, and for what copies like one: each becomes
// the operator that copies what it shows. What has the elements in their order
// is one change of shape.
func portableView(b *ops.Builder, n *ir.Node, c *ops.Call,
	uses map[*ir.Value]int) ([]*ir.Value, error) {
	if c.Op.View != nil && len(n.Outputs) > 1 {
		return portableParts(b, n, c, uses)
	}
	p, base, ok := viewOf(c)
	if !ok {
		return nil, nil
	}
	out, err := copyOf(b, p, base)
	if err != nil {
		return nil, err
	}
	if out == nil {
		return copyingForm(b, n, c)
	}
	return []*ir.Value{out}, nil
}

// viewOf returns where each element of the only result of c lies in one of its
// operands, of the same dtype; ok is false if c does more.
func viewOf(c *ops.Call) (p *placement, base *ir.Value, ok bool) {
	if len(c.Outs) != 1 || c.Outs[0].Kind != ir.TensorKind || c.Op.Name() == toDimOrderOp {
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
		at := make([]sym.Expr, len(from))
		for i, e := range from {
			at[i] = e.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
				for d, v := range vars {
					if v.Equal(s.Expr()) {
						return coords[d], true
					}
				}
				return sym.Expr{}, false
			})
		}
		return at
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
func copyingForm(b *ops.Builder, n *ir.Node, c *ops.Call) ([]*ir.Value, error) {
	if c.Op.View == nil {
		return nil, nil
	}
	base := ir.OpBase(n.Op)
	op := "aten." + base + "_copy" + n.Op[len("aten."+base):]
	if _, ok := b.Table.Lookup(op); !ok || !hasPortableKernel(op) {
		return nil, nil
	}
	args := make([]any, 0, len(c.Args))
	for i, p := range c.Op.ParsedSchema().Args {
		args = append(args, ops.Kw(p.Name, c.Args[i]))
	}
	return b.Call(op, args...)
}

// portableParts is the rule for views with several results: all the parts of a
// tensor along a dimension are made at once, a single one by itself.
func portableParts(b *ops.Builder, n *ir.Node, c *ops.Call,
	uses map[*ir.Value]int) ([]*ir.Value, error) {
	views, err := c.Op.View(c)
	if err != nil || len(views) != len(n.Outputs) {
		return nil, err
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
		if vs, err := together(b, places, base); vs != nil || err != nil {
			return vs, err
		}
	}
	out := make([]*ir.Value, len(views))
	for i, view := range views {
		if v := n.Output(i); v == nil || uses[v] == 0 {
			continue
		}
		if out[i], err = copyOf(b, places[i], c.Operands()[view.Of]); err != nil || out[i] == nil {
			return nil, err
		}
	}
	return out, nil
}

// together makes tensors that are consecutive parts of base, or all it has at
// one index each; nil if they are neither.
func together(b *ops.Builder, places []*placement, base *ir.Value) ([]*ir.Value, error) {
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
		return b.Call("aten.split_with_sizes_copy.default", base, sizes, at)
	}
	for i, p := range places {
		dim, index, ok := p.selected()
		if !ok || i > 0 && dim != at || !index.Is(int64(i)) {
			return nil, nil
		}
		at = dim
	}
	if !base.Type.Sizes[at].Is(int64(len(places))) {
		return nil, nil
	}
	return b.Call("aten.unbind_copy.int", base, at)
}

// copyOf emits the tensor that p places in base as a tensor of its own; nil if
// no operator makes it.
func copyOf(b *ops.Builder, p *placement, base *ir.Value) (*ir.Value, error) {
	if p.identity() {
		return base, nil
	}
	if p.whole() {
		for base.Def != nil && base.Def.Op == viewCopyOp { // another shape of the same
			base = base.Def.Arg("self").(ir.Ref).Value
		}
		if sym.AllEqual(base.Type.Sizes, p.sizes) {
			return base, nil
		}
		return call(b, viewCopyOp, base, shapeArg(p.sizes))
	}
	if perm, ok := p.permuted(); ok {
		return call(b, "aten.permute_copy.default", base, perm)
	}
	if dim, index, ok := p.selected(); ok {
		return call(b, "aten.select_copy.int", base, dim, index)
	}
	if dim, start, end, step, ok := p.sliced(); ok {
		stop := any(end)
		if end.Equal(base.Type.Sizes[dim]) {
			stop = int64(math.MaxInt64)
		}
		return call(b, "aten.slice_copy.Tensor", base, dim, start, stop, step)
	}
	if offset, dim1, dim2, ok := p.diagonal(); ok {
		return call(b, "aten.diagonal_copy.default", base, offset, dim1, dim2)
	}
	if p.expanded() {
		return call(b, "aten.expand_copy.default", base, expandArg(b, p))
	}
	return nil, nil
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
func portableNumber(b *ops.Builder, n *ir.Node, c *ops.Call,
	_ map[*ir.Value]int) ([]*ir.Value, error) {
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
	plain := func() bool { return schema.Index("alpha") < 0 || isOne(c.Arg("alpha")) }
	rest := func(from int) []any {
		var args []any
		for i := from; i < len(c.Args); i++ {
			args = append(args, ops.Kw(schema.Args[i].Name, c.Args[i]))
		}
		return args
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
		if _, ok := b.Table.Lookup(scalar); ok && hasPortableKernel(scalar) {
			return b.Call(scalar, append([]any{c.Args[0], c.Args[1]}, rest(2)...)...)
		}
	case number(0) && len(c.Args) > 1 && !number(1):
		if op := swapped[n.Op]; op != "" && plain() {
			return b.Call(op, c.Args[1], c.Args[0])
		}
		switch n.Op {
		case "aten.sub.Tensor":
			return b.Call("aten.rsub.Scalar", c.Args[1], c.Args[0], ops.Kw("alpha", c.Arg("alpha")))
		case "aten.pow.Tensor_Tensor":
			return b.Call("aten.pow.Scalar", c.Args[0], c.Args[1])
		}
	}
	args := make([]any, len(c.Args))
	found := false
	for i := range c.Args {
		args[i] = ops.Kw(schema.Args[i].Name, c.Args[i])
		if !number(i) {
			continue
		}
		found = true
		t, err := b.Call("aten.scalar_tensor.default", c.Args[i],
			ops.Kw("dtype", numberType(c, c.Args[i])))
		if err != nil {
			return nil, err
		}
		args[i] = ops.Kw(schema.Args[i].Name, t[0])
	}
	if !found {
		return nil, nil
	}
	return b.Call(n.Op, args...)
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
// all planes they meet, which count as further images of the batch.
func portableConvolution(b *ops.Builder, n *ir.Node, c *ops.Call,
	_ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.convolution.default" || c.Bool("transposed") {
		return nil, nil
	}
	x, w, out := c.Value("input"), c.Value("weight"), c.Outs[0]
	if x.Type.Rank() != 5 || w.Type.Rank() != 5 {
		return nil, nil
	}
	depth, ok := w.Type.Sizes[2].Const()
	if !ok || depth == 0 {
		return nil, nil
	}
	var first []int64     // of the depth: stride, padding, dilation
	var others [3][]int64 // of height and width
	for i, name := range []string{"stride", "padding", "dilation"} {
		v, err := c.Ints(name)
		if err != nil {
			return nil, err
		}
		if len(v) == 1 {
			v = []int64{v[0], v[0], v[0]}
		}
		first, others[i] = append(first, v[0]), v[1:]
	}
	var vs []*ir.Value
	err := b.Do(func() error {
		if p := first[1]; p > 0 {
			x = b.Op("aten.constant_pad_nd.default", x, []int64{0, 0, 0, 0, p, p})
		}
		s, o, wt := x.Type.Sizes, out.Sizes, w.Type.Sizes
		planes := sym.Mul(s[0], o[2])
		reach := sym.Add(sym.Mul(sym.Sub(o[2], sym.Int(1)), sym.Int(first[0])), sym.Int(1))
		var sum *ir.Value
		bias := c.Arg("bias")
		for t := range depth {
			from := t * first[2]
			part := b.Op("aten.slice_copy.Tensor", x, 2, from, sym.Add(reach, sym.Int(from)),
				first[0])
			part = b.Op("aten.permute_copy.default", part, []int{0, 2, 1, 3, 4})
			part = b.Op(viewCopyOp, part, []sym.Expr{planes, s[1], s[3], s[4]})
			kernel := b.Op("aten.slice_copy.Tensor", w, 2, t, t+1)
			kernel = b.Op(viewCopyOp, kernel, []sym.Expr{wt[0], wt[1], wt[3], wt[4]})
			y := b.Op(n.Op, part, kernel, bias, others[0], others[1], others[2], false, []int{0, 0},
				c.Arg("groups"))
			if sum == nil {
				sum, bias = y, ir.None{}
			} else {
				sum = b.Op("aten.add.Tensor", sum, y)
			}
		}
		sum = b.Op(viewCopyOp, sum, []sym.Expr{o[0], o[2], o[1], o[3], o[4]})
		vs = []*ir.Value{b.Op("aten.permute_copy.default", sum, []int{0, 2, 1, 3, 4})}
		return nil
	})
	return vs, err
}
