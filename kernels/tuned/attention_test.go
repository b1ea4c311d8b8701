package tuned_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
)

// attentionTrials are calls for one of the kernels of attention.
func attentionTrials(r *rand.Rand, count int, kernel string) []*trial {
	var out []*trial
	for i := range count {
		tr := &trial{op: "aten.scaled_dot_product_attention.default", syms: map[*sym.Symbol]int64{}}
		b, h, group := 1+r.Int64N(2), 1+r.Int64N(3), int64(1)
		l, s, e, ev := size(r), 1+size(r), size(r), size(r)
		if i%2 == 0 { // more than so few that C does not want them
			l += 16
		}
		queries, keys := sym.Int(l), sym.Int(s)
		if i%2 == 1 {
			rows, columns := sym.NewSymbol("l", 1, 64), sym.NewSymbol("s", 1, 64)
			tr.syms[rows], tr.syms[columns] = l, s
			queries, keys = rows.Expr(), columns.Expr()
		}
		var args []any
		rank := 4
		if i%5 == 0 {
			group = 2
			args = append(args, "enable_gqa", true)
		}
		sizes := func(heads int64, rows sym.Expr, columns int64) samples.Input {
			all := []sym.Expr{sym.Int(b), sym.Int(heads), rows, sym.Int(columns)}
			return operand(all[4-rank:]...)
		}
		switch {
		case i%7 == 2:
			rank = 3
		case i%7 == 3 && group == 1:
			rank = 2
		case i%2 == 0:
			tr.xOrder = pick(r, []int{0, 2, 1, 3}, []int{2, 1, 0, 3}, nil)
			tr.yOrder = pick(r, []int{0, 2, 1, 3}, []int{2, 0, 1, 3}, nil)
		}
		switch {
		case strings.Contains(kernel, " added"):
			args = append(args, "attn_mask", maskOf(r, ir.Float32, rank, b, h*group, queries, keys))
		case strings.Contains(kernel, " kept"):
			args = append(args, "attn_mask", maskOf(r, ir.Bool, rank, b, h*group, queries, keys))
		case i%3 == 0:
			args = append(args, "is_causal", true)
		}
		if i%3 == 1 {
			args = append(args, "scale", 0.25)
		}
		if own := i%6 == 5; own && rank > 2 {
			tr.op = ops.Attention
			args = written(r, args)
		}
		tr.sample = samples.NewSample(append([]any{"query", sizes(h*group, queries, e), "key",
			sizes(h, keys, e), "value", sizes(h, keys, ev)}, args...)...)
		tr.constant = []bool{false, false, false, false}
		tr.name = fmt.Sprintf("%s %d: %d·%d·%d of %d by %d, %d to %d", kernel, i, b, h, group,
			l, s, e, ev)
		out = append(out, tr)
	}
	return out
}

// written is the arguments of attention written by hand instead of args: with
// their mask, and a number other than -infinity in the place of scores.
func written(r *rand.Rand, args []any) []any {
	var mask any
	for i, a := range args {
		if a == "attn_mask" {
			mask = args[i+1]
		}
	}
	return []any{"attn_mask", mask, "scale", 0.5, "none", pick(r, -1e30, -2.5), "rests",
		r.IntN(2) == 0}
}

// maskOf is a mask of as many dimensions or fewer, some of which repeat.
func maskOf(r *rand.Rand, d ir.DType, rank int, b, h int64, queries, keys sym.Expr) samples.Input {
	all := []sym.Expr{sym.Int(b), sym.Int(h), queries, keys}
	for i := range 3 {
		if r.IntN(2) == 0 {
			all[i] = sym.Int(1)
		}
	}
	return samples.Input{Value: &ir.Value{Type: ir.TensorOf(d, all[4-min(rank, pick(r, 2, 4)):]...)}}
}

// TestLegal: only targets whose C has vectors keep attention whole, and only what
// a kernel accepts.
func TestLegal(t *testing.T) {
	speed := tuned.Target{Language: tuned.C, Machine: machine("generic"), Speed: true}
	few := func(sizes ...int64) samples.Input { sizes[2] = 16; return static(sizes...) }
	double := func(sizes ...int64) samples.Input {
		return samples.Tensor(ir.Float64, samples.Values{}, sizes...)
	}
	for _, c := range []struct {
		name   string
		target tuned.Target
		of     func(...int64) samples.Input
		want   bool
	}{
		{"vectors", speed, static, true},
		{"few queries", speed, few, false},
		{"double", speed, double, false},
		{"go", tuned.Target{Language: tuned.Go, Machine: machine("generic"), Speed: true}, static, true},
		{"size", tuned.Target{Language: tuned.C, Machine: machine("generic")}, static, false},
		{"microcontroller", tuned.Target{Language: tuned.C, Machine: machine("cortex-m4"), Speed: true},
			static, false},
	} {
		x := c.of(1, 2, 17, 8)
		op, ok := ops.Standard().Lookup("aten.scaled_dot_product_attention.default")
		if !ok {
			t.Fatal("attention is not in the table")
		}
		call, err := ops.Standard().Bind(samples.NewSample("query", x, "key", x, "value", x).Node(op))
		if err != nil {
			t.Fatal(err)
		}
		if got := tuned.Legal(tuned.Standard(), c.target)(call); got != c.want {
			t.Errorf("%s: kept whole: %v", c.name, got)
		}
	}
}
