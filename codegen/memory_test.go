package codegen

import (
	"bytes"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/lower/native"
)

func TestLayOut(t *testing.T) {
	constant := func(name string, data ...byte) *native.Const {
		return &native.Const{Name: name, DType: ir.Uint8, Data: data}
	}
	used, unused := constant("used", 1, 2, 3), constant("unused", 9)
	zeros, initial := constant("zeros", 0, 0, 0), constant("initial", 4, 5)
	weight := func(c *native.Const) *native.Buffer {
		return &native.Buffer{Storage: native.Weight, Const: c}
	}
	state := func(c *native.Const) *native.Buffer {
		return &native.Buffer{Storage: native.State, Const: c}
	}
	p := &native.Program{
		Consts: []*native.Const{unused, used, zeros, initial},
		State:  []*native.Buffer{state(zeros), state(initial)},
		Methods: []*native.Method{
			{Body: []native.Stmt{
				&native.For{Body: []native.Stmt{use(&native.Buffer{Root: weight(used)})}}}}},
	}
	w := LayOut(p)
	if len(w.Consts) != 2 || w.Consts[0].Const != used || w.Consts[1].Const != initial ||
		w.Consts[1].Offset != WeightAlign || w.Size != WeightAlign+2 {
		t.Fatalf("%+v", w)
	}
	want := append([]byte{1, 2, 3}, make([]byte, WeightAlign-3)...)
	if got := w.Block(); !bytes.Equal(got, append(want, 4, 5)) {
		t.Errorf("block %x", got)
	}
	if _, uniform := Uniform(initial); uniform {
		t.Error("4, 5 is uniform")
	}
	if _, uniform := Uniform(constant("empty")); uniform {
		t.Error("nothing is uniform")
	}
}

func TestOriginText(t *testing.T) {
	at := func(op, file string, line int, module string) native.Origin {
		return native.Origin{Op: foreign.Of(op), Loc: native.LocationOf(ir.Location{File: file,
			Line: line, Module: module})}
	}
	for _, tc := range []struct {
		from []native.Origin
		want string
	}{
		{nil, ""},
		{[]native.Origin{at("aten.conv2d.default", "net.py", 3, "m"), at("aten.relu.default",
			"net.py", 3, "m")}, "net.py:3: conv2d, relu"},
		{[]native.Origin{at("aten.add.Tensor", "", 0, "layers.0"), at("aten.add.Tensor", "", 0,
			"layers.0")}, "layers.0: add"},
		{[]native.Origin{at("aten.a.x", "n.py", 1, ""), at("aten.b.x", "n.py", 2, "")},
			"n.py:1: a; n.py:2: b"},
		{[]native.Origin{at("aten.a.x", "n*/\n.py", 1, "")}, `n* /\n.py:1: a`},
	} {
		if got := OriginText(tc.from).Comment(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}
