// Package reference is a backend for tests, and the one that docs/backends.md goes through: a
// bytecode of its own that adds, multiplies and has linear layers, all in float32. It is the
// compile side; run is the run side.
package reference

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/golden/backends/reference/run"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/partition"
)

// Backend is the compile side.
type Backend struct{}

// operations are the operators that it takes, as nodes of the edge dialect call them.
var operations = map[string]uint32{"aten.add.Tensor": run.Add, "aten.mul.Tensor": run.Mul,
	linear: run.Linear}

const linear = "aten.linear.default"

// About implements partition.Backend.
func (Backend) About() partition.About {
	return partition.About{Name: "reference", ID: run.ID,
		Doc: "a bytecode for tests: add, mul and linear of float32",
		Options: []partition.Option{{Name: "ops",
			Doc: "those of them that it takes, as in ops=add+linear"}}}
}

// Keeps implements partition.Keeper: a linear layer stays whole.
func (Backend) Keeps(c *ops.Call) bool { return c.Op.Name() == linear }

// Partition implements partition.Backend.
func (Backend) Partition(g *partition.Graph) (err error) {
	defer must.Catch(&err)
	for n := range g.Nodes() {
		if why := refusal(g, n); why != "" {
			g.Refuse(n, "%s", why)
		} else {
			g.Take(n)
		}
	}
	return nil
}

// refusal says why the backend does not take n, "" if it does.
func refusal(g *partition.Graph, n *ir.Node) string {
	only := g.Spec("ops")
	if _, known := operations[n.Op]; !known ||
		only != "" && !slices.Contains(strings.Split(only, "+"), ir.OpBase(n.Op)) {
		return "it has no such operation"
	}
	c := must.Get(g.Bind(n))
	for _, v := range append(c.Operands(), n.Outputs...) {
		if v.Type.DType != ir.Float32 {
			return fmt.Sprintf("it computes in float32, and %s is %v", v.Name, v.Type.DType)
		}
	}
	if n.Op == linear {
		return ""
	}
	self, other := c.Value("self"), c.Value("other")
	switch {
	case self == nil || other == nil || other.Type.Kind != ir.TensorKind || g.Constant(self):
		return "its operands are not a tensor that varies, and another"
	case !sym.AllEqual(n.Outputs[0].Type.Sizes, self.Type.Sizes),
		!sym.AllEqual(other.Type.Sizes, self.Type.Sizes) && !other.Type.Numel().Is(1):
		return "it does not broadcast"
	case n.Op == "aten.add.Tensor" && must.Get(c.Float("alpha")) != 1:
		return "it has no factor alpha"
	}
	return ""
}

// Preprocess implements partition.Backend.
func (Backend) Preprocess(p *partition.Part) (_ *partition.Payload, err error) {
	defer must.Catch(&err)
	m, code, number := p.Method(), run.Program{}, map[*ir.Value]uint32{}
	out := &partition.Payload{Specs: p.Specs}
	data := slices.Clone(m.Graph.Constants)
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind != ir.UserInput {
			data = append(data, v)
			continue
		}
		number[v] = code.Inputs
		code.Inputs++
	}
	for _, a := range m.Graph.Outputs {
		number[a.(ir.Ref).Value] = code.Inputs + code.Outputs
		code.Outputs++
	}
	for _, v := range data {
		number[v] = uint32(len(number))
		bytes := must.Get(ir.Tensor(v.Const))
		key := fmt.Sprintf("%x", sha256.Sum256(bytes))
		code.Constants = append(code.Constants, key)
		out.Named = append(out.Named, ir.NamedData{Key: key, Data: ir.Bytes(bytes)})
	}
	for k, n := range m.Graph.Nodes {
		call, i := must.Get(p.Context.Table.Bind(n)), run.Instruction{Op: operations[n.Op], C: run.None}
		x, y := "self", "other"
		if n.Op == linear {
			x, y = "input", "weight"
			if call.Has("bias") {
				i.C = number[call.Value("bias")]
			}
		}
		i.A, i.B = number[call.Value(x)], number[call.Value(y)]
		if _, output := number[n.Outputs[0]]; !output {
			number[n.Outputs[0]] = uint32(len(number))
		}
		i.To = number[n.Outputs[0]]
		code.Code = append(code.Code, i)
		out.Debug = append(out.Debug, ir.DelegateEvent{ID: strconv.Itoa(k),
			Nodes: []ir.Origin{{Node: n.Name, Op: n.Op, Loc: n.Loc}}})
	}
	out.Processed = code.Encode()
	return out, nil
}
