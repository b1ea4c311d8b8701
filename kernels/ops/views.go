package ops

import (
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// aliases gives the results of a view of argument self.
type aliases func(c *Call) []alias

// single makes the aliases of an operator with one result.
//
//go:noinline
func single(f func(c *Call, t ir.Type) alias) aliases {
	return func(c *Call) []alias {
		a := f(c, c.Tensor(c.Op.sch.Args[0].Name))
		return []alias{a}
	}
}

// view is an entry whose results share the memory of the first argument.
func view(schema string, f aliases) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			as := f(c)
			return seq.Map(as, func(a alias) ir.Type { return a.Type })
		},
		View: func(c *Call) []View {
			as := f(c)
			return seq.Map(as, func(a alias) View { return View{Of: 0, Map: a.at} })
		},
	}
}

// copied is an entry whose results are copies of what view would give.
func copied(schema string, f aliases) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			as := f(c)
			return seq.Map(as, func(a alias) ir.Type { return a.Dense() })
		},
		Compute: func(c *Call) []expr.Tensor {
			as := f(c)
			out := make([]expr.Tensor, len(as))
			for i, a := range as {
				vars, coords := indexVars(a.Sizes)
				out[i] = expr.Tensor{DType: a.DType, Vars: vars, Body: c.Load("self",
					a.at(coords)...)}
			}
			return out
		},
	}
}

// viewOps are the operators that look at the elements of a tensor in another
// way, and their copying twins.
func viewOps() []entry {
	var out []entry
	for _, f := range viewForms() {
		out = append(out, view(f.schema, f.of))
		if f.copies {
			name, args, _ := strings.Cut(f.schema, "(")
			base, overload, _ := strings.Cut(name, ".")
			if overload != "" {
				overload = "." + overload
			}
			args = strings.NewReplacer("(a)", "", "(a -> *)", "").Replace(args)
			out = append(out, copied(base+"_copy"+overload+"("+args, f.of))
		}
	}
	return append(out,
		view("aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
			splitView),
		view("aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
			splitSizesView("split_sizes")),
		view("aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", chunkView),
		reshapes("aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", argSizes("shape")),
		reshapes("aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
			func(c *Call, _ ir.Type) []sym.Expr { return c.Tensor("other").Sizes }),
		reshapes("aten::flatten.using_ints(Tensor(a) self, int start_dim=0, "+
			"int end_dim=-1) -> Tensor(a)", func(c *Call, t ir.Type) []sym.Expr {
			first := c.dim("start_dim", t.Rank())
			last := c.dim("end_dim", t.Rank())
			c.errorIf(first > last, "start_dim %d comes after end_dim %d", first, last)
			if t.Rank() == 0 {
				return ir.Ints([]int64{1})
			}
			return slices.Concat(t.Sizes[:first], []sym.Expr{sym.Mul(t.Sizes[first : last+1]...)},
				t.Sizes[last+1:])
		}),
		derived("aten::ravel(Tensor(a) self) -> Tensor(a)",
			func(b *Builder, c *Call) *ir.Value {
				return b.aten("reshape", b.aten("contiguous", c.Value("self")), []int{-1})
			}),
	)
}

// viewForm is a view. If it copies there is an operator of the same meaning that
// copies too, whose name ends in _copy.
type viewForm struct {
	schema string
	copies bool
	of     aliases
}

