package pte

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/seq"
)

// Schemas knows operators. Names are those of nodes, see Operator.NodeName; of
// an out variant the schema has the out arguments, last and keyword-only.
type Schemas interface {
	Schema(name string) (*aten.Schema, bool)
}

// Verify reports whether a runtime may run p without looking twice. What passes,
// ExecuTorch's runtime loads with every check on, and it also holds what that
// runtime takes for granted:
//
//   - data: constants and initial data are there, long enough and aligned; planned
//     tensors lie aligned inside their buffers; lists refer to earlier values;
//   - calls: arguments fit the operator's schema in number and kind, out arguments
//     come last, the result's slot is the out argument, or a list of them. Of an
//     operator that schemas does not know only indices are checked;
//   - control: jumps stay in their chain, their conditions are bools;
//   - memory, along every path through the instructions: a tensor that is read was
//     written before, is an input or has initial data, and nothing has been written
//     over it since; what is written overlaps neither what else is nor, in part, an
//     argument; no constant is written. A move lasts into the next call: a tensor that
//     one call moves must be moved again before the next call reads it. A tensor in
//     exactly the place of another may be a view of it: where nothing writes it
//     itself it holds what was last written there.
//
// It takes a bounded time, and memory of a small multiple of the program's tables
// and 64 MB. All problems are reported, in a *VerifyError; memory is looked at in methods
// that have no other problem. A nil schemas knows no operators.
func Verify(p *Program, schemas Schemas) error {
	return (&verifier{program: p, schemas: schemas, steps: maxSteps}).verify()
}

// VerifyMeaning is Verify for a compiler of the program: what passes means one thing,
// whoever runs it. A compiler keeps memory that is read before it is written from call to
// call, as runtimes do, and finds out itself which arguments fit an operator: it takes the
// calls of earlier versions.
func VerifyMeaning(p *Program, schemas Schemas) error {
	return (&verifier{program: p, schemas: schemas, steps: maxSteps, compiler: true}).verify()
}

func (v *verifier) verify() error {
	p := v.program
	v.errors = &VerifyError{}
	v.data()
	names := map[string]bool{}
	for i, plan := range p.Plans {
		if plan == nil {
			v.report("method %d is nil", i)
			continue
		}
		if plan.Name == "" || strings.ContainsRune(plan.Name, 0) {
			v.report("method %d is called %q", i, plan.Name)
		} else if names[plan.Name] {
			v.report("two methods are called %s", plan.Name)
		}
		names[plan.Name] = true
		v.plan(plan)
	}
	v.size()
	if len(v.errors.Problems) > 0 {
		return v.errors
	}
	return nil
}

type verifier struct {
	program  *Program
	schemas  Schemas
	steps    int  // what the look at the memory of a method may take
	compiler bool // see VerifyMeaning
	errors   *VerifyError
}

// report adds a problem of the program as a whole.
func (v *verifier) report(format string, args ...any) {
	v.errors.add(Problem{Chain: -1, Instruction: -1, Value: -1,
		Reason: fmt.Sprintf(format, args...)})
}

// data checks what methods share.
func (v *verifier) data() {
	p := v.program
	for _, d := range p.Defects {
		v.report("%s", d)
	}
	if len(p.Plans) == 0 {
		v.report("the program has no methods")
	}
	for _, list := range append([][]ir.Blob{p.Constants}, p.Mutable...) {
		if len(list) > 0 && list[0] != nil {
			v.report("entry 0 of a table of data is reserved, and has data")
		}
	}
	keys := map[string]bool{}
	for i, n := range p.Named {
		switch {
		case n.Key == "":
			v.report("named data %d has no name", i)
		case keys[n.Key]:
			v.report("two named data are called %q", n.Key)
		case n.Data == nil:
			v.report("named data %q has no data", n.Key)
		}
		keys[n.Key] = true
	}
	for _, plan := range p.Plans {
		if plan == nil {
			continue
		}
		if _, err := p.Least(plan); err != nil {
			v.report("method %s: %v", foreign.Message(plan.Name), err)
		}
	}
}

// maxTables is how many tables ExecuTorch's flatbuffer check follows,
// those that are referred to twice counted twice.
const maxTables = 1_000_000

// size bounds the number of tables of the file.
func (v *verifier) size() {
	p := v.program
	n := 3 + len(p.Constants) + len(p.Named) + len(p.Mutable)
	for _, plan := range p.Plans {
		if plan == nil {
			continue
		}
		n += 2 + 2*len(plan.Values) + len(plan.Operators) + len(plan.BufferDevices)
		for _, val := range plan.Values {
			if t, ok := val.(*Tensor); ok && t != nil {
				if t.Allocation != nil {
					n++
				}
				if t.ExtraInfo != nil {
					n++
				}
			}
		}
		for i := range plan.Delegates {
			n += 4 + len(plan.Delegates[i].Specs)
		}
		for _, c := range plan.Chains {
			if c == nil {
				continue
			}
			n += 1 + 2*len(c.Instructions)
			for _, frames := range c.Stacktrace {
				n += 1 + len(frames)
			}
		}
	}
	if n > maxTables {
		v.report("the program makes about %d flatbuffer tables; runtimes that check files stop at %d", n,
			maxTables)
	}
}

