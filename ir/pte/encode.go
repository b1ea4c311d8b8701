package pte

import (
	"encoding/binary"
	"fmt"
	"io"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/pte/fb/program"
)

// maxInline bounds the data of inline delegates: a flatbuffer ends at 2 GiB.
const maxInline = 1 << 30

// offset is the place of something already written, from the buffer's end.
type offset = flatbuffers.UOffsetT

// encoder writes a flatbuffer in which nothing is written twice. What is equal
// has an equal key, made of its kind and contents, in which a reference counts
// as the place it refers to: equal contents have one place.
type encoder struct {
	*flatbuffers.Builder
	written map[string]offset
	key     []byte
}

func newEncoder() *encoder {
	return &encoder{Builder: flatbuffers.NewBuilder(1024), written: map[string]offset{}}
}

// share returns the place of an object of a kind with these contents and writes
// it if it is the first.
func (e *encoder) share(kind string, contents []uint64, write func() offset) offset {
	e.key = append(append(e.key[:0], kind...), 0)
	for _, c := range contents {
		e.key = binary.AppendUvarint(e.key, c)
	}
	if at, ok := e.written[string(e.key)]; ok {
		return at
	}
	key := string(e.key)
	at := write()
	e.written[key] = at
	return at
}

// maxShared is the size up to which vectors are shared. Who reads a file makes
// as many of a vector as there are references to it, and bounds what that costs
// by the size of the file: see flat.Expansion. Short ones stay far below.
const maxShared = 128

// vector writes a vector of n elements; bits returns an element and prepend
// writes one.
func (e *encoder) vector(size, n int, bits func(int) uint64, prepend func(int)) offset {
	write := func() offset {
		e.StartVector(size, n, size)
		for i := n - 1; i >= 0; i-- {
			prepend(i)
		}
		return e.EndVector(n)
	}
	if size*n > maxShared {
		return write()
	}
	contents := make([]uint64, n)
	for i := range contents {
		contents[i] = bits(i)
	}
	return e.share("vector"+string(rune('0'+size)), contents, write)
}

func (e *encoder) int32s(v []int32) offset {
	return e.vector(4, len(v), func(i int) uint64 { return uint64(uint32(v[i])) }, func(i int) {
		e.PrependInt32(v[i])
	})
}

func (e *encoder) int64s(v []int64) offset {
	return e.vector(8, len(v), func(i int) uint64 { return uint64(v[i]) }, func(i int) {
		e.PrependInt64(v[i])
	})
}

func (e *encoder) bytes(v []byte) offset {
	return e.vector(1, len(v), func(i int) uint64 { return uint64(v[i]) }, func(i int) {
		e.PrependByte(v[i])
	})
}

// refs writes a vector of tables. It is not shared: few are equal.
func (e *encoder) refs(v []offset) offset { return e.CreateVectorOfTables(v) }

// refsOf writes a vector of n tables.
func (e *encoder) refsOf(n int, table func(int) (offset, error)) (offset, error) {
	v := make([]offset, n)
	for i := range v {
		var err error
		if v[i], err = table(i); err != nil {
			return 0, err
		}
	}
	return e.refs(v), nil
}

// text writes a string, also an empty one.
func (e *encoder) text(s string) offset { return e.CreateSharedString(s) }

// optional writes a string, nothing for an empty one.
func (e *encoder) optional(s string) offset {
	if s == "" {
		return 0
	}
	return e.text(s)
}

// aligned writes the data of a blob aligned to 16 bytes, as delegates get it.
func (e *encoder) aligned(b ir.Blob) (offset, error) {
	n := int(b.Size())
	e.StartVector(1, n, 16)
	// The builder has made room for n bytes before its head; it writes backwards.
	data := make([]byte, n)
	if _, err := io.ReadFull(&sized{r: io.NewSectionReader(b, 0, b.Size()), left: b.Size()},
		data); err != nil {
		return 0, err
	}
	for i := n - 1; i >= 0; i-- {
		e.PlaceByte(data[i])
	}
	return e.EndVector(n), nil
}

// encode makes the flatbuffer of p, whose data is placed.
func encode(p *Program, d *fileData) ([]byte, error) {
	inline := int64(0)
	for _, b := range d.inline {
		if inline += b.Size(); inline > maxInline {
			return nil, fmt.Errorf("more than %d bytes of inline delegates", int64(maxInline))
		}
	}
	e := newEncoder()
	plans, err := e.refsOf(len(p.Plans), func(i int) (offset, error) {
		at, err := e.plan(p.Plans[i], d)
		if err != nil {
			return 0, fmt.Errorf("method %s: %w", foreign.Message(p.Plans[i].Name), err)
		}
		return at, nil
	})
	if err != nil {
		return nil, err
	}
	delegates := offset(0)
	if len(d.inline) > 0 {
		delegates, err = e.refsOf(len(d.inline), func(i int) (offset, error) {
			data, err := e.aligned(d.inline[i])
			if err != nil {
				return 0, fmt.Errorf("inline delegate %d: %w", i, err)
			}
			program.BackendDelegateInlineDataStart(e.Builder)
			program.BackendDelegateInlineDataAddData(e.Builder, data)
			return program.BackendDelegateInlineDataEnd(e.Builder), nil
		})
		if err != nil {
			return nil, err
		}
	}
	segments, _ := e.refsOf(len(d.segments), func(i int) (offset, error) {
		program.DataSegmentStart(e.Builder)
		program.DataSegmentAddOffset(e.Builder, uint64(d.segments[i].offset))
		program.DataSegmentAddSize(e.Builder, uint64(d.segments[i].size))
		return program.DataSegmentEnd(e.Builder), nil
	})
	constants := e.subsegment(d.constants)
	mutable, named := offset(0), offset(0)
	if len(d.mutable) > 0 {
		mutable, _ = e.refsOf(len(d.mutable), func(i int) (offset, error) {
			return e.subsegment(d.mutable[i]), nil
		})
	}
	if len(p.Named) > 0 {
		named, _ = e.refsOf(len(p.Named), func(i int) (offset, error) {
			key := e.text(p.Named[i].Key)
			program.NamedDataStart(e.Builder)
			program.NamedDataAddKey(e.Builder, key)
			program.NamedDataAddSegmentIndex(e.Builder, uint32(d.named[i]))
			return program.NamedDataEnd(e.Builder), nil
		})
	}
	program.ProgramStart(e.Builder)
	program.ProgramAddVersion(e.Builder, p.Version)
	program.ProgramAddExecutionPlan(e.Builder, plans)
	program.ProgramAddBackendDelegateData(e.Builder, delegates)
	program.ProgramAddSegments(e.Builder, segments)
	program.ProgramAddConstantSegment(e.Builder, constants)
	program.ProgramAddMutableDataSegments(e.Builder, mutable)
	program.ProgramAddNamedData(e.Builder, named)
	e.FinishWithFileIdentifier(program.ProgramEnd(e.Builder), []byte(programSchema().Identifier))
	return e.FinishedBytes(), nil
}

func (e *encoder) subsegment(s subsegment) offset {
	offsets := e.int64s(s.offsets)
	program.SubsegmentOffsetsStart(e.Builder)
	program.SubsegmentOffsetsAddSegmentIndex(e.Builder, uint32(s.segment))
	program.SubsegmentOffsetsAddOffsets(e.Builder, offsets)
	return program.SubsegmentOffsetsEnd(e.Builder)
}
