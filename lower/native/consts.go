package native

import (
	"bytes"
	"crypto/sha256"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
)

// constPool keeps one Const for equal data of one dtype.
type constPool struct {
	byData map[[sha256.Size]byte]*Const
	names  *taken
	list   []*Const
}

func (p *constPool) add(from string, d ir.DType, data []byte) *Const {
	h := sha256.New()
	h.Write([]byte{byte(d)})
	h.Write(data)
	key := [sha256.Size]byte(h.Sum(nil))
	if c := p.byData[key]; c != nil {
		return c
	}
	c := &Const{Name: p.names.unique(identifier(from)), From: foreign.Of(from), DType: d,
		Data: data}
	p.byData[key] = c
	p.list = append(p.list, c)
	return c
}

// weight returns a new buffer over constant data.
func (b *builder) weight(from string, d ir.DType, sizes []sym.Expr, data []byte) *Buffer {
	c := b.consts.add(from, d, data)
	n := sym.Mul(sizes...)
	return &Buffer{Name: c.Name, DType: d, Sizes: sizes, Len: n, MaxLen: bound(n),
		Storage: Weight, Const: c}
}

// constBytes returns the dense row-major elements of a constant value.
func constBytes(v *ir.Value) ([]byte, bool) {
	if v.Const == nil {
		return nil, false
	}
	data, err := ir.Tensor(v.Const)
	return data, err == nil
}

// constName returns the name the model gives a constant.
func constName(v *ir.Value) string {
	if v.Const != nil && v.Const.Name != "" {
		return v.Const.Name
	}
	return v.Name
}

// sameElement returns the element that all of data is made of.
func sameElement(d ir.DType, data []byte) (*expr.Expr, bool) {
	n := d.Size()
	if len(data) < n || !(d == ir.Bool || d.IsInt() || half.Is(d) || d == ir.Float32 ||
		d == ir.Float64) || !bytes.Equal(data[n:], data[:len(data)-n]) {
		return nil, false
	}
	return element(d, data[:n]), true
}

// element reads one little-endian element as a constant expression.
func element(d ir.DType, b []byte) *expr.Expr {
	var bits uint64
	for i, x := range b {
		bits |= uint64(x) << (8 * i)
	}
	switch d {
	case ir.Bool:
		return expr.Bool(bits != 0)
	case ir.Float32:
		return expr.Float(d, float64(math.Float32frombits(uint32(bits))))
	case ir.Float64:
		return expr.Float(d, math.Float64frombits(bits))
	case ir.Float16, ir.BFloat16:
		return expr.Float(d, float64(half.ToFloat32(d, uint16(bits))))
	}
	shift := 64 - 8*d.Size()
	if d.IsUnsigned() {
		return expr.Int(d, int64(bits<<shift>>shift))
	}
	return expr.Int(d, int64(bits)<<shift>>shift)
}
