package pte

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
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
	return saving("pte", func() { l.write(w, p) })
}

// saving runs write; errors name the kind of file.
func saving(kind string, write func()) error {
	return must.Try(func() { must.Do(write, "%s", kind) })
}

func (l Layout) write(w io.Writer, p *Program) {
	l = l.complete()
	data := l.data(p)
	flat := encode(p, data)
	if data.segments.size() == 0 { // no segments, no header
		must.Get(w.Write(flat))
		return
	}
	const length = 32
	size := headerSize(length) + len(flat)
	base := align(int64(size), l.SegmentAlignment)
	header := append([]byte("eh00"), make([]byte, headerSize(length)-4)...)
	binary.LittleEndian.PutUint32(header[4:], length)
	binary.LittleEndian.PutUint64(header[8:], uint64(size))
	binary.LittleEndian.PutUint64(header[16:], uint64(base))
	binary.LittleEndian.PutUint64(header[24:], uint64(data.segments.size()))
	must.Check(writeFile(w, flat, header, base, data.segments))
}

// complete fills in the defaults.
func (l Layout) complete() Layout {
	if l.SegmentAlignment == 0 {
		l.SegmentAlignment = 128
	}
	if l.ConstantAlignment == 0 {
		l.ConstantAlignment = 16
	}
	for _, a := range []int64{l.SegmentAlignment, l.ConstantAlignment} {
		if a < 16 || a > 1<<20 || a&(a-1) != 0 {
			panic(fmt.Errorf("alignment %d, want a power of two from 16 to %d", a, 1<<20))
		}
	}
	return l
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

// segment is a range of the file after the flatbuffer.
type segment struct {
	offset  int64 // from the first segment
	size    int64
	content []placed // by offset
}

type placed struct {
	offset int64 // in the segment
	data   ir.Blob
}

type segments []segment

// size returns the bytes of all segments and the padding between them.
func (s segments) size() int64 {
	if len(s) == 0 {
		return 0
	}
	last := s[len(s)-1]
	return last.offset + last.size
}

// add appends a segment.
func (s *segments) add(size, alignment int64, content []placed) (index int) {
	*s = append(*s, segment{offset: align(s.size(), alignment), size: size, content: content})
	return len(*s) - 1
}

// blobKey identifies content.
type blobKey struct {
	size int64
	sum  [sha256.Size]byte
}

// identities finds equal blobs. It reads only blobs whose size another has.
type identities struct {
	bySize map[int64]int
	keys   map[*io.SectionReader]blobKey // of blobs in files
}

func newIdentities() *identities {
	return &identities{bySize: map[int64]int{}, keys: map[*io.SectionReader]blobKey{}}
}

// expectAll announces the blobs of a program.
func (ids *identities) expectAll(p *Program) {
	for _, list := range append([][]ir.Blob{p.Constants}, p.Mutable...) {
		for i, b := range list {
			if i > 0 {
				ids.expect(b)
			}
		}
	}
	for _, plan := range p.Plans {
		for i := range plan.Delegates {
			ids.expect(plan.Delegates[i].Processed)
		}
	}
	for _, n := range p.Named {
		ids.expect(n.Data)
	}
}

// expect announces a blob that key will be asked about.
func (ids *identities) expect(b ir.Blob) {
	if b != nil {
		ids.bySize[b.Size()]++
	}
}

// key returns what equal blobs, and only they, have in common; ok is false if no
// other blob that was announced has the size.
func (ids *identities) key(b ir.Blob) (key blobKey, ok bool, err error) {
	key.size = b.Size()
	if ids.bySize[key.size] < 2 {
		return key, false, nil
	}
	section, cached := b.(*io.SectionReader)
	if cached {
		if k, ok := ids.keys[section]; ok {
			return k, true, nil
		}
	}
	h := sha256.New()
	if _, err := io.Copy(h, whole(b)); err != nil {
		return key, false, err
	}
	h.Sum(key.sum[:0])
	if cached {
		ids.keys[section] = key
	}
	return key, true, nil
}

// subsegment is a table of blobs in one segment.
type subsegment struct {
	segment int
	offsets []int64 // by entry
}

// fileData is where everything goes that is not in the flatbuffer.
type fileData struct {
	segments  segments
	constants subsegment
	mutable   []subsegment
	delegates map[*Delegate]int // segment index, or index among inline
	inline    []ir.Blob
	named     []int // segment indices
}

// data places the blobs of p: constants first, then initial data, delegates' data
// and named data.
func (l Layout) data(p *Program) *fileData {
	if slices.Contains(p.Plans, nil) {
		panic(fmt.Errorf("a nil execution plan"))
	}
	ids := newIdentities()
	ids.expectAll(p)
	d := &fileData{delegates: map[*Delegate]int{}}

	must.Do(func() { d.constants = l.subsegment(d, ids, p.Constants, l.ConstantAlignment) },
		"constants")
	for i, list := range p.Mutable {
		// Copied when a method is loaded, so without alignment.
		must.Do(func() { d.mutable = append(d.mutable, l.subsegment(d, ids, list, 1)) },
			"initial data %d", i)
	}
	l.wholeSegments(p, d, ids)
	return d
}

// subsegment places a list of blobs, of which entry 0 is reserved, in a segment.
func (l Layout) subsegment(d *fileData, ids *identities, list []ir.Blob,
	alignment int64) (s subsegment) {
	var content []placed
	size := int64(0)
	at := map[blobKey]int64{}
	s.offsets = make([]int64, max(len(list), 1))
	for i, b := range list {
		if i == 0 || b == nil || b.Size() == 0 {
			continue // without bytes it begins where the segment does
		}
		key, shareable, err := ids.key(b)
		must.In(err, "entry %d", i)
		if off, ok := at[key]; ok && shareable {
			s.offsets[i] = off
			continue
		}
		off := align(size, alignment)
		s.offsets[i], at[key] = off, off
		content, size = append(content, placed{off, b}), off+b.Size()
	}
	if size == 0 && len(list) > 1 {
		// A runtime does not tell an empty segment from none; blobs without bytes
		// need one nevertheless.
		size = 16
	}
	s.segment = d.segments.add(size, l.SegmentAlignment, content)
	return s
}

// wholeSegments places blobs that have a segment of their own.
func (l Layout) wholeSegments(p *Program, d *fileData, ids *identities) {
	segmentOf, inlineOf := map[blobKey]int{}, map[blobKey]int{}
	place := func(b ir.Blob, index map[blobKey]int, add func(ir.Blob) int) int {
		if b == nil {
			b = ir.Bytes(nil)
		}
		key, shareable := must.Get2(ids.key(b))
		i, ok := index[key]
		if !ok || !shareable {
			i = add(b)
			index[key] = i
		}
		return i
	}
	segment := func(b ir.Blob) int {
		return d.segments.add(b.Size(), l.SegmentAlignment, []placed{{0, b}})
	}
	inline := func(b ir.Blob) int {
		d.inline = append(d.inline, b)
		return len(d.inline) - 1
	}
	for _, plan := range p.Plans {
		for i := range plan.Delegates {
			must.Do(func() {
				v := &plan.Delegates[i]
				if v.Inline {
					d.delegates[v] = place(v.Processed, inlineOf, inline)
				} else {
					d.delegates[v] = place(v.Processed, segmentOf, segment)
				}
			}, "method %s, delegate %d", foreign.Message(plan.Name), i)
		}
	}
	for _, n := range p.Named {
		must.Do(func() { d.named = append(d.named, place(n.Data, segmentOf, segment)) },
			"named data %q", n.Key)
	}
}
