package pte

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
)

// dynamicInputs is a program of a method with a static and two dynamic inputs.
func dynamicInputs() (*Program, *ExecutionPlan) {
	plan := &ExecutionPlan{Name: "forward", Inputs: []int32{0, 1, 2}, BufferSizes: []int64{0},
		Chains: []*Chain{{}}}
	for i, d := range []Dynamism{Static, DynamicBound, DynamicBound} {
		plan.Values = append(plan.Values, &Tensor{ScalarType: 6, Sizes: []int32{8, int32(i)},
			DimOrder: []uint8{0, 1}, Dynamism: d})
	}
	return &Program{Plans: []*ExecutionPlan{plan}, Constants: []ir.Blob{nil}}, plan
}

// Least sizes that were set are those that are read, also from the file.
func TestLeast(t *testing.T) {
	p, _ := dynamicInputs()
	p.SetLeast(1, [][]int64{nil, nil, nil})
	if p.Named != nil {
		t.Errorf("%v for a method without dynamic inputs", p.Named)
	}
	want := [][]int64{nil, {4, 1}, {0, 2}}
	p.SetLeast(0, want)
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	read, err := Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Program{p, read} {
		got, err := p.Least(p.Plans[0])
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%v %v", got, err)
		}
	}
	if got, err := p.Least(&ExecutionPlan{Name: "forward2", Inputs: []int32{0}}); err != nil ||
		len(got) != 1 || got[0] != nil {
		t.Errorf("of another method: %v %v", got, err)
	}
}

// Least sizes that do not fit the inputs are an error.
func TestLeastWrong(t *testing.T) {
	for text, want := range map[string]string{
		"0 1 0":                      "no tensor of 2 dimensions that may vary",
		"1 4":                        "no tensor of 1 dimensions",
		"3 1 1":                      "no such input",
		"9223372036854775808 1 1":    "is no size",
		"1 -1 1":                     "is no size",
		"1 9 1":                      "dimension 0 is at most 8",
		"\n":                         "no such input",
		"1 4 1\n1 4 \x1b[2Jx":        "is no size",
		strings.Repeat(" ", 1<<20+1): "take 1048577 bytes",
	} {
		p, plan := dynamicInputs()
		p.Named = []ir.NamedData{{Key: leastKey + "0", Data: ir.Bytes(text)}}
		if _, err := p.Least(plan); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}
