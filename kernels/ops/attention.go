package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// Attention is attention as programs write it out by hand, which says what
// scaled_dot_product_attention settles: a boolean mask puts none, any number, in
// the place of scores, and rests tells whether a row of scores that are all
// -infinity gives zeros rather than no numbers. Heads of key and value repeat.
const Attention = "etgen.attention.default"

// attentionOps is softmax(query·keyᵀ·scale + mask)·value.
func attentionOps() []entry {
	return []entry{{
		Schema: "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, " +
			"Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, " +
			"bool enable_gqa=False) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			c.errorIf(must(c.Float("dropout_p")) != 0,
				"attention with dropout is random; export the model after model.eval()")
			c.errorIf(c.Bool("is_causal") && c.Has("attn_mask"),
				"both attn_mask and is_causal are given")
			out := attentionType(c)
			if q := c.Tensor("query"); flash(c, q, c.Tensor("key"), c.Tensor("value")) {
				out = likeType(q, q.DType)
			}
			return one(out)
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			if sameRanks(c) {
				return attention(b, c)
			}
			var operands []any
			for _, name := range []string{"query", "key", "value"} {
				x := c.Value(name)
				for x.Type.Rank() < c.Outs[0].Rank() {
					x = b.aten("unsqueeze", x, 0)
				}
				operands = append(operands, x)
			}
			return []*ir.Value{b.aten("scaled_dot_product_attention", append(operands, c.Arg("attn_mask"),
				c.Arg("dropout_p"), c.Arg("is_causal"), Kw("scale", c.Arg("scale")),
				Kw("enable_gqa", c.Arg("enable_gqa")))...)}
		},
	}, {
		// The logarithms of the sums of softmax are by rows of the query.
		Schema: "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, " +
			"Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, " +
			"float? scale=None) -> (Tensor output, Tensor logsumexp)",
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			q, k := c.Value("query"), c.Value("key")
			n := q.Type.Rank()
			c.errorIf(n != 4 || k.Type.Rank() != 4, "attention of %s", sizesOf{q.Type, k.Type})
			out := b.aten("scaled_dot_product_attention", q, k, c.Value("value"),
				c.Arg("attn_mask"), c.Arg("dropout_p"), c.Arg("is_causal"),
				Kw("scale", c.Arg("scale")))
			m := opmath(q.Type.DType)
			var scale any = c.Arg("scale")
			if !c.Has("scale") {
				e, ok := q.Type.Sizes[n-1].Const()
				c.errorIf(!ok, "attention over a dynamic number of elements")
				scale = 1 / math.Sqrt(float64(e))
			}
			scores := b.aten("mul.Scalar", b.aten("matmul", b.cast(q, m),
				b.aten("transpose.int", b.cast(k, m), -2, -1)), scale)
			if c.Has("attn_mask") {
				mask := c.Value("attn_mask")
				if mask.Type.DType == ir.Bool {
					mask = b.where(mask, 0.0, math.Inf(-1), m)
				}
				scores = b.add(scores, b.cast(mask, m))
			}
			if c.Bool("is_causal") {
				s := scores.Type.Sizes
				all := b.aten("ones", []sym.Expr{s[n-2], s[n-1]}, Kw("dtype", ir.Bool))
				scores = b.where(b.aten("tril", all), scores, math.Inf(-1), m)
			}
			return []*ir.Value{out, b.aten("logsumexp", scores, []int{-1})}
		},
	}, {
		Schema: "etgen::attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, " +
			"float scale, float none, bool rests) -> Tensor",
		Infer:     func(c *Call) []ir.Type { return one(attentionType(c)) },
		Decompose: attention,
	}}
}

// Attends is what a call of attention does beside its products.
type Attends struct {
	Causal bool
	Scale  float64
	None   float64 // the score of what a boolean mask leaves out
	Rests  bool    // a row of scores that are all -infinity gives zeros
	Groups bool    // heads of key and value may repeat
}

