package layers

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/etgen/etgen/codegen/profile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/etdump"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/ir/pte"
)

// Dump is a run that a runtime of ExecuTorch programs noted: its ETDump is the side's path.
type Dump struct {
	Buffer string // the file of the tensors
	Record string // the ETRecord of the program, which says what instructions stand for
	Method string // "" is the only one, or forward
}

// values are the tensors of the last run, by the nodes that their instructions stand for.
func (d *Dump) values(path string) []value {
	dump, err := etdump.Read(must.Get(os.ReadFile(path)))
	must.In(err, "%s", foreign.Message(path))
	buffer := must.Get(os.ReadFile(d.Buffer))
	m := must.Get(pt2.ReadRecord(d.Record)).Method(d.Method)
	if m == nil {
		must.Check(&way.InputError{Err: fmt.Errorf("%s has no method %s", foreign.Message(d.Record),
			foreign.Message(cmp.Or(d.Method, "forward")))})
	}
	if why := m.Unlike(profile.New(dump, nil).Kernels); why != nil {
		must.Check(&way.InputError{Err: fmt.Errorf("%s is of another build than the program that ran: %w",
			foreign.Message(d.Record), why)})
	}
	var list []value
	must.Do(func() { list = dumpedValues(dump, buffer, m) }, "%s", foreign.Message(path))
	if len(list) == 0 {
		must.Check(&way.InputError{Err: fmt.Errorf("%s has no tensors of nodes that are in %s",
			foreign.Message(path), foreign.Message(d.Record))})
	}
	return list
}

// dumpedValues are the tensors of dump's last run: the last of the nodes that an instruction, or a
// part of a delegate, stands for has what it gives. Several results of a delegate are those that
// the record tells of, if it does. What an instruction in a loop gave has the number of the
// iteration behind the node's name.
func dumpedValues(dump *etdump.Dump, buffer []byte, m *pt2.RecordMethod) (list []value) {
	b := &debugBuffer{data: buffer, left: int64(len(buffer))}
	for _, run := range dump.Runs {
		type source struct {
			node string
			from etdump.Origin
		}
		var values []value
		at := map[source][]int{} // where the values of a source are
		for i := 0; i < len(run.Events); {
			group, from := debugged(run.Events[i:])
			i += max(1, len(group))
			if from.Chain != 0 {
				continue
			}
			event := from.DelegateID
			if from.Delegate >= 0 {
				event = fmt.Sprint(from.Delegate)
			}
			nodes := m.Origins(int(from.Instruction), event)
			// Of a delegate's call all arguments are noted, the results last.
			outs := m.Outs[int(from.Instruction)]
			if len(nodes) == 0 {
				continue
			}
			if event == "" && outs > 0 {
				group = group[max(0, len(group)-outs):]
			}
			tensors := tensorsOf(group)
			var results []pt2.Result
			if event == "" && outs > 1 {
				if results = m.Results[int(from.Instruction)]; !slices.EqualFunc(results, tensors, fits) {
					continue
				}
			}
			n := nodes[len(nodes)-1]
			for k, t := range tensors {
				if results != nil {
					n, k = results[k].Origin, results[k].Index
				}
				v := value{node: n.Node, op: n.Op, tensor: b.tensor(t)}
				if k > 0 {
					v.node = fmt.Sprintf("%s.%d", v.node, k)
				}
				if n.Loc != (ir.Location{}) {
					v.line = n.Loc.String()
				}
				s := source{v.node, from}
				at[s] = append(at[s], len(values))
				values = append(values, v)
			}
		}
		for s, rounds := range at {
			for k, i := range rounds {
				if len(rounds) > 1 {
					values[i].node = fmt.Sprintf("%s[%d]", s.node, k)
				}
			}
		}
		last := map[string]int{} // of several instructions for a node the last has its value
		for i, v := range values {
			last[v.node] = i
		}
		if len(values) > 0 {
			list = nil
		}
		for i, v := range values {
			if last[v.node] == i {
				list = append(list, v)
			}
		}
	}
	return list
}

// fits reports whether a tensor may be a result.
func fits(r pt2.Result, t *etdump.Tensor) bool {
	dtype, ok := pte.ScalarType(t.ScalarType).DType()
	return ok && dtype == r.DType && slices.EqualFunc(r.Sizes, t.Sizes,
		func(want, got int64) bool { return want < 0 || want == got })
}

// debugged are the values that events begin with and that one instruction noted.
func debugged(events []etdump.Event) (group []*etdump.Debug, from etdump.Origin) {
	for _, e := range events {
		x, ok := e.(*etdump.Debug)
		if !ok || len(group) > 0 && x.Origin != from {
			break
		}
		group, from = append(group, x), x.Origin
	}
	return group, from
}

// tensorsOf are the tensors among values, and in lists among them.
func tensorsOf(group []*etdump.Debug) (all []*etdump.Tensor) {
	for _, x := range group {
		switch v := x.Value.(type) {
		case *etdump.Tensor:
			all = append(all, v)
		case etdump.TensorList:
			all = append(all, v...)
		}
	}
	return all
}

// debugBuffer is the file of the tensors. Each has bytes of its own there, so all of them together
// have no more than are left.
type debugBuffer struct {
	data ir.Bytes
	left int64
}

// tensor is the tensor that t points to.
func (b *debugBuffer) tensor(t *etdump.Tensor) *tensor.Tensor {
	dtype, ok := pte.ScalarType(t.ScalarType).DType()
	if !ok {
		must.Fail("a tensor of the scalar type %d", t.ScalarType)
	}
	if t.Offset < 0 || t.Offset > int64(len(b.data)) || len(t.Strides) != len(t.Sizes) {
		must.Fail("a tensor lies outside the debug buffer")
	}
	bytes := int64(dtype.Size())
	for _, n := range t.Sizes {
		if n < 0 || n > 0 && bytes > b.left/n {
			must.Fail("its tensors have other sizes than the debug buffer")
		}
		bytes *= n
	}
	b.left -= bytes
	typ := ir.Type{Kind: ir.TensorKind, DType: dtype, Sizes: ir.Ints(t.Sizes),
		Strides: ir.Ints(t.Strides)}
	data := must.Get(ir.Tensor(&ir.Constant{Name: "debug buffer", Type: typ, Data: b.data[t.Offset:]}))
	return &tensor.Tensor{DType: dtype, Shape: t.Sizes, Data: data}
}
