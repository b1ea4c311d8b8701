package pte

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte/flat"
	"github.com/etgen/etgen/ir/seq"
)

// file is a file of flatbuffer and segments: the flatbuffer in memory, the
// segments where they lie.
type file struct {
	r    io.ReaderAt
	size int64
	flat []byte // from offset 0, header included
	base int64  // of the segments; 0 if the file has none
}

// headBytes hold the flatbuffer's root and identifier and either extended header.
const headBytes = 48

// openFile reads the header and the flatbuffer of a .pte (magic "eh00") or .ptd
// ("FH01") file; a bundle has no magic and no segments.
func openFile(r io.ReaderAt, size int64, magic string) *file {
	head := make([]byte, min(headBytes, max(size, 0)))
	must.Check(readFull(r, head))
	if len(head) < 8 {
		panic(fmt.Errorf("a file of %d bytes", size))
	}
	f := &file{r: r, size: size}
	flatSize := size
	if magic != "" && len(head) >= 12 && string(head[8:12]) == magic {
		flatSize = must.Get(f.header(head, magic))
	}
	if flatSize < 8 || flatSize > size || flatSize > math.MaxInt32 {
		panic(fmt.Errorf("a flatbuffer of %d bytes in a file of %d", uint64(flatSize), size))
	}
	f.flat = make([]byte, flatSize)
	must.Check(readFull(r, f.flat))
	return f
}

// header reads the extended header: its length, then sizes and offsets. Headers
// longer than those known may follow; shorter ones lack fields. It returns the
// size of the flatbuffer, counted from the beginning of the file.
func (f *file) header(head []byte, magic string) (int64, error) {
	length := uint32(0)
	if len(head) >= 16 {
		length = binary.LittleEndian.Uint32(head[12:])
	}
	least := map[string]uint32{"eh00": 24, "FH01": 40}[magic]
	if length < least || len(head) < int(8+least) {
		return 0, fmt.Errorf("extended header of %d bytes, want at least %d", length, least)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(head[16+8*i:]) }
	flatSize, base, data := word(0), uint64(0), uint64(0)
	if magic == "FH01" { // the flatbuffer's offset past the header, its size, base, size of data
		if word(0) > uint64(f.size) || word(1) > uint64(f.size) {
			return 0, fmt.Errorf("extended header: a flatbuffer of %d bytes at %d in a file of %d",
				word(1), word(0), f.size)
		}
		flatSize, base, data = word(0)+word(1), word(2), word(3)
	} else { // the size, base, in newer files size of data
		base = word(1)
		if length >= 32 && len(head) >= 40 {
			data = word(2)
		}
	}
	if base > uint64(f.size) || data > uint64(f.size)-base {
		return 0, fmt.Errorf(
			"extended header: %d bytes of segments at %d leave the file of %d bytes", data,
			base, f.size)
	}
	f.base = int64(base)
	return int64(min(flatSize, math.MaxInt64)), nil
}

// segment returns the blob of a segment.
func (f *file) segment(offset, size uint64) (ir.Blob, error) {
	room := uint64(f.size - f.base)
	switch {
	case size == 0:
		return ir.Bytes(nil), nil
	case f.base == 0:
		return nil, fmt.Errorf("%d bytes in a file whose header has no segments", size)
	case offset > room || size > room-offset:
		return nil, fmt.Errorf("%d bytes at %d leave the file of %d bytes (segments begin at %d)",
			size, offset, f.size, f.base)
	}
	return io.NewSectionReader(f.r, f.base+int64(offset), int64(size)), nil
}

// inline returns the bytes of a vector, as a range of the file.
func (f *file) inline(t flat.Table, name string) ir.Blob {
	first, end := t.Extent(name)
	if first == end {
		return ir.Bytes(nil)
	}
	return io.NewSectionReader(f.r, int64(first), int64(end-first))
}