// AttentionOf reads c; ok is false if it is no attention, its scale is not known, or query, key and
// value do not have as many dimensions as each other.
func AttentionOf(c *Call) (a Attends, ok bool) {
	var err error
	switch c.Op.Name() {
	case Attention:
		a = Attends{Rests: c.Bool("rests"), Groups: true}
		a.None, err = c.Float("none")
		if err != nil {
			return a, false
		}
		a.Scale, err = c.Float("scale")
		return a, err == nil
	case "aten.scaled_dot_product_attention.default":
		a = Attends{Causal: c.Bool("is_causal"), None: math.Inf(-1), Rests: c.Has("attn_mask"),
			Groups: c.Bool("enable_gqa")}
		if !sameRanks(c) {
			return a, false
		}
		if c.Has("scale") {
			a.Scale, err = c.Float("scale")
			return a, err == nil
		}
		q := c.Tensor("query")
		e, static := q.Sizes[q.Rank()-1].Const()
		a.Scale = 1 / math.Sqrt(float64(e))
		return a, static
	}
	return a, false
}

// sameRanks reports whether query, key and value have as many dimensions as each other.
func sameRanks(c *Call) bool {
	n := c.Tensor("query").Rank()
	return c.Tensor("key").Rank() == n && c.Tensor("value").Rank() == n
}

func attentionType(c *Call) ir.Type {
	q, k, v := c.Tensor("query"), c.Tensor("key"), c.Tensor("value")
	ts := []ir.Type{q, k, v}
	n := q.Rank()
	c.errorIf(min(n, k.Rank(), v.Rank()) < 2 || c.Op.Name() == Attention && !sameRanks(c),
		"%s do not fit as query, key and value", sizesOf(ts))
	last := func(t ir.Type, i int) sym.Expr { return t.Sizes[t.Rank()-i] }
	c.errorIf(differ(last(q, 1), last(k, 1)) || differ(last(k, 2), last(v, 2)),
		"%s do not fit as query, key and value", sizesOf(ts))
	c.errorIf(q.DType != k.DType || q.DType != v.DType || !q.DType.IsFloat(),
		"query, key and value of %s, %s and %s", q.DType, k.DType, v.DType)
	if a, _ := AttentionOf(c); a.Groups && (n > 2 || c.Op.Name() != Attention) {
		c.errorIf(min(n, k.Rank(), v.Rank()) < 3, "enable_gqa without heads")
		for i, t := range ts[1:] {
			c.errorIf(!sym.Mod(last(q, 3), last(t, 3)).IsZero(), "%s heads of %s do not repeat to %s",
				last(t, 3), []string{"key", "value"}[i], last(q, 3))
			sizes := slices.Clone(t.Sizes)
			sizes[t.Rank()-3] = last(q, 3)
			ts[i+1] = ir.Type{Sizes: sizes}
		}
	}
	lead := make([]ir.Type, 3)
	for i, t := range ts {
		lead[i] = ir.Type{Sizes: t.Sizes[:t.Rank()-2]}
	}
	batch, ok := Broadcast(lead...)
	c.errorIf(!ok, "%s do not broadcast", sizesOf(ts))
	if c.Has("attn_mask") {
		m := c.Tensor("attn_mask")
		scores := ir.Type{Sizes: append(slices.Clone(batch), last(q, 2), last(k, 2))}
		c.errorIf(!broadcastsTo(m, scores.Sizes) || m.DType != ir.Bool && !m.DType.IsFloat(),
			"a mask of %s and %s for scores of %s", m.DType, sizesOf{m}, sizesOf{scores})
	}
	return ir.TensorOf(q.DType, append(batch, last(q, 2), last(v, 1))...)
}

// flash reports whether PyTorch takes its fused CPU kernel.
func flash(c *Call, q, k, v ir.Type) bool {
	if q.Rank() != 4 {
		return false
	}
	for _, t := range []ir.Type{k, v} {
		for _, d := range []int{0, 1, 3} {
			if !t.Sizes[d].Equal(q.Sizes[d]) {
				return false
			}
		}
	}
	for _, t := range []ir.Type{q, k, v} {
		if t.Numel().IsZero() || !t.Strides[3].Is(1) {
			return false
		}
	}
	if !c.Has("attn_mask") {
		return true
	}
	r := c.Tensor("attn_mask").Rank()
	return r == 2 || r == 4
}

