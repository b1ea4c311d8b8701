package pte

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
)

// String returns a listing of the program: of each method its values and
// instructions. Data shows by its size.
func (p *Program) String() string {
	var b strings.Builder
	for i, ep := range p.Plans {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(ep.String())
	}
	return b.String()
}

// String returns a listing of the method.
func (ep *ExecutionPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "method %s inputs %v outputs %v memory %v\n", ep.Name, ep.Inputs, ep.Outputs,
		ep.BufferSizes)
	for i, v := range ep.Values {
		fmt.Fprintf(&b, "  %%%d = %s\n", i, ValueString(v))
	}
	for i, c := range ep.Chains {
		fmt.Fprintf(&b, "chain %d\n", i)
		for at, in := range c.Instructions {
			fmt.Fprintf(&b, "  %3d  %s\n", at, ep.InstructionString(in))
		}
	}
	return b.String()
}

// ValueString describes an entry of a value table: "f32[1, 10] at 1:640",
// "[3, 4]" for a list of the values 3 and 4, or a literal.
func ValueString(v EValue) string {
	switch v := v.(type) {
	case Null:
		return "null"
	case Int:
		return "int " + strconv.FormatInt(int64(v), 10)
	case Bool:
		return "bool " + strconv.FormatBool(bool(v))
	case Double:
		return "double " + strconv.FormatFloat(float64(v), 'g', -1, 64)
	case String:
		return "string " + strconv.Quote(string(v))
	case IntList:
		return "ints " + refs(v)
	case TensorList:
		return "tensors " + refs(v)
	case OptionalTensorList:
		return "optional tensors " + refs(v)
	case DoubleList:
		return fmt.Sprintf("doubles %v", []float64(v))
	case BoolList:
		return fmt.Sprintf("bools %v", []bool(v))
	case *Tensor:
		return v.String()
	}
	return fmt.Sprintf("unknown value %T", v)
}

func refs[T int32 | int64](list []T) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = "%" + strconv.FormatInt(int64(n), 10)
		if n < 0 {
			parts[i] = "none"
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// TypeString describes the tensor's type: "f32[1, 10]", of dynamic sizes their
// bounds "f32[≤8, ≤10]", and the order of dimensions if it is another than theirs.
func (t *Tensor) TypeString() string {
	var b strings.Builder
	b.WriteString(t.ScalarType.String())
	if d, ok := t.ScalarType.DType(); ok {
		b.Reset()
		b.WriteString(d.Short())
	}
	b.WriteString("[")
	rowMajor := true
	for i, n := range t.Sizes {
		if i > 0 {
			b.WriteString(", ")
		}
		if t.Dynamism != Static {
			b.WriteString("≤")
		}
		b.WriteString(strconv.Itoa(int(n)))
		rowMajor = rowMajor && i < len(t.DimOrder) && int(t.DimOrder[i]) == i
	}
	b.WriteString("]")
	if !rowMajor {
		fmt.Fprintf(&b, " order %v", t.DimOrder)
	}
	return b.String()
}

// String describes the tensor and where its data is.
func (t *Tensor) String() string {
	var b strings.Builder
	b.WriteString(t.TypeString())
	switch {
	case t.IsExternal():
		fmt.Fprintf(&b, " external %q", t.ExtraInfo.Name)
	case t.Allocation != nil && t.DataIndex > 0:
		fmt.Fprintf(&b, " at %d:%d from data %d", t.Allocation.MemoryID, t.Allocation.Offset,
			t.DataIndex)
	case t.Allocation != nil:
		fmt.Fprintf(&b, " at %d:%d", t.Allocation.MemoryID, t.Allocation.Offset)
	case t.DataIndex > 0:
		fmt.Fprintf(&b, " constant %d", t.DataIndex)
	default:
		b.WriteString(" the caller's")
	}
	return b.String()
}

// InstructionName names an instruction: by its operator, "aten::add.out", else by its kind,
// "MoveCall", "DelegateCall ID".
func (ep *ExecutionPlan) InstructionName(in Instruction) string {
	switch in := in.(type) {
	case KernelCall:
		if in.Op >= 0 && int(in.Op) < len(ep.Operators) {
			return ep.Operators[in.Op].String()
		}
	case DelegateCall:
		if in.Delegate >= 0 && int(in.Delegate) < len(ep.Delegates) {
			return "DelegateCall " + ep.Delegates[in.Delegate].ID
		}
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", in), "pte.")
}

// Kernels are the names of instructions that call kernels, as ETDumps have them ("add.out"), by
// their numbers in all chains. Those that call a delegate have [ir.DelegateKernel].
func (ep *ExecutionPlan) Kernels() map[int]string {
	names, k := map[int]string{}, 0
	for _, chain := range ep.Chains {
		for _, in := range chain.Instructions {
			switch in.(type) {
			case KernelCall:
				_, names[k], _ = strings.Cut(ep.InstructionName(in), "::")
			case DelegateCall:
				names[k] = ir.DelegateKernel
			}
			k++
		}
	}
	return names
}

// InstructionString describes an instruction of ep.
func (ep *ExecutionPlan) InstructionString(in Instruction) string {
	switch in := in.(type) {
	case KernelCall:
		name := fmt.Sprintf("operator %d", in.Op)
		if in.Op >= 0 && int(in.Op) < len(ep.Operators) {
			name = ep.Operators[in.Op].String()
		}
		return name + refs(in.Args)
	case DelegateCall:
		return fmt.Sprintf("delegate %d%s", in.Delegate, refs(in.Args))
	case MoveCall:
		return fmt.Sprintf("move %%%d to %%%d", in.From, in.To)
	case JumpFalseCall:
		return fmt.Sprintf("jump to %d if not %%%d", in.Destination, in.Cond)
	case FreeCall:
		return fmt.Sprintf("free %%%d", in.Value)
	}
	return fmt.Sprintf("unknown instruction %T", in)
}
