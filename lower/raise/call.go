package raise

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

func kwDType(d ir.DType) ops.Named { return ops.Kw("dtype", d) }

// call raises a kernel call. After an error what it writes is stood in for, so
// that later instructions can be looked at.
func (r *raiser) call(in pte.KernelCall) {
	role := r.roles[in.Op]
	err := must.Try(func() {
		must.Check(role.err)
		role.count(in)
		raises[role.kind](r, role, in.Args)
	})
	if n := len(in.Args); err != nil && n > 0 {
		r.standIn(in.Args[n-1])
		if role.kind == outKind {
			for _, a := range in.Args[min(len(role.params), n):n] {
				r.standIn(a)
			}
		}
	}
	must.Check(err)
}

// raises are what raises calls, by kind.
var raises = [...]func(r *raiser, role *role, args []int32){
	outKind: (*raiser).outCall, inPlace: (*raiser).inPlaceCall, pure: (*raiser).pureCall,
	copyInto: (*raiser).copyInto, numbers: (*raiser).numberCall, viewInto: (*raiser).viewInto,
	copyIndex: (*raiser).copyIndex, custom: (*raiser).customCall,
}

// checkCalls checks the arguments of all calls by their number and kind, of those too that
// no way leads to: a runtime prepares them when it loads the method.
func (r *raiser) checkCalls() {
	r.st = newState()
	for i := range r.code {
		in, ok := r.code[i].Instruction.(pte.KernelCall)
		if !ok || r.roles[in.Op].err != nil {
			continue
		}
		r.try(i, func() { r.checkCall(r.roles[in.Op], in) })
	}
}

func (r *raiser) checkCall(role *role, in pte.KernelCall) {
	role.count(in)
	op, _ := r.table.Lookup(role.op)
	for i, k := range role.params {
		p := &role.schema.Args[k]
		var a ir.Arg
		err := must.Try(func() {
			a = r.argument(p.Type, in.Args[i], func(s int32) *ir.Value {
				return &ir.Value{Type: ir.TensorOf(r.tensors[s].dtype)}
			})
		})
		if err == nil && !role.isScratch(i) { // an error is of what the argument is now
			must.Check(op.Takes(p, a))
		}
	}
}

// standIn makes up what a failed instruction would have written.
func (r *raiser) standIn(slot int32) {
	for _, s := range r.flatten(slot) {
		t := r.tensors[s]
		if !t.constant {
			r.write(t, r.b.Emit("etgen.missing", nil, typeOf(t.dtype, r.sizesOrBounds(t),
				t.order)).Outputs[0])
		}
	}
}

// arguments returns the arguments of a functional operator.
func (r *raiser) arguments(role *role, args []int32) []any {
	var out []any
	for i, k := range role.params {
		p := &role.schema.Args[k]
		saying("argument "+p.Name, func() {
			var a any
			if role.isScratch(i) {
				a = r.scratch(p, args[i])
			} else {
				a = r.argument(p.Type, args[i], r.read)
			}
			out = append(out, ops.Kw(p.Name, a))
		})
	}
	return out
}

// scratch returns what stands for memory to work in: nothing, or zeros where an
// operator insists. What lay there is lost.
func (r *raiser) scratch(p *aten.Param, slot int32) any {
	for _, s := range r.flatten(slot) {
		if t := r.tensors[s]; !t.constant {
			r.written(t.place)
			r.st.forget(t.place)
		}
	}
	t := r.tensors[slot]
	if p.Type.Optional || t == nil {
		return nil
	}
	return r.b.Op("aten.full.default", t.sizes, 0, kwDType(t.dtype))
}

// argument returns a value as an argument of a schema's type, tensors as read says.
func (r *raiser) argument(t *aten.Type, slot int32,
	read func(int32) *ir.Value) ir.Arg {
	ref := func(slot int32) ir.Arg {
		if slot < 0 || r.tensors[slot] == nil {
			return ir.None{}
		}
		return ir.Ref{Value: read(slot)}
	}
	switch v := r.Values[slot].(type) {
	case *pte.Tensor:
		return ref(slot)
	case pte.TensorList:
		return listOf(v, ref)
	case pte.OptionalTensorList:
		return listOf(v, ref)
	case pte.IntList:
		return listOf(v, func(s int64) ir.Arg { return r.word(elem(t), int32(s)) })
	case pte.DoubleList:
		return listOf(v, func(x float64) ir.Arg { return ir.Float(x) })
	case pte.BoolList:
		return listOf(v, func(x bool) ir.Arg { return ir.BoolArg(x) })
	}
	return r.word(t, slot)
}

