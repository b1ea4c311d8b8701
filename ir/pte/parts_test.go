package pte

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (p Parts) sum() int64 {
	return p.Flatbuffer + p.Constants + p.Mutable + p.Delegates + p.Named + p.Tests + p.Padding
}

// Each byte of a file is for one thing.
func TestParts(t *testing.T) {
	file := writeBytes(t, sample())
	r := bytes.NewReader(file)
	p, err := Read(r, r.Size())
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Parts(r, r.Size())
	if err != nil {
		t.Fatal(err)
	}
	if got.sum() != r.Size() {
		t.Errorf("%+v are not %d bytes", got, r.Size())
	}
	// Two constants of three, the third being the first again; one delegate in a
	// segment, which the named data "key" shares, and one inline.
	want := Parts{Flatbuffer: got.Flatbuffer, Padding: got.Padding, Constants: 24 + 5, Mutable: 24,
		Delegates: 3 + 3, Named: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.Flatbuffer < 500 || got.Padding == 0 {
		t.Errorf("%+v", got)
	}
}

func TestPartsOfBundle(t *testing.T) {
	program := writeBytes(t, sample())
	r := bytes.NewReader(bundleFile(t, program, 2))
	b, err := ReadBundle(r, r.Size())
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Parts(r, r.Size())
	if err != nil {
		t.Fatal(err)
	}
	if got.sum() != r.Size() || got.Tests == 0 || got.Constants != 24+5 || got.Padding != 0 {
		t.Errorf("%+v of %d bytes", got, r.Size())
	}
}

func TestEffects(t *testing.T) {
	p := sample()
	p.Plans[0].Chains = []*Chain{{Instructions: []Instruction{
		KernelCall{Op: 0, Args: []int32{vInput, vConst, vAlpha, vSum, vSum}},
		MoveCall{From: vRelu, To: vMoved},
	}}}
	p.Plans[0].Operators[0] = Operator{"aten::add", "out"}
	got, err := p.Effects(p.Plans[0], sampleSchemas(t))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]Effect{{{Reads: []int32{vInput, vConst}, Writes: []int32{vSum}}, {}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	p.Plans[0].Chains[0].Instructions[0] = KernelCall{Op: 0, Args: []int32{vInput}}
	if _, err := p.Effects(p.Plans[0], sampleSchemas(t)); err == nil {
		t.Error("a call without its arguments has effects")
	}
}
