package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// cumulativeOps are running reductions along a dimension.
func cumulativeOps() []entry {
	return []entry{
		cumulative("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
			summed, 0, expr.Add),
		cumulative("aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
			summed, 1, expr.Mul).core(cumulativeCore(1, func(b *Builder, acc, x *ir.Value) *ir.Value {
			return b.mul(acc, x)
		})),
		cumulative("aten::logcumsumexp(Tensor self, int dim) -> Tensor", inexact, -inf,
			logAddExp).core(cumulativeCore(-inf, func(b *Builder, acc,
			x *ir.Value) *ir.Value {
			return b.logAddExp(acc, x)
		})),
		cumulativeExtreme("aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
			expr.Ge).cores(cumulativeExtremeCore("aten.ge.Tensor")),
		cumulativeExtreme("aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
			expr.Le).cores(cumulativeExtremeCore("aten.le.Tensor")),
	}
}

// cumulative is a running reduction along dimension dim: step gives the new
// value of the accumulator, which starts as init, from it and the element.
//
//go:noinline
func cumulative(schema string, r rule, init float64, step func(acc,
	x *expr.Expr) *expr.Expr) entry {
	infer := func(c *Call) ir.Type {
		t := c.Tensor("self")
		c.dim("dim", t.Rank())
		if c.Op.sch.Index("dtype") >= 0 && c.Has("dtype") {
			return likeType(t, c.DType("dtype", t.DType))
		}
		_, d, ok := r(t.DType)
		c.errorIf(!ok, "not defined on %s", t.DType)
		return likeType(t, d)
	}
	return entry{
		Schema: schema,
		Infer:  func(c *Call) []ir.Type { return one(infer(c)) },
		Loops: func(c *Call) *loop.Func {
			t, out := c.Tensor("self"), c.Outs[0]
			l := newLines(t, c.dim("dim", t.Rank()))
			dt := accumulator(out.DType)
			acc := &expr.Var{Name: "acc", DType: dt}
			at := l.at(l.k.Expr())
			x := expr.Cast(dt, expr.Cast(out.DType, expr.At(1, t.DType, at)))
			return &loop.Func{
				Name: "cumulative", Bufs: c.buffers(),
				Body: l.each(&loop.Let{Var: acc, Value: expr.Num(dt, init), Mutable: true},
					l.along(&loop.Assign{Var: acc, Value: step(expr.Get(acc), x)},
						&loop.Store{Buf: 0, At: at, Value: expr.Cast(out.DType, expr.Get(acc))})),
			}
		},
	}
}

// cumulativeExtreme is the running extremum with its place: the last one of
// equals, and from the first NaN on the last NaN.
//
//go:noinline
func cumulativeExtreme(schema string, reaches func(a, b *expr.Expr) *expr.Expr) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("self")
			c.dim("dim", t.Rank())
			return []ir.Type{likeType(t, t.DType), likeType(t, ir.Int64)}
		},
		Loops: func(c *Call) *loop.Func {
			t := c.Tensor("self")
			l := newLines(t, c.dim("dim", t.Rank()))
			best, place := &expr.Var{Name: "best", DType: t.DType}, &expr.Var{Name: "place",
				DType: ir.Int64}
			at, k := l.at(l.k.Expr()), expr.Idx(ir.Int64, l.k.Expr())
			x := expr.At(2, t.DType, at)
			first := expr.Eq(k, expr.Int(ir.Int64, 0))
			better := expr.Or(expr.IsNaN(x), expr.And(expr.Not(expr.IsNaN(expr.Get(best))),
				comparable(reaches)(x, expr.Get(best))))
			return &loop.Func{
				Name: "cumulative_extreme", Bufs: c.buffers(),
				Body: l.each(
					&loop.Let{Var: best, Value: expr.Num(t.DType, 0), Mutable: true},
					&loop.Let{Var: place, Value: expr.Int(ir.Int64, 0), Mutable: true},
					l.along(
						&loop.If{Cond: expr.Or(first, better), Then: []loop.Stmt{
							&loop.Assign{Var: best, Value: x},
							&loop.Assign{Var: place, Value: k},
						}},
						&loop.Store{Buf: 0, At: at, Value: expr.Get(best)},
						&loop.Store{Buf: 1, At: at, Value: expr.Get(place)},
					)),
			}
		},
	}
}