// VerifyData reports whether the files of external data have what the tensors of
// p that are External ask for: the name, with the same type, sizes and order of
// dimensions, and all bytes. The error is a *VerifyError.
func VerifyData(p *Program, files ...*DataFile) error {
	errors := &VerifyError{}
	for _, plan := range p.Plans {
		if plan == nil {
			continue
		}
		for i, val := range plan.Values {
			t, ok := val.(*Tensor)
			if !ok || t == nil || !t.IsExternal() {
				continue
			}
			if reason := missing(t, files); reason != "" {
				errors.add(Problem{Method: plan.Name, Chain: -1, Instruction: -1, Value: i,
					Reason: reason})
			}
		}
	}
	if len(errors.Problems) > 0 {
		return errors
	}
	return nil
}

// missing says why t has no data in files, "" if it has.
func missing(t *Tensor, files []*DataFile) string {
	for _, f := range files {
		entry, ok := f.Find(t.ExtraInfo.Name)
		if !ok {
			continue
		}
		l := entry.Layout
		if l == nil {
			return fmt.Sprintf("external data %q has no tensor layout", t.ExtraInfo.Name)
		}
		if l.ScalarType != t.ScalarType || fmt.Sprint(l.Sizes, l.DimOrder) != fmt.Sprint(t.Sizes,
			t.DimOrder) {
			return fmt.Sprintf("external data %q is %v %v in order %v, want %v %v in order %v",
				t.ExtraInfo.Name, l.ScalarType, l.Sizes, l.DimOrder, t.ScalarType, t.Sizes,
				t.DimOrder)
		}
		if n, ok := t.NBytes(); !ok || n > entry.Data.Size() {
			return fmt.Sprintf("external data %q has %d bytes of %d", t.ExtraInfo.Name,
				entry.Data.Size(), n)
		}
		return ""
	}
	return fmt.Sprintf("external data %q is in none of the files", t.ExtraInfo.Name)
}

// planVerifier checks one method.
type planVerifier struct {
	*verifier
	plan  *ExecutionPlan
	calls [][]Effect // of every instruction, by chain; for the look at memory
	found bool       // a problem of this method

	arguments int // tensors in lists that calls take
}

func (v *verifier) plan(plan *ExecutionPlan) {
	p := &planVerifier{verifier: v, plan: plan}
	if p.parts() {
		p.memory()
	}
}

// parts checks all but the use of memory, and reports whether it can be followed.
func (p *planVerifier) parts() bool {
	p.tables()
	for i := range p.plan.Values {
		p.value(i)
	}
	p.signature()
	if !p.found { // instructions are judged by what they refer to
		p.chains()
	}
	return !p.found
}

func (p *planVerifier) problem(at Problem, format string, args ...any) {
	p.found = true
	at.Method, at.Reason = p.plan.Name, fmt.Sprintf(format, args...)
	p.errors.add(at)
}

// bad adds a problem of a value, or of the method as a whole if it is -1.
func (p *planVerifier) bad(value int, format string, args ...any) {
	p.problem(Problem{Chain: -1, Instruction: -1, Value: value}, format, args...)
}

// maxOperatorName is the longest name that ExecuTorch's runtime resolves.
const maxOperatorName = 99

// tables checks operators, buffers, delegates.
func (p *planVerifier) tables() {
	for i, o := range p.plan.Operators {
		switch name := o.String(); {
		case o.Name == "" || strings.ContainsRune(name, 0):
			p.bad(-1, "operator %d is called %q", i, name)
		case len(name) > maxOperatorName:
			p.bad(-1, "operator %d has a name of %d bytes, at most %d are possible: %s", i,
				len(name), maxOperatorName, name)
		}
	}
	for i, size := range p.plan.BufferSizes {
		if size < 0 {
			p.bad(-1, "planned buffer %d has %d bytes", i, size)
		}
	}
	for _, d := range p.plan.BufferDevices {
		if d.Buffer < 1 || int(d.Buffer) >= len(p.plan.BufferSizes) {
			p.bad(-1, "a device for planned buffer %d; there are buffers 1 to %d", d.Buffer,
				len(p.plan.BufferSizes)-1)
		}
	}
	for i, d := range p.plan.Delegates {
		if d.ID == "" || strings.ContainsRune(d.ID, 0) {
			p.bad(-1, "delegate %d has the id %q", i, d.ID)
		}
		if d.Processed == nil {
			p.bad(-1, "delegate %d has no data", i)
		}
		for j, s := range d.Specs {
			if s.Key == "" || strings.ContainsRune(s.Key, 0) {
				p.bad(-1, "delegate %d has the compile spec %d called %q", i, j, s.Key)
			}
		}
	}
	if c := p.plan.Container; c != nil && strings.ContainsRune(c.Input+c.Output, 0) {
		p.bad(-1, "the container metadata has zero bytes")
	}
}

