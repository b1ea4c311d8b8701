package pte

import (
	"slices"
	"strings"
	"sync"

	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/seq"
)

// Effect is what an instruction does to tensors, by index in the value table.
type Effect struct {
	Reads   []int32
	Writes  []int32 // written whole, without being read
	Updates []int32 // changed, or perhaps changed: what they held may still be wanted
	// View says that Writes[0] gets the memory of Reads[0] and nothing is written.
	View bool
	// Delegate says that a delegate takes the tensors. Which it reads, and which it writes, is
	// known once the use of memory has been followed; until then all are Updates.
	Delegate bool
	Held     []int32 // written in the place of an argument: what state is
}

// chains checks the instructions.
func (p *planVerifier) chains() {
	if len(p.plan.Chains) == 0 {
		p.bad(-1, "it has no chain of instructions")
	}
	for c, chain := range p.plan.Chains {
		if chain == nil {
			p.bad(-1, "chain %d is nil", c)
			continue
		}
		if n := len(chain.Stacktrace); n > 0 && n != len(chain.Instructions) {
			p.bad(-1, "chain %d has %d stack traces for %d instructions", c, n,
				len(chain.Instructions))
		}
		effects := seq.Of(len(chain.Instructions), func(i int) Effect {
			return p.instruction(c, i)
		})
		p.calls = append(p.calls, effects)
	}
}

func (p *planVerifier) instruction(c, i int) Effect {
	at := Problem{Chain: c, Instruction: i, Value: -1}
	chain := p.plan.Chains[c]
	var none Effect
	switch in := chain.Instructions[i].(type) {
	case KernelCall:
		if in.Op < 0 || int(in.Op) >= len(p.plan.Operators) {
			p.problem(at, "operator %d; there are %d", in.Op, len(p.plan.Operators))
			return none
		}
		o := p.plan.Operators[in.Op]
		at.Operator = o.String()
		if !p.inRange(at, in.Args...) {
			return none
		}
		return p.kernel(at, p.schema(o), in.Args)
	case DelegateCall:
		if in.Delegate < 0 || int(in.Delegate) >= len(p.plan.Delegates) {
			p.problem(at, "delegate %d; there are %d", in.Delegate, len(p.plan.Delegates))
			return none
		}
		at.Operator = p.plan.Delegates[in.Delegate].ID
		if !p.inRange(at, in.Args...) {
			return none
		}
		none.Delegate = true
		for _, a := range in.Args {
			none.Updates = append(none.Updates, p.tensors(a)...)
		}
	case MoveCall:
		if p.inRange(at, in.From, in.To) {
			p.move(at, in)
		}
	case JumpFalseCall:
		if in.Destination < 0 || int(in.Destination) > len(chain.Instructions) {
			p.problem(at, "jumps to instruction %d; there are 0 to %d", in.Destination,
				len(chain.Instructions))
		}
		if !p.inRange(at, in.Cond) {
			return none
		}
		at.Value = int(in.Cond)
		switch v := p.plan.Values[in.Cond].(type) {
		case Bool:
		case *Tensor:
			if v.ScalarType != boolType {
				p.problem(at, "the condition is a tensor of %v, not of bools", v.ScalarType)
			}
			none.Reads = []int32{in.Cond}
		default:
			p.problem(at, "the condition is %s, not a bool", kindOf(v))
		}
	case FreeCall:
		if p.inRange(at, in.Value) {
			if _, ok := p.plan.Values[in.Value].(*Tensor); !ok {
				at.Value = int(in.Value)
				p.problem(at, "frees %s, not a tensor", kindOf(p.plan.Values[in.Value]))
			}
		}
	default:
		p.problem(at, "no kind of instruction: %T", in)
	}
	return none
}

// kernel checks the call of a kernel. To a compiler, one that does not fit its schema is
// of an operator that nobody knows.
func (p *planVerifier) kernel(at Problem, s *aten.Schema, args []int32) Effect {
	if s != nil {
		found, before := p.found, *p.errors
		e := p.call(at, s, args)
		if !p.compiler || p.found == found {
			return e
		}
		p.found, *p.errors = found, before
	}
	e := p.unknown(args)
	for _, v := range slices.Concat(e.Writes, e.Updates) {
		if !p.writable(v) {
			at.Value = int(v)
			p.problem(at, "its result is a constant, which is written")
		}
	}
	return e
}

