package portable

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/rt"
)

// setup is how the tests give a sample to a kernel.
type setup struct {
	handMade []*tuned.Kernel
	fixed    bool // numbers and operands are Fixed, so that the call is compiled at once
	bounded  bool // tensors are Resizable, results larger than needed at first
	reversed bool // tensors lie in memory with their dimensions reversed
	share    bool // the result lies where an operand of its size does
}

// Every sample of every entry that programs can call, through the contract of
// kernels, against the interpreter.
func TestSamples(t *testing.T) {
	type named struct {
		name string
		setup
	}
	setups := []named{
		{"defined", setup{fixed: true}},
		{"tuned", setup{fixed: true, handMade: tuned.Standard()}},
		{"dynamic", setup{bounded: true, handMade: tuned.Standard()}},
		{"reversed", setup{fixed: true, reversed: true, handMade: tuned.Standard()}},
		{"shared", setup{share: true}},
	}
	for k, tt := range setups {
		t.Run(tt.name, func(t *testing.T) {
			table := ops.Standard()
			registry := New(table, tt.handMade)
			ran, total, without := 0, 0, 0
			tried := forms(table)
			if tier.Now() == tier.Short {
				tried = tier.Share(tried, k, 3*len(setups))
			}
			for _, f := range tried {
				op, _ := table.Lookup(f.node)
				kernel, _ := registry.Lookup(f.file)
				some := false
				r := samples.NewRand(1)
				for i, s := range samples.Of(op, r) {
					err := checkSample(table, kernel, f, op, s, r, tt.setup)
					switch {
					case errors.Is(err, errUnfit):
						without++
						continue
					case err != nil:
						t.Errorf("%s: sample %d: %v", f.file, i, err)
					}
					some = true
					total++
				}
				if some {
					ran++
				}
			}
			t.Logf("%d samples of %d operators; %d samples have no such call", total,
				ran, without)
			if total < tier.Of(30, 1000, 1000) && !tt.share {
				t.Errorf("only %d samples", total)
			}
		})
	}
}

// errUnfit says that a sample is no call of this form of the operator.
var errUnfit = errors.New("unfit")

func checkSample(table *ops.Table, k rt.Kernel, f form, op *ops.Op, s samples.Sample,
	r *samples.Rand,
	set setup) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	n := s.Node(op)
	n.Op = f.node
	data := map[*ir.Value][]byte{}
	m := interp.New(table)
	for _, in := range s.Inputs {
		b := in.Data(r)
		data[in.Value] = b
		if set.reversed {
			in.Value.Type = stored(in.Value.Type, orderIn(in.Value.Type, set))
		}
		if in.Value.Type.Kind != ir.TensorKind {
			x := eval.Get(ops.ScalarDType(in.Value.Type.Kind), b, 0)
			m.Set(in.Value, interp.Value{Kind: in.Value.Type.Kind, Scalar: x})
			continue
		}
		sizes, _ := in.Value.Type.StaticSizes()
		m.Set(in.Value, interp.Tensor(in.Value.Type.DType, sizes, b))
	}
	c, err := table.Bind(n)
	if err != nil {
		if f.outs == 0 || set.reversed {
			return errUnfit // of another size than the argument it would change, or no view
		}
		return err
	}
	for i, t := range c.Outs {
		v := &ir.Value{Name: fmt.Sprint("r", i), Type: t, Def: n, Index: i}
		n.Outputs = append(n.Outputs, v)
	}
	plain := *n
	plain.Op = op.Name()
	if f.outs == 0 && !sameType(table, &plain, c.Outs[0]) {
		return errUnfit // the argument keeps a dtype that the interpreter does not know of
	}
	if err := m.Node(&plain); err != nil {
		return fmt.Errorf("interpreter: %w", err)
	}
	var slots []*rt.EValue
	for _, p := range f.in {
		v, err := slotOf(p.Type, c.Arg(p.Name), data, set)
		if err != nil {
			return err
		}
		slots = append(slots, v)
	}
	var outs []*rt.EValue
	open := false // sizes are not known before
	if f.outs > 0 {
		for _, t := range c.Outs {
			v := &rt.EValue{}
			if t.Kind == ir.TensorKind {
				if v.Kind = rt.TensorKind; set.share && len(outs) == 0 {
					v.Tensor = sameSize(slots, t)
				}
				if bounded := set; v.Tensor == nil {
					if _, ok := t.StaticSizes(); !ok {
						bounded.bounded, bounded.reversed = true, false
						t, open = mostOf(t), true
					}
					v.Tensor = newTensor(t, nil, bounded)
				}
			}
			outs = append(outs, v)
		}
		if c.Op.ParsedSchema().Returns[0].Type.IsList() {
			slots = append(slots, &rt.EValue{Kind: rt.TensorList, List: outs})
		} else {
			slots = append(slots, outs...)
		}
	} else {
		outs = slots[f.first : f.first+1]
	}
	fixed := func(v *rt.EValue) bool {
		return set.fixed && !slices.Contains(outs, v) && !(v.Kind == rt.TensorList &&
			slices.Equal(v.List, outs))
	}
	run, err := k.Prepare(rt.NewCall(k.Name, slots, fixed))
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	for round := range 2 {
		if round > 0 && (set.share || f.outs == 0) {
			break // operands have changed
		}
		if err := run(); err != nil {
			return fmt.Errorf("run %d: %w", round, err)
		}
		for i, v := range n.Outputs {
			want, err := m.Get(v)
			if err != nil {
				return err
			}
			if c.Op.Random {
				want.Tensor.Data = nil // other numbers are as good
			}
			if err := sameResult(outs[i], want, len(set.handMade) > 0); err != nil {
				return fmt.Errorf("run %d: result %d: %w", round, i, err)
			}
		}
	}
	if set.fixed && f.outs > 0 && !open {
		allocations := func() float64 { return testing.AllocsPerRun(1, func() { err = run() }) }
		n := allocations()
		for range 3 { // what the Go runtime allocates beside the kernel counts, too
			if n == 0 || err != nil {
				break
			}
			n = min(n, allocations())
		}
		if n > 0 || err != nil {
			return fmt.Errorf("%v allocations per run, error %v", n, err)
		}
	}
	return nil
}

