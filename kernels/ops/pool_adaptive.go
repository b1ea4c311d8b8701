package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// adaptive is a pooling of the last n dimensions to given sizes: window o
// covers the elements from floor(o·L/O) up to ceil((o+1)·L/O).
type adaptive struct {
	x   ir.Type
	n   int
	out []sym.Expr
}

func adaptiveOf(c *Call, n int) *adaptive {
	a := &adaptive{x: c.Tensor("self"), n: n}
	if r := a.x.Rank(); r != n+1 && r != n+2 {
		panic(c.Errorf("an input with %d dimensions", r))
	}
	a.out = c.spatialArg("output_size", n)
	for d, o := range a.out {
		c.errorIf(sym.Less(o, sym.Int(0)), "an output size of %s", o)
		c.need(a.size(d))
	}
	return a
}

func (a *adaptive) outType(d ir.DType) ir.Type {
	return inFormatOf(a.x, d, slices.Concat(a.x.Sizes[:a.x.Rank()-a.n], a.out))
}

// size returns the input's size in spatial dimension d.
func (a *adaptive) size(d int) sym.Expr { return a.x.Sizes[a.x.Rank()-a.n+d] }

// span returns the window of output coordinate o in spatial dimension d: its
// start, its length, and the greatest length of any.
func (a *adaptive) span(d int, o sym.Expr) (start, length, most sym.Expr) {
	l, n := a.size(d), a.out[d]
	if n.IsZero() { // there is no window
		return sym.Int(0), sym.Int(1), sym.Int(1)
	}
	if sym.Mod(l, n).IsZero() {
		k := sym.FloorDiv(l, n)
		return sym.Mul(o, k), k, k
	}
	start = sym.FloorDiv(sym.Mul(o, l), n)
	end := sym.CeilDiv(sym.Mul(sym.Add(o, sym.Int(1)), l), n)
	most = sym.Add(sym.FloorDiv(l, n), sym.Int(2))
	if lc, ok := l.Const(); ok {
		if nc, ok := n.Const(); ok && nc > 0 && nc < 1<<16 {
			longest := int64(0)
			for i := range nc {
				longest = max(longest, ((i+1)*lc+nc-1)/nc-i*lc/nc)
			}
			most = sym.Int(longest)
		}
	}
	return start, sym.Sub(end, start), most
}

// avg returns the mean of each window.
func (a *adaptive) avg(c *Call) []expr.Tensor {
	m, lead := opmath(a.x.DType), a.x.Rank()-a.n
	vars, at := indexVars(c.Outs[0].Sizes)
	in := slices.Clone(at[:lead])
	var over []*sym.Symbol
	guard, count := expr.Bool(true), sym.Int(1)
	for d := range a.n {
		start, length, most := a.span(d, at[lead+d])
		k := sym.NewVar("k"+itoa(d), most)
		over = append(over, k)
		in = append(in, sym.Add(start, k.Expr()))
		guard = expr.And(guard, expr.IdxLt(k.Expr(), length))
		count = sym.Mul(count, length)
	}
	x := expr.Select(guard, expr.Cast(m, c.Load("self", in...)), expr.Num(m, 0))
	sum := averaged(over, x, false)
	y := expr.Div(sum, expr.Idx(m, count))
	return []expr.Tensor{{DType: a.x.DType, Vars: vars, Body: expr.Cast(a.x.DType, y)}}
}

// max returns the largest element of each window and its position in the
// flattened spatial dimensions. Positions behind a shorter window count as its
// last one.
func (a *adaptive) max(c *Call) []expr.Tensor {
	lead := a.x.Rank() - a.n
	vars, at := indexVars(c.Outs[0].Sizes)
	starts, lengths, mosts := make([]sym.Expr, a.n), make([]sym.Expr, a.n), make([]sym.Expr, a.n)
	for d := range a.n {
		starts[d], lengths[d], mosts[d] = a.span(d, at[lead+d])
	}
	inside := func(k []sym.Expr) []sym.Expr {
		in := slices.Clone(at[:lead])
		for d := range a.n {
			in = append(in, sym.Add(starts[d], sym.Min(k[d], sym.Sub(lengths[d], sym.Int(1)))))
		}
		return in
	}
	window := func(name string) ([]*sym.Symbol, *expr.Expr) {
		over, k := make([]*sym.Symbol, a.n), make([]sym.Expr, a.n)
		for d := range a.n {
			over[d] = sym.NewVar(name+itoa(d), mosts[d])
			k[d] = over[d].Expr()
		}
		return over, c.Load("self", inside(k)...)
	}
	over, x := window("k")
	out := []expr.Tensor{{DType: a.x.DType, Vars: vars, Body: expr.MaxOf(over, x)}}
	over, x = window("m")
	best := expr.Bind("best", expr.ArgMaxLastNaN(over, x), sym.Mul(mosts...))
	flat := sym.RowMajor(a.x.Sizes[lead:], inside(unflatten(best.Expr(), mosts))[lead:])
	return append(out, expr.Tensor{DType: ir.Int64, Vars: vars, Body: expr.Idx(ir.Int64, flat)})
}

//go:noinline
func adaptiveEntry(schema string, n int, indices bool) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			a := adaptiveOf(c, n)
			c.errorIf(!indices && !a.x.DType.IsFloat() && !a.x.DType.IsComplex(),
				"not defined on %s", a.x.DType)
			ts := []ir.Type{a.outType(a.x.DType)}
			if indices {
				ts = append(ts, a.outType(ir.Int64))
			}
			return ts
		},
		Compute: func(c *Call) []expr.Tensor {
			a := adaptiveOf(c, n)
			if indices {
				return a.max(c)
			}
			return a.avg(c)
		},
	}
}

// adaptiveOps are the poolings to a given size.
func adaptiveOps() []entry {
	return []entry{
		adaptiveEntry("aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", 1,
			false).core(adaptiveAvgCore(1)),
		adaptiveEntry("aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", 2,
			false).core(adaptiveAvgCore(2)),
		adaptiveEntry("aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", 3,
			false).core(adaptiveAvgCore(3)),
		adaptiveEntry("aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", 2,
			false),
		adaptiveEntry("aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", 3,
			false).core(adaptiveAvgCore(3)),
		adaptiveEntry(
			"aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)", 1,
			true).cores(adaptiveMaxCore(1)),
		adaptiveEntry(
			"aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)", 2,
			true).cores(adaptiveMaxCore(2)),
		adaptiveEntry(
			"aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)", 3,
			true).cores(adaptiveMaxCore(3)),
	}
}
