package random

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// attention emits attention, whole or written out in one of the ways in which
// models do it, and sometimes with a part that makes it something else.
func (g *generator) attention() error {
	a := &attended{generator: g, d: pick(g.r, ir.Float32, ir.Float32, ir.Float32, g.main)}
	if !a.d.IsFloat() {
		a.d = ir.Float32
	}
	for !a.measure() {
	}
	return g.b.Do(func() error {
		q, k, v := a.heads("q", a.l, a.e, a.h), a.heads("k", a.s, a.e, a.few),
			a.heads("v", a.s, a.ev, a.few)
		if g.chance(6) {
			return a.whole(q, k, v)
		}
		k, v = a.repeated(k), a.repeated(v)
		y := a.product(a.probabilities(a.scores(q, k)), v)
		if g.chance(2) && y.Type.Rank() == 4 { // heads side by side
			y = a.op("aten.transpose.int", y, 1, 2)
			y = a.op("aten.reshape.default", y, []sym.Expr{a.b, a.l, sym.Mul(sym.Int(a.h), a.ev)})
		}
		g.keep(y)
		return nil
	})
}

// attended is attention that is being written.
type attended struct {
	*generator
	d            ir.DType
	rank         int // of the scores
	b            sym.Expr
	h, few       int64 // heads of queries, of keys and values
	l, s, e, ev  sym.Expr
	late, silent bool // factors come after the mask; nothing in between is used again
	same         bool // for all of the batch
}

// measure chooses sizes. Some are of the size that kernels take several queries
// or keys at a time from on.
func (a *attended) measure() bool {
	g := a.generator
	a.rank = pick(g.r, 4, 4, 4, 3, 3, 2)
	a.b, a.h, a.few = sym.Int(1), 1, 1
	if a.rank > 2 && g.chance(2) {
		a.b = sym.Int(2)
		if g.batch != nil {
			a.b = g.batch.Expr()
		}
	}
	if a.rank > 3 {
		a.h = pick(g.r, int64(1), 2, 2, 4)
		a.few = pick(g.r, a.h, a.h, 1, (a.h+1)/2)
	}
	rows := func() sym.Expr {
		if g.batch != nil && g.chance(4) {
			return g.batch.Expr()
		}
		return sym.Int(pick(g.r, int64(1), 2, 3, 5, 6, 17, 20, 33, 50))
	}
	a.l, a.s = rows(), rows()
	if g.chance(3) {
		a.s = a.l
	}
	a.e = sym.Int(pick(g.r, int64(1), 2, 3, 4, 8, 8))
	a.ev = sym.Int(pick(g.r, int64(1), 2, 3, 5, 8))
	if g.chance(2) {
		a.ev = a.e
	}
	a.late, a.silent, a.same = g.chance(5), !g.chance(4), g.chance(12)
	lead := sym.Mul(a.b, sym.Int(a.h))
	return fits([]sym.Expr{lead, a.l, a.s}) &&
		fits([]sym.Expr{lead, sym.Add(a.l, a.s), sym.Add(a.e, a.ev)})
}

// op emits a call; what it gives may be used again.
func (a *attended) op(op string, args ...any) *ir.Value {
	v := a.generator.b.Op(op, args...)
	if !a.silent && a.chance(8) {
		a.keep(v)
	}
	return v
}

// lead returns the sizes in front of matrices for so many heads.
func (a *attended) lead(heads int64) []sym.Expr {
	return []sym.Expr{a.b, sym.Int(heads)}[:a.rank-2]
}

