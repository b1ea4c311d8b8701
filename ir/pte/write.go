package pte

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/etgen/etgen/ir"
)

// Layout says where data goes in a file. The zero value is ExecuTorch's.
type Layout struct {
	SegmentAlignment  int64 // of a segment in the file, in bytes; 0 is 128
	ConstantAlignment int64 // of a constant in its segment, in bytes; 0 is 16
}

// Write writes p as a .pte file in ExecuTorch's layout: the flatbuffer, then the
// constants, initial data, delegates' data and named data in segments. Equal
// blobs are written once, as are equal tables, vectors and strings of the
// flatbuffer. The same program gives the same bytes. Blobs are copied through,
// not held, except those of inline delegates.
//
// Write does not judge the program: see Verify.
func Write(w io.Writer, p *Program) error { return Layout{}.Write(w, p) }

// Write is [Write] with a layout.
func (l Layout) Write(w io.Writer, p *Program) error {
	if err := l.write(w, p); err != nil {
		return fmt.Errorf("pte: %w", err)
	}
	return nil
}

func (l Layout) write(w io.Writer, p *Program) error {
	l, err := l.complete()
	if err != nil {
		return err
	}
	data, err := l.data(p)
	if err != nil {
		return err
	}
	flat, err := encode(p, data)
	if err != nil {
		return err
	}
	if data.segments.size() == 0 { // no segments, no header
		_, err := w.Write(flat)
		return err
	}
	const length = 32
	size := headerSize(length) + len(flat)
	base := align(int64(size), l.SegmentAlignment)
	header := append([]byte("eh00"), make([]byte, headerSize(length)-4)...)
	binary.LittleEndian.PutUint32(header[4:], length)
	binary.LittleEndian.PutUint64(header[8:], uint64(size))
	binary.LittleEndian.PutUint64(header[16:], uint64(base))
	binary.LittleEndian.PutUint64(header[24:], uint64(data.segments.size()))
	return writeFile(w, flat, header, base, data.segments)
}

// complete fills in the defaults.
func (l Layout) complete() (Layout, error) {
	if l.SegmentAlignment == 0 {
		l.SegmentAlignment = 128
	}
	if l.ConstantAlignment == 0 {
		l.ConstantAlignment = 16
	}
	for _, a := range []int64{l.SegmentAlignment, l.ConstantAlignment} {
		if a < 16 || a > 1<<20 || a&(a-1) != 0 {
			return l, fmt.Errorf("alignment %d, want a power of two from 16 to %d", a, 1<<20)
		}
	}
	return l, nil
}

// headerSize is the room of an extended header of length bytes: the flatbuffer
// behind it stays aligned to 16 bytes, the most that its schema asks for.
func headerSize(length int) int { return int(align(int64(length), 16)) }

func align(n, alignment int64) int64 { return (n + alignment - 1) / alignment * alignment }

// writeFile writes a flatbuffer with the extended header inserted after its
// identifier, and the segments from offset base on.
func writeFile(w io.Writer, flat, header []byte, base int64, segments segments) error {
	root := binary.LittleEndian.Uint32(flat) + uint32(len(header))
	out := &counter{w: w}
	out.bytes(binary.LittleEndian.AppendUint32(nil, root))
	out.bytes(flat[4:8])
	out.bytes(header)
	out.bytes(flat[8:])
	out.pad(base)
	for _, s := range segments {
		out.pad(base + s.offset)
		for _, c := range s.content {
			out.pad(base + s.offset + c.offset)
			out.blob(c.data)
		}
		out.pad(base + s.offset + s.size)
	}
	return out.err
}

// counter writes until the first error and counts.
type counter struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counter) bytes(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
		c.n += int64(len(b))
	}
}

var zeros [4096]byte

// pad writes zeros up to offset.
func (c *counter) pad(offset int64) {
	if offset < c.n && c.err == nil {
		c.err = fmt.Errorf("wrote %d bytes where there is room for %d", c.n, offset)
	}
	for c.err == nil && c.n < offset {
		c.bytes(zeros[:min(offset-c.n, int64(len(zeros)))])
	}
}

func (c *counter) blob(b ir.Blob) {
	if c.err == nil {
		_, c.err = io.Copy(c.w, whole(b))
		c.n += b.Size()
	}
}

// whole reads all of a blob. Small ones take small buffers.
func whole(b ir.Blob) io.Reader {
	n := b.Size()
	return io.LimitReader(&sized{r: io.NewSectionReader(b, 0, n), left: n}, n)
}

// sized reads exactly left bytes: a blob that ends before its size is an error.
type sized struct {
	r    io.Reader
	left int64
}

func (s *sized) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.left -= int64(n); err == io.EOF && s.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