func readFull(r io.ReaderAt, b []byte) error {
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, int64(len(b))), b); err != nil {
		return fmt.Errorf("reading the first %d bytes: %w", len(b), err)
	}
	return nil
}

// A tensor of dynamic size has upper bounds in the file. The least sizes of inputs
// are not part of the format: etgen's programs have them as named data, an entry for
// each method with dynamic inputs. A runtime that does not know them loads a program
// that has them as any other.

// leastKey is before the number of the method.
const leastKey = "etgen.least_sizes:"

// IsLeastSizes reports whether named data is no delegate's, but what etgen notes of sizes.
func IsLeastSizes(key string) bool { return strings.HasPrefix(key, leastKey) }

// maxLeast bounds the bytes of such an entry.
const maxLeast = 1 << 20

// SetLeast notes the least sizes of a method's dynamic inputs; for others a list is
// nil. It adds nothing if there are none.
func (p *Program) SetLeast(method int, inputs [][]int64) {
	var b strings.Builder
	for i, sizes := range inputs {
		if sizes == nil {
			continue
		}
		b.WriteString(strconv.Itoa(i))
		for _, n := range sizes {
			b.WriteString(" " + strconv.FormatInt(n, 10))
		}
		b.WriteByte('\n')
	}
	if b.Len() > 0 {
		p.Named = append(p.Named, ir.NamedData{
			Key: leastKey + strconv.Itoa(method), Data: ir.Bytes(b.String())})
	}
}

// Least returns the least sizes of a method's inputs, by input; nil stands for inputs
// that the program says nothing of. Its error says that what the program says does
// not fit the inputs.
func (p *Program) Least(plan *ExecutionPlan) ([][]int64, error) {
	inputs := make([][]int64, len(plan.Inputs))
	key := leastKey + strconv.Itoa(slices.Index(p.Plans, plan))
	for _, n := range p.Named {
		if n.Key != key || n.Data == nil {
			continue
		}
		if n.Data.Size() > maxLeast {
			return nil, fmt.Errorf("the least sizes of inputs take %d bytes", n.Data.Size())
		}
		text := make([]byte, n.Data.Size())
		if k, err := n.Data.ReadAt(text, 0); k < len(text) && err != io.EOF {
			return nil, fmt.Errorf("the least sizes of inputs: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			i, sizes, err := leastOf(plan, strings.Fields(line))
			if err != nil {
				return nil, fmt.Errorf("the least sizes of inputs, %.80q: %w", line, err)
			}
			inputs[i] = sizes
		}
	}
	return inputs, nil
}

// leastOf parses a line: the number of an input, and the least of each of its sizes.
func leastOf(plan *ExecutionPlan, words []string) (input int, sizes []int64, err error) {
	for k, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || n < 0 {
			return 0, nil, fmt.Errorf("%.20q is no size", w)
		}
		if k == 0 {
			input = int(n)
			continue
		}
		sizes = append(sizes, n)
	}
	if len(words) == 0 || input >= len(plan.Inputs) || plan.Inputs[input] < 0 ||
		int(plan.Inputs[input]) >= len(plan.Values) {
		return 0, nil, fmt.Errorf("there is no such input")
	}
	t, ok := plan.Values[plan.Inputs[input]].(*Tensor)
	if !ok || t == nil || t.Dynamism != DynamicBound || len(t.Sizes) != len(sizes) {
		return 0, nil, fmt.Errorf("the input is no tensor of %d dimensions that may vary",
			len(sizes))
	}
	for d, n := range sizes {
		if n > int64(t.Sizes[d]) {
			return 0, nil, fmt.Errorf("dimension %d is at most %d", d, t.Sizes[d])
		}
	}
	return input, sizes, nil
}

// Parts counts the bytes of a file by their use. Bytes with several uses count once, for
// the first of these fields.
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
	seq.Sort(all, func(a, b extent) int { return cmp.Compare(a.first, b.first) })
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
