package raise

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

func kwDType(d ir.DType) ops.Named { return ops.Kw("dtype", d) }

// call raises a kernel call. After an error what it writes is stood in for, so
// that later instructions can be looked at.
func (r *raiser) call(in pte.KernelCall) error {
	role := r.roles[in.Op]
	err := cmp.Or(role.err, role.count(in))
	if err == nil {
		switch role.kind {
		case outKind:
			err = r.outCall(role, in.Args)
		case inPlace:
			err = r.inPlaceCall(role, in.Args)
		case pure:
			err = r.pureCall(role, in.Args)
		case copyInto:
			err = r.copyInto(in.Args)
		case numbers:
			err = r.numberCall(role, in.Args)
		case viewInto:
			err = r.viewInto(in.Args)
		case copyIndex:
			err = r.copyIndex(in.Args)
		}
	}
	if err == nil {
		return nil
	}
	if n := len(in.Args); n > 0 {
		r.standIn(in.Args[n-1])
		if role.kind == outKind {
			for _, a := range in.Args[min(len(role.params), n):n] {
				r.standIn(a)
			}
		}
	}
	return err
}

// checkCalls checks the arguments of all calls by their number and kind, of those too that
// no way leads to: a runtime prepares them when it loads the method.
func (r *raiser) checkCalls() error {
	r.st = newState()
	for i := range r.code {
		in, ok := r.code[i].Instruction.(pte.KernelCall)
		if !ok || r.roles[in.Op].err != nil {
			continue
		}
		if err := r.checkCall(r.roles[in.Op], in); err != nil {
			r.fail(i, err)
		}
	}
	return errors.Join(r.errs...)
}

func (r *raiser) checkCall(role *role, in pte.KernelCall) error {
	if err := role.count(in); err != nil {
		return err
	}
	op, _ := r.table.Lookup(role.op)
	for i, k := range role.params {
		p := &role.schema.Args[k]
		a, err := r.argument(p.Type, in.Args[i], func(s int32) (*ir.Value, error) {
			return &ir.Value{Type: ir.TensorOf(r.tensors[s].dtype)}, nil
		})
		if err != nil || role.isScratch(i) { // an error is of what the argument is now
			continue
		}
		if err := op.Takes(p, a); err != nil {
			return err
		}
	}
	return nil
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
func (r *raiser) arguments(role *role, args []int32) ([]any, error) {
	var out []any
	for i, k := range role.params {
		p := &role.schema.Args[k]
		if role.isScratch(i) {
			a, err := r.scratch(p, args[i])
			if err != nil {
				return nil, fmt.Errorf("argument %s: %w", p.Name, err)
			}
			out = append(out, ops.Kw(p.Name, a))
			continue
		}
		a, err := r.argument(p.Type, args[i], r.read)
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", p.Name, err)
		}
		out = append(out, ops.Kw(p.Name, a))
	}
	return out, nil
}

