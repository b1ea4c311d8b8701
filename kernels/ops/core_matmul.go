package ops

import (
	"github.com/etgen/etgen/ir"
)

// column is a vector as a matrix of one column.
func (b *Builder) column(x *ir.Value) *ir.Value { return b.Op("aten.unsqueeze.default", x, 1) }

func mvCore(b *Builder, c *Call) *ir.Value {
	y := b.Op("aten.mm.default", c.Value("self"), b.column(c.Value("vec")))
	return b.Op("aten.squeeze.dim", y, 1)
}

// dotCore is the product of a row and a column.
func dotCore(other string) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		y := b.Op("aten.mm.default", b.Op("aten.unsqueeze.default", c.Value("self"), 0),
			b.column(c.Value(other)))
		return b.Op("aten.view.default", y, []int{})
	}
}

func addmvCore(b *Builder, c *Call) *ir.Value {
	self := c.Value("self")
	if self.Type.Rank() == 1 {
		self = b.column(self)
	}
	y := b.Op("aten.addmm.default", self, c.Value("mat"), b.column(c.Value("vec")),
		Kw("beta", c.Arg("beta")), Kw("alpha", c.Arg("alpha")))
	return b.Op("aten.squeeze.dim", y, 1)
}

// baddbmmCore is beta·self + alpha·(batch1 × batch2); where beta is 0 self does
// not matter, NaN or not.
func baddbmmCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	y := b.Op("aten.bmm.default", c.Value("batch1"), c.Value("batch2"))
	is := func(name string, x float64) bool {
		v, err := c.Float(name)
		return err == nil && v == x
	}
	if is("beta", 0) {
		if is("alpha", 1) {
			return y
		}
		return b.cast(b.mul(y, c.Arg("alpha")), d)
	}
	self := c.Value("self")
	if !is("beta", 1) {
		self = b.mul(self, c.Arg("beta"))
	}
	return b.cast(b.Op("aten.add.Tensor", self, y, Kw("alpha", c.Arg("alpha"))), d)
}
