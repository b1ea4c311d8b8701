package rt

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// MethodMeta describes a method. It must not be changed.
type MethodMeta struct {
	Name            string
	Inputs, Outputs []ValueMeta
	// Attributes are the tensors that have a name in the program, as weights in
	// a .ptd file and named buffers.
	Attributes []ValueMeta
	// PlannedBuffers are the bytes of the planned buffers; PlannedBuffers[i] is
	// that of memory id i+1.
	PlannedBuffers []int64
	// Operators are the operators that instructions call, sorted:
	// "aten::add.out".
	Operators    []string
	Backends     []string // the backends of the delegates, sorted
	Instructions int      // in all chains
}

// ValueMeta describes an input, an output or a named tensor.
type ValueMeta struct {
	Kind Kind
	Name string // "" if the program does not name it

	// Of a scalar input the value that the program was made for: SetInput takes
	// no other.
	Int    int64
	Double float64
	Bool   bool
	String string

	// Of a tensor. If it is Dynamic, Sizes are the bound and Bytes what that
	// takes.
	DType    ir.DType
	Sizes    []int64
	DimOrder []uint8
	Dynamic  bool
	// Least are the least sizes of a Dynamic input that the program says them of;
	// then Sizes are the most of each.
	Least []int64
	Bytes int64
	// Planned says that the method has memory for it: SetInput copies. Else an
	// input's memory is the caller's, an output's may be (SetOutput).
	Planned bool
}

func newMethodMeta(file *pte.Program, plan *pte.ExecutionPlan) *MethodMeta {
	m := &MethodMeta{Name: plan.Name}

	m.Inputs = valueMetas(plan, "input", plan.Inputs)
	least, err := file.Least(plan)
	if err != nil {
		panic(fmt.Errorf("%w: %w", ErrInvalidProgram, err))
	}
	for i := range m.Inputs {
		m.Inputs[i].Least = least[i]
	}
	m.Outputs = valueMetas(plan, "output", plan.Outputs)
	for i, v := range plan.Values {
		t, ok := v.(*pte.Tensor)
		if !ok || t.ExtraInfo == nil || t.ExtraInfo.Name == "" {
			continue
		}
		meta := must.At(func() ValueMeta { return valueMeta(v) }, "value %d", i)
		m.Attributes = append(m.Attributes, meta)
	}
	if len(plan.BufferSizes) > 1 {
		m.PlannedBuffers = slices.Clone(plan.BufferSizes[1:])
	}
	m.Operators, m.Instructions = usedOperators(plan)
	for _, d := range plan.Delegates {
		m.Backends = append(m.Backends, d.ID)
	}
	slices.Sort(m.Backends)
	m.Backends = slices.Compact(m.Backends)
	return m
}

// usedOperators returns the operators that instructions of plan call, sorted,
// and the number of instructions.
func usedOperators(plan *pte.ExecutionPlan) (operators []string, instructions int) {
	used := make([]bool, len(plan.Operators))
	for _, chain := range plan.Chains {
		instructions += len(chain.Instructions)
		for _, in := range chain.Instructions {
			if call, ok := in.(pte.KernelCall); ok && call.Op >= 0 && int(call.Op) < len(used) {
				used[call.Op] = true
			}
		}
	}
	for i, op := range plan.Operators {
		if used[i] {
			operators = append(operators, op.String())
		}
	}
	slices.Sort(operators)
	return slices.Compact(operators), instructions
}

func valueMetas(plan *pte.ExecutionPlan, what string, indices []int32) []ValueMeta {
	metas := make([]ValueMeta, len(indices))
	for i, v := range indices {
		if v < 0 || int(v) >= len(plan.Values) {
			panic(fmt.Errorf("%w: %s %d is value %d of %d", ErrInvalidProgram, what, i, v,
				len(plan.Values)))
		}
		meta := must.At(func() ValueMeta { return valueMeta(plan.Values[v]) }, "%s %d", what, i)
		metas[i] = meta
	}
	return metas
}

func valueMeta(v pte.EValue) ValueMeta {
	m := ValueMeta{Kind: kindOf(v)}
	switch v := v.(type) {
	case pte.Int:
		m.Int = int64(v)
	case pte.Bool:
		m.Bool = bool(v)
	case pte.Double:
		m.Double = float64(v)
	case pte.String:
		m.String = string(v)
	case *pte.Tensor:
		t, bytes := declare(v)
		m.DType, m.Sizes, m.DimOrder, m.Bytes = t.DType, t.Sizes, t.DimOrder, int64(bytes)
		m.Dynamic = t.Resizable()
		m.Planned = v.Allocation != nil || v.IsConstant()
		if v.ExtraInfo != nil {
			m.Name = v.ExtraInfo.Name
		}
	}
	return m
}

// kindOf returns the kind of slot that a value makes.
func kindOf(v pte.EValue) Kind {
	switch v.(type) {
	case pte.Int:
		return Int
	case pte.Bool:
		return Bool
	case pte.Double:
		return Double
	case pte.String:
		return String
	case *pte.Tensor:
		return TensorKind
	case pte.IntList:
		return IntList
	case pte.DoubleList:
		return DoubleList
	case pte.BoolList:
		return BoolList
	case pte.TensorList, pte.OptionalTensorList:
		return TensorList
	}
	return None
}
