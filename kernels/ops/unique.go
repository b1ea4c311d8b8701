package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// uniqueOps reduce elements that occur several times to one.
func uniqueOps() []Op {
	return []Op{
		unique("aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", true),
		unique("aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", true),
		unique("aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)", false),
		nonzeroList(),
		binCount(),
	}
}

// unique gives the different elements, or along dim slices, of self, the place
// among them of each that was there, and how often it was. Sorted, the results
// are in ascending order; otherwise only neighbours count as the same.
func unique(schema string, sorts bool) Op {
	along := func(c *Call) (d int, ok bool, err error) {
		if c.Op.sch.Index("dim") < 0 || !c.Has("dim") {
			return 0, false, nil
		}
		d, err = c.dim("dim", c.Tensor("self").Rank())
		return d, true, err
	}
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("self")
			d, ok := must2(along(c))
			if sorts && ok && t.Rank() != 1 {
				return nil, c.Errorf("slices of a tensor with %d dimensions cannot be sorted yet",
					t.Rank())
			}
			if ok && t.Rank() == 0 {
				return nil, c.Errorf("a tensor without dimensions has no slices")
			}
			if !ok {
				u := c.counted(0, 0, t.Numel())
				inverse, counts := ir.StaticTensor(ir.Int64, 0), ir.StaticTensor(ir.Int64, 0)
				if c.Bool("return_inverse") {
					inverse = ir.TensorOf(ir.Int64, t.Sizes...)
				}
				if c.Bool("return_counts") {
					counts = ir.TensorOf(ir.Int64, u)
				}
				return []ir.Type{ir.TensorOf(t.DType, u), inverse, counts}, nil
			}
			sizes := slices.Clone(t.Sizes)
			sizes[d] = c.counted(0, d, t.Sizes[d])
			counts := ir.TensorOf(ir.Int64, t.Sizes[d])
			if c.Bool("return_counts") {
				counts = ir.TensorOf(ir.Int64, sizes[d])
			}
			return []ir.Type{ir.TensorOf(t.DType, sizes...), ir.TensorOf(ir.Int64, t.Sizes[d]),
				counts}, nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			d, ok := must2(along(c))
			x := c.Value("self")
			if !ok {
				x, d = b.Op("aten.reshape.default", x, []int64{-1}), 0
			}
			n, u := x.Type.Sizes[d], c.Outs[0].Sizes[d]
			var order *ir.Value
			if sorts {
				s := b.Ops("aten.sort.default", x, 0)
				x, order = s[0], s[1]
			}
			// first marks the slices that differ from the one before.
			rows := x
			if x.Type.Rank() > 1 {
				rows = b.Op("aten.reshape.default", b.Op("aten.movedim.int", x, d, 0),
					[]sym.Expr{n, sym.Int(-1)})
			}
			first := b.Op("aten.ne.Tensor", rows, b.Op("aten.roll.default", rows, 1, 0))
			if rows.Type.Rank() > 1 {
				first = b.Op("aten.any.dim", first, 1)
			}
			start := b.Op("aten.eq.Scalar", b.Op("aten.arange.start_step", 0, n, 1), 0)
			first = b.Op("aten.logical_or.default", first, start)
			at := b.Op("aten.select.int", b.nonzero(first, u), 1, 0)
			place := b.sub(b.Op("aten.cumsum.default", first, 0), b.scalar(1, ir.Int64))
			zeros := func(size sym.Expr) *ir.Value {
				return b.Op("aten.full.default", []sym.Expr{size}, 0, Kw("dtype", ir.Int64))
			}
			out := []*ir.Value{b.Op("aten.index_select.default", x, d, at)}
			inverse := place
			if order != nil {
				inverse = b.Op("aten.scatter.src", zeros(n), 0, order, place)
			}
			counts := b.Op("aten.scatter_add.default", zeros(u), 0, place, b.Op("aten.full.default",
				[]sym.Expr{n}, 1, Kw("dtype", ir.Int64)))
			for i, v := range []*ir.Value{inverse, counts} {
				t := c.Outs[1+i]
				switch n, known := t.Numel().Const(); {
				case known && n == 0:
					v = b.Op("aten.full.default", t.Sizes, 0, Kw("dtype", ir.Int64))
				case i == 1 && !c.Bool("return_counts"): // of the size of self, and of no meaning
					v = zeros(t.Sizes[0])
				default:
					v = b.Op("aten.reshape.default", v, t.Sizes)
				}
				out = append(out, v)
			}
			return out, nil
		},
	}
}

// nonzeroList is nonzero with a result for each dimension.
func nonzeroList() Op {
	return Op{
		Schema: "aten::where(Tensor condition) -> Tensor[]",
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("condition")
			n := c.counted(0, 0, t.Numel())
			out := slices.Repeat([]ir.Type{ir.TensorOf(ir.Int64, n)}, max(t.Rank(), 1))
			for d := range out { // PyTorch's are the columns of nonzero
				out[d].Offset = sym.Mul(sym.Int(int64(d)), n)
			}
			return out, nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			x := c.Value("condition")
			if x.Type.Rank() == 0 {
				x = b.Op("aten.reshape.default", x, []int64{1})
			}
			at := b.nonzero(x, c.Outs[0].Sizes[0])
			out := make([]*ir.Value, len(c.Outs))
			for d := range out {
				out[d] = b.Op("aten.select.int", at, 1, d)
			}
			return out, nil
		},
	}
}

// maxBins bounds the result of bincount where nothing else does.
const maxBins = 1 << 16

// binCount counts, or adds up the weights of, the elements of each value.
func binCount() Op {
	return Op{
		Schema: "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			t, err := c.indexTensor("self")
			if err == nil && t.Rank() != 1 {
				err = c.Errorf("a tensor with %d dimensions", t.Rank())
			}
			if err != nil {
				return nil, err
			}
			least := must(c.SymInt("minlength"))
			d := ir.Int64
			if k := c.Operand("weights"); k >= 0 {
				w := c.operands[k].Type
				if w.Rank() != 1 || differ(w.Sizes[0], t.Sizes[0]) {
					return nil, c.Errorf("%s do not fit", describeSizes([]ir.Type{t, w}))
				}
				if d = w.DType; d != ir.Float32 {
					d = ir.Float64
				}
			}
			if t.Sizes[0].IsZero() {
				return []ir.Type{ir.TensorOf(d, least)}, nil
			}
			return []ir.Type{ir.TensorOf(d, c.counted(0, 0, sym.Max(least, sym.Int(maxBins))))}, nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			x, out := b.cast(c.Value("self"), ir.Int64), c.Outs[0]
			if x.Type.Sizes[0].IsZero() {
				return b.Ops("aten.full.default", out.Sizes, 0, Kw("dtype", out.DType)), nil
			}
			n := b.Op("aten.add.Scalar", b.Op("aten.amax.default", x, []int64{0}), 1)
			n = b.Op("aten.clamp.default", n, c.Arg("minlength"))
			size := b.number(n, out.Sizes[0])
			zeros := b.Op("aten.full.default", ir.List{size}, 0,
				Kw("dtype", out.DType))
			w := c.Value("weights")
			if w == nil {
				w = b.Op("aten.full.default", x.Type.Sizes, 1, Kw("dtype", ir.Int64))
			}
			return b.Ops("aten.scatter_add.default", zeros, 0, x, b.cast(w, out.DType)), nil
		},
	}
}
