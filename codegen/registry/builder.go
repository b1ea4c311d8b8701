package registry

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/pte/form"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise"
)

// builder makes a plan of one call.
type builder struct {
	*call
	table   *ops.Table
	from    *pte.ExecutionPlan
	changed map[int32]bool // see pte.ExecutionPlan.Changed
	implied bool           // numbers in lists of sizes are left to what they have to be
	result  *pte.Tensor
	text    form.Writer
	values  []pte.EValue
	stands  []int32 // inputs that stand for numbers
	before  []pte.Instruction
}

// Operators of the plan.
const (
	theOperator = iota
	sizeOperator
	itemOperator
)

// build makes the plan of a call with arguments args, the last of which names
// its results.
func (b *builder) build(args []int32) {
	if len(args) == 0 {
		must.Fail("it has no arguments")
	}
	last := args[len(args)-1]
	args = args[:len(args)-1]
	b.findOuts(args, last)
	b.plan = &pte.ExecutionPlan{Name: b.name, Operators: []pte.Operator{
		theOperator: b.op, sizeOperator: pte.SizeOperator(), itemOperator: pte.ItemOperator(),
	}, BufferSizes: []int64{0}}
	copied := make([]int32, 0, len(args)+1)
	for i, a := range args {
		how := read
		switch {
		case i >= len(args)-b.outs:
			how = written
		case raise.Scratch(b.table, b.op, i):
			how = scratch
		}
		copied = append(copied, must.At(func() int32 { return b.argument(a, how, -1) },
			"argument %d", i))
	}
	b.form = b.text.String()
	switch _, list := b.from.Values[last].(pte.TensorList); {
	case b.mutates:
		copied = append(copied, copied[0])
	case list && b.results != nil && !isList(b.values[copied[len(copied)-1]]):
		copied = append(copied, b.value(pte.TensorList(slices.Clone(copied[len(copied)-b.outs:]))))
	default:
		copied = append(copied, copied[len(copied)-1])
	}
	b.before = append(b.before, pte.KernelCall{Op: theOperator, Args: copied})
	b.plan.Inputs = append(b.plan.Inputs, b.stands...)
	b.plan.Values, b.plan.Chains = b.values, []*pte.Chain{{Instructions: b.before}}
}

// findOuts finds which arguments the call writes.
func (b *builder) findOuts(args []int32, last int32) {
	if strings.HasSuffix(b.op.Name, "_") {
		b.mutates = true
		if len(args) == 0 || b.from.Values[args[0]] == nil || last != args[0] {
			must.Fail("its result is not its first argument, which it changes in place")
		}
		return
	}
	results := []int32{last}
	if list, ok := b.from.Values[last].(pte.TensorList); ok && len(args) > 0 {
		results = list
		if out, ok := b.from.Values[args[len(args)-1]].(pte.TensorList); ok &&
			slices.Equal(out, list) {
			results = args[len(args)-1:]
		}
	}
	if len(results) == 0 || len(results) > len(args) ||
		!slices.Equal(args[len(args)-len(results):], results) {
		must.Fail("its results are not its last arguments")
	}
	b.outs = len(results)
	b.result, _ = b.from.Values[results[0]].(*pte.Tensor)
}

// use is what a call does with an argument.
type use uint8

const (
	read use = iota
	written
	scratch
)

func (b *builder) value(v pte.EValue) int32 {
	b.values = append(b.values, v)
	return int32(len(b.values) - 1)
}

func isList(v pte.EValue) bool {
	_, ok := v.(pte.TensorList)
	return ok
}

// argument copies a value, which is element at of a list or -1, into the plan
// and returns its index there.
func (b *builder) argument(from int32, how use, at int) int32 {
	if from == -1 {
		b.text.None()
		return -1
	}
	items := func(list []int32) []int32 {
		b.text.Open()
		defer b.text.Close()
		out := make([]int32, len(list))
		for i, x := range list {
			out[i] = b.argument(x, how, i)
		}
		return out
	}
	switch v := b.from.Values[from].(type) {
	case *pte.Tensor:
		return b.tensor(v, how)
	case pte.TensorList:
		return b.value(pte.TensorList(items(v)))
	case pte.OptionalTensorList:
		return b.value(pte.OptionalTensorList(items(v)))
	case pte.IntList:
		list := seq.Map(v, func(x int64) int32 { return int32(x) })
		ints := make(pte.IntList, len(v))
		for i, x := range items(list) {
			ints[i] = int64(x)
		}
		return b.value(ints)
	case pte.DoubleList:
		form.List(&b.text, v, b.text.Float)
		return b.value(v)
	case pte.BoolList:
		form.List(&b.text, v, b.text.Bool)
		return b.value(v)
	}
	if how == written {
		must.Fail("it writes what is no tensor")
	}
	if b.changed[from] {
		return b.number(b.from.Values[from], at)
	}
	return b.literal(b.from.Values[from])
}