func viewForms() []viewForm {
	return []viewForm{
		{"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", true, single(strictView)},
		{"aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", false, single(strictView)},
		{"aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)", false,
			single(func(c *Call, t ir.Type) alias { return c.viewedAs(t, c.Tensor("other").Sizes) })},
		{"aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", true,
			single(func(c *Call, t ir.Type) alias { return stridedAt(c, t, t.Offset) })},
		{"aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", false,
			single(func(c *Call, t ir.Type) alias {
				d := c.dim("dim", t.Rank())
				sizes := must(c.SymInts("sizes"))
				c.errorIf(t.Rank() == 0, "a tensor without dimensions")
				sizes = c.openSize(sizes, t.Sizes[d])
				return c.viewedAs(t, slices.Concat(t.Sizes[:d], sizes, t.Sizes[d+1:]))
			})},
		{"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", true,
			single(func(c *Call, t ir.Type) alias {
				ns := must(c.Ints("dims"))
				c.errorIf(len(ns) != t.Rank(), "%d dimensions for a tensor with %d", len(ns), t.Rank())
				perm := make([]int, len(ns))
				for i, n := range ns {
					d := c.wrapDim(n, t.Rank())
					c.errorIf(slices.Contains(perm[:i], d), "dimension %d is given twice", d)
					perm[i] = d
				}
				return permuted(t, perm)
			})},
		{"aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", true,
			single(transposeView("dim0", "dim1"))},
		{"aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", false,
			single(transposeView("dim0", "dim1"))},
		{"aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", false,
			single(transposeView("axis0", "axis1"))},
		{"aten::t(Tensor(a) self) -> Tensor(a)", true,
			single(func(c *Call, t ir.Type) alias {
				switch {
				case t.Rank() > 2:
					panic(c.Errorf("a tensor with %d dimensions", t.Rank()))
				case t.Rank() < 2:
					return self(t)
				}
				return swapped(t, 0, 1)
			})},
		{"aten::numpy_T(Tensor(a) self) -> Tensor(a)", false, single(func(_ *Call, t ir.Type) alias {
			perm := upTo(t.Rank())
			slices.Reverse(perm)
			return permuted(t, perm)
		})},
		{"aten::mT(Tensor(a) self) -> Tensor(a)", false, single(matrixView)},
		{"aten::mH(Tensor(a) self) -> Tensor(a)", false, single(matrixView)},
		{"aten::adjoint(Tensor(a) self) -> Tensor(a)", false, single(matrixView)},
		{"aten::matrix_H(Tensor(a) self) -> Tensor(a)", false, single(matrixView)},
		{"aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", false,
			single(movedimView)},
		{"aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", false,
			single(movedimView)},
		{"aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", false,
			single(movedimView)},
		{"aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", false,
			single(movedimView)},
		{"aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", true,
			single(expandView)},
		{"aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", false, single(expandView)},
		{"aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", false,
			single(func(c *Call, t ir.Type) alias { return expanded(c, t, c.Tensor("other").Sizes) })},
		{"aten::squeeze(Tensor(a) self) -> Tensor(a)", true,
			single(func(_ *Call, t ir.Type) alias { return squeezed(t, allOf(t.Rank())) })},
		{"aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", true, single(squeezeDims)},
		{"aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", true, single(squeezeDims)},
		{"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", true,
			single(func(c *Call, t ir.Type) alias {
				return unsqueezed(t, c.dim("dim", t.Rank()+1))
			})},
		{"aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", true,
			single(selectView)},
		{"aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, " +
			"SymInt step=1) -> Tensor(a)", true, single(sliceView)},
		{"aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", true,
			single(func(c *Call, t ir.Type) alias {
				c.errorIf(t.Rank() == 0, "a tensor without dimensions has no slices")
				d := c.dim("dim", t.Rank())
				start := must(c.SymInt("start"))
				n := must(c.SymInt("length"))
				start = fromEnd(start, t.Sizes[d])
				c.errorIf(!sym.NonNegative(n) || !sym.LessEq(n, t.Sizes[d]) || sym.Less(start,
					sym.Int(0)) || sym.Less(t.Sizes[d], sym.Add(start, n)),
					"%s elements from %s on of %s", n, start, t.Sizes[d])
				start = inside(start, sym.Sub(t.Sizes[d], n))
				return stepped(t, d, start, n, sym.Int(1))
			})},
		{"aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", true,
			single(diagonalView)},
		{"aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
			false, single(diagonalView)},
		{"aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", true,
			single(func(c *Call, t ir.Type) alias {
				d := c.dim("dimension", t.Rank())
				return windowed(c, t, d, must(c.Int("size")), must(c.Int("step")))
			})},
		{"aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? " +
			"storage_offset=None) -> Tensor(a)", true, single(stridedView)},
		{"aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", true, func(c *Call) []alias {
			t := c.Tensor("self")
			c.errorIf(t.Rank() == 0, "a tensor without dimensions cannot be unbound")
			d := c.dim("dim", t.Rank())
			n, ok := t.Sizes[d].Const()
			c.errorIf(!ok, "how many slices a dimension of %s has is not known", t.Sizes[d])
			c.errorIf(n > maxParts, "%d slices", n)
			out := make([]alias, n)
			for i := range out {
				out[i] = selected(c, t, d, sym.Int(int64(i)))
			}
			return out
		}},
		{"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", true,
			splitView},
		{"aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]", false,
			splitSizesView("split_size")},
		{"aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
			true, splitSizesView("split_sizes")},
		{"aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", false, chunkView},
		{"aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
			false, sectionsView},
		{"aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", false, sectionsView},
		{"aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", false, sectionsView},
		{"aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", false, sectionsView},
		{"aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
			false, indicesView},
		{"aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", false, indicesView},
		{"aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", false, indicesView},
		{"aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", false, indicesView},
	}
}

