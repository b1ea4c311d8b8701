package xnn

import (
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/kernels/ops"
)

// get returns a value that is made.
func (r *raiser) get(id uint32) *tensor {
	t := r.made[id]
	if t == nil {
		must.Fail("value %d is not made", id)
	}
	return t
}

// float returns a value's numbers: what its integers stand for, where it is quantized.
func (r *raiser) float(id uint32) *ir.Value {
	t := r.get(id)
	if t.Quant == nil {
		return t.ir
	}
	if v := r.floats[id]; v != nil {
		return v
	}
	v := r.dequantize(t)
	r.floats[id] = v
	return v
}

func (r *raiser) dequantize(t *tensor) *ir.Value {
	lo, hi := rangeOf(t.Type)
	d := t.ir.Type.DType
	switch q := t.Quant.(type) {
	case xnnpack.PerTensor:
		return r.over(t.ir, func(x *ir.Value) *ir.Value {
			return r.Op("quantized_decomposed.dequantize_per_tensor.default", x,
				float64(q.Scale), int64(q.ZeroPoint), lo, hi, d)
		})
	case xnnpack.PerChannel:
		return r.Op("quantized_decomposed.dequantize_per_channel.default", t.ir,
			r.scales(q.Scales, t.Dims[q.Dim]), r.zeros(int64(t.Dims[q.Dim])), int64(q.Dim), lo, hi, d)
	case xnnpack.PerGroup:
		return r.Op("quantized_decomposed.dequantize_per_channel_group.default", t.ir,
			r.groupScales(q, t.Value), nil, lo, hi, d, int64(q.Size), ir.Float32)
	}
	v := r.Op("quantized_decomposed.dequantize_per_token.default", t.rows, t.scale, t.zero,
		lo, hi, d, ir.Float32)
	if v.Type.Rank() != t.ir.Type.Rank() {
		v = r.Op("aten.view.default", v, t.ir.Type.Sizes)
	}
	return v
}

// rangeOf returns the least and the most that elements of a type are.
func rangeOf(t xnnpack.DataType) (lo, hi int64) {
	switch t {
	case xnnpack.QCInt4, xnnpack.QBInt4:
		return -8, 7
	case xnnpack.QUInt8:
		return 0, math.MaxUint8
	case xnnpack.QInt32, xnnpack.QCInt32:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt8, math.MaxInt8
}

// scales returns the scales of n channels.
func (r *raiser) scales(s xnnpack.Scales, n uint32) *ir.Value {
	blob, name := ir.Blob(nil), ""
	if s.Buffer != 0 {
		raw := must.Get(read(r.bytesOf(s.Buffer, 4*uint64(n)), 4*uint64(n)))
		for i := range n {
			x := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
			if !(x > 0) || math.IsInf(float64(x), 0) {
				must.Fail("constant %d: scale %d is %g", s.Buffer, i, x)
			}
		}
		blob, name = ir.Bytes(raw), r.graph.Constants[s.Buffer].Key
	} else {
		blob = ir.Bytes(floatBytes(s.List))
	}
	return r.Constant(&ir.Constant{Name: name, Type: ir.StaticTensor(ir.Float32, int64(n)),
		Data: blob})
}

func floatBytes(xs []float32) []byte {
	var b []byte
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// zeros returns the zero points of n channels.
func (r *raiser) zeros(n int64) *ir.Value {
	return r.Constant(&ir.Constant{Type: ir.StaticTensor(ir.Int64, n),
		Data: ir.Bytes(make([]byte, 8*n))})
}

// groupScales returns the scales of groups of channels, which are the upper halves of floats.
func (r *raiser) groupScales(q xnnpack.PerGroup, v *xnnpack.Value) *ir.Value {
	rows, columns := int64(v.Dims[0]), int64(v.Dims[1])/int64(q.Size)
	n := uint64(rows * columns)
	xs := make([]float32, 0, n)
	if q.Buffer != 0 {
		raw := must.Get(read(r.bytesOf(q.Buffer, 2*n), 2*n))
		for i := range n {
			xs = append(xs, math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:]))<<16))
		}
	} else {
		for _, x := range q.List {
			bits := math.Float32bits(x)
			bits += 0x7FFF + bits>>16&1 // to the nearest, halves to even
			xs = append(xs, math.Float32frombits(bits&^0xFFFF))
		}
	}
	for i, x := range xs {
		if !(x > 0) || math.IsInf(float64(x), 0) {
			must.Fail("scale %d is %g", i, x)
		}
	}
	return r.Constant(&ir.Constant{Type: ir.StaticTensor(ir.Float32, rows, columns),
		Data: ir.Bytes(floatBytes(xs))})
}