func sameType(table *ops.Table, n *ir.Node, t ir.Type) bool {
	c, err := table.Bind(n)
	return err == nil && c.Outs[0].DType == t.DType
}

// mostOf returns t with the largest sizes it may have.
func mostOf(t ir.Type) ir.Type {
	sizes := make([]int64, len(t.Sizes))
	for i, s := range t.Sizes {
		_, sizes[i] = s.Bounds()
	}
	return ir.StaticTensor(t.DType, sizes...)
}

// sameSize returns the first tensor among slots that is of type t.
func sameSize(slots []*rt.EValue, t ir.Type) *rt.Tensor {
	sizes, ok := t.StaticSizes()
	for _, v := range slots {
		if ok && v.Kind == rt.TensorKind && v.Tensor.DType == t.DType &&
			slices.Equal(v.Tensor.Sizes, sizes) {
			return v.Tensor
		}
	}
	return nil
}

// newTensor returns a tensor with row-major elements data, or none yet.
func newTensor(t ir.Type, data []byte, set setup) *rt.Tensor {
	sizes, _ := t.StaticSizes()
	order := orderIn(t, set)
	n, _ := t.Bytes().Const()
	var out *rt.Tensor
	var err error
	switch {
	case set.bounded && data == nil && n > 0: // larger than needed at first
		bound := slices.Clone(sizes)
		for i := range bound {
			bound[i]++
		}
		out, err = rt.NewBoundedTensor(t.DType, bound, order)
	case set.bounded:
		out, err = rt.NewBoundedTensor(t.DType, sizes, order)
	default:
		out, err = rt.NewTensor(t.DType, sizes, order, nil)
	}
	if err != nil {
		panic(err)
	}
	for i := range out.Data {
		out.Data[i] = 0x5a
	}
	if data != nil {
		inOrderOf(out, func(memory, rowMajor int) {
			copy(out.Data[memory:memory+t.DType.Size()], data[rowMajor:])
		})
	}
	return out
}

// stored returns t with the strides that an order of dimensions gives it.
func stored(t ir.Type, order []uint8) ir.Type {
	if t.Kind != ir.TensorKind {
		return t
	}
	t = t.Dense()
	sizes := make([]sym.Expr, len(order))
	for i, d := range order {
		sizes[i] = t.Sizes[d]
	}
	for i, s := range ir.Contiguous(sizes) {
		t.Strides[order[i]] = s
	}
	return t
}

// orderIn returns the order in memory of the dimensions of a tensor.
func orderIn(t ir.Type, set setup) []uint8 {
	order := make([]uint8, len(t.Sizes))
	for i := range order {
		order[i] = uint8(i)
		if set.reversed {
			order[i] = uint8(len(order) - 1 - i)
		}
	}
	if !set.reversed && !t.IsContiguous() {
		slices.SortStableFunc(order, func(a, b uint8) int {
			x, _ := t.Strides[a].Const()
			y, _ := t.Strides[b].Const()
			return int(y - x)
		})
	}
	return order
}

