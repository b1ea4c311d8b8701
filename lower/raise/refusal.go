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
func (r *raiser) refusal(role *role, args, outs []int32) (done bool, err error) {
	if role.op != "aten.full.default" || len(outs) != 1 || r.tensors[outs[0]].dynamic {
		return false, nil
	}
	t := r.tensors[outs[0]]
	list, ok := r.Values[args[0]].(pte.IntList)
	if !ok || len(list) != len(t.sizes) {
		return false, nil
	}
	for i, slot := range list {
		s, ok := r.st.scalars[int32(slot)]
		if !ok {
			continue
		}
		done = true
		a, err := r.scalarArg(s)
		if err != nil {
			return true, err
		}
		want := ir.Int(t.sizes[i])
		if a == want {
			continue
		}
		cond, ok := r.truth(a)
		if !ok || want != 1 {
			args := []ir.NamedArg{{Name: "a", Value: a}, {Name: "b", Value: want}}
			cond = ir.Ref{Value: r.b.Emit("_operator.eq", args,
				ir.Type{Kind: ir.BoolKind}).Outputs[0]}
		}
		r.require(cond)
	}
	if !done {
		return false, nil
	}
	v, err := r.b.Call("aten.full.default", t.sizes, 0, kwDType(t.dtype))
	if err != nil {
		return true, err
	}
	return true, r.assign(outs[0], v[0])
}

// truth returns the condition of which a is 1 where it holds, 0 where not.
func (r *raiser) truth(a ir.Arg) (cond ir.Ref, ok bool) {
	ref, isRef := a.(ir.Ref)
	if isRef {
		cond, ok = r.truths[ref.Value]
	}
	return cond, ok
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