func listOf[T any](items []T, arg func(T) ir.Arg) ir.List {
	list := make(ir.List, len(items))
	for i, x := range items {
		list[i] = arg(x)
	}
	return list
}

func elem(t *aten.Type) *aten.Type {
	if t.IsList() {
		return t.Elems[0]
	}
	return t
}

// word returns a scalar value as an argument of a type. Files have integers for
// what PyTorch has types of its own for.
func (r *raiser) word(t *aten.Type, slot int32) ir.Arg {
	s := r.scalar(slot)
	if n, ok := s.expr.Const(); ok && s.isExpr {
		if a := aten.Member(elem(t), n); a != nil {
			return a
		}
		if elem(t).Name == "bool" && (n == 0 || n == 1) {
			return ir.BoolArg(n == 1)
		}
	}
	if str, ok := s.arg.(ir.Str); ok && elem(t).Name == "Device" {
		return ir.Device(str)
	}
	return r.scalarArg(s)
}

// scalar returns what a scalar value is now.
func (r *raiser) scalar(slot int32) scalar {
	if s, ok := r.st.scalars[slot]; ok {
		return s
	}
	switch v := r.Values[slot].(type) {
	case pte.Int:
		return integer(sym.Int(int64(v)))
	case pte.Bool:
		return scalar{arg: ir.BoolArg(v)}
	case pte.Double:
		return scalar{arg: ir.Float(v)}
	case pte.String:
		return scalar{arg: ir.Str(v)}
	}
	return scalar{arg: ir.None{}}
}

// functional emits a functional operator. What an out variant is not told
// because the tensor it writes has it is that tensor's.
func (r *raiser) functional(role *role, args []int32, outs ...int32) []*ir.Value {
	in := r.arguments(role, args)
	if k := role.schema.Index("dtype"); k >= 0 && !slices.Contains(role.params, k) &&
		len(outs) > 0 {
		in = append(in, kwDType(r.tensors[outs[0]].dtype))
	}
	if role.op == "aten.select_copy.int" {
		if v := r.selectAt(in); v != nil {
			return []*ir.Value{v}
		}
	}
	r.knowSizes(in)
	results := must.Get(r.b.Call(role.op, in...))
	if len(results) > 0 && results[0] != nil && results[0].Def != nil {
		// What a runtime cannot compute is an error, whether anybody reads it or not.
		must.Check(must.Get(r.table.Bind(results[0].Def)).Defined())
	}
	r.settle(results, outs)
	return results
}

// selectAt takes an element at an index known at run time only, which runtimes refuse
// outside of the dimension. It returns nil of other indices.
func (r *raiser) selectAt(in []any) *ir.Value {
	self, _ := in[0].(ops.Named).Value.(ir.Ref)
	dim, _ := in[1].(ops.Named).Value.(ir.Int)
	index, ok := in[2].(ops.Named).Value.(ir.Ref)
	if !ok || self.Value == nil || index.Value.Type.HasExpr {
		return nil
	}
	at := r.tensorOf(scalar{arg: index})
	if rank := ir.Int(self.Value.Type.Rank()); dim < -rank || dim >= rank {
		must.Fail("there is no dimension %d of %d", dim, rank)
	} else if dim < 0 {
		dim += rank
	}
	size := self.Value.Type.Sizes[dim]
	r.compare("_operator.ge", index, sym.Neg(size))
	r.compare("_operator.le", index, sym.Sub(size, sym.Int(1)))
	at = r.b.Op("aten.remainder.Scalar", at, size) // it may count from the end
	one := r.b.Op("aten.index_select.default", self.Value, int64(dim),
		r.b.Op("aten.view.default", at, []int64{1}))
	return r.b.Op("aten.select_copy.int", one, int64(dim), 0)
}

