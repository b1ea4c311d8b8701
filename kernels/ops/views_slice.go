package ops

import (
	"math"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// sliceBounds resolves Python's start and end of a dimension of the given
// size: absent ones are its ends, negative ones count from the end, and both
// are kept inside.
func (c *Call) sliceBounds(size sym.Expr) (start, n, step sym.Expr, err error) {
	bound := func(name string, def sym.Expr) (sym.Expr, error) {
		if !c.Has(name) {
			return def, nil
		}
		e, err := c.SymInt(name)
		if err != nil {
			return e, err
		}
		if k, ok := e.Const(); ok && k == math.MaxInt64 {
			return size, nil
		}
		return inside(fromEnd(e, size), size), nil
	}
	if start, err = bound("start", sym.Int(0)); err != nil {
		return
	}
	end, err := bound("end", size)
	if err != nil {
		return
	}
	if step, err = c.SymInt("step"); err != nil {
		return
	}
	if !sym.Less(sym.Int(0), step) {
		err = c.Errorf("a step of %s", step)
		return
	}
	n = sym.Max(sym.CeilDiv(sym.Sub(end, start), step), sym.Int(0))
	return
}

func sliceView(c *Call, t ir.Type) (alias, error) {
	d, start, n, step, err := c.sliceOf(t)
	check(err)
	return stepped(t, d, start, n, step), nil
}

// sliceOf returns what the arguments of a slice of t mean.
func (c *Call) sliceOf(t ir.Type) (d int, start, n, step sym.Expr, err error) {
	if t.Rank() == 0 {
		err = c.Errorf("a tensor without dimensions has no slices")
		return
	}
	d = must(c.dim("dim", t.Rank()))
	start, n, step, err = c.sliceBounds(t.Sizes[d])
	return
}

func narrowView(c *Call, t ir.Type) (alias, error) {
	if t.Rank() == 0 {
		return alias{}, c.Errorf("a tensor without dimensions has no slices")
	}
	d := must(c.dim("dim", t.Rank()))
	start := must(c.SymInt("start"))
	n := must(c.SymInt("length"))
	start = fromEnd(start, t.Sizes[d])
	if !sym.NonNegative(n) || !sym.LessEq(n, t.Sizes[d]) || sym.Less(start, sym.Int(0)) ||
		sym.Less(t.Sizes[d], sym.Add(start, n)) {
		return alias{}, c.Errorf("%s elements from %s on of %s", n, start, t.Sizes[d])
	}
	start = inside(start, sym.Sub(t.Sizes[d], n))
	return stepped(t, d, start, n, sym.Int(1)), nil
}

// maxParts bounds the results of one operator, so that a wrong number does not
// take all memory.
const maxParts = 1 << 16

// parts cuts dimension d of t into runs of the given lengths.
func parts(t ir.Type, d int, lengths []sym.Expr) []alias {
	out := make([]alias, len(lengths))
	var at sym.Expr
	for i, n := range lengths {
		out[i] = stepped(t, d, at, n, sym.Int(1))
		at = sym.Add(at, n)
	}
	return out
}

// splitDim returns the dimension that a splitting operator cuts: the one given,
// or the one it is named for.
func (c *Call) splitDim(t ir.Type) (int, error) {
	if t.Rank() == 0 {
		return 0, c.Errorf("a tensor without dimensions cannot be split")
	}
	if c.Op.sch.Index("dim") >= 0 {
		return c.dim("dim", t.Rank())
	}
	d := 1 // columns; elements of a vector
	switch {
	case strings.HasPrefix(c.Op.sch.Name, "aten.vsplit"):
		d = 0
	case strings.HasPrefix(c.Op.sch.Name, "aten.dsplit"):
		d = 2
	case t.Rank() == 1:
		d = 0
	}
	if d >= t.Rank() {
		return 0, c.Errorf("a tensor with %d dimensions", t.Rank())
	}
	return d, nil
}

func splitView(c *Call) ([]alias, error) {
	t := c.Tensor("self")
	d := must(c.splitDim(t))
	size := must(c.SymInt("split_size"))
	return c.evenParts(t, d, size)
}

// evenParts cuts dimension d into runs of size elements and a rest.
func (c *Call) evenParts(t ir.Type, d int, size sym.Expr) ([]alias, error) {
	total := t.Sizes[d]
	if size.IsZero() && total.IsZero() {
		return parts(t, d, []sym.Expr{{}}), nil
	}
	if !sym.Less(sym.Int(0), size) {
		return nil, c.Errorf("runs of %s elements", size)
	}
	n, ok := sym.Max(sym.CeilDiv(total, size), sym.Int(1)).Const()
	if !ok {
		return nil, c.Errorf("how many runs of %s make %s is not known", size, total)
	}
	if n > maxParts {
		return nil, c.Errorf("%d runs", n)
	}
	lengths := make([]sym.Expr, n)
	for i := range lengths {
		lengths[i] = size
	}
	lengths[n-1] = sym.Sub(total, sym.Mul(size, sym.Int(n-1)))
	return parts(t, d, lengths), nil
}

func splitSizesView(arg string) aliases {
	return func(c *Call) ([]alias, error) {
		t := c.Tensor("self")
		d := must(c.splitDim(t))
		lengths := must(c.SymInts(arg))
		if sum := sym.Add(lengths...); differ(sum, t.Sizes[d]) {
			return nil, c.Errorf("runs of %s elements in all, of a dimension of %s", sum,
				t.Sizes[d])
		}
		return parts(t, d, lengths), nil
	}
}

func chunkView(c *Call) ([]alias, error) {
	t := c.Tensor("self")
	d := must(c.splitDim(t))
	n := must(c.Int("chunks"))
	if n <= 0 || n > maxParts {
		return nil, c.Errorf("%d chunks", n)
	}
	if t.Sizes[d].IsZero() {
		return parts(t, d, make([]sym.Expr, n)), nil
	}
	return c.evenParts(t, d, sym.CeilDiv(t.Sizes[d], sym.Int(n)))
}

func sectionsView(c *Call) ([]alias, error) {
	t := c.Tensor("self")
	d := must(c.splitDim(t))
	n := must(c.Int("sections"))
	if n <= 0 || n > maxParts {
		return nil, c.Errorf("%d sections", n)
	}
	total, ok := t.Sizes[d].Const()
	if c.Op.sch.Index("dim") < 0 && differ(sym.Mod(t.Sizes[d], sym.Int(n)), sym.Int(0)) {
		return nil, c.Errorf("a size of %s is cut into %d", t.Sizes[d], n)
	}
	lengths := make([]sym.Expr, n)
	for i := range lengths {
		if !ok { // the first get one more
			lengths[i] = sym.FloorDiv(sym.Add(t.Sizes[d], sym.Int(n-1-int64(i))), sym.Int(n))
			continue
		}
		lengths[i] = sym.Int(total / n)
		if int64(i) < total%n {
			lengths[i] = sym.Int(total/n + 1)
		}
	}
	return parts(t, d, lengths), nil
}

func indicesView(c *Call) ([]alias, error) {
	t := c.Tensor("self")
	d := must(c.splitDim(t))
	at := must(c.SymInts("indices"))
	size := t.Sizes[d]
	inside := func(e sym.Expr) sym.Expr { // as a slice takes its bounds
		if sym.Less(e, sym.Int(0)) {
			e = sym.Max(sym.Add(e, size), sym.Int(0))
		}
		return sym.Min(e, size)
	}
	var out []alias
	var from sym.Expr
	for _, to := range append(at, size) {
		to = inside(to)
		out = append(out, stepped(t, d, from, sym.Max(sym.Sub(to, from), sym.Int(0)), sym.Int(1)))
		from = to
	}
	return out, nil
}

func unbindView(c *Call) ([]alias, error) {
	t := c.Tensor("self")
	if t.Rank() == 0 {
		return nil, c.Errorf("a tensor without dimensions cannot be unbound")
	}
	d := must(c.dim("dim", t.Rank()))
	n, ok := t.Sizes[d].Const()
	if !ok {
		return nil, c.Errorf("how many slices a dimension of %s has is not known", t.Sizes[d])
	}
	if n > maxParts {
		return nil, c.Errorf("%d slices", n)
	}
	out := make([]alias, n)
	for i := range out {
		out[i] = must(selected(c, t, d, sym.Int(int64(i))))
	}
	return out, nil
}
