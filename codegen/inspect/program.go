package inspect

import (
	"errors"
	"fmt"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
)

// program describes the methods of an ExecuTorch program and what is wrong with
// it. HasKernel tells of which operators, by the names files have, etgen's
// runtime has kernels.
func (info *Info) program(p *pte.Program, files []*pte.DataFile, hasKernel func(string) bool) {
	table := ops.Standard()
	for _, err := range []error{pte.Verify(p, table), pte.VerifyData(p, files...)} {
		info.complain(err)
	}
	for _, n := range p.Named {
		info.Data = append(info.Data, Tensor{Name: n.Key, Bytes: n.Data.Size(), Kind: "named data"})
	}
	for _, ep := range p.Plans {
		m := method(ep, table, hasKernel)
		err := must.Try(func() { m.Memory = memoryOf(p, ep, table) })
		info.Methods = append(info.Methods, m)
		if err != nil && len(info.Problems) == 0 { // else the verifier has said it
			info.complain(err)
		}
	}
}

// complain adds the problems that an error holds.
func (info *Info) complain(err error) {
	if broken, ok := errors.AsType[*pte.VerifyError](err); ok {
		for _, p := range broken.Problems {
			info.Problems = append(info.Problems, p.String())
		}
		if broken.More > 0 {
			info.Problems = append(info.Problems, fmt.Sprintf("and %d more", broken.More))
		}
	} else if err != nil {
		info.Problems = append(info.Problems, err.Error())
	}
}

// method describes a method as far as its parts refer to what is there, without its memory.
func method(ep *pte.ExecutionPlan, table *ops.Table, hasKernel func(string) bool) Method {
	info := Method{Name: ep.Name, Inputs: []Port{}, Outputs: []Port{},
		Operators: called(ep, table, hasKernel)}
	for k, v := range ep.Inputs {
		info.Inputs = append(info.Inputs, port(ep, fmt.Sprint(k), v))
	}
	for k, v := range ep.Outputs {
		info.Outputs = append(info.Outputs, port(ep, fmt.Sprint(k), v))
	}
	info.Instructions = count(ep)
	for i := range ep.Delegates {
		info.Delegates = append(info.Delegates, delegate(ep, int32(i)))
	}
	info.Constants, info.State = stored(ep, table)
	return info
}

// value returns an entry of the value table, nil if there is none.
func value(ep *pte.ExecutionPlan, i int32) pte.EValue {
	if i < 0 || int(i) >= len(ep.Values) {
		return nil
	}
	return ep.Values[i]
}

func port(ep *pte.ExecutionPlan, name string, i int32) Port {
	out := Port{Name: name}
	v := value(ep, i)
	t, ok := v.(*pte.Tensor)
	if !ok {
		out.Value = pte.ValueString(v)
		return out
	}
	out.Type = t.TypeString()
	switch {
	case t.IsExternal():
		out.Place = "external"
	case t.Allocation != nil:
		out.Place = fmt.Sprintf("planned at %d:%d", t.Allocation.MemoryID, t.Allocation.Offset)
	case t.DataIndex > 0:
		out.Place = "constant"
	default:
		out.Place = "the caller's"
	}
	if t.ExtraInfo != nil && t.ExtraInfo.Name != "" {
		out.Name = t.ExtraInfo.Name
	}
	return out
}

// instructions calls do for every instruction.
func instructions(ep *pte.ExecutionPlan, do func(pte.Instruction)) {
	for _, c := range ep.Chains {
		for _, in := range c.Instructions {
			do(in)
		}
	}
}

func count(ep *pte.ExecutionPlan) *Instructions {
	n := &Instructions{}
	instructions(ep, func(in pte.Instruction) {
		n.Total++
		switch in.(type) {
		case pte.KernelCall:
			n.KernelCalls++
		case pte.DelegateCall:
			n.DelegateCalls++
		case pte.MoveCall:
			n.Moves++
		case pte.JumpFalseCall:
			n.Jumps++
		case pte.FreeCall:
			n.Frees++
		}
	})
	return n
}

// kernelCalls calls do for every call of an operator that there is.
func kernelCalls(ep *pte.ExecutionPlan, do func(op pte.Operator, call pte.KernelCall)) {
	instructions(ep, func(in pte.Instruction) {
		if call, ok := in.(pte.KernelCall); ok && call.Op >= 0 && int(call.Op) < len(ep.Operators) {
			do(ep.Operators[call.Op], call)
		}
	})
}

// called counts the operators that instructions call.
func called(ep *pte.ExecutionPlan, table *ops.Table, hasKernel func(string) bool) []Operator {
	all := tally{}
	kernelCalls(ep, func(op pte.Operator, call pte.KernelCall) {
		var results []string
		if n := len(call.Args); n > 0 {
			results = dtypes(ep, call.Args[n-1])
		}
		if o := all.count(op.String(), results); o.Count == 1 {
			_, known := table.Schema(op.NodeName())
			own := pte.RuntimeSchema(op) != nil
			has := own || hasKernel(op.String())
			o.Supported, o.Kernel = known || own, &has
		}
	})
	return all.list()
}

// dtypes returns the element types of a result: a tensor or a list of them.
func dtypes(ep *pte.ExecutionPlan, i int32) []string {
	switch v := value(ep, i).(type) {
	case *pte.Tensor:
		return []string{v.ScalarType.String()}
	case pte.TensorList:
		var all []string
		for _, item := range v {
			if t, ok := value(ep, item).(*pte.Tensor); ok {
				all = append(all, t.ScalarType.String())
			}
		}
		return all
	}
	return nil
}

// stored returns a method's constants, largest first, and its tensors with
// initial data. Constants that several values have are listed once.
func stored(ep *pte.ExecutionPlan, table *ops.Table) (constants, state []Tensor) {
	users := firstUsers(ep, table)
	seen := map[string]bool{}
	for i, v := range ep.Values {
		t, ok := v.(*pte.Tensor)
		if !ok {
			continue
		}
		n, _ := t.NBytes()
		out := Tensor{Type: t.TypeString(), Bytes: n, Kind: "constant", User: users[int32(i)]}
		if t.ExtraInfo != nil {
			out.Name = t.ExtraInfo.Name
		}
		external := t.IsExternal()
		if external {
			out.Kind = "external"
		}
		switch {
		case t.Allocation != nil && (t.DataIndex > 0 || external):
			if out.Name == "" {
				out.Name = fmt.Sprintf("%%%d", i)
			}
			state = append(state, out)
			continue
		case t.DataIndex == 0 && !external:
			continue
		}
		key := fmt.Sprint(t.DataIndex, " ", out.Name, " ", out.Type)
		if out.Name == "" {
			out.Name = fmt.Sprintf("constant %d", t.DataIndex)
		}
		if !seen[key] {
			seen[key] = true
			constants = append(constants, out)
		}
	}
	largestFirst(constants)
	return constants, state
}

// firstUsers tells of every value the first operator that takes it, and as which
// argument.
func firstUsers(ep *pte.ExecutionPlan, table *ops.Table) map[int32]string {
	users := map[int32]string{}
	kernelCalls(ep, func(op pte.Operator, call pte.KernelCall) {
		schema, known := table.Schema(op.NodeName())
		for k, a := range call.Args {
			if _, ok := users[a]; ok {
				continue
			}
			users[a] = op.String()
			if known && k < len(schema.Args) {
				users[a] += " " + schema.Args[k].Name
			}
		}
	})
	return users
}
