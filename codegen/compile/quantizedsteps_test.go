package compile

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// The integers between the layers of quantized models are those of the graph that quantizes and
// dequantizes: one of 1,000 may differ, by one step.
func TestQuantizedSteps(t *testing.T) {
	for _, file := range quantizedFiles(t) {
		if strings.Contains(file, "q_batch/") {
			continue // its nodes are run one by one, without what its dynamic size is
		}
		for _, speed := range []bool{false, true} {
			t.Run(fmt.Sprint(strings.ReplaceAll(file, "../", ""), " ", speed), func(t *testing.T) {
				if speed || strings.Contains(file, "mlperf") {
					tier.Needs(t, tier.Normal)
				}
				want := quantizedSteps(t, file, speed)
				got := quantizedSteps(t, file, speed, lower.IntegerArithmetic, lower.DeadCode)
				elements, differ := 0, 0
				for i, xs := range want {
					for j, x := range xs {
						elements++
						if d := got[i][j] - x; d < -1 || d > 1 {
							t.Fatalf("element %d of tensor %d of %d is %d, want %d", j, i, len(want),
								got[i][j], x)
						} else if d != 0 {
							differ++
						}
					}
				}
				if differ*1000 > elements {
					t.Errorf("%d of %d elements differ", differ, elements)
				}
				t.Logf("%d of %d elements differ", differ, elements)
			})
		}
	}
}

// quantizedSteps runs a model on its recorded input, before it becomes one of integers, with
// passes behind, and returns the elements of all that is quantized.
func quantizedSteps(t *testing.T, file string, speed bool, passes ...lower.Pass) (xs [][]int64) {
	t.Helper()
	p, closer, err := pt2.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	ctx := &lower.Context{Table: ops.Standard(), Speed: speed}
	all := lower.Backend.Passes
	i := slices.IndexFunc(all, func(p lower.Pass) bool {
		return p.Name == lower.IntegerArithmetic.Name
	})
	run := func(passes []lower.Pass) {
		if err := (lower.Pipeline{From: p.Dialect, Passes: passes}).Run(ctx, p, nil); err != nil {
			t.Fatal(err)
		}
	}
	run(all[:i])
	g := p.Methods[0].Graph
	g.Outputs = nil
	for _, n := range g.Nodes {
		if strings.HasPrefix(n.Op, "quantized_decomposed.quantize_per_t") {
			g.Outputs = append(g.Outputs, ir.Ref{Value: n.Output(0)})
		}
	}
	run(passes)
	var inputs []interp.Value
	users := 0
	for _, v := range g.Inputs {
		sizes, _ := v.Type.StaticSizes()
		var data []byte
		if v.Const != nil {
			data, err = ir.Tensor(v.Const)
		} else {
			name := fmt.Sprintf("input_%d.bin", users)
			data, err = os.ReadFile(filepath.Join(filepath.Dir(file), name))
			users++
		}
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, interp.Tensor(v.Type.DType, sizes, data))
	}
	outs, err := interp.New(ctx.Table).Graph(g, inputs)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outs {
		var ints []int64
		data := o.Tensor.Data
		for size := o.Tensor.DType.Size(); len(data) > 0; data = data[size:] {
			switch o.Tensor.DType {
			case ir.Int8:
				ints = append(ints, int64(int8(data[0])))
			case ir.Uint8:
				ints = append(ints, int64(data[0]))
			case ir.Int16:
				ints = append(ints, int64(int16(binary.LittleEndian.Uint16(data))))
			default:
				t.Fatal(o.Tensor.DType)
			}
		}
		xs = append(xs, ints)
	}
	return xs
}