// slotOf is the inverse of argument.
func slotOf(t *aten.Type, a ir.Arg, data map[*ir.Value][]byte, set setup) (*rt.EValue, error) {
	switch a := a.(type) {
	case ir.None:
		return &rt.EValue{}, nil
	case ir.Int:
		return &rt.EValue{Kind: rt.Int, Int: int64(a)}, nil
	case ir.BoolArg:
		return &rt.EValue{Kind: rt.Bool, Bool: bool(a)}, nil
	case ir.Float:
		return &rt.EValue{Kind: rt.Double, Double: float64(a)}, nil
	case ir.Str:
		return &rt.EValue{Kind: rt.String, String: string(a)}, nil
	case ir.DTypeArg:
		s, ok := pte.ScalarTypeOf(ir.DType(a))
		if !ok {
			return nil, errUnfit
		}
		return &rt.EValue{Kind: rt.Int, Int: int64(s)}, nil
	case ir.MemoryFormat:
		return &rt.EValue{Kind: rt.Int, Int: map[ir.MemoryFormat]int64{ir.ContiguousFormat: 0,
			ir.PreserveFormat: 1, ir.ChannelsLast: 2, ir.ChannelsLast3d: 3}[a]}, nil
	case ir.List:
		v := &rt.EValue{}
		switch t.Base().Name {
		case "float":
			v.Kind = rt.DoubleList
		case "bool":
			v.Kind = rt.BoolList
		case "Tensor":
			v.Kind = rt.TensorList
		default:
			v.Kind = rt.IntList
		}
		for _, x := range a {
			e, err := slotOf(t.Base(), x, data, set)
			if err != nil {
				return nil, err
			}
			switch v.Kind {
			case rt.DoubleList:
				v.Doubles = append(v.Doubles, e.Double+float64(e.Int))
			case rt.BoolList:
				v.Bools = append(v.Bools, e.Bool)
			default:
				if e.Kind == rt.None {
					e = nil
				}
				v.List = append(v.List, e)
			}
		}
		return v, nil
	case ir.Ref:
		b, typ := data[a.Value], a.Value.Type
		if typ.Kind == ir.TensorKind {
			return &rt.EValue{Kind: rt.TensorKind, Tensor: newTensor(typ, b, set)}, nil
		}
		x := eval.Get(ops.ScalarDType(typ.Kind), b, 0)
		switch typ.Kind {
		case ir.IntKind:
			return &rt.EValue{Kind: rt.Int, Int: x.I}, nil
		case ir.FloatKind:
			return &rt.EValue{Kind: rt.Double, Double: x.F}, nil
		case ir.BoolKind:
			return &rt.EValue{Kind: rt.Bool, Bool: x.I != 0}, nil
		}
	}
	return nil, fmt.Errorf("%v as an argument: %w", a, errUnfit)
}

func sameResult(got *rt.EValue, want interp.Value, roughly bool) error {
	if want.Kind != ir.TensorKind {
		x := eval.Value{I: got.Int, F: got.Double}
		if got.Bool {
			x.I = 1
		}
		if x.I != want.Scalar.I || x.F != want.Scalar.F && x.F == x.F {
			return fmt.Errorf("is %v, want %v", x, want.Scalar)
		}
		return nil
	}
	t, w := got.Tensor, want.Tensor
	if t.DType != w.DType || !slices.Equal(t.Sizes, w.Sizes) {
		return fmt.Errorf("is %v%v, want %v%v", t.DType, t.Sizes, w.DType, w.Sizes)
	}
	data := make([]byte, len(t.Data))
	RowMajor(t, data)
	if w.Data == nil || bytes.Equal(data, w.Data) {
		return nil
	}
	if !t.DType.IsFloat() || len(data) != len(w.Data) {
		return fmt.Errorf("is\n%v, want\n%v", data, w.Data)
	}
	for i := range int64(len(data) / t.DType.Size()) {
		x, y := eval.Get(t.DType, data, i).F, eval.Get(t.DType, w.Data, i).F
		if x == y || x != x && y != y {
			continue
		}
		if !roughly || !(math.Abs(x-y) <= 1e-5+1e-5*math.Abs(y)) {
			return fmt.Errorf("element %d is %v, want %v", i, x, y)
		}
	}
	return nil
}
