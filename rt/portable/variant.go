package portable

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/rt"
)

// variant is a call with certain sizes and numbers, compiled.
type variant struct {
	key      []int64
	operands []operand
	to       []*rt.EValue // slots of res
	res      []result
	reserved int64        // bytes of its own
	only     []int        // which of the call's results res are; nil for all
	open     bool         // data decides the size of a result
	slow     *interpreted // instead of code
	code     code
	bufs     [][]byte // what code runs on: results, then operands
	spare    [][]byte // room for operands that lie where a result goes
	inPlace  []bool   // of result i and operand j at i·len(operands)+j: they may be the same memory
}

// result is a tensor that a call writes, or a number (then dtype is what code
// computes it in, 0 if it is known).
type result struct {
	kind  ir.Kind
	dtype ir.DType
	sizes []int64
	order []int
	bytes int
	value expr.Value // of a number
}

// results checks the tensors of the results against what bound gives.
func (v *variant) results(p *call, bound *ops.Call) {
	if len(bound.Outs) != len(p.to) {
		panic(fmt.Errorf("%d results for %d arguments to write", len(bound.Outs), len(p.to)))
	}
	v.only = p.wanted(bound)
	for i, typ := range bound.Outs {
		if v.only != nil && !slices.Contains(v.only, i) {
			continue
		}
		v.to = append(v.to, p.to[i])
		r := result{kind: typ.Kind}
		if typ.Kind != ir.TensorKind {
			v.res = append(v.res, r)
			continue
		}
		slot := p.to[i]
		if slot.Kind != rt.TensorKind || slot.Tensor == nil {
			panic(fmt.Errorf("result %d is a tensor, its argument is not", i))
		}
		t := slot.Tensor
		if t.DType != typ.DType || len(t.Sizes) != len(typ.Sizes) {
			panic(fmt.Errorf("result %d is %v%v, its tensor %v%v", i, typ.DType, typ.Sizes,
				t.DType, t.Sizes))
		}
		sizes, ok := typ.StaticSizes()
		if !ok { // data decides
			v.res = append(v.res, result{kind: typ.Kind, dtype: t.DType})
			v.open = true
			continue
		}
		if !t.Resizable() && !slices.Equal(t.Sizes, sizes) {
			panic(fmt.Errorf("%w: result %d has sizes %v, its tensor %v", rt.ErrInvalidArgument, i,
				sizes, t.Sizes))
		}
		r.dtype, r.sizes, r.bytes = t.DType, sizes, t.DType.Size()
		for _, s := range sizes {
			r.bytes *= int(s)
		}
		var order []int
		must.Do(func() {
			order = orderOf(&rt.Tensor{Sizes: sizes, DimOrder: t.DimOrder})
		}, "result %d", i)
		r.order = order
		v.res = append(v.res, r)
	}
}

// wanted returns which results are worth computing, nil for all: where each is an
// expression of its own, those that somebody reads.
func (p *call) wanted(bound *ops.Call) []int {
	var only []int
	for i, slot := range p.to {
		if !p.c.Unread(slot) {
			only = append(only, i)
		}
	}
	if bound.Op.Compute == nil || bound.Op.Random || len(only) == len(p.to) {
		return nil
	}
	for _, typ := range bound.Outs {
		if _, ok := typ.StaticSizes(); !ok || typ.Kind != ir.TensorKind {
			return nil
		}
	}
	return only // nil if nobody reads any: the call may still fail
}

// compile makes the code of call n, bound.
func (v *variant) compile(p *call, n *ir.Node, bound *ops.Call) {
	if len(v.res) == 1 && v.res[0].kind != ir.TensorKind {
		v.number(p, bound)
		return
	}
	if !v.open {
		err := must.Try(func() {
			v.code = p.kernel.compile(bound, v.only, v.orders(), v.constants(p))
		})
		if !errors.Is(err, errControl) {
			must.Check(err)
			v.prepare()
			return
		}
	}
	v.slow = v.interpreted(n, bound)
}

// orders returns how the tensors lie in memory.
func (v *variant) orders() (o interp.Orders) {
	for _, r := range v.res {
		o.Outs = append(o.Outs, r.order)
	}
	for _, x := range v.operands {
		o.Operands = append(o.Operands, x.order)
	}
	return o
}

// constants returns a function that gives the elements of an operand, in
// row-major order, if they never change.
func (v *variant) constants(p *call) func(k int) ([]byte, bool) {
	return func(k int) ([]byte, bool) {
		o := v.operands[k]
		if !p.c.Fixed(o.slot) {
			return nil, false
		}
		data := o.slot.Tensor.Data
		if n, _ := o.typ.Bytes().Const(); int64(len(data)) != n {
			return nil, false
		}
		if o.order == nil {
			return data, true
		}
		var out []byte
		err := must.Try(func() { out = p.cache.reordered(o.typ, o.order, data) })
		return out, err == nil
	}
}

