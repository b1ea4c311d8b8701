package tuned

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// LinearRows multiplies the rows of x[m][k] with a constant matrix, packed as
// w[ceil(n/32)][k][32], the last panel 16 wide where that is enough, with zeros
// where there is no column, and adds bias[n], padded likewise. Only m may be
// dynamic.
func LinearRows() *Kernel {
	return &Kernel{Name: "linear_rows_f32", Descriptor: linearParams, Go: "rows.Linear", Buffers: []string{"w", "bias"},
		Phases:   []string{"panels"},
		Operands: []string{"x"}, C: true,
		Bounds: true, Match: func(r *Request) *Instance {
			return matchLinear(r, true)
		}}
}

// Linear is LinearRows for C on targets without vectors: panels are as wide as
// their register tile.
func Linear() *Kernel {
	return &Kernel{Name: "linear_f32", Descriptor: linearParams, Operands: []string{"x"},
		C:     true,
		Match: func(r *Request) *Instance { return matchLinear(r, false) }}
}

// onRows reports whether the products of a target are those of the kernels that
// work on rows: so they are where vectors count more than code, and where the language
// has no others.
func onRows(t Target) bool { return t.Language.FindsVectors || ChannelsLast(t) }

func matchLinear(r *Request, rows bool) *Instance {
	p := productOf(r.Call)
	if p == nil || rows != onRows(r.Target) || !r.RowMajor() || !p.batch.Is(1) {
		return nil
	}
	n, ok := p.n.Const()
	k, ok2 := p.k.Const()
	if !ok || !ok2 || n == 0 || k == 0 {
		return nil
	}
	w, ok := r.constant(p.w)
	if !ok {
		return nil
	}
	t := r.Target.tile()
	cols, last := t.Cols, 0
	if rows {
		cols, last = rowsCols, lastCols(int(n))
	}
	work := r.Target.Language.Costs.LinearProduct *
		cost(p.m, sym.Int(roundUp(n, min(cols, rowsCols/2))), p.k)
	bias, row := make([]float32, n), panels.Shape{Groups: 1, N: int(n), A: 1, B: 1, C: 1,
		Cols: cols, Column: 1}
	var from, added []int
	if p.bias >= 0 {
		if xs, ok := r.constant(p.bias); !ok || !p.addsRow(r.Call) {
			added = []int{p.bias}
		} else if bias, from = xs, []int{p.bias}; r.Call.Operands()[p.bias].Type.Numel().Is(1) {
			row.Column = 0
		}
	}
	sk, _ := p.ws[1].Const()
	sn, _ := p.ws[2].Const()
	matrix := panels.Shape{Groups: 1, N: int(n), A: int(k), B: 1, C: 1, Cols: cols, Last: last,
		Column: int(sn), StepA: int(sk)}
	return &Instance{
		Params:   linearParams.params(p.sizes(), nil),
		Operands: []int{p.x},
		Added:    added,
		Packed: []Packed{
			inPanels("w", matrix, w, p.w),
			inPanels("bias", row, bias, from...),
		},
		Channels: Channels{Inner: sym.Int(1), Count: p.n}, RunChannels: true,
		Tile: t,
		MACs: sym.Mul(p.m, p.n, p.k),
		Work: readFar * float64(4*n*k-secondCache), // few rows take as long as their weights
		Cost: work,
	}
}

func roundUp(n int64, to int) int64 { return (n + int64(to) - 1) / int64(to) * int64(to) }

// cost is the largest value of the product of xs.
func cost(xs ...sym.Expr) float64 {
	c := 1.0
	for _, x := range xs {
		_, hi := x.Bounds()
		c *= float64(hi)
	}
	return c
}
