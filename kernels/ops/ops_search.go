package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// searchOps find places in sorted sequences.
func searchOps() []Op {
	return []Op{
		search("aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", "boundaries").core(searchCore("boundaries")),
		search("aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", "boundaries").core(searchCore("boundaries")),
		search("aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor", "sorted_sequence").core(searchCore("sorted_sequence")),
		search("aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor", "sorted_sequence").core(searchCore("sorted_sequence")),
	}
}

// search counts the elements of the sequence before a value: its place. A
// sequence with several dimensions is one for each row of values.
func search(schema, sequence string) Op {
	infer := func(c *Call) (ir.Type, error) {
		seq := c.Tensor(sequence)
		d := ir.Int64
		if c.Bool("out_int32") {
			d = ir.Int32
		}
		if seq.Rank() == 0 {
			return seq, c.Errorf("the sequence has no dimension")
		}
		k := c.Operand("self")
		if seq.Rank() > 1 && (k < 0 || sequence == "boundaries") {
			return seq, c.Errorf("boundaries with %d dimensions", seq.Rank())
		}
		if k < 0 {
			return ir.TensorOf(d), nil
		}
		t := c.operands[k].Type
		if n := seq.Rank(); n > 1 {
			same := n == t.Rank()
			for i := 0; same && i < n-1; i++ {
				same = seq.Sizes[i].Equal(t.Sizes[i])
			}
			if !same {
				return t, c.Errorf("%s do not fit", describeSizes([]ir.Type{seq, t}))
			}
		}
		return ir.TensorOf(d, t.Sizes...), nil
	}
	checked := func(c *Call) (ir.Type, error) {
		if c.Op.sch.Index("sorter") >= 0 && c.Has("sorter") {
			seq, order := c.Tensor(sequence), c.Tensor("sorter")
			if !slices.EqualFunc(seq.Sizes, order.Sizes, sym.Expr.Equal) {
				return ir.Type{}, c.Errorf("%s do not fit", describeSizes([]ir.Type{seq, order}))
			}
		}
		return infer(c)
	}
	return Op{
		Schema: schema,
		Infer:  func(c *Call) ([]ir.Type, error) { return one(checked(c)) },
		Compute: func(c *Call) ([]expr.Tensor, error) {
			d := must(c.Promote("self", sequence))
			d = opmath(d)
			out, seq := c.Outs[0], c.Tensor(sequence)
			vars, coords := indexVars(out.Sizes)
			x := c.elem("self", out.Sizes, coords)
			if x == nil {
				x = c.number(c.Arg("self"), d)
			}
			n := seq.Rank()
			r := sym.NewVar("r", seq.Sizes[n-1])
			at := []sym.Expr{r.Expr()}
			if n > 1 {
				at = append(append([]sym.Expr(nil), coords[:n-1]...), r.Expr())
			}
			if c.Op.sch.Index("sorter") >= 0 && c.Has("sorter") {
				place := c.boundIndex("place", c.Load("sorter", at...), seq.Sizes[n-1], false)
				at[n-1] = place.Expr()
			}
			right := c.Bool("right") || c.Op.sch.Index("side") >= 0 && c.Str("side") == "right"
			stop := expr.Ge // the first element that stops the search
			if right {
				stop = expr.Gt
			}
			b := expr.Cast(d, c.Load(sequence, at...))
			before := expr.Not(comparable(stop)(b, expr.Cast(d, x)))
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Sum([]*sym.Symbol{r},
				expr.Cast(out.DType, before))}}, nil
		},
	}
}
