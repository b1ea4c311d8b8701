package tensor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
)

// npyMagic opens every .npy file; a version and the header's length follow.
const npyMagic = "\x93NUMPY"

// npyNames are NumPy's names of dtypes without the byte order.
var npyNames = []struct {
	name string
	d    ir.DType
}{
	{"b1", ir.Bool}, {"u1", ir.Uint8}, {"i1", ir.Int8}, {"i2", ir.Int16}, {"i4", ir.Int32},
	{"i8", ir.Int64},
	{"u2", ir.Uint16}, {"u4", ir.Uint32}, {"u8", ir.Uint64},
	{"f2", ir.Float16}, {"f4", ir.Float32}, {"f8", ir.Float64}, {"c8", ir.Complex64},
	{"c16", ir.Complex128},
}

// ParseNPY reads a .npy file: version 1 to 3, little endian or single bytes,
// C or Fortran order.
func ParseNPY(data []byte) (*Tensor, error) {
	return ReadNPY(bytes.NewReader(data), func(*Tensor, int64) error { return nil })
}

// ReadNPY is [ParseNPY] of a stream, of which it reads no more than a byte over what
// the header says. Accept sees dtype and shape, and how many bytes the elements take,
// before they are read; its error is that of ReadNPY.
func ReadNPY(r io.Reader, accept func(t *Tensor, bytes int64) error) (*Tensor, error) {
	header, err := npyHeader(r)
	if err != nil {
		return nil, err
	}
	t, fortran, err := parseNPYHeader(header)
	if err != nil {
		return nil, err
	}
	n, err := Bytes(t.DType, t.Shape)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	if err := accept(t, n); err != nil {
		return nil, err
	}
	if t.Data, err = io.ReadAll(io.LimitReader(r, n+1)); err != nil {
		return nil, err
	}
	if int64(len(t.Data)) > n {
		return nil, fmt.Errorf("npy: %v of %d bytes has more", t, n)
	}
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	if fortran {
		t.Data = fromFortran(t)
	}
	return t, nil
}

// parseNPYHeader reads the text of a header.
func parseNPYHeader(header string) (t *Tensor, fortran bool, err error) {
	p := &literal{text: header}
	t = &Tensor{}
	seen := map[string]bool{}
	p.expect('{')
	for !p.accept('}') && p.err == nil {
		key := p.str()
		p.expect(':')
		switch key {
		case "descr":
			if p.accept('[') {
				return nil, false,
					fmt.Errorf(
						"npy: a dtype of several fields is not supported: save it with a plain dtype")
			}
			t.DType, err = npyDType(p.str())
			if err != nil && p.err == nil {
				return nil, false, err
			}
		case "fortran_order":
			fortran = p.boolean()
		case "shape":
			t.Shape = p.ints()
		default:
			p.fail("unknown key %q", key)
		}
		seen[key] = true
		if !p.accept(',') {
			p.expect('}')
			break
		}
	}
	if p.err == nil && (!seen["descr"] || !seen["shape"] || !seen["fortran_order"]) {
		p.fail("needs descr, fortran_order and shape")
	}
	if p.err == nil && strings.TrimSpace(p.text) != "" {
		p.fail("goes on after its end")
	}
	if p.err != nil {
		return nil, false, fmt.Errorf("npy header: %w", p.err)
	}
	return t, fortran, nil
}

// maxNPYHeader is more bytes than any header needs: NumPy takes 10000.
const maxNPYHeader = 1 << 16

// npyHeader reads the text of the header.
func npyHeader(r io.Reader) (string, error) {
	head := make([]byte, 10)
	if n, err := io.ReadFull(r, head); err != nil || !bytes.HasPrefix(head[:n], []byte(npyMagic)) {
		return "", fmt.Errorf("it is no .npy file")
	}
	length := int64(binary.LittleEndian.Uint16(head[8:]))
	switch head[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, head[:2]); err != nil {
			return "", fmt.Errorf("npy: the header ends early")
		}
		length |= int64(binary.LittleEndian.Uint16(head)) << 16
	default:
		return "", fmt.Errorf("npy: version %d is unknown", head[6])
	}
	text := make([]byte, min(length, maxNPYHeader))
	if _, err := io.ReadFull(r, text); err != nil {
		return "", fmt.Errorf("npy: the header ends early")
	}
	if length > maxNPYHeader {
		return "", fmt.Errorf("npy: a header of %d bytes: no more than %d are read", length,
			maxNPYHeader)
	}
	return string(text), nil
}

func npyDType(descr string) (ir.DType, error) {
	if descr == "" {
		return ir.InvalidDType, fmt.Errorf("npy: the dtype is empty")
	}
	order, name := descr[0], descr[1:]
	for _, n := range npyNames {
		if n.name == name && (order == '<' || order == '=' || order == '|' && n.d.Size() == 1) {
			return n.d, nil
		}
	}
	return ir.InvalidDType,
		fmt.Errorf("npy: dtype %q is not supported: save it little endian with a plain dtype",
			descr)
}

// fromFortran returns the elements in row-major order.
func fromFortran(t *Tensor) []byte {
	item := int64(t.DType.Size())
	strides := make([]int64, len(t.Shape))
	s := int64(1)
	for i, n := range t.Shape {
		strides[i] = s
		s *= n
	}
	out := make([]byte, 0, len(t.Data))
	index := make([]int64, len(t.Shape))
	for range t.Len() {
		at := int64(0)
		for i, x := range index {
			at += x * strides[i]
		}
		out = append(out, t.Data[at*item:(at+1)*item]...)
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < t.Shape[i] {
				break
			}
			index[i] = 0
		}
	}
	return out
}

// HasNPY reports whether NumPy has the dtype: else [FormatNPY] gives an error.
func HasNPY(d ir.DType) bool { return npyIndex(d) >= 0 }

// npyIndex returns the place of the dtype in npyNames, or -1.
func npyIndex(d ir.DType) int {
	return slices.IndexFunc(npyNames, func(n struct {
		name string
		d    ir.DType
	}) bool {
		return n.d == d
	})
}

// FormatNPY returns t as a .npy file of version 1. NumPy has no bfloat16 and no
// 8-bit floats: those are an error.
func FormatNPY(t *Tensor) ([]byte, error) {
	i := npyIndex(t.DType)
	if i < 0 {
		return nil, fmt.Errorf("npy: NumPy has no %v; write a raw .bin", t.DType)
	}
	order := "<"
	if t.DType.Size() == 1 {
		order = "|"
	}
	sizes := make([]string, len(t.Shape))
	for i, s := range t.Shape {
		sizes[i] = strconv.FormatInt(s, 10)
	}
	shape := strings.Join(sizes, ", ")
	if len(sizes) == 1 {
		shape += ","
	}
	header := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order,
		npyNames[i].name, shape)
	// The elements begin at a multiple of 64; a newline ends the header.
	pad := 63 - (10+len(header))%64
	header += strings.Repeat(" ", pad) + "\n"
	out := append([]byte(npyMagic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(header)))
	out = append(out, header...)
	return append(out, t.Data...), nil
}