func transposeView(dim0, dim1 string) func(*Call, ir.Type) alias {
	return func(c *Call, t ir.Type) alias {
		return swapped(t, c.dim(dim0, t.Rank()), c.dim(dim1, t.Rank()))
	}
}

func movedimView(c *Call, t ir.Type) alias {
	src := must(c.Ints("source"))
	dst := must(c.Ints("destination"))
	c.errorIf(len(src) != len(dst), "%d sources and %d destinations", len(src), len(dst))
	perm := seq.Of(t.Rank(), func(i int) int { return -1 })
	var moved []int
	for i := range src {
		s := c.wrapDim(src[i], t.Rank())
		d := c.wrapDim(dst[i], t.Rank())
		if t.Rank() == 0 {
			return self(t)
		}
		c.errorIf(perm[d] >= 0 || slices.Contains(moved, s), "a dimension is given twice")
		perm[d] = s
		moved = append(moved, s)
	}
	next := 0
	for d := range perm {
		if perm[d] >= 0 {
			continue
		}
		for slices.Contains(moved, next) {
			next++
		}
		perm[d] = next
		next++
	}
	return permuted(t, perm)
}

func expandView(c *Call, t ir.Type) alias { return expanded(c, t, must(c.SymInts("size"))) }

// allOf returns the set of all n dimensions.
func allOf(n int) []bool { return slices.Repeat([]bool{true}, n) }

func squeezeDims(c *Call, t ir.Type) alias {
	drop := c.dims("dim", t.Rank(), false)
	return squeezed(t, drop)
}

func selectView(c *Call, t ir.Type) alias {
	return selected(c, t, c.dim("dim", t.Rank()), must(c.SymInt("index")))
}

// diagonalDims returns the arguments of the diagonal operators.
func diagonalDims(c *Call, t ir.Type) (offset int64, d1, d2 int) {
	offset = must(c.Int("offset"))
	d1 = c.dim("dim1", t.Rank())
	d2 = c.dim("dim2", t.Rank())
	c.errorIf(d1 == d2, "both dimensions of the diagonal are %d", d1)
	return
}

func diagonalView(c *Call, t ir.Type) alias {
	offset, d1, d2 := diagonalDims(c, t)
	return diagonalOf(t, offset, d1, d2)
}

func stridedView(c *Call, t ir.Type) alias {
	offset := t.Offset
	if c.Has("storage_offset") {
		offset = must(c.SymInt("storage_offset"))
	}
	return stridedAt(c, t, offset)
}

func stridedAt(c *Call, t ir.Type, offset sym.Expr) alias {
	return c.strided(t, must(c.SymInts("size")), must(c.SymInts("stride")), offset)
}

// sliceBounds resolves Python's start and end of a dimension of the given
// size: absent ones are its ends, negative ones count from the end, and both
// are kept inside.
func (c *Call) sliceBounds(size sym.Expr) (start, n, step sym.Expr) {
	bound := func(name string, def sym.Expr) sym.Expr {
		if !c.Has(name) {
			return def
		}
		e := must(c.SymInt(name))
		if k, ok := e.Const(); ok && k == math.MaxInt64 {
			return size
		}
		return inside(fromEnd(e, size), size)
	}
	start = bound("start", sym.Int(0))
	end := bound("end", size)
	step = must(c.SymInt("step"))
	c.errorIf(!sym.Less(sym.Int(0), step), "a step of %s", step)
	n = sym.Max(sym.CeilDiv(sym.Sub(end, start), step), sym.Int(0))
	return
}

