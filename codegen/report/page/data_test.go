package page

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/etgen/etgen/codegen/report"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/lower/native"
)

// Numbers that are not finite, or become so, are none in JSON.
func TestFinite(t *testing.T) {
	var data []byte
	for _, x := range []float64{-math.MaxFloat64, 0, math.MaxFloat64, math.Inf(1), math.NaN()} {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
	}
	var w Weight
	w.count(ir.Float64, data)
	if w.Mean != 0 || !(w.Sigma > 1e308) || w.Odd != 2 || w.Zeros != 1 || w.Bins[0] != 1 ||
		w.Bins[bins/2] != 1 || w.Bins[bins-1] != 1 {
		t.Errorf("%+v", w)
	}
	var q Quantized
	q.cover(-128, 127, []float64{math.Inf(1), math.MaxFloat64, math.NaN()}, []float64{0})
	if _, err := json.Marshal([]any{w, q}); err != nil {
		t.Error(err)
	}
}

// Channels have zero points of their own.
func TestChannels(t *testing.T) {
	var q Quantized
	q.cover(-128, 127, []float64{2, 1}, []float64{-10, 100})
	if q.Least != -236 || q.Most != 274 || q.ZeroPoint != -10 || q.LastZero != 100 || q.Scale != 1 ||
		q.Largest != 2 || q.Scales != 2 {
		t.Errorf("%+v", q)
	}
}

// A name that two regions have is told apart by its place, or is of no node; of a place with many
// nodes none is named.
func TestFinder(t *testing.T) {
	name := foreign.Of("x")
	at := func(line string) place { return place{line: foreign.Of(line)} }
	g := &grapher{}
	add := func(name, line string) {
		g.out.Nodes = append(g.out.Nodes, Node{Name: foreign.Of(name), Line: foreign.Of(line)})
	}
	add("x", "a:1")
	add("x", "a:2")
	for range mostFrom {
		add("y", "a:3")
	}
	f := g.finder()
	for line, want := range map[string]int{"a:1": 0, "a:2": 1, "": -1, "a:9": -1} {
		i, ok := f.node(name, at(line))
		if ok != (want >= 0) || ok && i != want {
			t.Errorf("x at %q is node %d, %v", line, i, ok)
		}
	}
	if from := f.find(name, at("a:2")); !slices.Equal(from, []int{1}) {
		t.Errorf("x at a:2 is of %v", from)
	}
	if from := f.find(foreign.Of("new"), at("a:3")); len(from) != mostFrom {
		t.Errorf("new at a:3 is of %v", from)
	}
	add("z", "a:3")
	if from := g.finder().find(foreign.Of("new"), at("a:3")); from != nil {
		t.Errorf("new at a:3 is of %v", from)
	}
}

// Nodes of a call are named once, as measured kernels name them.
func TestTime(t *testing.T) {
	a, b := native.Origin{Node: foreign.Of("a")}, native.Origin{Node: foreign.Of("b")}
	call := &native.Call{Kernel: &native.Kernel{Name: "k"}, From: []native.Origin{a, {}, b, a}}
	layers := []report.Layer{{Statements: []*native.Call{call}}}
	d := &Data{Takes: &report.Report{Methods: []report.Method{{Layers: layers}, {Layers: layers}}}}
	d.Time("", []float64{1, 2}, func(method int, kernel string, nodes []foreign.Text) float64 {
		if kernel != "k" || !slices.Equal(nodes, []foreign.Text{a.Node, b.Node}) {
			t.Errorf("%s of %v", kernel, nodes)
		}
		return float64(2 + method)
	})
	if got := d.Measured[0].Layers; got[0][0] != 2 || got[1][0] != 3 {
		t.Errorf("a layer of each method takes %v", got)
	}
}
