package raise

import (
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/pte"
)

// fitRoles makes the roles of operators that the plan calls with fewer arguments
// than they have today those of the earlier versions.
func (r *raiser) fitRoles() {
	for _, in := range r.code {
		call, ok := in.Instruction.(pte.KernelCall)
		if !ok {
			continue
		}
		role := r.roles[call.Op]
		if role.kind != outKind || len(call.Args) >= len(role.params)+role.outs+1 ||
			len(call.Args) <= role.outs {
			continue
		}
		params := make([]aten.Param, len(role.params))
		for i, k := range role.params {
			params[i] = role.schema.Args[k]
		}
		var kinds []aten.ArgKind
		for _, a := range call.Args[:len(call.Args)-role.outs-1] {
			kinds = append(kinds, argKind(r.Values[a]))
		}
		at, ok := aten.Earlier(params, kinds)
		if !ok {
			continue // reported when the call is raised
		}
		fitted := make([]int, len(at))
		for i, k := range at {
			fitted[i] = role.params[k]
		}
		role.params = fitted
	}
}

func argKind(v pte.EValue) aten.ArgKind {
	switch v.(type) {
	case pte.Int:
		return aten.IntArg
	case pte.Bool:
		return aten.BoolArg
	case pte.Double:
		return aten.FloatArg
	case pte.String:
		return aten.StringArg
	case *pte.Tensor:
		return aten.TensorArg
	case pte.IntList, pte.DoubleList, pte.BoolList, pte.TensorList, pte.OptionalTensorList:
		return aten.ListArg
	}
	return aten.NoArg
}