func (b *builder) literal(v pte.EValue) int32 {
	switch v := v.(type) {
	case pte.Int:
		b.text.Int(int64(v))
	case pte.Double:
		b.text.Float(float64(v))
	case pte.Bool:
		b.text.Bool(bool(v))
	case pte.String:
		b.text.Text(string(v))
	default:
		b.text.None()
	}
	return b.value(v)
}

// tensor makes a tensor an input or output of the plan, in memory of its own.
func (b *builder) tensor(t *pte.Tensor, how use) int32 {
	d, ok := t.ScalarType.DType()
	if !ok {
		must.Fail("tensors of %v are not supported", t.ScalarType)
	}
	o := operand{
		constant: t.IsConstant(), dynamic: t.Dynamism != pte.Static, rank: len(t.Sizes), most: 1,
	}
	if !slices.IsSorted(t.DimOrder) {
		o.order = t.DimOrder
	}
	sizes := make([]int64, len(t.Sizes))
	for i, s := range t.Sizes {
		sizes[i] = int64(s)
		o.most *= int64(s)
	}
	b.text.Tensor(d, sizes, t.DimOrder, o.constant, o.dynamic)
	own := &pte.Tensor{ScalarType: t.ScalarType, Sizes: t.Sizes, DimOrder: t.DimOrder,
		Dynamism: t.Dynamism}
	n := b.value(own)
	switch how {
	case written:
		b.results, b.plan.Outputs = append(b.results, o), append(b.plan.Outputs, n)
	case read:
		b.inputs, b.plan.Inputs = append(b.inputs, len(b.operands)), append(b.plan.Inputs, n)
		fallthrough
	case scratch: // it is counted, but nobody looks at it; each has a planned buffer
		b.operands = append(b.operands, o)
	}
	if how == scratch && o.most > 0 {
		own.Allocation = &pte.Allocation{MemoryID: uint32(len(b.plan.BufferSizes))}
		b.plan.BufferSizes = append(b.plan.BufferSizes, o.most*int64(d.Size()))
	}
	return n
}

// number makes an argument that instructions compute. One in a list, which
// tells sizes, is the size of an input, so that the sizes of tensors that are
// always the same are the same here; another is the element of an input.
func (b *builder) number(v pte.EValue, at int) int32 {
	n := number{input: len(b.stands), at: at}
	var text string
	switch v := v.(type) {
	case pte.Int:
		n.kind, text, n.value = ir.Int64, "int", int64(v)
	case pte.Double:
		n.kind, text = ir.Float64, "float"
	case pte.Bool:
		n.kind, text = ir.Bool, "bool"
	default:
		must.Fail("an instruction computes what is no number")
	}
	b.text.Number(text)
	to := b.value(v)
	switch {
	case at >= 0 && b.implied:
		b.values[to] = pte.Int(-1)
		n.input = -1
	case at >= 0:
		in := b.value(&pte.Tensor{ScalarType: 1, Sizes: []int32{b.bound(n.value, at)},
			DimOrder: []uint8{0}, Dynamism: pte.DynamicBound})
		b.stands = append(b.stands, in)
		b.before = append(b.before, pte.KernelCall{Op: sizeOperator,
			Args: []int32{in, b.value(pte.Int(0)), to}})
	default:
		s, _ := pte.ScalarTypeOf(n.kind)
		in := b.value(&pte.Tensor{ScalarType: s})
		b.stands = append(b.stands, in)
		b.before = append(b.before, pte.KernelCall{Op: itemOperator, Args: []int32{in, to}})
	}
	b.numbers = append(b.numbers, n)
	return to
}

// bound returns the most that a size in a list can be: that of the result, if
// the list can be its sizes, else what the file has in its place.
func (b *builder) bound(value int64, at int) int32 {
	if b.result != nil && at < len(b.result.Sizes) {
		value = int64(b.result.Sizes[at])
	}
	return int32(max(value, 1))
}
