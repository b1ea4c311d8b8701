package raise

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
)

// kind tells what a call does with its arguments.
type kind uint8

const (
	unknown   kind = iota
	outKind        // the arguments of the functional operator, its out tensors, the result
	inPlace        // the functional operator's arguments, one of which it writes; the result
	pure           // the functional operator's arguments and the result
	copyInto       // aten::copy_: writes its first argument, whatever was there
	numbers        // executorch_prim on numbers: operands, result
	viewInto       // executorch_prim::et_view: self, sizes, out
	copyIndex      // executorch_prim::et_copy_index: to, from, index
	custom         // a custom operator: its arguments, its out tensors, the result
)

// role is what an operator of the plan is to the graph.
type role struct {
	kind    kind
	name    string // as nodes would call it, "aten.add.out"
	op      string // the functional operator
	schema  *aten.Schema
	params  []int // for each argument before out tensors and result the parameter of schema
	mutated int   // of inPlace: which argument
	outs    int   // of outKind: how many arguments are written
	number  number
	err     error // of unknown
}

// roleOf finds out what an operator is.
func roleOf(table *ops.Table, o pte.Operator) *role {
	r := &role{name: o.NodeName()}
	switch r.name {
	case "aten.copy_.default":
		r.kind, r.op, r.params = copyInto, "aten.copy.default", []int{0, 1, 2}
		op, _ := table.Lookup(r.op)
		r.schema = op.ParsedSchema()
		return r
	case "executorch_prim.et_view.default":
		r.kind = viewInto
		return r
	case "executorch_prim.et_copy_index.tensor":
		r.kind = copyIndex
		return r
	}
	if n, ok := numberOps()[r.name]; ok {
		r.kind, r.number = numbers, n
		r.number.operands = len(pte.RuntimeSchema(o).Args)
		return r
	}
	if s, ok := table.CustomNamed(r.name); ok {
		r.kind, r.op, r.schema, r.outs = custom, s.Name, s, len(s.Returns)
		r.setParams(s)
		return r
	}
	if functional, ok := outOf(table, r.name); ok {
		if op, ok := table.Lookup(functional); ok {
			r.kind, r.op, r.schema = outKind, functional, op.ParsedSchema()
			r.setOuts()
			return r
		}
		r.err = fmt.Errorf("its functional form %s is not supported%s", foreign.Message(functional),
			declaring(r.name))
		return r
	}
	if f, ok := table.Functional(r.name); ok {
		op, _ := table.Lookup(f.Name)
		r.kind, r.op, r.schema, r.mutated = inPlace, f.Name, op.ParsedSchema(), f.Mutated
		r.setParams(r.schema)
		if f.Rebind {
			r.kind, r.err = unknown,
				fmt.Errorf(
					"it changes the sizes of a tensor in place, which planned tensors cannot")
		}
		return r
	}
	if op, ok := table.Lookup(r.name); ok {
		r.kind, r.op, r.schema = pure, r.name, op.ParsedSchema()
		r.setParams(r.schema)
		return r
	}
	r.err = fmt.Errorf("the operator is not supported%s", declaring(r.name))
	return r
}

// declaring says what to do about an operator that may be a custom one.
func declaring(name string) string {
	if ops.IsCustom(name) {
		return "; declare it with --custom-op or --kernels if it is a custom one"
	}
	return ""
}

// setOuts finds the arguments of an out variant.
func (r *role) setOuts() {
	v, ok := aten.OutNamed(r.name)
	if !ok {
		v = &aten.OutVariant{Name: r.name, Outs: make([]string, max(len(r.schema.Returns), 1))}
	}
	r.outs = len(v.Outs)
	if len(r.schema.Returns) == 0 {
		r.setParams(r.schema)
		return
	}
	s := v.Schema(r.schema)
	s.Args = s.Args[:len(s.Args)-r.outs]
	r.setParams(s)
}

// setParams notes which of its parameters calls have arguments for.
func (r *role) setParams(s *aten.Schema) {
	for _, a := range s.Args {
		r.params = append(r.params, r.schema.Index(a.Name))
	}
}

// outOf returns the functional operator of an out variant. Where PyTorch's list
// of them does not tell, an overload "X_out" is taken for that of "X", and
// "out" for that of the operator that the table has.
func outOf(table *ops.Table, name string) (string, bool) {
	if v, ok := aten.OutNamed(name); ok {
		return v.Functional, true
	}
	dot := strings.LastIndexByte(name, '.')
	base, overload := name[:dot], name[dot+1:]
	if overload == "out" {
		for _, o := range []string{"default", "Tensor"} {
			if _, ok := table.Lookup(base + "." + o); ok {
				return base + "." + o, true
			}
		}
		return base + ".default", true
	}
	if x, ok := strings.CutSuffix(overload, "_out"); ok {
		return base + "." + x, true
	}
	return "", false
}

// operands returns how many arguments a call has, the result included; ok is
// false if any number will do.
func (r *role) operands() (n int, ok bool) {
	switch r.kind {
	case outKind, custom:
		return len(r.params) + r.outs + 1, true
	case inPlace, pure, copyInto:
		return len(r.params) + 1, true
	case viewInto, copyIndex:
		return 3, true
	case numbers:
		return r.number.operands + 1, true
	}
	return 0, false
}

// count returns why a call has not as many arguments as it needs, nil if it has.
func (r *role) count(in pte.KernelCall) {
	if n, ok := r.operands(); ok && n != len(in.Args) {
		must.Fail("it has %d arguments, want %d", len(in.Args), n)
	}
}

// isScratch reports whether argument i is memory to work in: it is neither read
// nor does it hold anything afterwards.
func (r *role) isScratch(i int) bool {
	return i < len(r.params) && r.schema.Args[r.params[i]].Scratch()
}

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
		params := seq.Map(role.params, func(k int) aten.Param { return role.schema.Args[k] })
		kinds := seq.Map(call.Args[:len(call.Args)-role.outs-1], func(a int32) aten.ArgKind {
			return argKind(r.Values[a])
		})
		at, ok := aten.Earlier(params, kinds)
		if !ok {
			continue // reported when the call is raised
		}
		fitted := seq.Map(at, func(k int) int { return role.params[k] })
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