// value checks a value by itself and, of a list, what it refers to.
func (p *planVerifier) value(i int) {
	switch v := p.plan.Values[i].(type) {
	case *Tensor:
		if v == nil {
			p.bad(i, "a nil tensor")
			return
		}
		p.tensor(i, v)
	case IntList:
		for j, item := range v {
			if item < 0 || item >= int64(len(p.plan.Values)) {
				p.bad(i, "item %d is value %d; there are %d", j, item, len(p.plan.Values))
			} else if _, ok := p.plan.Values[item].(Int); !ok {
				p.bad(i, "item %d is value %d, %s, not an int", j, item,
					kindOf(p.plan.Values[item]))
			}
		}
	case TensorList:
		p.tensorList(i, v, false)
	case OptionalTensorList:
		p.tensorList(i, v, true)
	case Null, Int, Bool, Double, String, DoubleList, BoolList:
	default:
		p.bad(i, "no kind of value: %T", v)
	}
}

// tensorList checks that a list refers to tensors that exist before it: runtimes
// copy them while they load the list.
func (p *planVerifier) tensorList(i int, items []int32, optional bool) {
	for j, item := range items {
		if optional && item == -1 {
			continue
		}
		if item < 0 || int(item) >= len(p.plan.Values) {
			p.bad(i, "item %d is value %d; there are %d", j, item, len(p.plan.Values))
			continue
		}
		if int(item) >= i {
			p.bad(i, "item %d is value %d, which does not come before the list", j, item)
			continue
		}
		switch e := p.plan.Values[item].(type) {
		case *Tensor:
		case Null:
			if !optional {
				p.bad(i, "item %d is value %d, %s, not a tensor", j, item, kindOf(e))
			}
		default:
			p.bad(i, "item %d is value %d, %s, not a tensor", j, item, kindOf(e))
		}
	}
}

// kindOf names the kind of a value in messages.
func kindOf(v EValue) string {
	switch v := v.(type) {
	case Null:
		return "none"
	case Int:
		return "an int"
	case Bool:
		return "a bool"
	case Double:
		return "a double"
	case String:
		return "a string"
	case *Tensor:
		return "a tensor"
	case IntList:
		return "a list of ints"
	case DoubleList:
		return "a list of doubles"
	case BoolList:
		return "a list of bools"
	case TensorList:
		return "a list of tensors"
	case OptionalTensorList:
		return "a list of optional tensors"
	default:
		return fmt.Sprintf("%T", v)
	}
}

// signature checks inputs and outputs.
func (p *planVerifier) signature() {
	seen := map[int32]bool{}
	for i, index := range p.plan.Inputs {
		p.port("input", i, index)
		if seen[index] {
			p.bad(int(index), "it is two inputs")
		}
		seen[index] = true
	}
	for i, index := range p.plan.Outputs {
		p.port("output", i, index)
	}
	for _, index := range p.plan.Inputs {
		if index < 0 || int(index) >= len(p.plan.Values) {
			continue
		}
		if t, ok := p.plan.Values[index].(*Tensor); ok && t != nil {
			if t.DataIndex != 0 || t.IsExternal() {
				p.bad(int(index), "an input that has data of its own")
			}
		}
	}
}

func (p *planVerifier) port(what string, i int, index int32) {
	if index < 0 || int(index) >= len(p.plan.Values) {
		p.bad(-1, "%s %d is value %d; there are %d", what, i, index, len(p.plan.Values))
		return
	}
	switch v := p.plan.Values[index].(type) {
	case Null, Int, Bool, Double, String, *Tensor:
	default:
		p.bad(int(index), "%s %d is %s, which a method cannot take or give", what, i, kindOf(v))
	}
}

// MaxRank is the highest rank that ExecuTorch's runtime loads.
const MaxRank = 16

