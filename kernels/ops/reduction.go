package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// reduction is a reduction of argument self over a set of dimensions, under
// definition.
type reduction struct {
	c     *Call
	over  []bool   // by dimension of self: reduced
	keep  bool     // reduced dimensions stay with size 1
	in    ir.DType // what elements of self are converted to first
	dt    ir.DType // compute dtype
	out   ir.DType
	coord []sym.Expr    // of an element of self
	vars  []*sym.Symbol // of the result
	red   []*sym.Symbol // reduced over
}

// x returns the element of self in the compute dtype.
func (r *reduction) x() *expr.Expr {
	return expr.Cast(r.dt, expr.Cast(r.in, r.c.Load("self", r.coord...)))
}

// again returns r with reduction variables of its own, for a second reduction
// inside the first.
func (r *reduction) again() *reduction {
	s := *r
	s.coord = make([]sym.Expr, len(r.coord))
	s.red = nil
	for d, e := range r.coord {
		s.coord[d] = e
		if r.over[d] {
			v := sym.NewVar("s"+itoa(d), r.c.Tensor("self").Sizes[d])
			s.red = append(s.red, v)
			s.coord[d] = v.Expr()
		}
	}
	return &s
}

// count returns the number of elements reduced over.
func (r *reduction) count() sym.Expr {
	n := sym.Int(1)
	for d, s := range r.c.Tensor("self").Sizes {
		if r.over[d] {
			n = sym.Mul(n, s)
		}
	}
	return n
}

// size returns the count as a value of the compute dtype.
func (r *reduction) size() *expr.Expr { return expr.Idx(r.dt, r.count()) }

// A reducer describes a family of reductions. The schema's dim argument, int,
// int? or int[]?, tells over what; without one it is everything.
type reducer struct {
	schema string
	// rule gives compute and result dtype from that of self, or the dtype
	// argument if there is one.
	rule rule
	// emptyIsAll: an empty dim list means all dimensions (sum), not none (amax
	// has an own default).
	emptyIsAll bool
	// nonEmpty: the reduced dimensions must hold elements.
	nonEmpty bool
	body     func(r *reduction) ([]*expr.Expr, error) // one per result
	// dtypes of results beyond the first; InvalidDType: as the first
	more []ir.DType
	core func(*Builder, *Call) ([]*ir.Value, error) // in terms of Core ATen
}

func (d reducer) op() Op {
	return Op{Schema: d.schema, Infer: d.infer, Compute: d.compute, Decompose: d.core}
}

// setup finds out over which dimensions c reduces and in what dtypes.
func (d reducer) setup(c *Call) (*reduction, error) {
	t, s := c.Tensor("self"), c.Op.sch
	r := &reduction{c: c, keep: s.Index("keepdim") >= 0 && c.Bool("keepdim")}
	var err error
	switch i := s.Index("dim"); {
	case i < 0:
		r.over = make([]bool, t.Rank())
		for i := range r.over {
			r.over[i] = true
		}
	case s.Args[i].Type.IsList() || !c.Has("dim"):
		r.over, err = c.dims("dim", t.Rank(), d.emptyIsAll)
	default:
		r.over = make([]bool, t.Rank())
		var k int
		if k, err = c.dim("dim", t.Rank()); err == nil && t.Rank() > 0 {
			r.over[k] = true
		}
	}
	if err != nil {
		return nil, err
	}
	from := t.DType
	if s.Index("dtype") >= 0 {
		from = c.DType("dtype", from)
	}
	var ok bool
	if r.dt, r.out, ok = d.rule(from); !ok {
		return nil, c.Errorf("not defined on %s", from)
	}
	if s.Index("dtype") >= 0 && c.Has("dtype") { // what is asked for is not promoted
		r.dt, r.out = accumulator(from), from
	}
	r.in = from
	if n, ok := r.count().Const(); ok && n == 0 && d.nonEmpty {
		if m, ok := r.outNumel().Const(); !ok || m != 0 {
			return nil, c.Errorf("reduces over no elements")
		}
	}
	return r, nil
}

// accumulator returns the dtype in which sums and products of dtype d are kept.
func accumulator(d ir.DType) ir.DType {
	if d == ir.Bool {
		return ir.Int64 // not zero: true
	}
	return opmath(d)
}

func (r *reduction) outSizes() []sym.Expr {
	var sizes []sym.Expr
	for d, s := range r.c.Tensor("self").Sizes {
		switch {
		case !r.over[d]:
			sizes = append(sizes, s)
		case r.keep:
			sizes = append(sizes, sym.Int(1))
		}
	}
	return sizes
}

func (r *reduction) outNumel() sym.Expr { return sym.Mul(r.outSizes()...) }

func (d reducer) infer(c *Call) ([]ir.Type, error) {
	r, err := d.setup(c)
	if err != nil {
		return nil, err
	}
	sizes := r.outSizes()
	ts := []ir.Type{ir.TensorOf(r.out, sizes...)}
	for _, dt := range d.more {
		if dt == ir.InvalidDType {
			dt = r.out
		}
		ts = append(ts, ir.TensorOf(dt, sizes...))
	}
	return ts, nil
}

func (d reducer) compute(c *Call) ([]expr.Tensor, error) {
	r := must(d.setup(c))
	vars, coords := indexVars(c.Outs[0].Sizes)
	r.vars = vars
	k := 0
	for dim, s := range c.Tensor("self").Sizes {
		if r.over[dim] {
			v := sym.NewVar("r"+itoa(dim), s)
			r.red = append(r.red, v)
			r.coord = append(r.coord, v.Expr())
			if r.keep {
				k++
			}
			continue
		}
		r.coord = append(r.coord, coords[k])
		k++
	}
	bodies := must(d.body(r))
	ts := make([]expr.Tensor, len(bodies))
	for i, b := range bodies {
		dt := c.Outs[i].DType
		ts[i] = expr.Tensor{DType: dt, Vars: vars, Body: expr.Cast(dt, b)}
	}
	return ts, nil
}
