package run

import (
	"slices"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/rt"
)

var sample = &Program{Inputs: 2, Outputs: 1, Temporaries: 1,
	Constants: []Constant{{Sizes: []uint32{2, 3}, Key: "w"}},
	Code: []Instruction{{Op: Linear, To: 4, A: 0, B: 3, C: None},
		{Op: Add, To: 2, A: 4, B: 1, C: None}}}

// A payload says what it was made of.
func TestEncode(t *testing.T) {
	p, err := Decode(sample.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Code, sample.Code) || p.Constants[0].Key != "w" || p.Temporaries != 1 {
		t.Errorf("%+v", p)
	}
	for n := range sample.Encode() {
		if _, err := Decode(sample.Encode()[:n]); err == nil {
			t.Errorf("%d bytes of it are taken", n)
		}
	}
}

// Programs that use what is not there are refused.
func TestCheck(t *testing.T) {
	for name, change := range map[string]func(p *Program){
		"operation":   func(p *Program) { p.Code[0].Op = 9 },
		"operand":     func(p *Program) { p.Code[0].A = 99 },
		"none":        func(p *Program) { p.Code[0].B = None },
		"unwritten":   func(p *Program) { p.Code[0].A = 4 },
		"an input":    func(p *Program) { p.Code[0].To = 1 },
		"a constant":  func(p *Program) { p.Code[0].To = 3 },
		"twice":       func(p *Program) { p.Code[1].To = 4 },
		"no output":   func(p *Program) { p.Code = p.Code[:1] },
		"many inputs": func(p *Program) { p.Inputs = 1 << 31 },
	} {
		p := *sample
		p.Code = slices.Clone(sample.Code)
		change(&p)
		if _, err := Decode(p.Encode()); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}

// FuzzDecode gives the run side any bytes.
func FuzzDecode(f *testing.F) {
	f.Add(sample.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Backend{}.Init(&rt.DelegateInit{Processed: ir.Bytes(data),
			Named: func(string) (ir.Blob, bool) { return ir.Bytes(make([]byte, 24)), true }})
		if err != nil {
			return
		}
		p := d.(*delegate)
		if p.Inputs+p.Outputs > 16 {
			return
		}
		var args []*rt.EValue
		for range p.Inputs + p.Outputs {
			x, err := rt.NewTensor(ir.Float32, []int64{2, 3}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, &rt.EValue{Kind: rt.TensorKind, Tensor: x})
		}
		_ = d.Execute(t.Context(), args)
	})
}
