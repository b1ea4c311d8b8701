package native

import (
	"bytes"
	"crypto/sha256"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// constPool keeps one Const for equal data of one dtype.
type constPool struct {
	byData map[[sha256.Size]byte]*Const
	names  map[string]bool
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
	c := &Const{Name: unique(p.names, identifier(from)), From: from, DType: d, Data: data}
	p.byData[key] = c
	p.list = append(p.list, c)
	return c
}

// weight returns a new buffer over constant data.
func (b *builder) weight(from string, d ir.DType, sizes []sym.Expr, data []byte) *Buffer {
	c := b.consts.add(from, d, data)
	n := sym.Mul(sizes...)
	return &Buffer{Name: c.Name, DType: d, Sizes: sizes, Len: n, MaxLen: bound(n), Storage: Weight, Const: c}
}

// constBytes returns the dense row-major elements of a constant value.
func constBytes(v *ir.Value) ([]byte, bool) {
	if v.Const == nil {
		return nil, false
	}
	data, err := ir.ReadConstant(v.Const)
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
	if len(data) < n || d.IsComplex() || !bytes.Equal(data[n:], data[:len(data)-n]) {
		return nil, false
	}
	return expr.FromBytes(d, data[:n])
}
