package pte

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/etgen/etgen/ir"
)

// Parts tells what the bytes of a file are for. Data that is shared counts once,
// for the first that is named here.
type Parts struct {
	Flatbuffer int64 `json:"flatbuffer"` // of a bundle with the test cases' shapes
	Constants  int64 `json:"constants"`
	Mutable    int64 `json:"mutable_data"` // initial data
	Delegates  int64 `json:"delegates"`
	Named      int64 `json:"named_data"`
	Tests      int64 `json:"test_data"` // of a bundle: inputs and outputs
	Padding    int64 `json:"padding"`   // also what nobody refers to
}

// extent is a range of a file.
type extent struct {
	first, end int64
	of         *int64 // the part that it belongs to
}

// Parts takes the file that p was read from apart. R is the file itself, not a
// range of something.
func (p *Program) Parts(r io.ReaderAt, size int64) (Parts, error) {
	return (&Bundle{Program: p}).Parts(r, size)
}

// Parts takes the file that b was read from apart, as Program.Parts does.
func (b *Bundle) Parts(r io.ReaderAt, size int64) (Parts, error) {
	var parts Parts
	var all []extent
	add := func(of *int64, blob ir.Blob) {
		if at, ok := placeIn(blob); ok {
			all = append(all, extent{at, at + blob.Size(), of})
		}
	}
	for _, c := range b.Program.Constants {
		add(&parts.Constants, c)
	}
	for _, list := range b.Program.Mutable {
		for _, m := range list {
			add(&parts.Mutable, m)
		}
	}
	for _, plan := range b.Program.Plans {
		for i := range plan.Delegates {
			add(&parts.Delegates, plan.Delegates[i].Processed)
		}
	}
	for _, n := range b.Program.Named {
		add(&parts.Named, n.Data)
	}
	for _, suite := range b.Suites {
		for _, c := range suite.Cases {
			for _, v := range slices.Concat(c.Inputs, c.Outputs) {
				if t, ok := v.(*TestTensor); ok {
					add(&parts.Tests, t.Data)
				}
			}
		}
	}
	flat, err := flatbufferSize(r, size)
	if err != nil {
		return parts, fmt.Errorf("pte: %w", err)
	}
	slices.SortStableFunc(all, func(a, b extent) int { return cmp.Compare(a.first, b.first) })
	parts.Flatbuffer = flat
	parts.Padding = size - flat
	at := int64(0)
	for _, e := range all {
		first := max(e.first, at)
		if e.end <= first {
			continue
		}
		at = e.end
		*e.of += e.end - first
		inside := max(min(e.end, flat)-first, 0) // constants may be stored in the flatbuffer
		parts.Flatbuffer -= inside
		parts.Padding -= e.end - first - inside
	}
	return parts, nil
}

// flatbufferSize returns how much of a file its flatbuffer is.
func flatbufferSize(r io.ReaderAt, size int64) (int64, error) {
	var head [24]byte
	if size < int64(len(head)) {
		return size, nil
	}
	if err := readFull(r, head[:]); err != nil {
		return 0, err
	}
	if string(head[8:12]) != "eh00" {
		return size, nil
	}
	return int64(min(binary.LittleEndian.Uint64(head[16:]), uint64(size))), nil
}

// placeIn returns where a blob lies in the file that it is a range of.
func placeIn(b ir.Blob) (int64, bool) {
	at := int64(0)
	section, ok := b.(*io.SectionReader)
	for inside := ok; inside; {
		outer, offset, _ := section.Outer()
		at += offset
		section, inside = outer.(*io.SectionReader)
	}
	return at, ok
}
