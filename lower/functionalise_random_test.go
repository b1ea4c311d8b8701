package lower

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/alias"
)

// memory is a tensor as eager PyTorch has it: which elements of which storage.
type memory struct {
	store []float32
	at    []int // position of each element, row-major
}

// eager runs g on x with real aliases: a view shares the storage, an in-place
// operator writes to it.
func eager(t *testing.T, g *ir.Graph, x []float32) []memory {
	table := ops.Standard()
	env := map[*ir.Value]memory{}
	fresh := func(xs []float32) memory {
		m := memory{store: xs}
		for i := range xs {
			m.at = append(m.at, i)
		}
		return m
	}
	read := func(m memory) []float32 {
		var xs []float32
		for _, p := range m.at {
			xs = append(xs, m.store[p])
		}
		return xs
	}
	env[g.Inputs[0]] = fresh(slices.Clone(x))
	for _, n := range g.Nodes {
		c, err := table.Bind(n)
		if err != nil {
			t.Fatal(err)
		}
		self := env[c.Operands()[0]]
		if w, ok := alias.Writes(table, n); ok {
			arg := func(i int) float32 {
				switch a := c.Args[1].(type) {
				case ir.Ref:
					return read(env[a.Value])[i]
				case ir.Int:
					return float32(a)
				}
				t.Fatalf("%s has the operand %v", n.Op, c.Args[1])
				return 0
			}
			var result []float32
			for i, p := range self.at {
				switch w.Functional {
				case "aten.add.Tensor":
					result = append(result, self.store[p]+arg(i))
				default:
					result = append(result, arg(i))
				}
			}
			for i, p := range self.at {
				self.store[p] = result[i]
			}
			env[n.Outputs[0]] = self
			continue
		}
		views, err := c.Op.View(c)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range n.Outputs {
			if views == nil { // a copy in another shape
				env[v] = fresh(read(self))
				continue
			}
			env[v] = memory{self.store, shown(views[i], v.Type, c.Operands()[0].Type, self.at)}
		}
	}
	var out []memory
	for _, a := range g.Outputs {
		out = append(out, env[a.(ir.Ref).Value])
	}
	return out
}

// shown returns the positions of a view's elements.
func shown(view ops.View, t, base ir.Type, at []int) []int {
	sizes, _ := t.StaticSizes()
	n, _ := t.Numel().Const()
	var out []int
	for i := range n {
		coords := make([]sym.Expr, len(sizes))
		rest := i
		for d := len(sizes) - 1; d >= 0; d-- {
			coords[d] = sym.Int(rest % sizes[d])
			rest /= sizes[d]
		}
		pos := int64(0)
		for d, x := range view.Map(coords) {
			size, _ := base.Sizes[d].Const()
			k, _ := x.Const()
			pos = pos*size + k
		}
		out = append(out, at[pos])
	}
	return out
}

// randomProgram makes a method of views of a user input and writes to them.
func randomProgram(t *testing.T, r *rand.Rand) *ir.Method {
	table := ops.Standard()
	x := &ir.Value{Name: "x", Type: ir.StaticTensor(ir.Float32, 2, 3, 4)}
	m := &ir.Method{Name: "forward", Graph: &ir.Graph{Inputs: []*ir.Value{x}},
		Inputs: []ir.InputSpec{{Kind: ir.UserInput}}}
	g, err := ir.BuildGraph(ir.NewNames(m), m.Graph.Inputs, func(e *ir.Emitter) ([]ir.Arg, error) {
		b := ops.NewBuilder(table, e)
		live := []*ir.Value{x}
		for range 4 + r.IntN(14) {
			v := live[r.IntN(len(live))]
			if r.IntN(3) == 0 {
				live = append(live, randomWrite(e, r, v, live))
				continue
			}
			// A call that does not fit the tensor is left out.
			if vs, err := randomView(b, r, v); err == nil {
				live = append(live, vs...)
			}
		}
		var out []ir.Arg
		for _, v := range live {
			out = append(out, ir.Ref{Value: v})
			m.Outputs = append(m.Outputs, ir.OutputSpec{})
		}
		return out, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Graph = g
	return m
}

func randomWrite(e *ir.Emitter, r *rand.Rand, v *ir.Value, live []*ir.Value) *ir.Value {
	op, other := "aten.add_.Tensor", ir.Arg(ir.Int(1+r.IntN(9)))
	args := []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: v}}, {Name: "other", Value: other}}
	for _, u := range live {
		if r.IntN(2) == 0 && sym.AllEqual(u.Type.Sizes, v.Type.Sizes) {
			args[1].Value = ir.Ref{Value: u}
			if r.IntN(2) == 0 {
				op, args[1].Name = "aten.copy_.default", "src"
			}
		}
	}
	return e.Emit(op, args, v.Type).Outputs[0]
}