// give makes a value of the payload what x is, in floats.
func (r *raiser) give(id uint32, x *ir.Value) {
	v := r.values[id]
	t := &tensor{Value: v, ir: x}
	switch q := v.Quant.(type) {
	case nil:
		if d := dtypeOf(v.Type); x.Type.DType != d {
			must.Fail("its result is %v, not %v", x.Type, v.Type)
		}
	case xnnpack.PerTensor:
		if v.Type == xnnpack.QInt32 {
			must.Fail("its result is %v", v.Type)
		}
		lo, hi := rangeOf(v.Type)
		t.ir = r.over(x, func(x *ir.Value) *ir.Value {
			return r.Op("quantized_decomposed.quantize_per_tensor.default", x, float64(q.Scale),
				int64(q.ZeroPoint), lo, hi, dtypeOf(v.Type))
		})
	case xnnpack.PerToken:
		t = r.quantizeRows(v, x)
	default:
		must.Fail("its result is %v", v.Type)
	}
	if v.Flags != 0 {
		r.fits(v, t.ir)
	}
	r.made[id] = t
}

// quantizeRows quantizes x by rows, as XNNPACK does: a row is what all but the last dimensions
// have one index for. It takes in zero, and the integers from -128 to 127 cover it.
func (r *raiser) quantizeRows(v *xnnpack.Value, x *ir.Value) *tensor {
	if d := x.Type.DType; d != ir.Float32 && d != ir.Float16 {
		must.Fail("%v is quantized by rows", x.Type)
	}
	b, x := r.Builder, r.cast(x, ir.Float32)
	rows := x
	if k := int(v.Quant.(xnnpack.PerToken).NonBatch); k > 1 {
		n := x.Type.Rank() - k
		flat := append(append([]sym.Expr(nil), x.Type.Sizes[:n]...), sym.Mul(x.Type.Sizes[n:]...))
		rows = b.Op("aten.view.default", x, flat)
	}
	const least, most = math.MinInt8, math.MaxInt8
	lo := b.Op("aten.clamp.default", b.Op("aten.amin.default", rows, []int64{-1}, true), nil, 0.0)
	hi := b.Op("aten.clamp.default", b.Op("aten.amax.default", rows, []int64{-1}, true), 0.0)
	width := b.Op("aten.sub.Tensor", hi, lo)
	steps := b.Op("aten.mul.Tensor", b.Op("aten.reciprocal.default", width), float64(most-least))
	one := b.Op("aten.full_like.default", width, 1.0)
	steps = b.Op("aten.where.self", b.Op("aten.eq.Scalar", width, 0.0), one, steps)
	atLo, atHi := b.Op("aten.mul.Tensor", lo, steps), b.Op("aten.mul.Tensor", hi, steps)
	fromLo := b.Op("aten.rsub.Scalar", atLo, float64(least))
	fromHi := b.Op("aten.rsub.Scalar", atHi, float64(most))
	errors := b.Op("aten.add.Tensor", b.Op("aten.add.Scalar", atLo, float64(least)),
		b.Op("aten.add.Scalar", atHi, float64(most)))
	zero := b.Op("aten.where.self", b.Op("aten.gt.Scalar", errors, 0.0), fromLo, fromHi)
	zero = b.Op("aten.clamp.default", b.Op("aten.round.default", zero), least, most)
	q := b.Op("aten.round.default", b.Op("aten.mul.Tensor", rows, steps))
	q = b.Op("aten.clamp.default", b.Op("aten.add.Tensor", q, zero), least, most)
	t := &tensor{Value: v, rows: r.cast(q, ir.Int8), zero: r.cast(zero, ir.Int64),
		scale: b.Op("aten.reciprocal.default", steps)}
	t.ir = t.rows
	if rows != x {
		t.ir = b.Op("aten.view.default", t.rows, x.Type.Sizes)
	}
	return t
}

// cast returns x in another type of elements.
func (r *raiser) cast(x *ir.Value, d ir.DType) *ir.Value {
	if x.Type.DType == d {
		return x
	}
	return r.Op("aten._to_copy.default", x, ops.Kw("dtype", d))
}
