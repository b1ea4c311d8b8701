package pte

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/etgen/etgen/ir"
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
func openFile(r io.ReaderAt, size int64, magic string) (*file, error) {
	head := make([]byte, min(headBytes, max(size, 0)))
	if err := readFull(r, head); err != nil {
		return nil, err
	}
	if len(head) < 8 {
		return nil, fmt.Errorf("a file of %d bytes", size)
	}
	f := &file{r: r, size: size}
	flatSize := size
	if magic != "" && len(head) >= 12 && string(head[8:12]) == magic {
		var err error
		if flatSize, err = f.header(head, magic); err != nil {
			return nil, err
		}
	}
	if flatSize < 8 || flatSize > size || flatSize > math.MaxInt32 {
		return nil, fmt.Errorf("a flatbuffer of %d bytes in a file of %d", uint64(flatSize), size)
	}
	f.flat = make([]byte, flatSize)
	return f, readFull(r, f.flat)
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

// inline returns the bytes of the vector in field id of a table, as a range of
// the file.
func (f *file) inline(tab flatbuffers.Table, id int) ir.Blob {
	o := flatbuffers.UOffsetT(tab.Offset(flatbuffers.VOffsetT(4 + 2*id)))
	if o == 0 || tab.VectorLen(o) == 0 {
		return ir.Bytes(nil)
	}
	return io.NewSectionReader(f.r, int64(tab.Vector(o)), int64(tab.VectorLen(o)))
}

func readFull(r io.ReaderAt, b []byte) error {
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, int64(len(b))), b); err != nil {
		return fmt.Errorf("reading the first %d bytes: %w", len(b), err)
	}
	return nil
}
