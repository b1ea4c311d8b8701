package tuned

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// product is a call that is a product of matrices,
//
//	y[b][i][j] = sum of x[b][i][k]·w[b][k][j] over k, + bias[j],
//
// y dense, x and w addressed by strides.
type product struct {
	x, w, bias     int // operands; bias is -1 if there is none
	batch, m, n, k sym.Expr
	xs, ws         [3]sym.Expr // strides of x over b, i, k and of w over b, k, j
	transposed     bool        // the last two dimensions of w are j and k
}

// sizes are the fields that all products have.
func (p *product) sizes() Values { return Values{"m": p.m, "n": p.n, "k": p.k} }

// productOf reads c as a product of float32 matrices, or returns nil.
func productOf(c *ops.Call) *product {
	var p *product
	switch c.Op.Name() {
	case "aten.mm.default":
		p = matrices(c, "self", "mat2", "")
	case "aten.addmm.default":
		p = matrices(c, "mat1", "mat2", "self")
	case "aten.bmm.default":
		p = matrices(c, "self", "mat2", "")
	case "aten.baddbmm.default":
		p = matrices(c, "batch1", "batch2", "self")
	case "aten.mv.default":
		p = vector(c, "self", "vec", "")
	case "aten.addmv.default":
		p = vector(c, "mat", "vec", "self")
	case "aten.linear.default":
		p = rows(c)
	}
	if p == nil || !allFloat32(c) || !scaledByOne(c) || !p.addsRow(c) && !p.addsAll(c) {
		return nil
	}
	return p
}

// matrices reads a[m, k]·b[k, n], or a batch of such products.
func matrices(c *ops.Call, a, b, add string) *product {
	x, w := c.Tensor(a), c.Tensor(b)
	r := x.Rank()
	one := sym.Int(1)
	p := &product{x: c.Operand(a), w: c.Operand(b), bias: -1, batch: sym.Mul(x.Sizes[:r-2]...),
		m: x.Sizes[r-2], n: w.Sizes[r-1], k: x.Sizes[r-1]}
	p.xs = [3]sym.Expr{sym.Mul(p.m, p.k), p.k, one}
	p.ws = [3]sym.Expr{sym.Mul(p.k, p.n), p.n, one}
	if add != "" {
		p.bias = c.Operand(add)
	}
	return p
}

// vector reads a[n, k]·v[k] as the row v times the transposed matrix.
func vector(c *ops.Call, a, v, add string) *product {
	w := c.Tensor(a)
	zero, one := sym.Int(0), sym.Int(1)
	p := &product{x: c.Operand(v), w: c.Operand(a), bias: -1, batch: one, m: one, n: w.Sizes[0],
		k: w.Sizes[1]}
	p.xs = [3]sym.Expr{zero, zero, one}
	p.ws = [3]sym.Expr{zero, one, p.k}
	if add != "" {
		p.bias = c.Operand(add)
	}
	return p
}

// rows reads linear: input[…, k]·weight[n, k] transposed, + bias[n].
func rows(c *ops.Call) *product {
	x, w := c.Tensor("input"), c.Tensor("weight")
	r := x.Rank()
	if w.Rank() != 2 {
		return nil
	}
	zero, one := sym.Int(0), sym.Int(1)
	p := &product{x: c.Operand("input"), w: c.Operand("weight"), bias: c.Operand("bias"),
		batch: one,
		m:     sym.Mul(x.Sizes[:r-1]...), n: w.Sizes[0], k: w.Sizes[1]}
	p.xs = [3]sym.Expr{zero, p.k, one}
	p.ws = [3]sym.Expr{zero, one, p.k}
	return p
}

// addsRow reports whether what is added, if anything, is the same for all rows:
// one element, or one for each column.
func (p *product) addsRow(c *ops.Call) bool {
	if p.bias < 0 {
		return true
	}
	n := c.Operands()[p.bias].Type.Numel()
	s := c.Operands()[p.bias].Type.Sizes
	return n.Is(1) || n.Equal(p.n) && len(s) > 0 && s[len(s)-1].Equal(p.n)
}

