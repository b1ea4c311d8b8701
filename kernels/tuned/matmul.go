package tuned

import "github.com/etgen/etgen/ir/sym"

// MatmulRows multiplies a batch of pairs of matrices, both given by strides: x
// over batch, row and k, w over batch, k and column. All sizes may be dynamic.
func MatmulRows() *Kernel {
	return &Kernel{Name: "matmul_rows_f32", Go: "rows.Matmul", Phases: []string{"panels"}, OwnScratch: true, Operands: []string{"x", "w"}, Helpers: []string{"tile", "rows_f32", "rows_apart_f32"},
		RunChannels: true, Bounds: true, Match: func(r *Request) *Instance { return matchMatmul(r, true) }}
}

// Matmul is MatmulRows for C on targets without vectors.
func Matmul() *Kernel {
	return &Kernel{Name: "matmul_f32", Operands: []string{"x", "w"}, Helpers: []string{"tile", "tile_f32"},
		Match: func(r *Request) *Instance { return matchMatmul(r, false) }}
}

func matchMatmul(r *Request, rows bool) *Instance {
	p := productOf(r.Call)
	if p == nil || rows != onRows(r.Target) || !r.RowMajor() || p.n.Is(1) || p.k.IsZero() {
		return nil
	}
	t := r.Target.tile()
	in := &Instance{
		Params: []Param{{"batch", p.batch}, {"m", p.m}, {"n", p.n}, {"k", p.k},
			{"xb", p.xs[0]}, {"xm", p.xs[1]}, {"xk", p.xs[2]}, {"wb", p.ws[0]}, {"wk", p.ws[1]}, {"wn", p.ws[2]}},
		Operands: []int{p.x, p.w},
		Channels: Channels{Inner: sym.Int(1), Count: p.n},
		Tile:     t,
		MACs:     sym.Mul(p.batch, p.m, p.n, p.k),
		// Reading and copying w once comes on top.
		Cost: cost(p.batch, sym.Add(p.m, sym.Int(int64(t.Rows))), sym.Add(p.n, sym.Int(int64(t.Cols-1))), p.k),
	}
	if p.bias >= 0 {
		in.Added = []int{p.bias}
	}
	copied := t.Cols // columns of w
	switch {
	case r.Target.Lang == "go":
		copied = rowsCols + rowsMax // and rows of x
	case rows:
		copied = rowsCols
	}
	in.Scratch = sym.Mul(p.k, sym.Int(int64(4*copied)))
	return in
}
