// Package reference is a backend for tests, and the one that docs/backends.md goes through: a
// bytecode of its own that adds, multiplies and has linear layers, all in float32. It is the
// compile side; run is the run side.
package reference

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
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
func (Backend) Partition(g *partition.Graph) error {
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
	_, known := operations[n.Op]
	only := g.Spec("ops")
	if !known || only != "" && !contains(only, ir.OpBase(n.Op)) {
		return "it has no such operation"
	}
	c, err := g.Bind(n)
	if err != nil {
		return err.Error()
	}
	for _, v := range append(c.Operands(), n.Outputs...) {
		if v.Type.DType != ir.Float32 {
			return fmt.Sprintf("it computes in float32, and %s is %v", v.Name, v.Type.DType)
		}
	}
	if n.Op == linear {
		return ""
	}
	self, other := c.Tensor("self"), c.Arg("other")
	switch other := other.(type) {
	case ir.Ref:
		if t := other.Value.Type; t.Kind != ir.TensorKind || !sym.AllEqual(t.Sizes, self.Sizes) && !t.Numel().Is(1) ||
			!sym.AllEqual(n.Outputs[0].Type.Sizes, self.Sizes) {
			return "it does not broadcast"
		}
	case ir.Int, ir.Float:
	default:
		return "an operand is no tensor and no number"
	}
	if n.Op == "aten.add.Tensor" {
		if alpha, err := c.Float("alpha"); err != nil || alpha != 1 {
			return "it has no factor alpha"
		}
	}
	return ""
}

func contains(list, word string) bool {
	return strings.Contains("+"+list+"+", "+"+word+"+")
}

// compiler makes the program of a part.
type compiler struct {
	run.Program
	number map[*ir.Value]uint32 // of the tensors that are arguments or constants
	keys   map[string]uint32    // constants by key and sizes
	named  []ir.NamedData
	temps  map[*ir.Value]uint32
}

// Preprocess implements partition.Backend.
func (Backend) Preprocess(p *partition.Part) (_ *partition.Payload, err error) {
	defer must.Catch(&err)
	m := p.Method()
	c := &compiler{number: map[*ir.Value]uint32{}, keys: map[string]uint32{},
		temps: map[*ir.Value]uint32{}}
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind == ir.UserInput {
			c.number[v] = c.Inputs
			c.Inputs++
		}
	}
	for _, a := range m.Graph.Outputs {
		c.number[a.(ir.Ref).Value] = c.Inputs + c.Outputs
		c.Outputs++
	}
	// Instructions name temporary tensors only when all constants are known.
	out := &partition.Payload{Specs: p.Specs}
	var fixes []*uint32
	operand := func(to *uint32, v *ir.Value) {
		*to = c.tensor(v)
		if _, temporary := c.temps[v]; temporary {
			fixes = append(fixes, to)
		}
	}
	c.Code = make([]run.Instruction, len(m.Graph.Nodes))
	for k, n := range m.Graph.Nodes {
		call := must.Get(p.Context.Table.Bind(n))
		i := &c.Code[k]
		i.Op, i.C = operations[n.Op], run.None
		if n.Op == linear {
			operand(&i.A, call.Value("input"))
			operand(&i.B, call.Value("weight"))
			if call.Has("bias") {
				operand(&i.C, call.Value("bias"))
			}
		} else {
			operand(&i.A, call.Value("self"))
			if _, tensor := call.Arg("other").(ir.Ref); tensor {
				operand(&i.B, call.Value("other"))
			} else {
				x := math.Float32bits(float32(must.Get(call.Float("other"))))
				i.B = c.constant(&ir.Constant{Type: ir.TensorOf(ir.Float32),
					Data: ir.Bytes(binary.LittleEndian.AppendUint32(nil, x))})
			}
		}
		operand(&i.To, n.Outputs[0])
		out.Debug = append(out.Debug, ir.DelegateEvent{ID: strconv.Itoa(k),
			Nodes: []ir.Origin{{Node: n.Name, Op: n.Op, Loc: n.Loc}}})
	}
	for _, to := range fixes {
		*to += c.Inputs + c.Outputs + uint32(len(c.Constants))
	}
	c.Temporaries = uint32(len(c.temps))
	out.Processed, out.Named = c.Encode(), c.named
	return out, nil
}

// tensor returns the number of a tensor: of a temporary one, counted among these.
func (c *compiler) tensor(v *ir.Value) uint32 {
	if i, ok := c.number[v]; ok {
		return i
	}
	if v.Const != nil {
		c.number[v] = c.constant(v.Const)
		return c.number[v]
	}
	if _, ok := c.temps[v]; !ok {
		c.temps[v] = uint32(len(c.temps))
	}
	return c.temps[v]
}

// constant returns the number of a constant, whose data is called after its digest.
func (c *compiler) constant(k *ir.Constant) uint32 {
	data := must.Get(ir.Tensor(k))
	key := fmt.Sprintf("%x", sha256.Sum256(data))
	sizes, _ := k.Type.StaticSizes()
	id := fmt.Sprint(key, sizes)
	if i, ok := c.keys[id]; ok {
		return i
	}
	entry := run.Constant{Key: key}
	for _, s := range sizes {
		entry.Sizes = append(entry.Sizes, uint32(s))
	}
	c.keys[id] = c.Inputs + c.Outputs + uint32(len(c.Constants))
	c.Constants = append(c.Constants, entry)
	c.named = append(c.named, ir.NamedData{Key: key, Data: ir.Bytes(data)})
	return c.keys[id]
}
