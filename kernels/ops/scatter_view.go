package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/loop"
)

// viewScatter is self with the elements that a view of it shares replaced by
// those of src.
func viewScatter(schema string, of func(c *Call, t ir.Type) (alias, error),
	samples func(*Rand) []Sample) Op {
	return Op{
		Schema:  schema,
		Samples: samples,
		Infer: func(c *Call) ([]ir.Type, error) {
			t, src := c.Tensor("self"), c.Tensor("src")
			a, err := of(c, t)
			if err != nil {
				return nil, err
			}
			if !broadcastsTo(src, a.Sizes) {
				return nil, c.Errorf("%s do not fit a view of %s", describeSizes([]ir.Type{src}),
					describeSizes([]ir.Type{a.Type}))
			}
			if t.Numel().IsZero() {
				return []ir.Type{t}, nil
			}
			return []ir.Type{likeType(t, t.DType)}, nil
		},
		Loops: func(c *Call) (*loop.Func, error) {
			t := c.Tensor("self")
			a, err := of(c, t)
			if err != nil {
				return nil, err
			}
			f := c.update("scatter")
			vars, at := indexVars(a.Sizes)
			x := c.flatLoad(c.Operand("src"), broadcastCoords(c.Tensor("src"), a.Sizes, at))
			f.Body = nest(vars, c.write(sym.RowMajor(t.Sizes, a.at(at)), x, replaced))
			return f, nil
		},
	}
}

func viewScatterOps() []Op {
	return []Op{
		viewScatter("aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", sliceView, func(r *Rand) []Sample {
			n, m := 4+r.Dim(), r.Dim()
			return []Sample{
				NewSample("self", f32(n, m), "src", f32(2, m), "start", 1, "end", 3),
				NewSample("self", f32(m, n), "src", f32(m, (n-1)/2), "dim", 1, "start", 1, "end",
					-1, "step", 2),
				NewSample("self", f32(n, m), "src", f32(n, m)),
			}
		}),
		viewScatter("aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", selectView, times(2, func(r *Rand) Sample {
			n, m := r.Dim(), r.Dim()
			return NewSample("self", f32(n, m), "src", f32(n), "dim", 1, "index", r.Int64N(2*m)-m)
		})),
		viewScatter("aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", diagonalView, times(2, func(r *Rand) Sample {
			n, b := 1+r.Dim(), r.Dim()
			return NewSample("self", f32(n, b, n), "src", f32(b, n-1), "offset", 1-2*r.IntN(2),
				"dim1", 0, "dim2", 2)
		})).core(diagonalScatterCore),
		viewScatter("aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor", stridedView, times(1, func(*Rand) Sample {
			return NewSample("self", f32(5, 6), "src", f32(3, 2), "size", []int{3, 2}, "stride",
				[]int{7, 2}, "storage_offset", 1)
		})).core(stridedScatterCore),
	}
}
