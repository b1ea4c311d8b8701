package raise

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// Refusal is the message of the assertions that refusals become.
const Refusal = "the program refuses these inputs"

// refusal raises a call of full to a tensor of fixed size that is asked for sizes
// which instructions compute: where they are others, the kernel ends the method.
// It is an assertion that they are the tensor's. (Trials do not fail by it: the
// sizes that are tried need not be allowed.)
func (r *raiser) refusal(role *role, args, outs []int32) (done bool) {
	if role.op != "aten.full.default" || len(outs) != 1 || r.tensors[outs[0]].dynamic {
		return false
	}
	t := r.tensors[outs[0]]
	list, ok := r.Values[args[0]].(pte.IntList)
	if !ok || len(list) != len(t.sizes) {
		return false
	}
	for i, slot := range list {
		s, ok := r.st.scalars[int32(slot)]
		if !ok {
			continue
		}
		done = true
		a := r.scalarArg(s)
		want := ir.Int(t.sizes[i])
		if a == want {
			continue
		}
		if ref, ok := a.(ir.Ref); ok && want == 1 && r.truths[ref.Value].Value != nil {
			r.require(r.truths[ref.Value])
		} else {
			r.require(r.relation("_operator.eq", a, want))
		}
	}
	if !done {
		return false
	}
	r.assign(outs[0], r.b.Op("aten.full.default", t.sizes, 0, kwDType(t.dtype)))
	return true
}

// require asserts a condition.
func (r *raiser) require(cond ir.Ref) {
	r.b.Emit("aten._assert_scalar.default", []ir.NamedArg{
		{Name: "self", Value: cond}, {Name: "assert_msg", Value: ir.Str(Refusal)},
	})
	if r.b.Emitter == r.top {
		r.asserted = append(r.asserted, cond)
	}
}
