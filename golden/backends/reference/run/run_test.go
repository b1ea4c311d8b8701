package run

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/rt"
)

var key = strings.Repeat("w", keySize)

var sample = &Program{Inputs: 2, Outputs: 1, Constants: []string{key},
	Code: []Instruction{{Op: Linear, To: 4, A: 0, B: 3, C: None},
		{Op: Add, To: 2, A: 4, B: 1, C: None}}}

// A payload says what it was made of.
func TestEncode(t *testing.T) {
	p, err := Decode(sample.Encode())
	if err != nil || !reflect.DeepEqual(p, sample) {
		t.Fatalf("%+v, %v", p, err)
	}
	for n := range sample.Encode() {
		if _, err := Decode(sample.Encode()[:n]); err == nil {
			t.Errorf("%d bytes of it are taken", n)
		}
	}
}

// Programs that use what is not there, or does not fit, fail.
func TestRun(t *testing.T) {
	x := Operand{[]int{1, 3}, []float32{1, 2, 3}}
	y := Operand{[]int{1, 2}, []float32{10, 20}}
	w := []Operand{{Data: []float32{1, 0, 0, 0, 1, 1}}}
	if out, err := sample.Run([]Operand{x, y}, w); err != nil ||
		!reflect.DeepEqual(out, []Operand{{[]int{1, 2}, []float32{11, 25}}}) {
		t.Errorf("%v, %v", out, err)
	}
	for name, change := range map[string]func(p *Program){
		"operation": func(p *Program) { p.Code[0].Op = 9 },
		"operand":   func(p *Program) { p.Code[0].A = 99 },
		"none":      func(p *Program) { p.Code[0].B = None },
		"unwritten": func(p *Program) { p.Code[0].A = 4 },
		"result":    func(p *Program) { p.Code[1].To = 99 },
		"bias":      func(p *Program) { p.Code[0].C = 0 },
		"sizes":     func(p *Program) { p.Code[0].A = 1 },
		"no output": func(p *Program) { p.Code[1].To = 5 },
	} {
		p := *sample
		p.Code = slices.Clone(sample.Code)
		change(&p)
		if out, err := p.Run([]Operand{x, y}, w); err == nil && out[0].Data != nil {
			t.Errorf("%s: it runs", name)
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