// boolType is the scalar type of bools.
const boolType ScalarType = 11

func (p *planVerifier) inRange(at Problem, values ...int32) bool {
	ok := true
	for i, v := range values {
		if v < 0 || int(v) >= len(p.plan.Values) {
			p.problem(at, "argument %d is value %d; there are %d", i, v, len(p.plan.Values))
			ok = false
		}
	}
	return ok
}

// move checks that a value becomes one of its own kind: kernels are chosen, and
// arguments checked, before anything moves.
func (p *planVerifier) move(at Problem, in MoveCall) {
	at.Value = int(in.To)
	from, to := p.plan.Values[in.From], p.plan.Values[in.To]
	if kindOf(from) != kindOf(to) {
		p.problem(at, "%s becomes value %d, %s", kindOf(to), in.From, kindOf(from))
		return
	}
	if f, ok := from.(*Tensor); ok {
		t := to.(*Tensor)
		if t.DataIndex > 0 && t.Allocation == nil {
			p.problem(at, "it is written, and a constant")
		}
		if !Becomes(t, f) {
			p.problem(at, "%s cannot become value %d, %s", ValueString(t), in.From,
				ValueString(f))
		}
	}
}

// Becomes reports whether a move may make a tensor another. ExecuTorch's runtime lets any
// move. What calls with the value are prepared for, how much memory its readers have and
// what signatures say is by its declaration, though: from has to be of its type, rank and
// layout, and of its sizes where these are fixed, else no larger.
func Becomes(to, from *Tensor) bool {
	if from.ScalarType != to.ScalarType || len(from.Sizes) != len(to.Sizes) {
		return false
	}
	if to.Dynamism == Static {
		return from.Dynamism == Static && slices.Equal(from.Sizes, to.Sizes) &&
			slices.Equal(from.order(), to.order())
	}
	most, _ := to.NBytes()
	bytes, ok := from.NBytes()
	return ok && bytes <= most && slices.Equal(from.DimOrder, to.DimOrder)
}

// order returns the dimensions that say how the tensor lies in memory, those of more than
// one element, as they are in its order.
func (t *Tensor) order() []uint8 {
	return slices.DeleteFunc(slices.Clone(t.DimOrder), func(d uint8) bool {
		return int(d) >= len(t.Sizes) || t.Sizes[d] == 1
	})
}

// maxArguments bounds the tensors in the arguments of all calls of a method,
// lists that many calls take counted as often.
const maxArguments = 1 << 23

// tensors returns the tensors that a value consists of.
func (p *planVerifier) tensors(index int32) []int32 {
	var items []int32
	switch v := p.plan.Values[index].(type) {
	case *Tensor:
		return []int32{index}
	case TensorList:
		items = v
	case OptionalTensorList:
		items = v
	}
	if p.arguments += len(items); p.arguments > maxArguments {
		if p.arguments-len(items) <= maxArguments {
			p.bad(-1, "its calls take more than %d tensors in lists", maxArguments)
		}
		return nil
	}
	var all []int32
	for _, item := range items {
		if item >= 0 {
			if _, ok := p.plan.Values[item].(*Tensor); ok {
				all = append(all, item)
			}
		}
	}
	return all
}

// unknown guesses what an operator without a schema does from the convention of
// all operators: its last argument is the result, which it writes.
func (p *planVerifier) unknown(args []int32) Effect {
	var e Effect
	if len(args) == 0 {
		return e
	}
	last := len(args) - 1
	e.Writes = p.tensors(args[last])
	written := seq.Set(e.Writes)
	inPlace := false
	for i, a := range args[:last] {
		for _, t := range p.tensors(a) {
			if !written[t] {
				e.Reads = append(e.Reads, t)
			} else if i < last-len(e.Writes) {
				inPlace = true
			}
		}
	}
	if inPlace {
		e.Writes, e.Updates, e.Held = nil, e.Writes, e.Writes
	}
	return e
}

