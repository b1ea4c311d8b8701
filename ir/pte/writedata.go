package pte

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
)

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
func (l Layout) data(p *Program) (*fileData, error) {
	if slices.Contains(p.Plans, nil) {
		return nil, fmt.Errorf("a nil execution plan")
	}
	ids := newIdentities()
	ids.expectAll(p)
	d := &fileData{delegates: map[*Delegate]int{}}
	var err error
	if d.constants, err = l.subsegment(d, ids, p.Constants, l.ConstantAlignment); err != nil {
		return nil, fmt.Errorf("constants: %w", err)
	}
	for i, list := range p.Mutable {
		// Copied when a method is loaded, so without alignment.
		s, err := l.subsegment(d, ids, list, 1)
		if err != nil {
			return nil, fmt.Errorf("initial data %d: %w", i, err)
		}
		d.mutable = append(d.mutable, s)
	}
	return d, l.wholeSegments(p, d, ids)
}

// subsegment places a list of blobs, of which entry 0 is reserved, in a segment.
func (l Layout) subsegment(d *fileData, ids *identities, list []ir.Blob,
	alignment int64) (s subsegment, err error) {
	var content []placed
	size := int64(0)
	at := map[blobKey]int64{}
	s.offsets = make([]int64, max(len(list), 1))
	for i, b := range list {
		if i == 0 || b == nil || b.Size() == 0 {
			continue // without bytes it begins where the segment does
		}
		key, shareable, err := ids.key(b)
		if err != nil {
			return s, fmt.Errorf("entry %d: %w", i, err)
		}
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
	return s, nil
}

// wholeSegments places blobs that have a segment of their own.
func (l Layout) wholeSegments(p *Program, d *fileData, ids *identities) error {
	segmentOf, inlineOf := map[blobKey]int{}, map[blobKey]int{}
	place := func(b ir.Blob, index map[blobKey]int, add func() int) (int, error) {
		key, shareable, err := ids.key(b)
		if err != nil {
			return 0, err
		}
		if i, ok := index[key]; ok && shareable {
			return i, nil
		}
		i := add()
		index[key] = i
		return i, nil
	}
	segment := func(b ir.Blob) (int, error) {
		return place(b, segmentOf, func() int {
			return d.segments.add(b.Size(), l.SegmentAlignment, []placed{{0, b}})
		})
	}
	for _, plan := range p.Plans {
		for i := range plan.Delegates {
			v := &plan.Delegates[i]
			b := v.Processed
			if b == nil {
				b = ir.Bytes(nil)
			}
			var err error
			if v.Inline {
				d.delegates[v], err = place(b, inlineOf, func() int {
					d.inline = append(d.inline, b)
					return len(d.inline) - 1
				})
			} else {
				d.delegates[v], err = segment(b)
			}
			if err != nil {
				return fmt.Errorf("method %s, delegate %d: %w", foreign.Message(plan.Name), i, err)
			}
		}
	}
	for _, n := range p.Named {
		b := n.Data
		if b == nil {
			b = ir.Bytes(nil)
		}
		i, err := segment(b)
		if err != nil {
			return fmt.Errorf("named data %q: %w", n.Key, err)
		}
		d.named = append(d.named, i)
	}
	return nil
}
