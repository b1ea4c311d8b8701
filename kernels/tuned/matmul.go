package tuned

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// MatmulRows multiplies a batch of pairs of matrices, both given by strides: x
// over batch, row and k, w over batch, k and column. All sizes may be dynamic.
func MatmulRows() *Kernel {
	return &Kernel{Name: "matmul_rows_f32", Descriptor: matmulParams, Go: "rows.Matmul", Buffers: []string{"scratch"},
		Phases:     []string{"panels"},
		OwnScratch: true, Operands: []string{"x", "w"}, C: true,
		Bounds: true, Match: func(r *Request) *Instance {
			return matchMatmul(r, true)
		}}
}

// Matmul is MatmulRows for C on targets without vectors.
func Matmul() *Kernel {
	return &Kernel{Name: "matmul_f32", Descriptor: matmulParams, Operands: []string{"x", "w"},
		C:     true,
		Match: func(r *Request) *Instance { return matchMatmul(r, false) }}
}

func matchMatmul(r *Request, rows bool) *Instance {
	p := productOf(r.Call)
	if p == nil || rows != onRows(r.Target) || !p.placed(r) || p.n.Is(1) || p.k.IsZero() {
		return nil
	}
	t := r.Target.tile()
	in := &Instance{
		Params: matmulParams.params(Values{"batch": p.batch, "in_stride_batch": p.xs[0],
			"in_stride_m": p.xs[1], "in_stride_k": p.xs[2], "weight_stride_batch": p.ws[0],
			"weight_stride_k": p.ws[1], "weight_stride_n": p.ws[2]}, p.sizes()),
		Operands: []int{p.x, p.w},
		Channels: Channels{Inner: sym.Int(1), Count: p.n}, RunChannels: true,
		Tile: t,
		MACs: sym.Mul(p.batch, p.m, p.n, p.k),
		// Reading and copying w once comes on top.
		Cost: cost(p.batch, sym.Add(p.m, sym.Int(int64(t.Rows))),
			sym.Add(p.n, sym.Int(int64(t.Cols-1))), p.k),
	}
	if p.bias >= 0 {
		in.Added = []int{p.bias}
	}
	copied := t.Cols // columns of w
	if rows {
		copied = rowsCols + r.Target.Language.CopiesRows
	}
	in.Scratch = sym.Mul(p.k, sym.Int(int64(4*copied)))
	return in
}

// placed gives p the strides of w where only that is not row-major, and reports
// whether nothing else is.
func (p *product) placed(r *Request) bool {
	order := r.order(p.w)
	if order == nil {
		return r.RowMajor()
	}
	rest := *r
	rest.Order = func(k int) []int {
		if k == p.w {
			return nil
		}
		return r.order(k)
	}
	steps, ok := stepsOf(r.Call.Operands()[p.w].Type, order)
	if !ok || AnyStrides(r.Call) != p.w || !rest.RowMajor() {
		return false
	}
	p.ws = [3]sym.Expr(steps[1:])
	return true
}

// AnyStrides returns the operand of a product of batches of matrices that may lie in
// any order of its dimensions in memory, -1 for another call.
func AnyStrides(c *ops.Call) int {
	if p := productOf(c); p != nil && c.Operands()[p.w].Type.Rank() == 3 {
		return p.w
	}
	return -1
}
