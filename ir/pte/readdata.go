package pte

import (
	"fmt"
	"io"
	"math/bits"
	"reflect"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte/fb/program"
)

// data reads the tables of constants and of initial data.
func (d *decoder) data(s *program.Program, p *Program) error {
	sizes := dataSizes(p)
	offsets := 0
	subsegments := func(x *program.SubsegmentOffsets, what string,
		sizes map[uint32]int64) ([]ir.Blob, error) {
		n := x.OffsetsLength()
		// A blob is several times the size of its offset. No exporter shares a list
		// of offsets; sharing is the one way to have more of them than bytes.
		if offsets += n; 8*offsets > len(d.flat) {
			return nil, fmt.Errorf("%s: a shared list of offsets", what)
		}
		if n <= 1 { // the reserved entry alone
			return make([]ir.Blob, n), nil
		}
		if int64(x.SegmentIndex()) >= int64(len(d.segments)) {
			return nil, fmt.Errorf("%s: segment %d of %d", what, x.SegmentIndex(), len(d.segments))
		}
		blobs, err := slice(d.segments[x.SegmentIndex()], list(n, x.Offsets), sizes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return blobs, nil
	}
	var err error
	if x := s.ConstantSegment(nil); x != nil && x.OffsetsLength() > 0 {
		if s.ConstantBufferLength() > 0 && x.OffsetsLength() > 1 {
			return fmt.Errorf("constants both in constant_buffer and in constant_segment")
		}
		p.Constants, err = subsegments(x, "constant_segment", sizes.constants)
		for i, b := range p.Constants {
			if at := d.position(b); at%alignment != 0 && len(d.defects) < maxProblems {
				d.defects = append(d.defects,
					fmt.Sprintf("constant %d is at offset %d, not aligned to %d bytes", i, at,
						alignment))
			}
		}
	}
	if err == nil && s.ConstantBufferLength() > 0 && len(p.Constants) <= 1 {
		p.Constants, err = each(s.ConstantBufferLength(), s.ConstantBuffer, func(x *program.Buffer,
			i int) (ir.Blob, error) {
			if i == 0 {
				return nil, nil
			}
			return d.inline(x.Table(), 0), nil
		})
	}
	if err != nil {
		return err
	}
	p.Mutable, err = each(s.MutableDataSegmentsLength(), s.MutableDataSegments,
		func(x *program.SubsegmentOffsets, i int) ([]ir.Blob, error) {
			return subsegments(x, fmt.Sprintf("mutable_data_segments[%d]", i),
				sizes.mutable[uint64(i)])
		})
	return err
}

// alignment is what kernels expect of the data of tensors, in bytes.
const alignment = 16

// position returns the place in the file of a blob that was read from it.
func (d *decoder) position(b ir.Blob) int64 {
	at := int64(0)
	for {
		section, ok := b.(*io.SectionReader)
		if !ok {
			return at
		}
		outer, offset, _ := section.Outer()
		if at += offset; !reflect.ValueOf(outer).Comparable() || outer == d.r {
			return at // the first holds of the reader of the whole file only
		}
		b, _ = outer.(ir.Blob)
	}
}

// slice cuts a segment at offsets. A blob's size is given by the tensors it is
// for, as far as the segment goes, else by those for a blob at the same place;
// where there are none either it ends at the next offset. Entry 0 is reserved.
func slice(segment ir.Blob, offsets []uint64, sizes map[uint32]int64) ([]ir.Blob, error) {
	sorted := slices.Clone(offsets)
	slices.Sort(sorted)
	known := map[uint64]int64{} // by offset, which equal blobs share
	for i, off := range offsets {
		if size, ok := sizes[uint32(i)]; ok {
			known[off] = max(known[off], size)
		}
	}
	blobs := make([]ir.Blob, len(offsets))
	for i, off := range offsets {
		if i == 0 {
			continue
		}
		if off > uint64(segment.Size()) {
			return nil, fmt.Errorf("offset %d of entry %d leaves the segment of %d bytes", off, i,
				segment.Size())
		}
		room := segment.Size() - int64(off)
		size, ok := sizes[uint32(i)]
		if !ok {
			size, ok = known[off]
		}
		if !ok {
			next, _ := slices.BinarySearch(sorted, off+1)
			if size = room; next < len(sorted) {
				size = int64(min(sorted[next], uint64(segment.Size())) - off)
			}
		}
		blobs[i] = io.NewSectionReader(segment, int64(off), min(size, room))
	}
	return blobs, nil
}

// tensorSizes are the bytes that entries of the tables of data need.
type tensorSizes struct {
	constants map[uint32]int64
	mutable   map[uint64]map[uint32]int64
}

func dataSizes(p *Program) tensorSizes {
	s := tensorSizes{map[uint32]int64{}, map[uint64]map[uint32]int64{}}
	for _, plan := range p.Plans {
		for _, v := range plan.Values {
			t, ok := v.(*Tensor)
			if !ok || t.DataIndex == 0 {
				continue
			}
			table := s.constants
			if t.Allocation != nil {
				segment := uint64(0)
				if t.ExtraInfo != nil {
					segment = t.ExtraInfo.MutableSegment
				}
				if table = s.mutable[segment]; table == nil {
					table = map[uint32]int64{}
					s.mutable[segment] = table
				}
			}
			if n, ok := t.NBytes(); ok {
				table[t.DataIndex] = max(table[t.DataIndex], n)
			}
		}
	}
	return s
}

// NBytes returns the bytes of the tensor's data, for a tensor of dynamic shape
// its bound. It is not ok if a size is negative, the type has no element size,
// or the number does not fit.
func (t *Tensor) NBytes() (n int64, ok bool) {
	dtype, ok := t.ScalarType.DType()
	if !ok {
		return 0, false
	}
	total := uint64(dtype.Size())
	for _, s := range t.Sizes {
		hi, lo := bits.Mul64(total, uint64(max(s, 0)))
		if s < 0 || hi != 0 || lo > 1<<62 {
			return 0, false
		}
		total = lo
	}
	return int64(total), true
}
