// Package delegate is an example of a backend: what runs its delegates in rt, in a generated Go
// package (driver) and in generated C (c). Its payloads are the text
//
//	affine K: out[i] = in[i]*K + bias[i], where bias is data named "bias" beside the payload;
//	          a second result is the first input plus a number that the call passes
//	index:    out[i] = in[i] + i, i counting as the elements lie in memory
//	rows:     the rows of two numbers whose first is above 0; if that of the first row is 9, it says
//	          that there are 9, which no program has room for
//
// with a compile spec "offset" of one byte that is added to all results.
package delegate

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/rt"
)

// ID is what programs call the backend by.
const ID = "ExampleNpu"

// Backend runs the delegates in rt.
type Backend struct{}

// Init implements [rt.Backend].
func (Backend) Init(d *rt.DelegateInit) (rt.Delegate, error) {
	text, err := read(d.Processed)
	if err != nil {
		return nil, err
	}
	p := &part{init: d}
	if n, _ := fmt.Sscanf(string(text), "affine %g", &p.k); n == 1 {
		bias, ok := d.Named("bias")
		if !ok {
			return nil, fmt.Errorf("there is no data named bias")
		}
		if p.bias, err = read(bias); err != nil {
			return nil, err
		}
	} else if p.rows = string(text) == "rows"; !p.rows && string(text) != "index" {
		return nil, fmt.Errorf("the payload is %q", text)
	}
	for _, s := range d.Specs {
		if s.Key == "offset" && len(s.Value) == 1 {
			p.offset = float32(s.Value[0])
		}
	}
	return p, nil
}

func read(b ir.Blob) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(b, 0, b.Size()))
}

type part struct {
	init      *rt.DelegateInit
	k, offset float32
	bias      []byte
	rows      bool
}

func get(b []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
}

// Execute implements [rt.Delegate]. Each result is an event of the delegate's own.
func (p *part) Execute(_ context.Context, args []*rt.EValue) error {
	in := args[0].Tensor
	result := func(id string, out *rt.Tensor, f func(i int) float32) error {
		return p.init.Trace(id, func() error {
			for i := range len(out.Data) / 4 {
				binary.LittleEndian.PutUint32(out.Data[4*i:], math.Float32bits(f(i)+p.offset))
			}
			return nil
		})
	}
	if p.rows {
		return keepRows(in, args[1].Tensor)
	}
	if p.bias == nil {
		return result("0", args[1].Tensor, func(i int) float32 { return get(in.Data, i) + float32(i) })
	}
	err := result("0", args[2].Tensor, func(i int) float32 {
		return float32(get(in.Data, i)*p.k) + get(p.bias, i)
	})
	if err != nil {
		return err
	}
	return result("1", args[3].Tensor, func(i int) float32 {
		return get(in.Data, i) + float32(args[1].Int)
	})
}

// keepRows writes rows of in to out, whose rows lie last in memory.
func keepRows(in, out *rt.Tensor) error {
	var kept []int
	for i := range int(in.Sizes[0]) {
		if get(in.Data, 2*i) > 0 {
			kept = append(kept, i)
		}
	}
	n := len(kept)
	if n > 0 && get(in.Data, 0) == 9 {
		n = 9
	}
	if err := out.Resize([]int64{int64(n), 2}); err != nil {
		return err
	}
	for k, i := range kept {
		copy(out.Data[4*k:], in.Data[8*i:][:4])
		copy(out.Data[4*(n+k):], in.Data[8*i+4:][:4])
	}
	return nil
}
