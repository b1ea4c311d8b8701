package ir

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
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

// maxInline is the number of elements up to which the text form shows the
// storage of a constant.
const maxInline = 16

// Bytes is a Blob in memory.
type Bytes []byte

// ReadAt implements io.ReaderAt.
func (b Bytes) ReadAt(p []byte, off int64) (int, error) { return bytes.NewReader(b).ReadAt(p, off) }

// Size returns the length in bytes.
func (b Bytes) Size() int64 { return int64(len(b)) }

// Unresolved stands for the data of a constant that the text form names by
// digest only: its size is known, reading it is an error.
type Unresolved struct {
	Digest string // the first 16 hexadecimal digits of the SHA-256
	Length int64  // in bytes
}

// ReadAt always fails.
func (u Unresolved) ReadAt([]byte, int64) (int, error) {
	return 0, fmt.Errorf("data %s is not at hand: only the text form of the program was read",
		u.Digest)
}

// Size returns the length in bytes.
func (u Unresolved) Size() int64 { return u.Length }

// Digest returns the first 16 hexadecimal digits of the SHA-256 of b.
func Digest(b Blob) (string, error) {
	if u, ok := b.(Unresolved); ok {
		return u.Digest, nil
	}
	h := sha256.New()
	n := b.Size() // of small blobs the copying takes a small buffer
	if _, err := io.Copy(h, io.LimitReader(io.NewSectionReader(b, 0, n), n)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// digestCache remembers the digests of blobs that several constants share.
type digestCache map[Blob]string

func (c digestCache) digest(b Blob) (string, error) {
	if !reflect.ValueOf(b).Comparable() {
		return Digest(b)
	}
	if d, ok := c[b]; ok {
		return d, nil
	}
	d, err := Digest(b)
	if err == nil {
		c[b] = d
	}
	return d, err
}

// constantText returns the text of c's storage.
func constantText(c *Constant, digests digestCache) (string, error) {
	if c.Data == nil {
		return "data()", nil
	}
	size, width := c.Data.Size(), int64(c.Type.DType.Size())
	unreadable := fmt.Sprintf("data(unreadable, %d)", size)
	_, unresolved := c.Data.(Unresolved)
	if unresolved || width == 0 || size%width != 0 || size > maxInline*width {
		d, err := digests.digest(c.Data)
		if err != nil {
			return unreadable, err
		}
		return fmt.Sprintf("data(%s, %d)", d, size), nil
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(c.Data, 0, size), data); err != nil {
		return unreadable, err
	}
	elems := []string{}
	for ; len(data) > 0; data = data[width:] {
		elems = append(elems, elementText(c.Type.DType, data[:width]))
	}
	return "[" + strings.Join(elems, ", ") + "]", nil
}

// elementText returns the shortest text of an element that gives its bits
// back, else its bits.
func elementText(d DType, data []byte) string {
	if s, ok := decimalText(d, data); ok {
		if back, err := parseElement(d, s); err == nil && bytes.Equal(back, data) {
			return s
		}
	}
	big := bytes.Clone(data)
	for i, j := 0, len(big)-1; i < j; i, j = i+1, j-1 {
		big[i], big[j] = big[j], big[i]
	}
	return "0x" + hex.EncodeToString(big)
}

func decimalText(d DType, data []byte) (string, bool) {
	switch {
	case d == Bool:
		return strconv.FormatBool(data[0] != 0), true
	case d == Float32:
		return floatText(float64(math.Float32frombits(binary.LittleEndian.Uint32(data))), 32), true
	case d == Float64:
		return floatText(math.Float64frombits(binary.LittleEndian.Uint64(data)), 64), true
	case d.IsInt():
		bits := littleEndian(data)
		if d.IsUnsigned() {
			return strconv.FormatUint(bits, 10), true
		}
		shift := 64 - 8*len(data)
		return strconv.FormatInt(int64(bits<<shift)>>shift, 10), true
	}
	return "", false
}

func littleEndian(data []byte) uint64 {
	var wide [8]byte
	copy(wide[:], data)
	return binary.LittleEndian.Uint64(wide[:])
}

// parseElement returns the bytes of the element that s is the text of.
func parseElement(d DType, s string) ([]byte, error) {
	out := make([]byte, d.Size())
	bad := fmt.Errorf("%s is no element of type %v", s, d)
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		n, ok := new(big.Int).SetString(digits, 16)
		if !ok || n.Sign() < 0 || n.BitLen() > 8*len(out) {
			return nil, bad
		}
		n.FillBytes(out)
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
		return out, nil
	}
	var bits uint64
	var err error
	switch {
	case d == Bool:
		var b bool
		if b, err = strconv.ParseBool(s); b {
			bits = 1
		}
	case d == Float32:
		var x float64
		x, err = strconv.ParseFloat(s, 32)
		bits = uint64(math.Float32bits(float32(x)))
	case d == Float64:
		var x float64
		x, err = strconv.ParseFloat(s, 64)
		bits = math.Float64bits(x)
	case d.IsUnsigned():
		bits, err = strconv.ParseUint(s, 10, 8*d.Size())
	case d.IsInt():
		var n int64
		n, err = strconv.ParseInt(s, 10, 8*d.Size())
		bits = uint64(n)
	default:
		err = bad
	}
	if err != nil {
		return nil, bad
	}
	var wide [8]byte
	binary.LittleEndian.PutUint64(wide[:], bits)
	copy(out, wide[:])
	return out, nil
}