// attention computes narrow floats in Float32 throughout and rounds once.
func attention(b *Builder, c *Call) []*ir.Value {
	d := c.Outs[0].DType
	m := opmath(d)
	wide := func(x *ir.Value) *ir.Value {
		if x.Type.DType == m {
			return x
		}
		return b.aten("_to_copy", x, Kw("dtype", m))
	}
	q, k, v := wide(c.Value("query")), wide(c.Value("key")), wide(c.Value("value"))
	n := q.Type.Rank()
	a, ok := AttentionOf(c)
	c.errorIf(!ok, "the scale of an embedding size %s is not known; pass scale", q.Type.Sizes[n-1])
	if a.Groups && n > 2 {
		heads := q.Type.Sizes[n-3]
		k, v = repeatHeads(b, k, heads), repeatHeads(b, v, heads)
	}
	q = b.aten("mul.Scalar", q, a.Scale)
	scores := b.aten("matmul", q, b.aten("transpose.int", k, -2, -1))
	rows, cols := scores.Type.Sizes[n-2], scores.Type.Sizes[n-1]
	masked := func(keep *ir.Value) {
		none := b.aten("full", []int{}, a.None, Kw("dtype", m))
		scores = b.aten("where.self", keep, scores, none)
	}
	softmax := "aten._softmax.default"
	args := []any{-1, false}
	switch mask := c.Value("attn_mask"); {
	case a.Causal:
		i := b.aten("unsqueeze", b.aten("arange", rows), 1)
		masked(b.aten("ge.Tensor", i, b.aten("arange", cols)))
	case mask == nil:
	case mask.Type.DType == ir.Bool:
		masked(mask)
	default:
		scores = b.aten("add.Tensor", scores, wide(mask))
	}
	if a.Rests {
		softmax, args = "aten._safe_softmax.default", args[:1]
	}
	p := b.Op(softmax, append([]any{scores}, args...)...)
	y := b.aten("matmul", p, v)
	if d != m {
		y = b.aten("_to_copy", y, Kw("dtype", d))
	}
	return []*ir.Value{y}
}

// repeatHeads repeats each head of x, in the dimension before the last two, so
// that there are as many as heads.
func repeatHeads(b *Builder, x *ir.Value, heads sym.Expr) *ir.Value {
	s := x.Type.Sizes
	n := len(s)
	if s[n-3].Equal(heads) {
		return x
	}
	times := sym.FloorDiv(heads, s[n-3])
	y := b.aten("unsqueeze", x, n-2)
	y = b.aten("expand", y, slices.Concat(s[:n-2], []sym.Expr{times}, s[n-2:]))
	return b.aten("reshape", y, slices.Concat(s[:n-3], []sym.Expr{heads}, s[n-2:]))
}

// softmaxRow is one row of a softmax under definition.
type softmaxRow struct {
	x   *expr.Expr // the element
	max *expr.Expr // what is subtracted: the largest of the row, if it is finite
	sum *expr.Expr // of exp(x - max) over the row
}

// exp returns exp(x - max) of the element.
func (r *softmaxRow) exp() *expr.Expr { return fn("exp")(expr.Sub(r.x, r.max)) }

