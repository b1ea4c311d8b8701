package layers

import (
	"cmp"
	"fmt"
	"os"

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

// values are the tensors of the last run, by the nodes that their instructions stand for: the last
// of a node's instructions has what it gives.
func (d *Dump) values(path string) (list []value) {
	dump, err := etdump.Read(must.Get(os.ReadFile(path)))
	must.In(err, "%s", foreign.Message(path))
	buffer := ir.Bytes(must.Get(os.ReadFile(d.Buffer)))
	m := must.Get(pt2.ReadRecord(d.Record)).Method(d.Method)
	if m == nil {
		must.Check(&way.InputError{Err: fmt.Errorf("%s has no method %s", foreign.Message(d.Record),
			foreign.Message(cmp.Or(d.Method, "forward")))})
	}
	at := map[string]int{} // where a name is in list
	for _, run := range dump.Runs {
		var last etdump.Origin
		outs := -1 // which of an instruction's values it is
		for _, e := range run.Events {
			x, ok := e.(*etdump.Debug)
			if !ok || x.Chain != 0 || x.DelegateID != "" || x.Delegate >= 0 {
				outs = -1
				continue
			}
			if outs < 0 || x.Origin != last {
				outs, last = -1, x.Origin
			}
			outs++
			t, ok := x.Value.(*etdump.Tensor)
			nodes := m.Origins(int(x.Instruction), "")
			if !ok || len(nodes) == 0 {
				continue
			}
			n := nodes[len(nodes)-1]
			v := value{node: n.Node, op: n.Op, tensor: dumped(path, t, buffer)}
			if outs > 0 {
				v.node = fmt.Sprintf("%s.%d", v.node, outs)
			}
			if n.Loc != (ir.Location{}) {
				v.line = n.Loc.String()
			}
			if i, ok := at[v.node]; ok {
				list[i] = v
				continue
			}
			at[v.node] = len(list)
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		must.Check(&way.InputError{Err: fmt.Errorf("%s has no tensors of nodes that are in %s",
			foreign.Message(path), foreign.Message(d.Record))})
	}
	return list
}

// dumped is the tensor that t points to.
func dumped(path string, t *etdump.Tensor, buffer ir.Bytes) *tensor.Tensor {
	dtype, ok := pte.ScalarType(t.ScalarType).DType()
	if !ok {
		must.Fail("%s: a tensor of the scalar type %d", foreign.Message(path), t.ScalarType)
	}
	if t.Offset < 0 || t.Offset > int64(len(buffer)) || len(t.Strides) != len(t.Sizes) {
		must.Fail("%s: a tensor lies outside the debug buffer", foreign.Message(path))
	}
	typ := ir.Type{Kind: ir.TensorKind, DType: dtype, Sizes: ir.Ints(t.Sizes),
		Strides: ir.Ints(t.Strides)}
	data, err := ir.Tensor(&ir.Constant{Name: "debug buffer", Type: typ, Data: buffer[t.Offset:]})
	must.In(err, "%s", foreign.Message(path))
	return &tensor.Tensor{DType: dtype, Shape: t.Sizes, Data: data}
}
