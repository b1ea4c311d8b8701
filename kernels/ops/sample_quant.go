package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

func sampleQuant(r *Rand, s *aten.Schema) []Sample {
	var out []Sample
	for i := range 4 {
		shape := r.Shape(3)
		dtype, in := ir.Int8, ir.Float32
		lo, hi := int64(-128), int64(127)
		if i%2 == 1 {
			dtype, lo, hi = ir.Uint8, 0, 255
		}
		if s.Index("out_dtype") >= 0 || s.Index("output_dtype") >= 0 {
			in = dtype
		}
		group := int64(0)
		if s.Index("group_size") >= 0 {
			shape, group = []int64{r.Dim(), 6}, 2
		}
		scales := []int64{shape[1]}
		switch {
		case s.Index("axis") >= 0 || s.Index("scales") < 0:
		case group > 0:
			scales = []int64{shape[0], 6 / group}
		case i < 2: // by token
			scales = []int64{shape[0], shape[1], 1}
		default:
			scales = []int64{shape[0] * shape[1], 1}
		}
		var args []any
		for _, p := range s.Args {
			switch p.Name {
			case "input":
				args = append(args, p.Name, Tensor(in, Values{Lo: -3, Hi: 3}.forDType(in),
					shape...))
			case "scale":
				if p.Type.Name == "float" {
					args = append(args, p.Name, 0.03)
				} else {
					args = append(args, p.Name, Tensor(ir.Float64, Values{Lo: 0.01, Hi: 0.1}, 1))
				}
			case "zero_point":
				if p.Type.Name == "int" {
					args = append(args, p.Name, 3)
				} else {
					args = append(args, p.Name, Tensor(ir.Int64, Values{Lo: 0, Hi: 9}, 1))
				}
			case "scales":
				args = append(args, p.Name, Tensor(ir.Float32, Values{Lo: 0.01, Hi: 0.1},
					scales...))
			case "zero_points":
				args = append(args, p.Name, Tensor(ir.Int64, Values{Lo: 0, Hi: 9}, scales...))
			case "axis":
				args = append(args, p.Name, 1)
			case "quant_min":
				args = append(args, p.Name, lo)
			case "quant_max":
				args = append(args, p.Name, hi)
			case "eps":
				args = append(args, p.Name, 0x1p-12)
			case "group_size":
				args = append(args, p.Name, group)
			case "output_dtype":
				args = append(args, p.Name, []ir.DType{ir.Float32, ir.Float16}[i%2])
			case "dtype":
				args = append(args, p.Name, dtype)
			}
		}
		out = append(out, NewSample(args...))
	}
	return out
}
