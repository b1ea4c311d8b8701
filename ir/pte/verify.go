package pte

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/foreign"
)

// Schemas knows operators. Names are those of nodes, see Operator.NodeName; of
// an out variant the schema has the out arguments, last and keyword-only.
type Schemas interface {
	Schema(name string) (*aten.Schema, bool)
}

// Verify reports whether a runtime may run p without looking twice. What passes,
// the stock runtime loads with every check on, and it also holds what that
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

// maxTables is how many tables the stock runtime's flatbuffer check follows,
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
		v.report("the program makes about %d flatbuffer tables; runtimes that check files stop at %d", n, maxTables)
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
			if !ok || t == nil || t.ExtraInfo == nil || !t.ExtraInfo.External {
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
