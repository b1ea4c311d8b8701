package ir

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/ir/sym"
)

// A clone prints the same, verifies, and no change of it shows in the original.
func TestClone(t *testing.T) {
	for _, text := range []string{everything(t), sound} {
		p := parse(t, text)
		q := Clone(p)
		if diff := cmp.Diff(p.String(), q.String()); diff != "" {
			t.Fatal(diff)
		}
		if err := Verify(q); err != nil {
			t.Fatal(err)
		}
		want := p.String()
		for _, m := range q.Methods {
			spoil(m)
		}
		if diff := cmp.Diff(want, p.String()); diff != "" {
			t.Errorf("a change of the clone shows in the original:\n%s", diff)
		}
		if err := Verify(p); err != nil {
			t.Error(err)
		}
	}
}

// spoil changes everything in m that is not shared on purpose.
func spoil(m *Method) {
	value := func(v *Value) {
		if v == nil {
			return
		}
		v.Name, v.Index, v.Type.DType = "spoilt", 99, InvalidDType
		for i := range v.Type.Sizes {
			v.Type.Sizes[i], v.Type.Strides[i] = sym.Int(77), sym.Int(77)
		}
		if v.Const != nil {
			v.Const.Name, v.Const.Data = "spoilt", nil
			for i := range v.Const.Type.Sizes {
				v.Const.Type.Sizes[i] = sym.Int(77)
			}
		}
	}
	var arg func(a Arg)
	arg = func(a Arg) {
		if l, ok := a.(List); ok {
			for i := range l {
				arg(l[i])
				l[i] = Str("spoilt")
			}
		}
	}
	var tree func(t *Tree)
	tree = func(t *Tree) {
		if t == nil {
			return
		}
		for i, c := range t.Children {
			tree(c)
			t.Children[i] = nil
		}
		for i := range t.Keys {
			t.Keys[i] = "spoilt"
		}
		t.Type = "spoilt"
	}
	m.Graph.Walk(func(g *Graph) {
		for _, v := range append(g.Inputs, g.Constants...) {
			value(v)
		}
		for _, n := range g.Nodes {
			n.Name, n.Op, n.Loc = "spoilt", "spoilt", Location{}
			for i, v := range n.Outputs {
				value(v)
				n.Outputs[i] = nil
			}
			for i := range n.Args {
				arg(n.Args[i].Value)
				n.Args[i] = NamedArg{}
			}
		}
	})
	m.Graph.Walk(func(g *Graph) {
		clear(g.Inputs)
		clear(g.Outputs)
	})
	for i := range m.Inputs {
		arg(m.Inputs[i].Fixed)
	}
	clear(m.Inputs)
	clear(m.Outputs)
	clear(m.Symbols)
	tree(m.In)
	tree(m.Out)
}

// Constants that are one, and blobs that are shared, stay so.
func TestCloneShares(t *testing.T) {
	k := &Constant{Type: StaticTensor(Int8, 1), Data: Bytes{1}}
	data := badBlob{}
	l := &Constant{Type: StaticTensor(Float32), Data: &data}
	p := &Program{Methods: []*Method{
		{Name: "f", Graph: &Graph{Constants: []*Value{{Name: "a", Type: k.Type, Const: k},
			{Name: "b", Type: k.Type, Const: k}}}},
		{Name: "g", Graph: &Graph{Constants: []*Value{{Name: "a", Type: k.Type, Const: k},
			{Name: "c", Type: l.Type, Const: l}}}},
	}}
	q := Clone(p)
	f, g := q.Methods[0].Graph.Constants, q.Methods[1].Graph.Constants
	if f[0].Const != f[1].Const || f[0].Const != g[0].Const {
		t.Error("one constant became several")
	}
	if f[0].Const == k {
		t.Error("a constant is shared with the original")
	}
	if g[1].Const.Data != l.Data {
		t.Error("data was copied")
	}
}