// prepare prepares for execution once code is there.
func (v *variant) prepare() {
	v.bufs = make([][]byte, len(v.res)+len(v.operands))
	v.spare = make([][]byte, len(v.operands))
	v.inPlace = make([]bool, len(v.res)*len(v.operands))
	if v.code == nil {
		return
	}
	for i := range v.res {
		for j := range v.operands {
			v.inPlace[i*len(v.operands)+j] = v.code.inPlace(i, j)
		}
	}
}

// number compiles a call whose result is a number.
func (v *variant) number(p *call, bound *ops.Call) {
	r := &v.res[0]
	if bound.Op.Value != nil && bound.Outs[0].HasExpr {
		e := must.Get(bound.Op.Value(bound))
		n, ok := e.Const()
		if !ok {
			panic(fmt.Errorf("%s is no constant", e))
		}
		r.value.I = n
		v.prepare()
		return
	}
	if bound.Op.ScalarOp == nil {
		panic(fmt.Errorf("the operator has no kernel"))
	}
	e := must.Get(bound.Op.ScalarOp(bound))
	f := must.Get(interp.Loops(bound, []expr.Tensor{{DType: e.DType, Body: e}}, v.orders()))
	v.code = newLoops(f, p.reserve)
	r.dtype, r.bytes = e.DType, e.DType.Size()
	v.prepare()
	v.bufs[0] = make([]byte, r.bytes)
}

// execute runs the variant on the present memory of its arguments.
func (v *variant) execute(p *call, done <-chan struct{}) error {
	if v.slow != nil {
		return v.slow.execute(p, done)
	}
	nOut := len(v.res)
	for i := range v.res {
		r := &v.res[i]
		if r.kind != ir.TensorKind {
			continue
		}
		t := v.to[i].Tensor
		if t == nil {
			return fmt.Errorf("%s: result %d has no tensor", p.file, i)
		}
		if t.Resizable() && !slices.Equal(t.Sizes, r.sizes) {
			if err := t.Resize(r.sizes); err != nil {
				return fmt.Errorf("%s: result %d: %w", p.file, i, err)
			}
		}
		if len(t.Data) != r.bytes {
			return fmt.Errorf("%s: result %d of sizes %v has %d bytes of memory, needs %d", p.file,
				i, r.sizes, len(t.Data), r.bytes)
		}
		v.bufs[i] = t.Data
	}
	for j := range v.operands {
		o := &v.operands[j]
		t := o.slot.Tensor
		if t == nil || len(t.Data) != o.bytes {
			return p.noMemory(j)
		}
		v.bufs[nOut+j] = t.Data
	}
	v.separate(nOut)
	if v.code != nil {
		if err := v.code.run(v.bufs, done); err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
	}
	if v.res[0].kind != ir.TensorKind {
		v.store(v.to[0])
	}
	return nil
}

// noMemory is the error for an operand whose memory is not that of its sizes.
func (p *call) noMemory(j int) error {
	o := &p.last.operands[j]
	have := 0
	if o.slot.Tensor != nil {
		have = len(o.slot.Tensor.Data)
	}
	return fmt.Errorf("%s: operand %d, %s, has %d bytes of memory", p.file, j, o.typ, have)
}

// separate copies operands away that lie where a result goes, unless the code
// can run in place.
func (v *variant) separate(nOut int) {
	for j := range v.operands {
		in := v.bufs[nOut+j]
		for i := range nOut {
			out := v.bufs[i]
			if !eval.Overlap(out, in) || v.inPlace[i*len(v.operands)+j] && &out[0] == &in[0] {
				continue
			}
			if len(v.spare[j]) != len(in) {
				v.spare[j] = make([]byte, len(in))
			}
			copy(v.spare[j], in)
			v.bufs[nOut+j] = v.spare[j]
			break
		}
	}
}

// store puts a number into its slot.
func (v *variant) store(slot *rt.EValue) {
	r := &v.res[0]
	x := r.value
	if v.code != nil {
		x = eval.Get(r.dtype, v.bufs[0], 0)
	}
	switch r.kind {
	case ir.IntKind:
		slot.Kind, slot.Int = rt.Int, x.I
	case ir.BoolKind:
		slot.Kind, slot.Bool = rt.Bool, x.I != 0
	case ir.FloatKind:
		slot.Kind, slot.Double = rt.Double, x.F
	}
}
