package raise

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
)

// customCall raises a call of a custom operator: its arguments, those that it writes to among them,
// then its results, then the result of the call. Results have the sizes that the program has for
// them; what it writes to keeps its own.
func (r *raiser) customCall(role *role, args []int32) {
	kernel := role.schema
	var named []ir.NamedArg
	var types []ir.Type
	var outs []int32
	for i := range kernel.Returns {
		slot := args[len(kernel.Args)+i]
		if r.tensors[slot] == nil {
			must.Fail("its out argument, value %d, is no tensor", slot)
		}
		t := r.resolve(slot)
		if t.dynamic {
			must.Fail("only its kernel knows the sizes of its result, value %d; etgen compiles "+
				"results of fixed sizes", slot)
		}
		outs, types = append(outs, slot), append(types, ir.TensorOf(t.dtype, ir.Ints(t.sizes)...))
	}
	op := kernel.Name
	for i, p := range kernel.Args {
		saying("argument "+p.Name, func() {
			named = append(named, ir.NamedArg{Name: p.Name,
				Value: r.argument(p.Type, args[i], r.read)})
			if p.Type.Mutates() {
				op = ops.FunctionalForm(kernel.Name)
				v := r.read(args[i])
				outs, types = append(outs, args[i]), append(types, v.Type.Dense())
			}
		})
	}
	r.assignAll(outs, r.b.Emit(op, named, types...).Outputs)
	if text := kernel.String(); !slices.Contains(r.customs, text) {
		r.customs = append(r.customs, text)
	}
}

// customEffect is what a call of a custom operator reads and writes.
func (r *raiser) customEffect(role *role, in pte.KernelCall) (e effect) {
	for i, a := range in.Args[:len(in.Args)-1] {
		result := i >= len(role.schema.Args)
		if !result {
			e.reads = append(e.reads, r.slots(a)...)
		}
		if result || role.schema.Args[i].Type.Mutates() {
			e.writes = append(e.writes, r.slots(a)...)
		}
	}
	return e
}
