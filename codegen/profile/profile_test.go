package profile

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/etdump"
)

// dump is one call: two kernels, one of which runs twice, a delegate with a part, and the whole.
func dump() *etdump.Dump {
	at := func(i int32) etdump.Origin { return etdump.Origin{Instruction: i, Delegate: -1} }
	part := at(2)
	part.DelegateID = "conv #1"
	return &etdump.Dump{Runs: []etdump.Run{
		{Name: "Default", Events: []etdump.Event{&etdump.Profile{Name: "native_call_no.out",
			End: 1 << 30}}},
		{Name: "Execute", Events: []etdump.Event{
			&etdump.Profile{Name: "native_call_add.out", Origin: at(0), Start: 1000, End: 1300},
			&etdump.Profile{Name: "OPERATOR_CALL", Origin: at(0), Start: 900, End: 1400},
			&etdump.Profile{Name: "native_call_add.out", Origin: at(0), Start: 1400, End: 1500},
			&etdump.Profile{Name: "native_call_mul.out", Origin: at(1), Start: 1500, End: 1600},
			&etdump.Profile{Origin: part, Start: 2000, End: 2400},
			&etdump.Profile{Name: "DELEGATE_CALL", Origin: at(2), Start: 1900, End: 2500},
			&etdump.Profile{Name: "Method::execute", Origin: etdump.Origin{Chain: -1, Delegate: -1},
				Start: 500, End: 3000},
			&etdump.Debug{Origin: at(0), Value: etdump.Null{}},
		}},
	}}
}

func TestRows(t *testing.T) {
	p := New(dump(), func(_, instruction int, event string) []ir.Origin {
		at := ir.Location{File: "net.py", Line: 7}
		switch {
		case event == "conv #1":
			return []ir.Origin{{Node: "conv", Loc: at}, {Node: "relu", Loc: at}}
		case instruction > 1:
			return nil
		}
		return []ir.Origin{{Node: "n", Loc: at}}
	})
	for _, tt := range []struct {
		by   By
		want string
	}{
		{Operator, "delegate 1 600|add.out 2 400|delegate: conv #1 1 400|mul.out 1 100"},
		{Line, "no line: delegate 1 600|net.py:7 3 500|delegate: net.py:7 1 400"},
		{Node, "no node: delegate 1 600|n 3 500|delegate: conv, relu 1 400"},
		{Instruction,
			"0.0 add.out 2 400|0.1 mul.out 1 100|delegate: 0.2 conv #1 1 400|0.2 delegate 1 600"},
	} {
		var got []string
		for _, r := range p.Rows(tt.by) {
			got = append(got, strings.Join([]string{r.Key.Raw(), itoa(r.Steps), itoa(int(r.Time))}, " "))
		}
		if s := strings.Join(got, "|"); s != tt.want {
			t.Errorf("by %s: %s, want %s", tt.by, s, tt.want)
		}
	}
	if p.Calls != 1 || p.Total != 2500 {
		t.Errorf("%d calls take %d", p.Calls, p.Total)
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// What is written for other tools is what they read.
func TestForms(t *testing.T) {
	p := New(dump(), nil)
	var b bytes.Buffer
	if err := p.PProf(&b); err != nil {
		t.Fatal(err)
	}
	read, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, s := range read.Sample {
		sum += s.Value[1]
	}
	if err := read.CheckValid(); err != nil || sum != 1100 {
		t.Errorf("%v, %d nanoseconds", err, sum)
	}
	b.Reset()
	if err := p.Chrome(&b); err != nil {
		t.Fatal(err)
	}
	var trace struct {
		Events []struct {
			Name string  `json:"name"`
			TS   float64 `json:"ts"`
			Dur  float64 `json:"dur"`
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(b.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	if len(trace.Events) != 5 || trace.Events[0].TS != 1 || trace.Events[0].Dur != 0.3 {
		t.Errorf("%+v", trace.Events)
	}
}