// scratch returns what stands for memory to work in: nothing, or zeros where an
// operator insists. What lay there is lost.
func (r *raiser) scratch(p *aten.Param, slot int32) (any, error) {
	for _, s := range r.flatten(slot) {
		if t := r.tensors[s]; !t.constant {
			r.written(t.place)
			r.st.forget(t.place)
		}
	}
	t := r.tensors[slot]
	if p.Type.Optional || t == nil {
		return nil, nil
	}
	v, err := r.b.Call("aten.full.default", t.sizes, 0, kwDType(t.dtype))
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

// argument returns a value as an argument of a schema's type, tensors as read says.
func (r *raiser) argument(t *aten.Type, slot int32,
	read func(int32) (*ir.Value, error)) (ir.Arg, error) {
	switch v := r.Values[slot].(type) {
	case *pte.Tensor:
		x, err := read(slot)
		if err != nil {
			return nil, err
		}
		return ir.Ref{Value: x}, nil
	case pte.TensorList:
		return tensorList(v, read)
	case pte.OptionalTensorList:
		return tensorList(v, read)
	case pte.IntList:
		list := make(ir.List, len(v))
		for i, s := range v {
			a, err := r.word(elem(t), int32(s))
			if err != nil {
				return nil, err
			}
			list[i] = a
		}
		return list, nil
	case pte.DoubleList:
		list := make(ir.List, len(v))
		for i, x := range v {
			list[i] = ir.Float(x)
		}
		return list, nil
	case pte.BoolList:
		list := make(ir.List, len(v))
		for i, x := range v {
			list[i] = ir.BoolArg(x)
		}
		return list, nil
	}
	return r.word(t, slot)
}

func elem(t *aten.Type) *aten.Type {
	if t.IsList() {
		return t.Elems[0]
	}
	return t
}

func tensorList(slots []int32, read func(int32) (*ir.Value, error)) (ir.Arg, error) {
	list := make(ir.List, len(slots))
	for i, s := range slots {
		if s < 0 {
			list[i] = ir.None{}
			continue
		}
		v, err := read(s)
		if err != nil {
			return nil, err
		}
		list[i] = ir.Ref{Value: v}
	}
	return list, nil
}

// word returns a scalar value as an argument of a type. Files have integers for
// what PyTorch has types of its own for.
func (r *raiser) word(t *aten.Type, slot int32) (ir.Arg, error) {
	s := r.scalar(slot)
	if n, ok := s.expr.Const(); ok && s.isExpr {
		switch elem(t).Name {
		case "ScalarType":
			d, ok := pte.ScalarType(n).DType()
			if !ok || int64(pte.ScalarType(n)) != n {
				return nil, fmt.Errorf("%d is no dtype", n)
			}
			return ir.DTypeArg(d), nil
		case "Layout":
			return layoutWord(n)
		case "MemoryFormat":
			return formatWord(n)
		case "bool":
			if n == 0 || n == 1 {
				return ir.BoolArg(n == 1), nil
			}
		}
	}
	if str, ok := s.arg.(ir.Str); ok && elem(t).Name == "Device" {
		return ir.Device(str), nil
	}
	return r.scalarArg(s)
}

// strided is torch.strided in the numbering of [ir.LayoutArg].
const strided = 7

func layoutWord(n int64) (ir.Arg, error) {
	if n != 0 {
		return nil, fmt.Errorf("layout %d is not strided", n)
	}
	return ir.LayoutArg(strided), nil
}

func formatWord(n int64) (ir.Arg, error) {
	formats := []ir.MemoryFormat{ir.ContiguousFormat, ir.PreserveFormat, ir.ChannelsLast,
		ir.ChannelsLast3d}
	if n < 0 || n >= int64(len(formats)) {
		return nil, fmt.Errorf("%d is no memory format", n)
	}
	return formats[n], nil
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
func (r *raiser) functional(role *role, args []int32, outs ...int32) ([]*ir.Value, error) {
	in, err := r.arguments(role, args)
	if err != nil {
		return nil, err
	}
	if k := role.schema.Index("dtype"); k >= 0 && !slices.Contains(role.params, k) &&
		len(outs) > 0 {
		in = append(in, kwDType(r.tensors[outs[0]].dtype))
	}
	if role.op == "aten.select_copy.int" {
		if v, done, err := r.selectAt(in); done {
			return v, err
		}
	}
	r.knowSizes(in)
	results, err := r.b.Call(role.op, in...)
	if err == nil {
		err = r.defined(results)
	}
	r.settle(results, outs)
	return results, err
}

// defined returns an error if a runtime cannot compute results, whether anybody reads
// them or not.
func (r *raiser) defined(results []*ir.Value) error {
	if len(results) == 0 || results[0] == nil || results[0].Def == nil {
		return nil
	}
	c, err := r.table.Bind(results[0].Def)
	if err != nil {
		return err
	}
	return c.Defined()
}

// selectAt takes an element at an index known at run time only, which runtimes refuse
// outside of the dimension.
func (r *raiser) selectAt(in []any) (_ []*ir.Value, done bool, err error) {
	self, _ := in[0].(ops.Named).Value.(ir.Ref)
	dim, _ := in[1].(ops.Named).Value.(ir.Int)
	index, ok := in[2].(ops.Named).Value.(ir.Ref)
	if !ok || self.Value == nil || index.Value.Type.HasExpr {
		return nil, false, nil
	}
	at, err := r.tensorOf(scalar{arg: index})
	if err != nil {
		return nil, true, err
	}
	if rank := ir.Int(self.Value.Type.Rank()); dim < -rank || dim >= rank {
		return nil, true, fmt.Errorf("there is no dimension %d of %d", dim, rank)
	} else if dim < 0 {
		dim += rank
	}
	size := self.Value.Type.Sizes[dim]
	var out *ir.Value
	err = r.b.Do(func() error {
		r.compare("_operator.ge", index, sym.Neg(size))
		r.compare("_operator.le", index, sym.Sub(size, sym.Int(1)))
		at = r.b.Op("aten.remainder.Scalar", at, size) // it may count from the end
		one := r.b.Op("aten.index_select.default", self.Value, int64(dim),
			r.b.Op("aten.view.default", at, []int64{1}))
		out = r.b.Op("aten.select_copy.int", one, int64(dim), 0)
		return nil
	})
	return []*ir.Value{out}, true, err
}

func (r *raiser) outCall(role *role, args []int32) error {
	n := len(role.params)
	var outs []int32
	for _, a := range args[n : n+role.outs] {
		if !isTensors(r.Values[a]) {
			return fmt.Errorf("its out argument, value %d, is no tensor", a)
		}
		outs = append(outs, r.flatten(a)...)
	}
	if done, err := r.refusal(role, args[:n], outs); done {
		return err
	}
	read := map[int32][]sym.Expr{} // the sizes of out tensors that are operands too
	for _, a := range args[:n] {
		for _, s := range r.slots(a) {
			if slices.Contains(outs, s) {
				read[s] = r.sizesOf(r.tensors[s])
			}
		}
	}
	results, err := r.functional(role, args[:n], outs...)
	if err != nil {
		return err
	}
	if len(results) != len(outs) {
		return fmt.Errorf("it has %d results and %d out tensors", len(results), len(outs))
	}
	for i, v := range results {
		// A runtime gives the tensor its new sizes before the kernel reads it.
		if was, ok := read[outs[i]]; ok && v != nil && !sym.AllEqual(was, v.Type.Sizes) {
			return fmt.Errorf("value %d, which it reads, it writes with other sizes", outs[i])
		}
	}
	return r.assignAll(outs, results)
}

func isTensors(v pte.EValue) bool {
	switch v.(type) {
	case *pte.Tensor, pte.TensorList:
		return true
	}
	return false
}

func (r *raiser) inPlaceCall(role *role, args []int32) error {
	target := args[role.mutated]
	if r.tensors[target] == nil {
		return fmt.Errorf("what it writes, value %d, is no tensor", target)
	}
	results, err := r.functional(role, args[:len(role.params)])
	if err != nil {
		return err
	}
	return r.assign(target, results[0])
}

// assignAll gives tensor values what was computed for them; results may be nil.
func (r *raiser) assignAll(outs []int32, results []*ir.Value) error {
	for i, v := range results {
		if v == nil {
			continue
		}
		if err := r.assign(outs[i], v); err != nil {
			return err
		}
	}
	return nil
}

func (r *raiser) pureCall(role *role, args []int32) error {
	last := len(args) - 1
	results, err := r.functional(role, args[:last])
	if err != nil {
		return err
	}
	if len(results) == 1 && results[0] != nil && results[0].Type.Kind != ir.TensorKind {
		if !isScalar(r.Values[args[last]]) {
			return fmt.Errorf("its result, value %d, is no number", args[last])
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
		return nil
	}
	outs := r.flatten(args[last])
	if len(outs) != len(results) {
		return fmt.Errorf("it has %d results and %d tensors for them", len(results), len(outs))
	}
	return r.assignAll(outs, results)
}

// assign writes a result to a tensor value: it must be of its dtype, and of its sizes
// if these are fixed.
func (r *raiser) assign(slot int32, v *ir.Value) error {
	t, err := r.resolve(slot)
	if err != nil {
		return err
	}
	if t.constant {
		return fmt.Errorf("it writes to value %d, a constant", slot)
	}
	if v.Type.Kind != ir.TensorKind {
		return fmt.Errorf("its result is no tensor")
	}
	if v.Type.DType != t.dtype {
		return fmt.Errorf("the result is %v, value %d is %s", v.Type, slot, pte.ValueString(t.def))
	}
	if err := r.fit(t, v.Type); err != nil {
		return err
	}
	if layout := typeOf(t.dtype, v.Type.Sizes, t.order); !layout.Equal(v.Type) {
		if v.Def == nil || r.held[v] {
			// A value that is elsewhere too, or made outside, keeps its type.
			c, err := r.b.Call("aten.clone.default", v)
			if err != nil {
				return err
			}
			v = c[0]
		}
		v.Type = layout
	}
	r.held[v] = true
	r.write(t, v)
	return nil
}

// fit checks that a tensor can take sizes.
func (r *raiser) fit(t *tensor, typ ir.Type) error {
	ok := len(typ.Sizes) == len(t.sizes)
	for i := 0; ok && i < len(typ.Sizes); i++ {
		n, known := typ.Sizes[i].Const()
		if t.dynamic {
			lo, hi := typ.Sizes[i].Bounds()
			ok = hi >= 0 && (r.unbounded || lo <= t.sizes[i]) && (!r.unbounded || hi > 0 ||
				r.empty || t.sizes[i] == 0)
		} else {
			ok = known && n == t.sizes[i]
		}
	}
	if !ok {
		return fmt.Errorf("the result %v does not fit value %d, which is %s", typ, t.slot,
			pte.ValueString(t.def))
	}
	if t.dynamic && !r.unbounded && r.b.Emitter == r.top {
		r.limit(t, typ)
	}
	return nil
}

// copyInto is aten::copy_(self, src, non_blocking).
func (r *raiser) copyInto(args []int32) error {
	if r.tensors[args[0]] == nil || r.tensors[args[1]] == nil {
		return fmt.Errorf("it copies what is no tensor")
	}
	src, err := r.read(args[1])
	if err != nil {
		return err
	}
	t, err := r.resolve(args[0])
	if err != nil {
		return err
	}
	if sizes := r.sizesOf(t); len(sizes) != len(t.sizes) {
		return fmt.Errorf("value %d has a size that depends on the way here", t.slot)
	} else if !sym.AllEqual(sizes, src.Type.Sizes) {
		v, err := r.b.Call("aten.expand_copy.default", src, sizes)
		if err != nil {
			return err
		}
		src = v[0]
	}
	if src.Type.DType != t.dtype {
		v, err := r.b.Call("aten._to_copy.default", src, kwDType(t.dtype))
		if err != nil {
			return err
		}
		src = v[0]
	}
	return r.assign(args[0], src)
}

func (r *raiser) numberCall(role *role, args []int32) error {
	var in []scalar
	for _, a := range args[:role.number.operands] {
		if !isScalar(r.Values[a]) {
			return fmt.Errorf("value %d is no number", a)
		}
		in = append(in, r.scalar(a))
	}
	out := args[role.number.operands]
	if !isScalar(r.Values[out]) {
		return fmt.Errorf("its result, value %d, is no number", out)
	}
	s, err := r.calculate(role.number, in)
	if err != nil {
		return err
	}
	r.st.scalars[out] = s
	return nil
}

// viewInto is executorch_prim::et_view(self, size, out): out is self with other
// sizes, and shares its memory if the plan has it so.
func (r *raiser) viewInto(args []int32) error {
	if r.tensors[args[0]] == nil || r.tensors[args[2]] == nil {
		return fmt.Errorf("it views what is no tensor")
	}
	self, err := r.read(args[0])
	if err != nil {
		return err
	}
	list, ok := r.Values[args[1]].(pte.IntList)
	if !ok {
		return fmt.Errorf("its sizes, value %d, are no list of ints", args[1])
	}
	size := make(ir.List, len(list))
	for i, x := range list {
		if size[i], err = r.scalarArg(r.scalar(int32(x))); err != nil {
			return err
		}
	}
	v, err := r.b.Call("aten.view.default", self, size)
	if err != nil {
		return err
	}
	return r.assign(args[2], v[0])
}