// heads returns matrices of rows by cols, one for each head. They may be what
// other attention gives, or repeat.
func (a *attended) heads(base string, rows, cols sym.Expr, heads int64) *ir.Value {
	want := ir.TensorOf(a.d, append(a.lead(heads), rows, cols)...)
	if v := a.any(func(v *ir.Value) bool { return sameType(v.Type, want) }); v != nil &&
		a.chance(2) {
		return v
	}
	switch {
	case a.rank == 3:
		if a.chance(3) {
			return a.op("aten.transpose.int", a.data(base, a.d, []sym.Expr{rows, a.b, cols}), 0, 1)
		}
		return a.data(base, a.d, want.Sizes)
	case a.rank == 2:
		return a.data(base, a.d, want.Sizes)
	}
	if a.same || a.chance(12) {
		return a.op("aten.expand.default", a.data(base, a.d, []sym.Expr{sym.Int(1), want.Sizes[1],
			rows, cols}), want.Sizes)
	}
	n := sym.Int(heads)
	wide := sym.Mul(n, cols)
	switch a.r.IntN(5) {
	case 0:
		return a.data(base, a.d, []sym.Expr{a.b, n, rows, cols})
	case 1:
		return a.op("aten.transpose.int", a.data(base, a.d, []sym.Expr{a.b, rows, n, cols}), 1, 2)
	case 2: // of a linear layer
		x := a.op("aten.linear.default", a.data("x", a.d, []sym.Expr{a.b, rows, sym.Int(3)}),
			a.weight(a.d, wide, sym.Int(3)), nil)
		return a.op("aten.permute.default", a.op("aten.view.default", x, []sym.Expr{a.b, rows, n,
			cols}), []int{0, 2, 1, 3})
	case 3: // a part of a larger one
		x := a.data(base, a.d, []sym.Expr{a.b, rows, sym.Add(wide, sym.Int(2))})
		x = a.op("aten.slice.Tensor", x, 2, 1, sym.Add(wide, sym.Int(1)))
		return a.op("aten.transpose.int", a.op("aten.reshape.default", x, []sym.Expr{a.b, rows, n,
			cols}), -3, -2)
	}
	return a.op("aten.permute.default", a.data(base, a.d, []sym.Expr{n, a.b, rows, cols}),
		[]int{1, 0, 2, 3})
}

// repeated repeats heads until there are as many as queries have.
func (a *attended) repeated(x *ir.Value) *ir.Value {
	if a.few == a.h {
		return x
	}
	s, times := x.Type.Sizes, a.h/a.few
	switch a.r.IntN(4) {
	case 0:
		return a.op("aten.repeat_interleave.self_int", x, times, 1)
	case 1: // other heads next to each other
		return a.op("aten.repeat.default", x, []int64{1, times, 1, 1})
	}
	y := a.op("aten.expand.default", a.op("aten.unsqueeze.default", x, 2), []sym.Expr{s[0], s[1],
		sym.Int(times), s[2], s[3]})
	return a.op("aten.reshape.default", y, []sym.Expr{s[0], sym.Int(a.h), s[2], s[3]})
}

// product multiplies batches of matrices.
func (a *attended) product(x, y *ir.Value) *ir.Value {
	n := len(x.Type.Sizes)
	if n < 4 {
		return a.op(pick(a.r, []string{"aten.mm.default", "aten.bmm.default"}[n-2],
			"aten.matmul.default"), x, y)
	}
	if a.chance(2) {
		return a.op("aten.matmul.default", x, y)
	}
	flat := func(x *ir.Value) *ir.Value {
		s := x.Type.Sizes
		return a.op("aten.reshape.default", x, []sym.Expr{sym.Mul(s[0], s[1]), s[2], s[3]})
	}
	s := slices.Clone(x.Type.Sizes)
	s[3] = y.Type.Sizes[3]
	return a.op("aten.view.default", a.op("aten.bmm.default", flat(x), flat(y)), s)
}

// scores returns products of queries and keys, scaled and masked.
func (a *attended) scores(q, k *ir.Value) *ir.Value {
	scale := 1 / math.Sqrt(2)
	factor := func(x *ir.Value, of int) *ir.Value {
		if a.chance(of) {
			return a.scaled(x, scale)
		}
		return x
	}
	var s *ir.Value
	if n := a.rank; n == 4 && a.chance(8) {
		s = a.op("aten.einsum.default", pick(a.r, "bhld,bhsd->bhls", "bhid,bhjd->bhij"),
			[]*ir.Value{factor(q, 3), factor(k, 5)})
	} else {
		s = a.product(factor(q, 3), factor(a.op("aten.transpose.int", factor(k, 5), n-2, n-1), 5))
	}
	if !a.late {
		s = factor(s, 2)
	}
	for again := true; again; again = a.chance(8) {
		s = a.masked(s)
	}
	if a.late {
		s = factor(s, 1)
	}
	return s
}

// whole is attention that the model says.
func (a *attended) whole(q, k, v *ir.Value) error {
	var mask any
	causal := false
	switch a.r.IntN(4) {
	case 0:
		mask = a.keepMask()
	case 1:
		mask = a.data("m", a.d, a.maskSizes())
	case 2:
		causal = true
	}
	args := []any{q, k, v, mask, 0.0, causal}
	if a.chance(2) {
		args = append(args, ops.Kw("scale", 0.75))
	}
	return a.call("aten.scaled_dot_product_attention.default",
		append(args, ops.Kw("enable_gqa", a.few != a.h))...)
}