// buffers returns the buffers of an imperative body of c: results, then
// operands.
func (c *Call) buffers() []loop.Buf {
	var bufs []loop.Buf
	for i, t := range c.Outs {
		name := "out"
		if len(c.Outs) > 1 {
			name += itoa(i)
		}
		bufs = append(bufs, loop.Buf{Name: name, DType: t.DType, Role: loop.Out, Len: t.Numel()})
	}
	for i, v := range c.operands {
		name := "x"
		if len(c.operands) > 1 {
			name += itoa(i)
		}
		bufs = append(bufs, loop.Buf{Name: name, DType: v.Type.DType, Role: loop.In,
			Len: v.Type.Numel()})
	}
	return bufs
}

// lines walks the lines of a tensor along one dimension: element k of a line
// is at base + k·inner in its row-major data.
type lines struct {
	outer, length, inner sym.Expr
	o, k, i              *sym.Symbol
}

func newLines(t ir.Type, dim int) *lines {
	l := &lines{outer: sym.Int(1), length: sym.Int(1), inner: sym.Int(1)}
	if t.Rank() > 0 {
		l.outer, l.length, l.inner = sym.Mul(t.Sizes[:dim]...), t.Sizes[dim],
			sym.Mul(t.Sizes[dim+1:]...)
	}
	l.o, l.k, l.i = sym.NewVar("o", l.outer), sym.NewVar("k", l.length), sym.NewVar("i", l.inner)
	return l
}

// at returns the flat coordinate of element k of the current line.
func (l *lines) at(k sym.Expr) sym.Expr {
	return sym.Add(sym.Mul(sym.Add(sym.Mul(l.o.Expr(), l.length), k), l.inner), l.i.Expr())
}

// each returns the loop over all lines around body.
func (l *lines) each(body ...loop.Stmt) []loop.Stmt {
	return []loop.Stmt{&loop.For{Var: l.o, Extent: l.outer, Body: []loop.Stmt{
		&loop.For{Var: l.i, Extent: l.inner, Body: body},
	}}}
}

// along returns the loop over the elements of a line.
func (l *lines) along(body ...loop.Stmt) loop.Stmt {
	return &loop.For{Var: l.k, Extent: l.length, Body: body}
}

// counter is a mutable integer local of an imperative body.
type counter struct{ v *expr.Var }

// newCounter names a local of dtype d.
func newCounter(name string, d ir.DType) counter { return counter{&expr.Var{Name: name, DType: d}} }

func (c counter) get() *expr.Expr { return expr.Get(c.v) }

// start declares the counter.
func (c counter) start(x *expr.Expr) loop.Stmt {
	return &loop.Let{Var: c.v, Value: x, Mutable: true}
}

// fixed declares the local for good.
func (c counter) fixed(x *expr.Expr) loop.Stmt { return &loop.Let{Var: c.v, Value: x} }

func (c counter) set(x *expr.Expr) loop.Stmt { return &loop.Assign{Var: c.v, Value: x} }

// add steps the counter.
func (c counter) add(n int64) loop.Stmt { return c.set(expr.Add(c.get(), expr.Int(c.v.DType, n))) }

// index binds the value of x, which lies in [0, extent), as an index for the
// rest of the block.
func index(name string, x *expr.Expr, extent sym.Expr) (*loop.LetIndex, sym.Expr) {
	s := sym.NewVar(name, extent)
	return &loop.LetIndex{Sym: s, Value: x}, s.Expr()
}

// indexDType is Int32 if every position below n fits, else Int64.
func indexDType(n sym.Expr) ir.DType {
	if _, hi := n.Bounds(); hi < math.MaxInt32/2 {
		return ir.Int32
	}
	return ir.Int64
}

