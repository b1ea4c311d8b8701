package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// linalgOps are inverses, solutions and determinants. A matrix without an
// inverse is an error, as in PyTorch, but for the _ex forms, which tell in
// their last result.
func linalgOps() []Op {
	many := func(schema string,
		f func(*Builder, *Call) ([]*ir.Value, error)) Op {
		return Op{Schema: schema, Decompose: f}
	}
	return []Op{
		many("aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
			func(b *Builder, c *Call) ([]*ir.Value, error) {
				return b.Ops("aten.linalg_lu_factor_ex.default", c.Value("A"),
					Kw("pivot", c.Bool("pivot")))[:2], nil
			}),
		many("aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", func(b *Builder, c *Call) ([]*ir.Value, error) {
			x, info := b.inverse(c.Value("A"))
			return []*ir.Value{x, info}, nil
		}),
		derived("aten::linalg_inv(Tensor A) -> Tensor", invert("A")),
		derived("aten::inverse(Tensor self) -> Tensor", invert("self")),
		many("aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)", solveSystem),
		many("aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)", func(b *Builder, c *Call) ([]*ir.Value, error) {
			vs := must(solveSystem(b, c))
			return []*ir.Value{vs[0], vs[3]}, nil
		}),
		derived("aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
			func(b *Builder, c *Call) (*ir.Value, error) {
				vs := must(solveSystem(b, c))
				b.whole(vs[3], "linalg.solve")
				return vs[0], nil
			}),
		many("aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
			func(b *Builder, c *Call) ([]*ir.Value, error) {
				lu, pivots, _ := b.factors(c.Value("A"))
				return []*ir.Value{b.determinant(lu, pivots), lu, pivots}, nil
			}),
		derived("aten::linalg_det(Tensor A) -> Tensor", determinantOf("A")),
		derived("aten::det(Tensor self) -> Tensor", determinantOf("self")),
		many("aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", func(b *Builder, c *Call) ([]*ir.Value, error) {
			lu, pivots, _ := b.factors(c.Value("A"))
			return append(b.signedLog(lu, pivots), lu, pivots), nil
		}),
		many("aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
			signedLogOf("A")),
		many("aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
			signedLogOf("self")),
	}
}

// checkErrors is what PyTorch puts behind an _ex form.
func checkErrors() Op {
	return Op{
		Schema: "aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
		Infer:  func(*Call) ([]ir.Type, error) { return nil, nil },
		Effect: true,
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			b.whole(c.Value("info"), c.Str("api_name"))
			return nil, nil
		},
	}
}

// factors are those of luFactor.
func (b *Builder) factors(a *ir.Value) (lu, pivots, info *ir.Value) {
	vs := b.Ops("aten.linalg_lu_factor_ex.default", a)
	return vs[0], vs[1], vs[2]
}

// whole asserts that no matrix was singular.
func (b *Builder) whole(info *ir.Value, name string) {
	b.assert(b.Op("aten.all.default", b.Op("aten.eq.Scalar", info, 0)),
		name+": the matrix is singular")
}

func (b *Builder) inverse(a *ir.Value) (x, info *ir.Value) {
	lu, pivots, info := b.factors(a)
	t := a.Type
	n := t.Sizes[t.Rank()-1]
	i := b.Op("aten.arange.default", n)
	unit := b.cast(b.Op("aten.eq.Tensor", b.Op("aten.unsqueeze.default", i, 1), i), t.DType)
	return b.Op("aten.linalg_lu_solve.default", lu, pivots, b.Op("aten.expand.default", unit,
		t.Sizes)), info
}

func invert(name string) func(*Builder, *Call) (*ir.Value, error) {
	return func(b *Builder, c *Call) (*ir.Value, error) {
		x, info := b.inverse(c.Value(name))
		b.whole(info, "linalg.inv")
		return x, nil
	}
}

// solveSystem returns what _linalg_solve_ex does. B are vectors if it has one
// dimension, or all of A but the last; batches are broadcast.
func solveSystem(b *Builder, c *Call) ([]*ir.Value, error) {
	a, x := c.Value("A"), c.Value("B")
	t, n := must2(c.square("A"))
	r := t.Rank()
	left := c.Bool("left")
	vector := x.Type.Rank() == 1 || x.Type.Rank() == r-1 &&
		slices.EqualFunc(x.Type.Sizes, t.Sizes[:r-1], func(a, b sym.Expr) bool {
			return !differ(a, b)
		})
	if !left && vector || x.Type.Rank() < 1 || !vector && x.Type.Rank() < 2 {
		return nil, c.Errorf("systems of %s", describeSizes([]ir.Type{t, x.Type}))
	}
	if vector {
		x = b.Op("aten.unsqueeze.default", x, -1)
	}
	lu, pivots, info := b.factors(a)
	q := x.Type.Rank()
	batch, ok := Broadcast(ir.Type{Sizes: t.Sizes[:r-2]}, ir.Type{Sizes: x.Type.Sizes[:q-2]})
	if !ok {
		return nil, c.Errorf("systems of %s", describeSizes([]ir.Type{t, x.Type}))
	}
	wide := func(v *ir.Value, tail ...sym.Expr) *ir.Value {
		return b.Op("aten.expand.default", v, slices.Concat(batch, tail))
	}
	y := b.Op("aten.linalg_lu_solve.default", wide(lu, n, n), wide(pivots, n),
		wide(x, x.Type.Sizes[q-2:]...), Kw("left", left))
	if vector {
		y = b.Op("aten.squeeze.dim", y, -1)
	}
	return []*ir.Value{y, lu, pivots, info}, nil
}

// swaps is -1 for each row that changed places, else 1.
func (b *Builder) swaps(pivots *ir.Value, d ir.DType) *ir.Value {
	n := pivots.Type.Sizes[pivots.Type.Rank()-1]
	moved := b.Op("aten.ne.Tensor", pivots, b.Op("aten.arange.start", 1, sym.Add(n, sym.Int(1))))
	return b.Op("aten.prod.dim_int", b.where(moved, -1.0, b.scalar(1.0, d), d), -1)
}

func (b *Builder) determinant(lu, pivots *ir.Value) *ir.Value {
	diagonal := b.Op("aten.diagonal.default", lu, 0, -2, -1)
	return b.mul(b.Op("aten.prod.dim_int", diagonal, -1), b.swaps(pivots, lu.Type.DType))
}

func determinantOf(name string) func(*Builder, *Call) (*ir.Value, error) {
	return func(b *Builder, c *Call) (*ir.Value, error) {
		lu, pivots, _ := b.factors(c.Value(name))
		return b.determinant(lu, pivots), nil
	}
}

// signedLog is the sign of the determinant and the logarithm of its size.
func (b *Builder) signedLog(lu, pivots *ir.Value) []*ir.Value {
	diagonal := b.Op("aten.diagonal.default", lu, 0, -2, -1)
	sign := b.mul(b.Op("aten.prod.dim_int", b.Op("aten.sign.default", diagonal), -1),
		b.swaps(pivots, lu.Type.DType))
	log := b.Op("aten.log.default", b.Op("aten.abs.default", diagonal))
	return []*ir.Value{sign, b.Op("aten.sum.dim_IntList", log, []int{-1})}
}

func signedLogOf(name string) func(*Builder, *Call) ([]*ir.Value, error) {
	return func(b *Builder, c *Call) ([]*ir.Value, error) {
		lu, pivots, _ := b.factors(c.Value(name))
		return b.signedLog(lu, pivots), nil
	}
}
