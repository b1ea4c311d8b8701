package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// unfoldOps take images apart into columns and put them together again.
func unfoldOps() []Op {
	return []Op{im2col().core(im2colCore), col2im().core(col2imCore)}
}

// columns are the arguments of im2col and col2im.
type columns struct {
	kern, dilation, pad, stride []sym.Expr
	blocks                      []sym.Expr // positions of the kernel by dimension
}

func columnsOf(c *Call, image []sym.Expr) (*columns, error) {
	cl := &columns{}
	for _, a := range []struct {
		name string
		to   *[]sym.Expr
	}{{"kernel_size", &cl.kern}, {"dilation", &cl.dilation}, {"padding", &cl.pad},
		{"stride", &cl.stride}} {
		var err error
		if *a.to, err = c.spatialArg(a.name, 2); err != nil {
			return nil, err
		}
	}
	for d := range 2 {
		if !sym.Less(sym.Int(0), cl.stride[d]) || !sym.Less(sym.Int(0), cl.dilation[d]) ||
			!sym.Less(sym.Int(0), cl.kern[d]) || sym.Less(cl.pad[d], sym.Int(0)) {
			return nil, c.Errorf("kernel %s, stride %s, dilation %s, padding %s", cl.kern[d],
				cl.stride[d], cl.dilation[d], cl.pad[d])
		}
		reach := sym.Add(sym.Mul(cl.dilation[d], sym.Sub(cl.kern[d], sym.Int(1))), sym.Int(1))
		n := sym.Add(sym.FloorDiv(sym.Sub(sym.Add(image[d], sym.Mul(sym.Int(2), cl.pad[d])), reach),
			cl.stride[d]), sym.Int(1))
		if sym.Less(n, sym.Int(1)) {
			return nil, c.Errorf("a kernel of %s is larger than the padded image of %s",
				cl.kern[d], image[d])
		}
		c.need(n)
		cl.blocks = append(cl.blocks, n)
	}
	return cl, nil
}

func im2col() Op {
	setup := func(c *Call) (*columns, error) {
		t := c.Tensor("self")
		if t.Rank() != 3 && t.Rank() != 4 {
			return nil, c.Errorf("an image with %d dimensions", t.Rank())
		}
		return columnsOf(c, t.Sizes[t.Rank()-2:])
	}
	typ := func(c *Call) (ir.Type, error) {
		cl := must(setup(c))
		t := c.Tensor("self")
		n := t.Rank() - 3
		return ir.TensorOf(t.DType, append(slices.Clone(t.Sizes[:n]),
			sym.Mul(t.Sizes[n], sym.Mul(cl.kern...)), sym.Mul(cl.blocks...))...), nil
	}
	return spread("aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", typ,
		func(c *Call, at []sym.Expr) ([]sym.Expr, *expr.Expr, error) {
			cl := must(setup(c))
			t := c.Tensor("self")
			n := t.Rank() - 3
			row := unflatten(at[n], []sym.Expr{t.Sizes[n], cl.kern[0], cl.kern[1]})
			block := unflatten(at[n+1], cl.blocks)
			in := append(slices.Clone(at[:n]), row[0])
			guard := expr.Bool(true)
			for d := range 2 {
				i := sym.Sub(sym.Add(sym.Mul(block[d], cl.stride[d]),
					sym.Mul(row[1+d], cl.dilation[d])), cl.pad[d])
				guard = expr.And(guard, expr.InRange(i, sym.Int(0), t.Sizes[n+1+d]))
				in = append(in, i)
			}
			return in, guard, nil
		})
}

// col2im adds up what the columns hold for each pixel.
func col2im() Op {
	setup := func(c *Call) (cl *columns, channels sym.Expr, image []sym.Expr, err error) {
		t := c.Tensor("self")
		image = must(c.spatialArg("output_size", 2))
		cl = must(columnsOf(c, image))
		k := sym.Mul(cl.kern...)
		if t.Rank() != 2 && t.Rank() != 3 ||
			differ(t.Sizes[max(t.Rank(), 1)-1], sym.Mul(cl.blocks...)) ||
			differ(sym.Mod(t.Sizes[max(t.Rank()-2, 0)], k), sym.Int(0)) {
			err = c.Errorf("columns of %s for %s kernel positions of %s elements",
				describeSizes([]ir.Type{t}), sym.Mul(cl.blocks...), k)
			return
		}
		return cl, sym.FloorDiv(t.Sizes[t.Rank()-2], k), image, nil
	}
	return Op{
		Schema: "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			_, channels, image := must3(setup(c))
			t := c.Tensor("self")
			return []ir.Type{ir.TensorOf(t.DType, slices.Concat(t.Sizes[:t.Rank()-2],
				[]sym.Expr{channels}, image)...)}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			cl, _, _ := must3(setup(c))
			t := c.Tensor("self")
			m := opmath(t.DType)
			vars, at := indexVars(c.Outs[0].Sizes)
			n := t.Rank() - 2
			var over []*sym.Symbol
			var k, block []sym.Expr
			guard := expr.Bool(true)
			for d := range 2 {
				v := sym.NewVar("k"+itoa(d), cl.kern[d])
				over = append(over, v)
				k = append(k, v.Expr())
				x := sym.Sub(sym.Add(at[n+1+d], cl.pad[d]), sym.Mul(v.Expr(), cl.dilation[d]))
				q := sym.FloorDiv(x, cl.stride[d])
				block = append(block, q)
				guard = expr.And(guard, expr.And(expr.IdxLe(sym.Mod(x, cl.stride[d]), sym.Int(0)),
					expr.InRange(q, sym.Int(0), cl.blocks[d])))
			}
			row := sym.Add(sym.Mul(at[n], cl.kern[0], cl.kern[1]), sym.RowMajor(cl.kern[:], k[:]))
			in := append(slices.Clone(at[:n]), row, sym.RowMajor(cl.blocks, block))
			y := expr.Sum(over, expr.Select(guard, expr.Cast(m, c.Load("self", in...)),
				expr.Num(m, 0)))
			return []expr.Tensor{{DType: t.DType, Vars: vars, Body: expr.Cast(t.DType, y)}}, nil
		},
	}
}
