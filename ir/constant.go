package ir

import (
	"fmt"
	"io"
	"math"
)

// maxExpanded bounds the dense form of a constant that is larger than its
// storage (expanded dimensions of stride 0), so that a tiny file cannot ask
// for all memory. 1 GiB.
const maxExpanded = 1 << 30

// Tensor returns the elements of c densely in row-major order, little endian,
// whatever its strides. The sizes, strides and offset must be constants and
// stay inside the storage.
func Tensor(c *Constant) ([]byte, error) {
	l, err := layoutOf(c)
	if err != nil {
		return nil, fmt.Errorf("constant %q: %w", c.Name, err)
	}
	if l.numel == 0 {
		return []byte{}, nil
	}
	if l.dense() {
		out := make([]byte, l.numel*l.item)
		if err := readFull(c.Data, out, l.offset*l.item); err != nil {
			return nil, fmt.Errorf("constant %q: %w", c.Name, err)
		}
		return out, nil
	}
	// Read the span of the storage that the tensor touches, then gather.
	span := make([]byte, (l.last-l.offset+1)*l.item)
	if err := readFull(c.Data, span, l.offset*l.item); err != nil {
		return nil, fmt.Errorf("constant %q: %w", c.Name, err)
	}
	out := make([]byte, 0, l.numel*l.item)
	return l.gather(out, span, 0, 0), nil
}

// CheckConstant reports whether c's tensor lies inside its storage.
func CheckConstant(c *Constant) error {
	_, err := layoutOf(c)
	return err
}

// constLayout is a constant's layout in elements; last is the highest element
// of the storage that the tensor touches.
type constLayout struct {
	sizes, strides      []int64
	offset, last, numel int64
	item                int64 // bytes of an element
}

// layoutOf checks that c's tensor lies inside its storage.
func layoutOf(c *Constant) (constLayout, error) {
	t := c.Type
	l := constLayout{item: int64(t.DType.Size()), numel: 1}
	if t.Kind != TensorKind || l.item == 0 {
		return l, fmt.Errorf("it is no tensor")
	}
	var ok bool
	if l.sizes, ok = t.StaticSizes(); !ok {
		return l, fmt.Errorf("its sizes are not constant")
	}
	if len(t.Strides) != len(t.Sizes) {
		return l, fmt.Errorf("it has %d sizes and %d strides", len(t.Sizes), len(t.Strides))
	}
	l.strides = make([]int64, len(t.Strides))
	for i, s := range t.Strides {
		if l.strides[i], ok = s.Const(); !ok {
			return l, fmt.Errorf("its strides are not constant")
		}
	}
	if l.offset, ok = t.Offset.Const(); !ok || l.offset < 0 {
		return l, fmt.Errorf("its storage offset is not a constant of at least 0")
	}
	l.last = l.offset
	empty := false
	for i, n := range l.sizes {
		if n < 0 || l.strides[i] < 0 {
			return l, fmt.Errorf("it has the size %d with stride %d", n, l.strides[i])
		}
		empty = empty || n == 0
	}
	if empty {
		l.numel = 0
		return l, nil
	}
	stored := c.Data.Size()
	for i, n := range l.sizes {
		if l.numel > math.MaxInt64/l.item/n {
			return l, fmt.Errorf("it has more elements than 64 bits can count")
		}
		l.numel *= n
		if n == 1 || l.strides[i] == 0 {
			continue
		}
		if l.strides[i] > (math.MaxInt64-l.last)/(n-1) {
			return l, fmt.Errorf("its strides reach beyond 64 bits")
		}
		l.last += l.strides[i] * (n - 1)
	}
	if l.last >= stored/l.item {
		return l, fmt.Errorf("its storage has %d bytes, too few for element %d of %s", stored,
			l.last, t.DType)
	}
	if bytes := l.numel * l.item; bytes > stored && bytes > maxExpanded {
		return l, fmt.Errorf("it expands %d stored bytes to %d", stored, bytes)
	}
	return l, nil
}

// dense reports whether the elements lie in row-major order without gaps.
func (l constLayout) dense() bool {
	want := int64(1)
	for i := len(l.sizes) - 1; i >= 0; i-- {
		if l.sizes[i] != 1 && l.strides[i] != want {
			return false
		}
		want *= l.sizes[i]
	}
	return true
}

// gather appends the elements of dimensions dim and up, the first of which is
// element at of span.
func (l constLayout) gather(out, span []byte, dim int, at int64) []byte {
	if dim == len(l.sizes) {
		return append(out, span[at*l.item:(at+1)*l.item]...)
	}
	if dim == len(l.sizes)-1 && l.strides[dim] == 1 {
		return append(out, span[at*l.item:(at+l.sizes[dim])*l.item]...)
	}
	for range l.sizes[dim] {
		out = l.gather(out, span, dim+1, at)
		at += l.strides[dim]
	}
	return out
}

func readFull(b Blob, p []byte, off int64) error {
	if n, err := b.ReadAt(p, off); n < len(p) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	return nil
}