// along scans x along dimension d and stacks what step yields along d again.
// The state starts from init, which makes tensors of a slice's shape.
func (b *Builder) along(x *ir.Value, d int,
	init func(fill func(value any, d ir.DType) *ir.Value) []*ir.Value,
	step func(b *Builder, state []*ir.Value, x *ir.Value) (next, yields []*ir.Value)) []*ir.Value {
	rank := x.Type.Rank()
	perm := []int{d}
	for k := range rank {
		if k != d {
			perm = append(perm, k)
		}
	}
	back := make([]int, rank)
	for i, k := range perm {
		back[k] = i
	}
	sizes := slices.Delete(slices.Clone(x.Type.Sizes), d, d+1)
	first := init(func(value any, d ir.DType) *ir.Value {
		return b.aten("full", sizes, value, Kw("dtype", d))
	})
	_, ys := must2(b.Scan(first, []*ir.Value{b.aten("permute", x, perm)}, false,
		func(b *Builder, state, x []*ir.Value) (next, yields []*ir.Value) {
			return step(b, state, x[0])
		}))
	return seq.Map(ys, func(y *ir.Value) *ir.Value { return b.aten("permute", y, back) })
}

// cumulativeCore is a running reduction as a scan; a tensor without dimensions
// is its own.
func cumulativeCore(init float64, step func(b *Builder, acc, x *ir.Value) *ir.Value) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		out := c.Outs[0].DType
		m := accumulator(out)
		x := b.cast(b.cast(c.Value("self"), out), m)
		if x.Type.Rank() == 0 {
			return b.cast(x, out)
		}
		d := c.dim("dim", x.Type.Rank())
		y := b.along(x, d, func(fill func(any, ir.DType) *ir.Value) []*ir.Value {
			var v any = init
			if !m.IsFloat() {
				v = int(init)
			}
			return []*ir.Value{fill(v, m)}
		}, func(b *Builder, state []*ir.Value, x *ir.Value) (next, yields []*ir.Value) {
			next = []*ir.Value{step(b, state[0], x)}
			return next, next
		})
		return b.cast(y[0], out)
	}
}

// cumulativeExtremeCore is a running extremum with its place as a scan.
func cumulativeExtremeCore(reaches string) func(b *Builder, c *Call) []*ir.Value {
	return func(b *Builder, c *Call) []*ir.Value {
		x := c.Value("self")
		if x.Type.Rank() == 0 {
			return []*ir.Value{b.aten("clone", x), b.aten("full", []int{}, 0,
				Kw("dtype", ir.Int64))}
		}
		d := c.dim("dim", x.Type.Rank())
		dt := x.Type.DType
		lowest := any(math.Inf(-1))
		if reaches == "aten.le.Tensor" {
			lowest = math.Inf(1)
		}
		if !dt.IsFloat() {
			x = b.cast(x, ir.Int64)
			lowest = math.MinInt64
			if reaches == "aten.le.Tensor" {
				lowest = math.MaxInt64
			}
		}
		ys := b.along(x, d, func(fill func(any, ir.DType) *ir.Value) []*ir.Value {
			return []*ir.Value{fill(lowest, x.Type.DType), fill(0, ir.Int64), fill(0, ir.Int64)}
		}, func(b *Builder, state []*ir.Value, x *ir.Value) (next, yields []*ir.Value) {
			best, place, k := state[0], state[1], state[2]
			better := b.Op(reaches, x, best)
			if x.Type.DType.IsFloat() {
				better = b.aten("logical_or", better, b.aten("isnan", x))
			}
			best, place = b.where(better, x, best, x.Type.DType),
				b.where(better, k, place, ir.Int64)
			return []*ir.Value{best, place, b.add(k, 1)}, []*ir.Value{best, place}
		})
		return []*ir.Value{b.cast(ys[0], dt), ys[1]}
	}
}