// rowwise is an entry that maps self along dimension dim. What base makes of
// the largest element is subtracted before exp, so that nothing overflows; a
// row of -inf gives NaN, as in PyTorch, if base leaves it.
//
//go:noinline
func rowwise(schema string, dtype func(*Call) ir.DType,
	base func(max *expr.Expr) *expr.Expr, f func(*softmaxRow) *expr.Expr) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("self")
			c.dim("dim", t.Rank())
			d := dtype(c)
			c.errorIf(!d.IsFloat(), "not defined on %s", d)
			return one(ir.TensorOf(d, t.Sizes...))
		},
		Compute: element(func(c *Call, coords []sym.Expr) *expr.Expr {
			t := c.Tensor("self")
			d := c.dim("dim", t.Rank())
			m := opmath(c.Outs[0].DType)
			if t.DType == ir.Float64 {
				m = t.DType
			}
			load := func(coords []sym.Expr) *expr.Expr {
				return expr.Cast(m, c.Load("self", coords...))
			}
			over := func(name string) (*expr.Expr, []*sym.Symbol) {
				if t.Rank() == 0 {
					return load(coords), nil
				}
				v := sym.NewVar(name, t.Sizes[d])
				at := append([]sym.Expr(nil), coords...)
				at[d] = v.Expr()
				return load(at), []*sym.Symbol{v}
			}
			r := &softmaxRow{x: load(coords)}
			x, v := over("r")
			r.max = base(expr.MaxOf(v, x))
			x, v = over("s")
			r.sum = expr.Sum(v, fn("exp")(expr.Sub(x, r.max)))
			return f(r)
		}),
	}
}

// softmaxOps are softmax and its logarithm.
func softmaxOps() []entry {
	half := func(c *Call) ir.DType {
		d := c.Tensor("self").DType
		if !c.Bool("half_to_float") {
			return d
		}
		c.errorIf(d != ir.Float16, "half_to_float of %s", d)
		return ir.Float32
	}
	soft := func(r *softmaxRow) *expr.Expr { return expr.Div(r.exp(), r.sum) }
	log := func(r *softmaxRow) *expr.Expr {
		return expr.Sub(expr.Sub(r.x, r.max), fn("log")(r.sum))
	}
	top := func(max *expr.Expr) *expr.Expr { return max }
	// A row without anything to choose from is 0: counted from 0 its exponentials
	// are, and so is their sum. A Select of the whole would keep the sum, which
	// the row has in common, in one of its arms.
	finite := func(max *expr.Expr) *expr.Expr {
		return expr.Select(expr.Eq(max, like(max, -inf)), like(max, 0), max)
	}
	safe := func(r *softmaxRow) *expr.Expr {
		return expr.Div(r.exp(), expr.Select(expr.Eq(r.sum, like(r.sum, 0)), like(r.sum, 1), r.sum))
	}
	return []entry{
		rowwise("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", half, top,
			soft),
		rowwise("aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", half, top,
			log),
		rowwise("aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
			askedFor, finite, safe).core(func(b *Builder, c *Call) *ir.Value {
			// Softmax, 0 in rows that have nothing to choose from.
			d := c.Outs[0].DType
			x := b.cast(c.Value("self"), d)
			if x.Type.Rank() == 0 {
				return b.where(b.aten("eq.Scalar", x, -inf), 0, b.aten("_softmax", x, 0, false), d)
			}
			none := b.aten("eq.Scalar", b.aten("amax", x, ir.List{c.Arg("dim")}, true),
				math.Inf(-1))
			return b.aten("masked_fill.Scalar", b.aten("_softmax", x, c.Arg("dim"), false), none, 0)
		}),
		softmaxAs("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
			"aten._softmax.default"),
		softmaxAs("aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
			"aten._log_softmax.default"),
		softmaxAs("aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
			"aten._softmax.default"),
		softmaxAs("aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> "+
			"Tensor", "aten._log_softmax.default"),
	}
}

// askedFor is the dtype argument, else self's.
func askedFor(c *Call) ir.DType { return c.DType("dtype", c.Tensor("self").DType) }

// softmaxAs is op of self converted to the dtype asked for.
func softmaxAs(schema, op string) entry {
	return derived(schema, func(b *Builder, c *Call) *ir.Value {
		x := b.cast(c.Value("self"), askedFor(c))
		c.errorIf(!x.Type.DType.IsFloat(), "not defined on %s", x.Type.DType)
		return b.Op(op, x, c.Arg("dim"), false)
	})
}