func sliceView(c *Call, t ir.Type) alias {
	d, start, n, step := c.sliceOf(t)
	return stepped(t, d, start, n, step)
}

// sliceOf returns what the arguments of a slice of t mean.
func (c *Call) sliceOf(t ir.Type) (d int, start, n, step sym.Expr) {
	c.errorIf(t.Rank() == 0, "a tensor without dimensions has no slices")
	d = c.dim("dim", t.Rank())
	start, n, step = c.sliceBounds(t.Sizes[d])
	return
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
func (c *Call) splitDim(t ir.Type) int {
	c.errorIf(t.Rank() == 0, "a tensor without dimensions cannot be split")
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
	c.errorIf(d >= t.Rank(), "a tensor with %d dimensions", t.Rank())
	return d
}

func splitView(c *Call) []alias {
	t := c.Tensor("self")
	d := c.splitDim(t)
	return c.evenParts(t, d, must(c.SymInt("split_size")))
}

// evenParts cuts dimension d into runs of size elements and a rest.
func (c *Call) evenParts(t ir.Type, d int, size sym.Expr) []alias {
	total := t.Sizes[d]
	if size.IsZero() && total.IsZero() {
		return parts(t, d, []sym.Expr{{}})
	}
	c.errorIf(!sym.Less(sym.Int(0), size), "runs of %s elements", size)
	n, ok := sym.Max(sym.CeilDiv(total, size), sym.Int(1)).Const()
	c.errorIf(!ok, "how many runs of %s make %s is not known", size, total)
	c.errorIf(n > maxParts, "%d runs", n)
	lengths := make([]sym.Expr, n)
	for i := range lengths {
		lengths[i] = size
	}
	lengths[n-1] = sym.Sub(total, sym.Mul(size, sym.Int(n-1)))
	return parts(t, d, lengths)
}

func splitSizesView(arg string) aliases {
	return func(c *Call) []alias {
		t := c.Tensor("self")
		d := c.splitDim(t)
		lengths := must(c.SymInts(arg))
		if sum := sym.Add(lengths...); differ(sum, t.Sizes[d]) {
			panic(c.Errorf("runs of %s elements in all, of a dimension of %s", sum, t.Sizes[d]))
		}
		return parts(t, d, lengths)
	}
}

func chunkView(c *Call) []alias {
	t := c.Tensor("self")
	d := c.splitDim(t)
	n := must(c.Int("chunks"))
	c.errorIf(n <= 0 || n > maxParts, "%d chunks", n)
	if t.Sizes[d].IsZero() {
		return parts(t, d, make([]sym.Expr, n))
	}
	return c.evenParts(t, d, sym.CeilDiv(t.Sizes[d], sym.Int(n)))
}

func sectionsView(c *Call) []alias {
	t := c.Tensor("self")
	d := c.splitDim(t)
	n := must(c.Int("sections"))
	c.errorIf(n <= 0 || n > maxParts, "%d sections", n)
	total, ok := t.Sizes[d].Const()
	c.errorIf(c.Op.sch.Index("dim") < 0 && differ(sym.Mod(t.Sizes[d], sym.Int(n)), sym.Int(0)),
		"a size of %s is cut into %d", t.Sizes[d], n)
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
	return parts(t, d, lengths)
}

func indicesView(c *Call) []alias {
	t := c.Tensor("self")
	d := c.splitDim(t)
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
	return out
}

// matrixView is the transposed matrix of real numbers.
func matrixView(c *Call, t ir.Type) alias {
	c.errorIf(t.Rank() < 2 && (t.Rank() > 0 || c.Op.Name() != "aten.matrix_H.default"),
		"a tensor with %d dimensions is no matrix", t.Rank())
	if t.Rank() == 0 {
		return self(t)
	}
	return swapped(t, t.Rank()-2, t.Rank()-1)
}
