package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// matrices is a value as matrices: its dimensions are put in an order and then
// seen as sizes.
type matrices struct {
	*ir.Value
	order []int
	sizes []sym.Expr
	scale float64 // what the elements are multiplied with
}

// whole reports whether the matrices are all of the value.
func (m *matrices) whole() bool {
	return m.Type.Numel().Equal(sym.Mul(m.sizes...))
}

// factor says how a product takes matrices.
type factor struct {
	transposed bool
	scaled     bool // constant factors may stand in between
	repeats    bool // there may be fewer than the sizes in front ask for
}

// matrices returns where the elements of v come from, a factor of a product,
// seen as matrices of rows by cols for sizes lead, with fewer heads if those are
// repeated: the furthest value that has them, in any order of its dimensions.
// v itself is a batch of matrices, or one matrix of the rows of all.
func (f *attentionFinder) matrices(v *ir.Value, lead []sym.Expr, rows, cols sym.Expr,
	as factor) matrices {
	sizes := append(lead[:len(lead):len(lead)], rows, cols)
	_, want := newVars(sizes)
	rank := v.Type.Rank()
	batch, r, c := sym.RowMajor(lead, want[:len(lead)]), want[len(lead)], want[len(lead)+1]
	if rank == 2 || v.Type.Sizes[0].Is(1) {
		batch = sym.Int(0)
		if !as.transposed && !v.Type.Sizes[rank-2].Equal(rows) { // of all
			r = sym.RowMajor(sizes[:len(sizes)-1], want[:len(want)-1])
		}
	}
	order := []int{0, 1, 2}
	at := []sym.Expr{batch, r, c}
	if as.transposed {
		order, at = []int{0, 2, 1}, []sym.Expr{batch, c, r}
	}
	if rank == 2 {
		order, at = []int{order[1] - 1, order[2] - 1}, at[1:]
	}
	best := matrices{v, order, sizes, 1}
	scale := 1.0
	for {
		if m, ok := matched(v, at, want, sizes); ok && (as.repeats ||
			sym.AllEqual(m.sizes, sizes)) {
			m.scale = scale
			best = m
		}
		d := f.definition(v)
		if d != nil && d.Op.View != nil {
			views, err := d.Op.View(d)
			if err != nil || len(views) != 1 {
				return best
			}
			at, v = views[0].Map(at), d.Operands()[views[0].Of]
			continue
		}
		x, by := f.multiplied(v)
		if x == nil || !as.scaled {
			return best
		}
		v, scale = x, scale*by
	}
}

// matched returns v as matrices of sizes, element want of which is at at. A size
// of heads may divide what is wanted, and so repeat; one of 1 repeats too.
func matched(v *ir.Value, at, want, sizes []sym.Expr) (matrices, bool) {
	m := matrices{Value: v}
	used := make([]bool, len(at))
	heads := len(sizes) - 3
	var order []int
	for d, w := range want {
		size, found := sym.Int(1), -1
		for x := range at {
			if !used[x] && !v.Type.Sizes[x].Is(1) && v.Type.Sizes[x].Equal(sizes[d]) &&
				at[x].Equal(w) {
				size, found = sizes[d], x
				break
			}
		}
		if few, group := 0, int64(0); found < 0 && d == heads {
			for few = range at {
				if group = groupOf(sizes[d], v.Type.Sizes[few]); !used[few] && group > 1 &&
					at[few].Equal(sym.FloorDiv(w, sym.Int(group))) {
					size, found = v.Type.Sizes[few], few
					break
				}
			}
		}
		if found >= 0 {
			used[found] = true
			order = append(order, found)
		} else if d > heads && !sizes[d].Is(1) {
			return m, false
		}
		m.sizes = append(m.sizes, size)
	}
	for x := len(at) - 1; x >= 0; x-- {
		switch {
		case used[x]:
		case v.Type.Sizes[x].Is(1):
			order = append([]int{x}, order...)
		default:
			return m, false
		}
	}
	m.order = order
	return m, true
}

// groupOf returns how often few repeat to be many, 0 if they do not.
func groupOf(many, few sym.Expr) int64 {
	m, ok1 := many.Const()
	n, ok2 := few.Const()
	if !ok1 || !ok2 || n <= 1 || m%n != 0 {
		return 0
	}
	return m / n
}

var attentionArgs = []string{"query", "key", "value", "attn_mask", "scale", "none", "rests"}

// emit returns the value in its order and of its sizes.
func (m matrices) emit(b *ops.Builder) *ir.Value {
	v := m.Value
	for i, d := range m.order {
		if i != d {
			v = b.Op("aten.permute.default", v, m.order)
			v.Type = v.Type.Dense()
			break
		}
	}
	if !sym.AllEqual(v.Type.Sizes, m.sizes) {
		v = b.Op("aten.view.default", v, m.sizes)
		v.Type = v.Type.Dense()
	}
	return v
}