// call checks a call of an operator with a schema.
func (p *planVerifier) call(at Problem, s *aten.Schema, args []int32) Effect {
	e := Effect{View: s.Name == viewInto}
	want := len(s.Args)
	if len(s.Returns) > 0 {
		want++
	} else if len(args) == want+1 { // None, which nobody reads
		want++
	}
	if len(args) != want {
		p.problem(at, "%d arguments, want %d: those of %v, then the result", len(args), want, s)
		return e
	}
	var written []int32 // what a result has to be
	outs := false
	for i := range s.Args {
		param, index := &s.Args[i], args[i]
		at.Value = int(index)
		if v := p.plan.Values[index]; !accepts(param.Type, v) {
			p.problem(at, "argument %s is %s, want %v", param.Name, kindOf(v), param.Type)
			continue
		}
		tensors := p.tensors(index)
		switch {
		case param.Scratch():
			e.Writes = append(e.Writes, tensors...)
			continue
		case !param.Type.Mutates():
			e.Reads = append(e.Reads, tensors...)
			if outs && param.KwOnly {
				at.Value = -1
				p.problem(at, "argument %s comes after an out argument in %v", param.Name, s)
			}
			continue
		case param.KwOnly || s.Name == copyInto:
			e.Writes = append(e.Writes, tensors...)
		default:
			e.Updates = append(e.Updates, tensors...)
		}
		if param.KwOnly && !outs { // what comes before is no result
			outs, written = true, nil
		}
		if !param.KwOnly {
			e.Held = append(e.Held, tensors...)
		}
		written = append(written, tensors...)
		for _, t := range tensors {
			if !p.writable(t) {
				at.Value = int(t)
				p.problem(at, "argument %s is a constant, which is written", param.Name)
			}
		}
	}
	if len(s.Returns) > 0 {
		p.result(at, s, args[len(args)-1], written)
	}
	return e
}

// writable reports that a tensor is no constant.
func (p *planVerifier) writable(index int32) bool {
	return !p.plan.Values[index].(*Tensor).IsConstant()
}

// result checks the slot of a call's result: the tensor the call writes, a list
// of those it writes, or a number's slot.
func (p *planVerifier) result(at Problem, s *aten.Schema, index int32, written []int32) {
	at.Value = int(index)
	v := p.plan.Values[index]
	if len(written) == 0 {
		if !accepts(s.Returns[0].Type, v) || len(s.Returns) != 1 {
			p.problem(at, "the result is %s, want %v", kindOf(v), s.Returns[0].Type)
		} else if _, ok := v.(*Tensor); ok {
			p.problem(at, "the result is a new tensor; only out variants can be called")
		}
		return
	}
	if len(written) == 1 && index == written[0] {
		return
	}
	list, ok := v.(TensorList)
	if !ok {
		p.problem(at, "the result is %s, not what the call writes", kindOf(v))
		return
	}
	same := len(list) == len(written)
	for i := 0; same && i < len(list); i++ {
		same = list[i] == written[i]
	}
	if !same {
		p.problem(at, "the result is the list of values %v, but the call writes %v",
			[]int32(list), written)
	}
}

// taken are the kinds of values that kernels take for parameters, by the types of these.
// They unpack values strictly: an int is no double.
var taken = map[string][]string{
	"Tensor": {"a tensor"}, "str": {"a string"}, "Device": {"an int", "a string"},
	"int": {"an int"}, "SymInt": {"an int"}, "ScalarType": {"an int"}, "Layout": {"an int"},
	"MemoryFormat": {"an int"}, "QScheme": {"an int"},
	"float": {"a double"}, "SymFloat": {"a double"}, "bool": {"a bool"}, "SymBool": {"a bool"},
	"Scalar": {"an int", "a bool", "a double"}, "number": {"an int", "a bool", "a double"},
	"int[]": {"a list of ints"}, "SymInt[]": {"a list of ints"},
	"float[]": {"a list of doubles"}, "bool[]": {"a list of bools"},
	"Tensor[]": {"a list of tensors"}, "Tensor?[]": {"a list of optional tensors"},
}