func (r *raiser) outCall(role *role, args []int32) {
	n := len(role.params)
	var outs []int32
	for _, a := range args[n : n+role.outs] {
		switch r.Values[a].(type) {
		case *pte.Tensor, pte.TensorList:
		default:
			must.Fail("its out argument, value %d, is no tensor", a)
		}
		outs = append(outs, r.flatten(a)...)
	}
	if r.refusal(role, args[:n], outs) {
		return
	}
	read := map[int32][]sym.Expr{} // the sizes of out tensors that are operands too
	for _, a := range args[:n] {
		for _, s := range r.slots(a) {
			if slices.Contains(outs, s) {
				read[s] = r.sizesOf(r.tensors[s])
			}
		}
	}
	results := r.functional(role, args[:n], outs...)
	if len(results) != len(outs) {
		must.Fail("it has %d results and %d out tensors", len(results), len(outs))
	}
	for i, v := range results {
		// A runtime gives the tensor its new sizes before the kernel reads it.
		if was, ok := read[outs[i]]; ok && v != nil && !sym.AllEqual(was, v.Type.Sizes) {
			must.Fail("value %d, which it reads, it writes with other sizes", outs[i])
		}
		if v != nil {
			r.checkInPlace(role, v, outs[i], args[:n])
		}
	}
	r.assignAll(outs, results)
}

// checkInPlace checks that a call which writes v to value out does not lose what it reads: of
// an operand at the same place an element may only make the one that takes its place.
func (r *raiser) checkInPlace(role *role, v *ir.Value, out int32, args []int32) {
	to := r.resolve(out)
	for i, a := range args {
		for _, s := range r.slots(a) {
			from := r.tensors[s]
			if from == nil || from.constant || role.isScratch(i) ||
				!from.place.overlaps(to.place) || r.elementwise(v, to, r.read(s), from) {
				continue
			}
			must.Fail("it writes value %d where value %d lies, whose elements it reads in another "+
				"order", out, s)
		}
	}
}

// elementwise reports whether each element of v, laid out as to is, reads of x, laid out as
// from is, no other element than that in its place.
func (r *raiser) elementwise(v *ir.Value, to *tensor, x *ir.Value, from *tensor) bool {
	if v.Def == nil {
		return true
	}
	c := must.Get(r.table.Bind(v.Def))
	ts, _ := must.Get2(c.Results())
	if v.Index >= len(ts) || len(to.order) != v.Type.Rank() || len(from.order) != x.Type.Rank() {
		return false
	}
	offset := func(t ir.Type, at []sym.Expr) (sum sym.Expr) {
		for d, x := range at {
			sum = sym.Add(sum, sym.Mul(x, t.Strides[d]))
		}
		return sum
	}
	vars := seq.Map(ts[v.Index].Vars, func(s *sym.Symbol) sym.Expr { return s.Expr() })
	at := offset(typeOf(to.dtype, v.Type.Sizes, to.order), vars)
	same := true
	expr.Walk(ts[v.Index].Body, func(e *expr.Expr) {
		if e.Op == expr.OpLoad && c.Operands()[e.Buf] == x {
			same = same && to.dtype.Size() == from.dtype.Size() &&
				len(e.Coords) == len(from.order) && offset(typeOf(from.dtype, x.Type.Sizes, from.order),
				e.Coords).Equal(at)
		}
	})
	return same
}

func (r *raiser) inPlaceCall(role *role, args []int32) {
	target := args[role.mutated]
	if r.tensors[target] == nil {
		must.Fail("what it writes, value %d, is no tensor", target)
	}
	r.assign(target, r.functional(role, args[:len(role.params)])[0])
}

// assignAll gives tensor values what was computed for them; results may be nil.
func (r *raiser) assignAll(outs []int32, results []*ir.Value) {
	for i, v := range results {
		if v != nil {
			r.assign(outs[i], v)
		}
	}
}

func (r *raiser) pureCall(role *role, args []int32) {
	last := len(args) - 1
	results := r.functional(role, args[:last])
	if len(results) == 1 && results[0] != nil && results[0].Type.Kind != ir.TensorKind {
		if !isScalar(r.Values[args[last]]) {
			must.Fail("its result, value %d, is no number", args[last])
		}
		s := scalar{arg: ir.Ref{Value: results[0]}}
		if r.b.Emitter == r.top {
			r.readAt[results[0]], r.readFrom[r.now] = r.now, results[0]
			if within, ok := r.spans[r.now]; ok {
				r.know(results[0])
				r.assert(s.arg, within)
			}
		}
		if t := results[0].Type; t.HasExpr {
			s = integer(t.Expr)
		}
		r.st.scalars[args[last]] = s
		return
	}
	outs := r.flatten(args[last])
	if len(outs) != len(results) {
		must.Fail("it has %d results and %d tensors for them", len(results), len(outs))
	}
	r.assignAll(outs, results)
}

