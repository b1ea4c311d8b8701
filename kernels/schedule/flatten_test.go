package schedule_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/schedule"
)

// groupMean is pixels of channels less the mean of the group that the channel
// belongs to, of size channels.
func groupMean(pixels, channels, size int64) expr.Tensor {
	v := newVars(sym.Int(pixels), sym.Int(channels))
	p, c := sym.NewVar("p", sym.Int(pixels)), sym.NewVar("c", sym.Int(size))
	first := sym.Mul(sym.Int(size), sym.FloorDiv(v[1].Expr(), sym.Int(size)))
	sum := expr.Sum([]*sym.Symbol{c, p}, expr.At(0, ir.Float32, p.Expr(), sym.Add(first, c.Expr())))
	mean := expr.Div(sum, expr.Float(ir.Float32, float64(pixels*size)))
	return expr.Tensor{DType: ir.Float32, Vars: v,
		Body: expr.Sub(expr.At(0, ir.Float32, v[0].Expr(), v[1].Expr()), mean)}
}

// A group's mean is computed once for the group.
func TestSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, size := range [][3]int64{{5, 12, 4}, {3, 12, 6}, {7, 8, 8}, {4, 6, 1}, {40, 64, 2}} {
		operands := []schedule.OperandInfo{{DType: ir.Float32, Sizes: ints(size[0], size[1])}}
		data := []eval.Operand{filled(rng, operands[0], nil)}
		f := checkOuts(t, "group mean", []expr.Tensor{groupMean(size[0], size[1], size[2])},
			operands, data, nil, schedule.Options{})
		if strings.Contains(f.String(), "//") {
			t.Errorf("%d: a channel is divided in\n%s", size, f)
		}
	}
}
