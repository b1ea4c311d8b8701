package lower

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
)

// The cases of the pass mean what they meant before it: integers differ by one at most, and few
// do; floats by rounding.
func TestIntegerArithmeticMean(t *testing.T) {
	testMeaning(t, "testdata/integer-arithmetic*/*.txtar", false, false)
}

// So they do in fixed point.
func TestFixedPointMean(t *testing.T) {
	testMeaning(t, "testdata/integer-arithmetic*/*.txtar", true, false)
}

// testMeaning runs the cases before and after the passes.
func testMeaning(t *testing.T, pattern string, fixed, cortexM bool) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		for _, speed := range []bool{false, true} {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, src, _ := strings.Cut(string(data), "-- input --\n")
			src, _, _ = strings.Cut(src, "-- output --")
			ctx := &Context{Table: ops.Standard(), Speed: speed, Fixed: fixed, CortexM: cortexM}
			before, err := ir.Parse("m", src)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			after, _ := ir.Parse("m", src)
			pass := Pipeline{Passes: []Pass{CortexM, IntegerArithmetic, DeadCode}}
			if err := pass.Run(ctx, after, nil); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			r := rand.New(rand.NewPCG(5, 6))
			elements, differ := 0, 0
			kept := interp.NewKept()
			for range 40 {
				var inputs []interp.Value
				for _, v := range before.Methods[0].Graph.Inputs {
					sizes, _ := v.Type.StaticSizes()
					n, _ := v.Type.Numel().Const()
					var raw []byte
					for range n {
						switch v.Type.DType {
						case ir.Int8, ir.Uint8:
							raw = append(raw, byte(r.Uint32()))
						case ir.Int16:
							raw = binary.LittleEndian.AppendUint16(raw, uint16(r.Uint32()))
						case ir.BFloat16:
							raw = binary.LittleEndian.AppendUint16(raw,
								uint16(math.Float32bits(float32(r.NormFloat64()))>>16))
						default:
							raw = binary.LittleEndian.AppendUint32(raw,
								math.Float32bits(float32(r.NormFloat64())))
						}
					}
					inputs = append(inputs, interp.Tensor(v.Type.DType, sizes, raw))
				}
				want := outputsOf(t, ctx, before, inputs, kept)
				for o, got := range outputsOf(t, ctx, after, inputs, kept) {
					for i, x := range got {
						elements++
						d := math.Abs(x - want[o][i])
						whole := x == math.Trunc(x) && want[o][i] == math.Trunc(want[o][i])
						if d > 1e-4 && !whole || d > 1 {
							t.Fatalf("%s: output %d element %d is %v, want %v", file, o, i, x, want[o][i])
						} else if d > 1e-4 {
							differ++
						}
					}
				}
			}
			// CMSIS-NN's fixed point often rounds what lies near a half to the other side.
			if differ*1000 > elements && !cortexM {
				t.Errorf("%s: %d of %d elements differ", file, differ, elements)
			}
		}
	}
}

// What is moved and put together again at each of many levels is quantized once: nodes grow as
// the levels do.
func TestMovedLevels(t *testing.T) {
	nodes := func(levels int, fixed bool) (n int) {
		var levelled strings.Builder
		for i := range levels {
			fmt.Fprintf(&levelled, `
  %%f%d: f32[4] = aten.flip.default(self=%%c%d, dims=[0])
  %%c%d: f32[4] = aten.maximum.default(self=%%c%d, other=%%f%d)`, i, i, i+1, i, i)
		}
		p, err := ir.Parse("m", fmt.Sprintf(`program "m.pt2"

method forward {
  input %%x: i8[4]

  %%a: f32[4] = %[1]s(input=%%x, scale=0.5, zero_point=3, %[5]s)
  %%c0: f32[4] = aten.add.Tensor(self=%%a, other=%%a)%[3]s
  %%q: i8[4] = %[2]s(input=%%c%[4]d, scale=0.3, zero_point=1, %[5]s)
  return (%%q)
}
`, dequantizeOp+".default", quantizeOp+".default", levelled.String(), levels,
			"quant_min=-128, quant_max=127, dtype=i8"))
		if err != nil {
			t.Fatal(err)
		}
		pass := Pipeline{Passes: []Pass{CortexM, IntegerArithmetic}}
		ctx := &Context{Table: ops.Standard(), Fixed: fixed}
		if err := pass.Run(ctx, p, nil); err != nil {
			t.Fatal(err)
		}
		for range p.Methods[0].Graph.All() {
			n++
		}
		return n
	}
	for _, fixed := range []bool{false, true} {
		few, more, most := nodes(3, fixed), nodes(6, fixed), nodes(9, fixed)
		if more-few != most-more {
			t.Errorf("fixed %v: %d, %d and %d nodes", fixed, few, more, most)
		}
	}
}

func outputsOf(t *testing.T, ctx *Context, p *ir.Program, inputs []interp.Value,
	kept *interp.Kept) (xs [][]float64) {
	t.Helper()
	m := interp.New(ctx.Table)
	m.Kept = kept
	outs, err := m.Graph(p.Methods[0].Graph, inputs)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outs {
		x, ok := numbersOf(&ir.Constant{Data: ir.Bytes(o.Tensor.Data),
			Type: ir.StaticTensor(o.Tensor.DType, o.Tensor.Sizes...)})
		if !ok {
			t.Fatal(o.Tensor.DType)
		}
		xs = append(xs, x)
	}
	return xs
}