// assign writes a result to a tensor value: it must be of its dtype, and of its sizes
// if these are fixed.
func (r *raiser) assign(slot int32, v *ir.Value) {
	t := r.resolve(slot)
	if t.constant {
		must.Fail("it writes to value %d, a constant", slot)
	}
	if v.Type.Kind != ir.TensorKind {
		must.Fail("its result is no tensor")
	}
	if v.Type.DType != t.dtype {
		must.Fail("the result is %v, value %d is %s", v.Type, slot, pte.ValueString(t.def))
	}
	r.fit(t, v.Type)
	if layout := typeOf(t.dtype, v.Type.Sizes, t.order); !layout.Equal(v.Type) {
		if v.Def == nil || r.held[v] {
			// A value that is elsewhere too, or made outside, keeps its type.
			v = r.b.Op("aten.clone.default", v)
		}
		v.Type = layout
	}
	r.held[v] = true
	r.write(t, v)
}

// fit checks that a tensor can take sizes.
func (r *raiser) fit(t *tensor, typ ir.Type) {
	ok := len(typ.Sizes) == len(t.sizes)
	for i := 0; ok && i < len(typ.Sizes); i++ {
		n, known := typ.Sizes[i].Const()
		if t.dynamic {
			lo, hi := typ.Sizes[i].Bounds()
			ok = hi >= 0 && (r.unbounded || lo <= t.sizes[i])
		} else {
			ok = known && n == t.sizes[i]
		}
	}
	if !ok {
		must.Fail("the result %v does not fit value %d, which is %s", typ, t.slot,
			pte.ValueString(t.def))
	}
	if t.dynamic && !r.unbounded && r.b.Emitter == r.top {
		r.limit(t, typ)
	}
}

// copyInto is aten::copy_(self, src, non_blocking).
func (r *raiser) copyInto(_ *role, args []int32) {
	if r.tensors[args[0]] == nil || r.tensors[args[1]] == nil {
		must.Fail("it copies what is no tensor")
	}
	for _, a := range args[:2] {
		if d := r.tensors[a].dtype; d.IsComplex() {
			must.Fail("not yet defined on %s", d)
		}
	}
	src := r.read(args[1])
	t := r.resolve(args[0])
	if sizes := r.sizesOf(t); len(sizes) != len(t.sizes) {
		must.Fail("value %d has a size that depends on the way here", t.slot)
	} else if !sym.AllEqual(sizes, src.Type.Sizes) {
		src = r.b.Op("aten.expand_copy.default", src, sizes)
	}
	if src.Type.DType != t.dtype {
		src = r.b.Op("aten._to_copy.default", src, kwDType(t.dtype))
	}
	r.assign(args[0], src)
}

func (r *raiser) numberCall(role *role, args []int32) {
	var in []scalar
	for _, a := range args[:role.number.operands] {
		if !isScalar(r.Values[a]) {
			must.Fail("value %d is no number", a)
		}
		in = append(in, r.scalar(a))
	}
	out := args[role.number.operands]
	if !isScalar(r.Values[out]) {
		must.Fail("its result, value %d, is no number", out)
	}
	r.st.scalars[out] = r.calculate(role.number, in)
}

// viewInto is executorch_prim::et_view(self, size, out): out is self with other
// sizes, and shares its memory if the plan has it so.
func (r *raiser) viewInto(_ *role, args []int32) {
	if r.tensors[args[0]] == nil || r.tensors[args[2]] == nil {
		must.Fail("it views what is no tensor")
	}
	for _, slot := range []int32{args[0], args[2]} {
		if t := r.tensors[slot]; !t.inOrder() {
			must.Fail("value %d, of sizes %d, lies in the order %d: a view has its bytes in another order",
				slot, t.sizes, t.order)
		}
	}
	self := r.read(args[0])
	list, ok := r.Values[args[1]].(pte.IntList)
	if !ok {
		must.Fail("its sizes, value %d, are no list of ints", args[1])
	}
	size := listOf(list, func(s int64) ir.Arg { return r.scalarArg(r.scalar(int32(s))) })
	r.assign(args[2], r.b.Op("aten.view.default", self, size))
}
