package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
)

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
		return b.Op("aten.full.default", sizes, value, Kw("dtype", d))
	})
	_, ys := must2(b.Scan(first, []*ir.Value{b.Op("aten.permute.default", x, perm)}, false,
		func(b *Builder, state, x []*ir.Value) (next, yields []*ir.Value) {
			return step(b, state, x[0])
		}))
	var out []*ir.Value
	for _, y := range ys {
		out = append(out, b.Op("aten.permute.default", y, back))
	}
	return out
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
		d := must(c.dim("dim", x.Type.Rank()))
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

func cumprodStep(b *Builder, acc, x *ir.Value) *ir.Value { return b.mul(acc, x) }

func logcumsumexpStep(b *Builder, acc, x *ir.Value) *ir.Value { return b.logAddExp(acc, x) }

// cumulativeExtremeCore is a running extremum with its place as a scan.
func cumulativeExtremeCore(reaches string) func(b *Builder, c *Call) []*ir.Value {
	return func(b *Builder, c *Call) []*ir.Value {
		x := c.Value("self")
		if x.Type.Rank() == 0 {
			return []*ir.Value{b.Op("aten.clone.default", x), b.Op("aten.full.default", []int{}, 0,
				Kw("dtype", ir.Int64))}
		}
		d := must(c.dim("dim", x.Type.Rank()))
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
				better = b.Op("aten.logical_or.default", better, b.Op("aten.isnan.default", x))
			}
			best, place = b.where(better, x, best, x.Type.DType),
				b.where(better, k, place, ir.Int64)
			return []*ir.Value{best, place, b.add(k, 1)}, []*ir.Value{best, place}
		})
		return []*ir.Value{b.cast(ys[0], dt), ys[1]}
	}
}
