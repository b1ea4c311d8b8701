package tuned

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// MatmulInt8 multiplies a batch of pairs of matrices of bytes, neither of which is constant: x by
// rows, w by any strides over batch, k and column. All sizes may be dynamic. A sum is one of
// (x + in_offset)·(w + weight_offset).
func MatmulInt8() *Kernel {
	return &Kernel{Name: "matmul_i8", Forms: []string{matmulMVE},
		Descriptor: matmulInt8Params, Operands: []string{"x", "w"},
		C: true, Apart: true, Match: matchMatmulInt8}
}

// matmulMVE is the form for MVE: columns are gathered by eights, as far apart as 16 bits say.
const matmulMVE = "matmul_mve_i8"

// bytesProduct reads c as a product of two tensors of bytes, and what is added to the elements of
// both; nil if it is none.
func bytesProduct(c *ops.Call) (p *product, x, w int64) {
	var v *int8Conv
	transposed := true // the last dimension of w is that of products
	switch c.Op.Name() {
	case ops.IntegerMatmul:
		if c.Has("bias") || c.Has("scales") {
			return nil, 0, 0
		}
		v = int8Operands(c, "self", "mat2", "self_zero_point", "mat2_zero_point", -1)
		transposed = c.Bool("transposed")
	case "cortex_m.quantized_batch_matmul.default":
		v = int8Operands(c, "lhs", "rhs_transposed", "lhs_zero_point", "rhs_zero_point", 1)
	}
	if v == nil || v.wide {
		return nil, 0, 0
	}
	xs, ws := c.Operands()[v.x].Type.Sizes, c.Operands()[v.w].Type.Sizes
	r, last := len(ws), len(xs)-1
	one := sym.Int(1)
	p = &product{x: v.x, w: v.w, bias: -1, transposed: transposed, batch: one,
		m: sym.Mul(xs[:last]...), k: xs[last], n: ws[r-1]}
	if transposed {
		p.n = ws[r-2]
	}
	if r > 2 {
		p.batch, p.m = sym.Mul(xs[:last-1]...), xs[last-1]
	}
	p.xs = [3]sym.Expr{sym.Mul(p.m, p.k), p.k, one}
	p.ws = [3]sym.Expr{sym.Mul(p.k, p.n), p.n, one}
	if transposed {
		p.ws[1], p.ws[2] = one, p.k
	}
	return p, v.offset, v.wOffset
}

func matchMatmulInt8(r *Request) *Instance {
	p, xOffset, wOffset := bytesProduct(r.Call)
	if p == nil || ChannelsLast(r.Target) || !p.placed(r) || p.k.IsZero() || p.n.IsZero() {
		return nil
	}
	// Columns are packed: of one row the definition does less. And int32 holds all sums.
	if _, rows := p.m.Bounds(); rows < 4 {
		return nil
	}
	if _, depth := p.k.Bounds(); depth > 1<<14 {
		return nil
	}
	four := num(4)
	depth := sym.Mul(four, sym.CeilDiv(p.k, four))
	in := &Instance{
		Params: matmulInt8Params.params(Values{"batch": p.batch, "in_stride_batch": p.xs[0],
			"in_offset": num(xOffset), "weight_offset": num(wOffset),
			"weight_stride_batch": p.ws[0], "weight_stride_k": p.ws[1],
			"weight_stride_n": p.ws[2]}, p.sizes()),
		Operands: []int{p.x, p.w}, Rest: true,
		Channels: Channels{Inner: sym.Int(1), Count: p.n}, RunChannels: true,
		Tile: r.Target.BytesTile(),
		MACs: sym.Mul(p.batch, p.m, p.n, p.k),
		// What the columns begin with, the columns, and four rows as they are and 16 bits wide.
		Scratch: sym.Add(sym.Mul(num(16), sym.CeilDiv(p.n, four)), sym.Mul(depth,
			sym.Add(sym.Mul(num(2), sym.CeilDiv(p.n, num(2))), num(12)))),
	}
	in.Cost = cost(in.MACs)
	if _, apart := p.ws[1].Bounds(); r.Target.Machine.MVE && apart < 1<<13 {
		in.Form, in.Head, in.Tile = matmulMVE, headMVE, Tile{}
		columns := sym.Mul(four, sym.CeilDiv(p.n, four))
		in.Scratch = sym.Mul(columns, sym.Add(four, sym.Mul(num(16), sym.CeilDiv(p.k, num(16)))))
	}
	return in
}