// accepts reports whether a kernel takes v for a parameter of type t.
func accepts(t *aten.Type, v EValue) bool {
	if _, ok := v.(Null); ok {
		return t.Optional || t.Name == "Generator" || t.Name == "None"
	}
	name := t.Name
	if t.IsList() {
		name = t.Elems[0].Name + "[]"
		if t.Elems[0].Optional {
			name = t.Elems[0].Name + "?[]"
		}
	}
	return slices.Contains(taken[name], kindOf(v))
}

// Effects tells of every instruction, by chain, what it does to tensors; a
// MoveCall does nothing to their data. The error is a *VerifyError if the method
// is so broken that it cannot be told. An operator that schemas does not know is
// taken to write its last argument.
func (p *Program) Effects(ep *ExecutionPlan, schemas Schemas) ([][]Effect, error) {
	v := &planVerifier{plan: ep, verifier: &verifier{program: p, schemas: schemas,
		errors: &VerifyError{}, steps: maxSteps}}
	if !v.parts() {
		return nil, v.errors
	}
	v.memory() // what it finds wrong is for Verify to say
	return v.calls, nil
}

// primText are the schemas of the operators that belong to the runtime itself
// and not to a library of kernels.
var primText = slices.Concat([]string{
	"aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
	"aten::sym_size.int(Tensor self, int dim) -> SymInt",
	"aten::sym_numel(Tensor self) -> SymInt",
	"aten::_local_scalar_dense(Tensor self) -> Scalar",
	"executorch_prim::et_view.default(Tensor self, SymInt[] size, *, Tensor(a!) out) -> ()",
	"executorch_prim::et_copy_index.tensor(Tensor(a!) copy_to, Tensor copy_from, SymInt index) -> ()",
	"executorch_prim::floordiv.int(int a, int b) -> int",
	"executorch_prim::mod.int(int a, int b) -> int",
	"executorch_prim::sym_ite.Scalar(Scalar b, Scalar t, Scalar f) -> Scalar",
},
	onNumbers("(Scalar a)", "sym_float sym_int sym_not neg ceil round trunc"),
	onNumbers("(Scalar a, Scalar b)",
		"add sub mul floordiv truediv mod sym_max sym_min eq gt lt ge le"))

// onNumbers are the schemas of primitives that take these numbers.
func onNumbers(params, names string) (all []string) {
	for name := range strings.FieldsSeq(names) {
		all = append(all, "executorch_prim::"+name+".Scalar"+params+" -> Scalar")
	}
	return all
}

// The two of them that memory is looked at for.
const (
	copyInto = "aten.copy_.default"
	viewInto = "executorch_prim.et_view.default"
)

// primSchemas returns them by name. That each line parses is tested.
var primSchemas = sync.OnceValue(func() map[string]*aten.Schema {
	schemas := map[string]*aten.Schema{}
	for _, line := range primText {
		if s, err := aten.Parse(line); err == nil {
			schemas[s.Name] = s
		}
	}
	return schemas
})

// RuntimeSchema returns the schema of an operator that is the runtime's own, so that
// programs that call it need no kernel, and nil of others. (For aten::copy_ the runtime only
// knows what it writes.)
func RuntimeSchema(o Operator) *aten.Schema {
	if name := o.NodeName(); name != copyInto {
		return primSchemas()[name]
	}
	return nil
}

// SizeOperator is the runtime's operator that gives a size of a tensor: tensor,
// dimension, result.
func SizeOperator() Operator { return Operator{Name: "aten::sym_size", Overload: "int"} }

// ItemOperator is the runtime's operator that reads the element of a tensor with one
// element. Its arguments are the tensor and the result.
func ItemOperator() Operator { return Operator{Name: "aten::_local_scalar_dense"} }

// schema returns the schema of an operator, nil if nobody knows it.
func (v *verifier) schema(o Operator) *aten.Schema {
	name := o.NodeName()
	if s, ok := primSchemas()[name]; ok {
		return s
	}
	if v.schemas != nil {
		if s, ok := v.schemas.Schema(name); ok {
			return s
		}
	}
	return nil
}
