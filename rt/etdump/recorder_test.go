package etdump

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/etdump"
	"github.com/etgen/etgen/rt"
)

// clock is a platform whose clock counts how often it is read.
type clock struct {
	rt.Platform
	now int64
}

func (c *clock) Now() int64 { c.now++; return c.now }

// Events have ExecuTorch's names and stand in the order in which they end, those of a delegate
// inside its call.
func TestRecorder(t *testing.T) {
	r := New(&clock{Platform: rt.DefaultPlatform()})
	failed := errors.New("failed")
	if err := r.Load(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	err := r.Call(func() error {
		add := &rt.Event{Op: "aten::add.out", Instruction: 3}
		r.Begin(add)
		r.End(add, nil)
		call := &rt.Event{Op: "DelegateCall XnnpackBackend", Instruction: 4}
		r.Begin(call)
		for _, id := range []string{"conv #1", "7"} {
			part := &rt.Event{Op: "XnnpackBackend conv", Instruction: 4, Delegate: id}
			r.Begin(part)
			r.End(part, nil)
		}
		r.End(call, nil)
		return failed
	})
	if err != failed {
		t.Errorf("the call gives %v", err)
	}
	outside := &rt.Event{Op: "aten::mul.out"}
	r.Begin(outside)
	r.End(outside, nil)
	var file bytes.Buffer
	if _, err := r.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	d, err := etdump.Read(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, run := range d.Runs {
		got = append(got, run.Name)
		for _, e := range run.Events {
			p := e.(*etdump.Profile)
			got = append(got, fmt.Sprint(p.Name, "/", p.Chain, ".", p.Instruction, "/", p.Delegate, "/",
				p.DelegateID, " ", p.Start, "-", p.End))
		}
	}
	want := []string{"Default", "Program::load_method/-1.0/-1/ 1-2",
		"Execute", "native_call_add.out/0.3/-1/ 4-5", "OPERATOR_CALL/0.3/-1/ 4-5",
		"/0.4/-1/conv #1 7-8", "/0.4/7/ 9-10", "DELEGATE_CALL/0.4/-1/ 6-11",
		"Method::execute/-1.0/-1/ 3-12"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What kernels write is in the buffer, each tensor aligned; outputs are marked. What finds no room
// is an error.
func TestValues(t *testing.T) {
	r := New(nil)
	r.KeepValues(80)
	tensor := func(data string, dims ...uint8) *rt.EValue {
		return &rt.EValue{Kind: rt.TensorKind, Tensor: &rt.Tensor{DType: ir.Uint8, Sizes: []int64{2, 3},
			DimOrder: dims, Data: []byte(data)}}
	}
	e := &rt.Event{Op: "aten::add.out", Instruction: 3, Values: []*rt.EValue{tensor("abcdef", 1, 0),
		tensor("ghijkl", 0, 1), {Kind: rt.Int, Int: 7}, {Kind: rt.String}}}
	silent := &rt.Event{Op: "Npu", Instruction: 4, Delegate: "7"}
	part := &rt.Event{Op: "Npu", Instruction: 4, Delegate: "conv",
		Values: []*rt.EValue{{Kind: rt.Int, Int: 5}}}
	err := r.Call(func() error {
		for _, e := range []*rt.Event{e, silent, part} {
			r.Begin(e)
			r.End(e, nil)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Outputs([]*rt.EValue{{Kind: rt.Bool, Bool: true}})
	var file, buffer bytes.Buffer
	if _, err := r.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteBuffer(&buffer); err != nil {
		t.Fatal(err)
	}
	d, err := etdump.Read(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range d.Runs[0].Events {
		if e, ok := e.(*etdump.Profile); ok && e.Delegate >= 0 {
			t.Errorf("%+v is noted", e)
		}
		if e, ok := e.(*etdump.Debug); ok {
			text := fmt.Sprintf("%d.%d %v", e.Chain, e.Instruction, e.Value)
			if x, ok := e.Value.(*etdump.Tensor); ok {
				text = fmt.Sprintf("%d.%d %v %s", e.Chain, e.Instruction, x.Strides,
					buffer.Bytes()[x.Offset:x.Offset+6])
			}
			if e.Output {
				text += " output"
			}
			got = append(got, text)
		}
	}
	want := []string{"0.3 [1 2] abcdef", "0.3 [3 1] ghijkl", "0.3 7", "0.4 5", "-1.0 true output"}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%q, want %q", got, want)
	}
	r.Outputs([]*rt.EValue{tensor("mnopqr", 0, 1)})
	if _, err := r.WriteTo(&file); err == nil {
		t.Error("a tensor has no room, and nobody says so")
	}
}
