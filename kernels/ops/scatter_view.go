package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/loop"
)

// viewScatter is self with the elements that a view of it shares replaced by
// those of src.
func viewScatter(schema string, of func(c *Call, t ir.Type) (alias, error)) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			t, src := c.Tensor("self"), c.Tensor("src")
			a := must(of(c, t))
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
			a := must(of(c, t))
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
		viewScatter("aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", sliceView),
		viewScatter("aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", selectView),
		viewScatter("aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", diagonalView).core(diagonalScatterCore),
		viewScatter("aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor", stridedView).core(stridedScatterCore),
	}
}