func randomView(b *ops.Builder, r *rand.Rand, v *ir.Value) ([]*ir.Value, error) {
	dim := func() int { return r.IntN(max(v.Type.Rank(), 1)) }
	switch r.IntN(10) {
	case 0:
		return b.Call("aten.transpose.int", v, dim(), dim())
	case 1:
		return b.Call("aten.select.int", v, dim(), r.IntN(2))
	case 2:
		start := r.IntN(2)
		return b.Call("aten.slice.Tensor", v, dim(), start, start+1+r.IntN(3), 1+r.IntN(2))
	case 3:
		return b.Call("aten.unsqueeze.default", v, dim())
	case 4:
		return b.Call("aten.squeeze.default", v)
	case 5:
		return b.Call("aten.reshape.default", v, []int{-1})
	case 6:
		return b.Call("aten.diagonal.default", v, r.IntN(2), 0, 1)
	case 7:
		return b.Call("aten.split.Tensor", v, 1+r.IntN(2), dim())
	case 8:
		return b.Call("aten.view.default", v, []int{2, -1})
	default:
		return b.Call("aten.detach.default", v)
	}
}

// Random views and writes give what they give with real memory.
func TestFunctionaliseRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	input := make([]float32, 24)
	for i := range input {
		input[i] = float32(i)
	}
	written := 0
	for round := range tier.Of(80, 400, 4000) {
		m := randomProgram(t, r)
		p := &ir.Program{Source: "random", Methods: []*ir.Method{m}}
		text := p.String()
		want := eager(t, m.Graph, input)
		// The input itself is the first output: what it is after the call.
		if err := Functional.Run(&Context{Table: ops.Standard()}, p, nil); err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, text)
		}
		if err := ir.Verify(p); err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, p)
		}
		if len(m.Outputs) > len(want) {
			written++
			want = append([]memory{want[0]}, want...) // the mutation of the input
		}
		got, err := interp.New(ops.Standard()).Graph(m.Graph,
			[]interp.Value{interp.Tensor(ir.Float32, []int64{2, 3, 4}, bytesOf(input))})
		if err != nil {
			t.Fatalf("round %d: %v\n%s\n%s", round, err, text, p)
		}
		for i := range want {
			if err := equal(got[i].Tensor.Data, want[i]); err != nil {
				t.Fatalf("round %d, output %d: %v\n%s\n%s", round, i, err, text, p)
			}
		}
	}
	if written < tier.Of(40, 200, 2000) {
		t.Errorf("only %d programs write to their input", written)
	}
}

func bytesOf(xs []float32) []byte {
	var out []byte
	for _, x := range xs {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

func equal(data []byte, m memory) error {
	if len(data) != 4*len(m.at) {
		return fmt.Errorf("%d bytes for %d elements", len(data), len(m.at))
	}
	for i, p := range m.at {
		if x := math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])); x != m.store[p] {
			return fmt.Errorf("element %d is %v, want %v", i, x, m.store[p])
		}
	}
	return nil
}