func (p *planVerifier) tensor(i int, t *Tensor) {
	if t.StorageOffset != 0 {
		p.bad(i, "storage offset %d, only 0 is possible", t.StorageOffset)
	}
	if t.Dynamism != Static && t.Dynamism != DynamicBound {
		p.bad(i, "shape dynamism %d, only static and bounded shapes are possible", t.Dynamism)
	}
	if _, ok := t.ScalarType.DType(); !ok {
		p.bad(i, "%v is no type of elements", t.ScalarType)
		return
	}
	if len(t.Sizes) > MaxRank {
		p.bad(i, "rank %d, at most %d is possible", len(t.Sizes), MaxRank)
		return
	}
	for d, s := range t.Sizes {
		if s < 0 {
			p.bad(i, "size %d of dimension %d", s, d)
			return
		}
	}
	bytes, ok := t.NBytes()
	if !ok {
		p.bad(i, "sizes %v: the number of bytes is too large", t.Sizes)
		return
	}
	p.dimOrder(i, t)
	if x := t.ExtraInfo; x != nil && strings.ContainsRune(x.Name, 0) {
		p.bad(i, "the name %q", x.Name)
	}
	external := t.IsExternal()
	if external && t.ExtraInfo.Name == "" {
		p.bad(i, "its data is external and it has no name")
	}
	if t.Allocation != nil {
		p.allocation(i, t.Allocation, bytes)
	}
	switch {
	case external || t.DataIndex == 0:
	case t.Allocation == nil:
		p.blob(i, "constant", p.program.Constants, t.DataIndex, bytes)
	case t.segment() != 0:
		p.bad(i, "initial data in segment %d of mutable data: "+
			"ExecuTorch's runtime takes it from segment 0", t.segment())
	case len(p.program.Mutable) == 0:
		p.bad(i, "initial data %d, and the program has none", t.DataIndex)
	default:
		p.blob(i, "initial data", p.program.Mutable[0], t.DataIndex, bytes)
	}
}

func (p *planVerifier) dimOrder(i int, t *Tensor) {
	var seen [MaxRank]bool
	bad := len(t.DimOrder) != len(t.Sizes)
	for _, d := range t.DimOrder {
		if bad = bad || int(d) >= len(t.Sizes) || seen[d]; bad {
			break
		}
		seen[d] = true
	}
	if bad {
		p.bad(i, "dim order %v is no permutation of %d dimensions", t.DimOrder, len(t.Sizes))
	}
}

func (p *planVerifier) allocation(i int, a *Allocation, bytes int64) {
	if a.MemoryID < 1 || int64(a.MemoryID) >= int64(len(p.plan.BufferSizes)) {
		p.bad(i, "memory id %d; there are 1 to %d", a.MemoryID, len(p.plan.BufferSizes)-1)
		return
	}
	if a.Offset%alignment != 0 {
		p.bad(i, "offset %d in planned memory is not aligned to %d bytes", a.Offset, alignment)
	}
	size := p.plan.BufferSizes[a.MemoryID]
	if size >= 0 && (a.Offset > uint64(size) || uint64(bytes) > uint64(size)-a.Offset) {
		p.bad(i, "%d bytes at offset %d leave planned buffer %d of %d bytes", bytes, a.Offset,
			a.MemoryID, size)
	}
}

func (p *planVerifier) blob(i int, what string, table []ir.Blob, index uint32, bytes int64) {
	switch {
	case int64(index) >= int64(len(table)):
		p.bad(i, "%s %d; the program has 1 to %d", what, index, len(table)-1)
	case table[index] == nil:
		p.bad(i, "%s %d has no data", what, index)
	case table[index].Size() < bytes:
		p.bad(i, "%s %d has %d bytes of %d", what, index, table[index].Size(), bytes)
	}
}

// Problem is a rule that a program breaks. Indices are -1 where the problem is
// not about one.
type Problem struct {
	Method      string // "" for the program as a whole
	Chain       int
	Instruction int
	Operator    string // of the instruction, if it calls one
	Value       int
	Reason      string
}

func (p Problem) String() string {
	var parts []string
	if p.Method != "" {
		parts = append(parts, "method "+foreign.Message(p.Method))
	}
	if p.Chain > 0 {
		parts = append(parts, fmt.Sprintf("chain %d", p.Chain))
	}
	if p.Instruction >= 0 {
		s := fmt.Sprintf("instruction %d", p.Instruction)
		if p.Operator != "" {
			s += " " + foreign.Message(p.Operator)
		}
		parts = append(parts, s)
	}
	if p.Value >= 0 {
		parts = append(parts, fmt.Sprintf("value %d", p.Value))
	}
	if len(parts) == 0 {
		return p.Reason
	}
	return strings.Join(parts, ", ") + ": " + p.Reason
}

// VerifyError are all the problems of a program, in its order.
type VerifyError struct {
	Problems []Problem
	More     int // problems found beyond those that are listed
}

func (e *VerifyError) Error() string {
	lines := seq.Map(e.Problems, func(p Problem) string { return p.String() })
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return "pte: " + strings.Join(lines, "\n     ")
}

// maxProblems bounds what a broken program can make us say.
const maxProblems = 100

func (e *VerifyError) add(p Problem) {
	if len(e.Problems) == maxProblems {
		e.More++
		return
	}
	e.Problems = append(e.Problems, p)
}