// addsAll reports whether what is added has an element for every result.
func (p *product) addsAll(c *ops.Call) bool {
	return slices.EqualFunc(c.Operands()[p.bias].Type.Sizes, c.Outs[0].Sizes, sym.Expr.Equal)
}

// scaledByOne reports whether a call that may scale product and summand does not.
func scaledByOne(c *ops.Call) bool {
	for _, name := range []string{"alpha", "beta"} {
		if c.Op.ParsedSchema().Index(name) >= 0 {
			if x, err := c.Float(name); err != nil || x != 1 {
				return false
			}
		}
	}
	return true
}

func allFloat32(c *ops.Call) bool {
	for _, v := range c.Operands() {
		if v.Type.DType != ir.Float32 {
			return false
		}
	}
	return c.Outs[0].DType == ir.Float32
}

// Linear multiplies the rows of x[m][k] with a constant matrix, packed as
// w[ceil(n/32)][k][32], the last panel 16 wide where that is enough, with zeros
// where there is no column, and adds bias[n], padded likewise. Only m may be
// dynamic. In C on targets without vectors, panels are as wide as the register tile.
func Linear() *Kernel {
	return &Kernel{Name: "linear_f32", Forms: []string{linearRows}, Descriptor: linearParams,
		Go: "rows.Linear", Buffers: []string{"w", "bias"}, Phases: []string{"panels"},
		Operands: []string{"x"}, C: true, Bounds: true, Match: matchLinear}
}

// The forms of products that work on rows.
const (
	linearRows = "linear_rows_f32"
	matmulRows = "matmul_rows_f32"
)

// onRows reports whether the products of a target are those of the kernels that
// work on rows: so they are where vectors count more than code, and where the language
// has no others.
func onRows(t Target) bool { return t.Language.FindsVectors || ChannelsLast(t) }

func matchLinear(r *Request) *Instance {
	p := productOf(r.Call)
	if p == nil || !r.RowMajor() || !p.batch.Is(1) {
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
	form, cols, last := "", t.Cols, 0
	if onRows(r.Target) {
		form, cols, last = linearRows, rowsCols, lastCols(int(n))
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
		Form:     form,
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

// Matmul multiplies a batch of pairs of matrices, both given by strides: x over batch, row
// and k, w over batch, k and column. All sizes may be dynamic.
func Matmul() *Kernel {
	return &Kernel{Name: "matmul_f32", Forms: []string{matmulRows}, Descriptor: matmulParams,
		Go: "rows.Matmul", Buffers: []string{"scratch"}, Phases: []string{"panels"},
		OwnScratch: true, Operands: []string{"x", "w"}, C: true, Bounds: true, Match: matchMatmul}
}

func matchMatmul(r *Request) *Instance {
	p := productOf(r.Call)
	if p == nil || !p.placed(r) || p.n.Is(1) || p.k.IsZero() {
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
		Cost: cost(p.batch, sym.Add(p.m, num(t.Rows)),
			sym.Add(p.n, num(t.Cols-1)), p.k),
	}
	if p.bias >= 0 {
		in.Added = []int{p.bias}
	}
	copied := t.Cols // columns of w
	if onRows(r.Target) {
		in.Form = matmulRows
		copied = rowsCols + r.Target.Language.CopiesRows
	}
	in.Scratch = sym.Mul(p.k, num(4*copied))
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
	if p.ws = [3]sym.Expr(steps[1:]); p.transposed {
		p.ws[1], p.ws[2] = p.ws[2], p.ws[1]
	}
	return true
}

// AnyStrides returns the operand of a product of batches of matrices that may lie in
// any order of its dimensions in memory, -1 for another call.
func AnyStrides(c *ops.Call) int {
	p := productOf(c)
	if p == nil {
		p, _, _ = bytesProduct(c)
	}
	if p != nil && c.Operands()[p.w].Type.Rank() == 3 {
		return p.w
	}
	return -1
}
