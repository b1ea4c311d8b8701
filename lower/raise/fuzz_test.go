package raise_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise"
)

// edit changes a program as data says: which entry of what, and to what.
func edit(p *pte.Program, data []byte) {
	if len(p.Plans) == 0 || len(p.Plans[0].Chains) == 0 {
		return
	}
	plan, chain := p.Plans[0], p.Plans[0].Chains[0]
	for ; len(data) >= 4 && len(chain.Instructions) > 0; data = data[4:] {
		i := int(data[1]) % len(chain.Instructions)
		x := int32(data[3])
		switch in := chain.Instructions[i].(type) {
		case pte.KernelCall:
			if len(in.Args) > 0 {
				in.Args = slices.Clone(in.Args)
				in.Args[int(data[2])%len(in.Args)] = x
			}
			if data[0]&7 == 1 {
				in.Op = x
			}
			chain.Instructions[i] = in
		case pte.JumpFalseCall:
			in.Destination = x
			chain.Instructions[i] = in
		case pte.MoveCall:
			in.From = x
			chain.Instructions[i] = in
		}
		j := int(data[2]) % len(plan.Values)
		switch data[0] & 15 {
		case 2:
			chain.Instructions[i] = pte.JumpFalseCall{Cond: x, Destination: int32(data[2])}
		case 3:
			chain.Instructions[i] = pte.MoveCall{From: x, To: int32(data[2])}
		case 4, 5, 6, 7:
			t, ok := plan.Values[j].(*pte.Tensor)
			if !ok {
				break
			}
			u := *t
			switch {
			case data[0]&15 == 4:
				u.Dynamism = pte.DynamicBound
			case data[0]&15 == 5:
				u.Allocation = &pte.Allocation{MemoryID: 1, Offset: uint64(x)}
			case data[0]&15 == 6 && len(u.Sizes) > 0:
				u.Sizes = slices.Clone(u.Sizes)
				u.Sizes[0] = x
			default:
				u.ScalarType = pte.ScalarType(x)
			}
			plan.Values[j] = &u
		case 8:
			plan.Values[j] = pte.Int(x)
		case 9:
			plan.Inputs = append(plan.Inputs, x)
		}
	}
}

// Programs whose parts are changed at random.
func FuzzEdited(f *testing.F) {
	var seeds [][]byte
	files, _ := filepath.Glob(filepath.Join(shared, "*", "model.pte"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && len(data) < 1<<14 {
			seeds = append(seeds, data)
		}
	}
	a := newAsm()
	x, y := a.at(0, 2), a.at(16, 2)
	a.add(x, x, y)
	a.copy(x, y)
	a.io([]int32{x}, []int32{y})
	seeds = append(seeds, a.bytesOf(f))
	for i := range seeds {
		f.Add(byte(i), []byte{})
		f.Add(byte(i), []byte{2, 5, 3, 1, 4, 0, 2, 0, 6, 1, 0, 3})
	}
	f.Fuzz(func(t *testing.T, seed byte, edits []byte) {
		data := seeds[int(seed)%len(seeds)]
		p, err := pte.Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		edit(p, edits)
		_, _ = raise.Program(p, "fuzz.pte", ops.Standard())
	})
}

// Whatever can be read is raised or refused.
func FuzzProgram(f *testing.F) {
	a := newAsm()
	x, y := a.at(0, 2), a.at(16, 2)
	a.add(x, x, y)
	a.copy(x, y)
	a.io([]int32{x}, []int32{y})
	f.Add(a.bytesOf(f))
	files, _ := filepath.Glob(filepath.Join(shared, "*", "model.pte"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && len(data) < 1<<14 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := pte.Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		_, _ = raise.Program(p, "fuzz.pte", ops.Standard())
	})
}
