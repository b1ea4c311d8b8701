package tuned

import (
	"maps"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// Attention is scaled_dot_product_attention: without a mask, with one that is added to
// the scores, or with one that tells which of them count; causal or not. The scores of
// 32 queries at a time, in Go of 48, are all that is ever in memory: their rows are
// computed, made probabilities and multiplied with the values one after the other.
// Queries, keys and values may lie in any order in which their last dimension is the
// innermost. All sizes may be dynamic but those of embeddings and the number of heads.
func Attention() *Kernel {
	return &Kernel{Name: "attention_f32", Descriptor: attentionParams, Go: "rows.Attention",
		Buffers: []string{"scale", "scratch"}, Optional: true,
		Primitives: []string{"Largest", "Sum", "SubScalar", "MulScalar", "Transpose", "exp", "Add",
			"SelectScalar"},
		Operands: []string{"q", "k", "v", "mask"}, C: true, Phases: []string{"units"},
		Composite: true, Match: matchAttention}
}

// What attention does with its mask.
const (
	noMask    = iota
	addedMask // to the scores
	keptMask  // tells which scores count
)

func matchAttention(r *Request) *Instance {
	c := r.Call
	a, ok := ops.AttentionOf(c)
	if !ok || !ChannelsLast(r.Target) || c.Outs[0].DType != ir.Float32 {
		return nil
	}
	q, k, y := c.Tensor("query"), c.Tensor("key"), c.Outs[0]
	n := y.Rank()
	if n > 4 {
		return nil
	}
	e, ok := q.Sizes[n-1].Const()
	ev, ok2 := y.Sizes[n-1].Const()
	s := k.Sizes[n-2]
	if !ok || !ok2 || e == 0 || ev == 0 || !sym.LessEq(sym.Int(1), s) {
		return nil
	}
	if r.Target.Language.QueryPanels && sym.LessEq(y.Sizes[n-2], sym.Int(fewQueries)) {
		return nil
	}
	batch, heads := lead(y, 0), lead(y, 1)
	scratch, behind := r.Target.Language.attentionScratch(s, e, ev)
	in := &Instance{
		Packed:   []Packed{packed("scale", []float32{float32(a.Scale), float32(a.None)})},
		Channels: Channels{Inner: sym.Int(1), Count: sym.Int(ev)}, RunChannels: true,
		Tile:    r.Target.tile(),
		MACs:    sym.Mul(batch, heads, y.Sizes[n-2], s, sym.Int(e+ev)),
		Scratch: sym.Mul(num(4*max(1, r.Target.Threads)), scratch),
	}
	values := Values{"batch": batch, "heads": heads, "queries": y.Sizes[n-2], "keys": s,
		"head_dim": sym.Int(e), "value_dim": sym.Int(ev), "causal": truth(a.Causal),
		"zero_if_masked": truth(a.Rests), "part_scratch": scratch, "query_panel": behind}
	in.Cost = cost(in.MACs)
	for _, x := range []struct{ operand, short string }{{"query", "q"}, {"key", "k"},
		{"value", "v"}} {
		t := c.Tensor(x.operand)
		at := c.Operand(x.operand)
		steps, ok := stepsOf(t, r.order(at))
		if !ok || !steps[3].Is(1) {
			return nil
		}
		in.Operands = append(in.Operands, at)
		b, okb := repeats(lead(t, 0), batch, steps[0])
		h, okh := steps[1], true
		if x.operand == "query" {
			h, okh = repeats(lead(t, 1), heads, h)
		} else {
			group := sym.Int(1)
			if !lead(t, 1).Equal(heads) {
				many, ok1 := heads.Const()
				few, ok2 := lead(t, 1).Const()
				if !ok1 || !ok2 || few == 0 || many%few != 0 {
					return nil
				}
				group = sym.Int(many / few)
			}
			values[x.short+"_group"] = group
		}
		if !okb || !okh {
			return nil
		}
		values[x.short+"_stride_batch"], values[x.short+"_stride_head"] = b, h
		values[x.short+"_stride_row"] = steps[2]
	}
	out, ok := stepsOf(y, r.Out)
	if !ok || !out[3].Is(1) {
		return nil
	}
	values["out_stride_batch"], values["out_stride_head"] = out[0], out[1]
	values["out_stride_row"] = out[2]
	if !in.mask(r, values, []sym.Expr{batch, heads, y.Sizes[n-2], s}) {
		return nil
	}
	in.Params = attentionParams.params(values, nil)
	return in
}

// fewQueries are so few that panels of them would be mostly padding: the
// scores of so few are no great thing to have in memory.
const fewQueries = 16

// runQueries is how many queries are attended to at a time without panels of them.
const runQueries = 48

// mask adds the mask's operand, if there is one, and the fields of values that tell of
// it, over scores of the given sizes.
func (in *Instance) mask(r *Request, values Values, sizes []sym.Expr) bool {
	mode, zero := noMask, sym.Int(0)
	steps := [4]sym.Expr{zero, zero, zero, zero}
	if r.Call.Has("attn_mask") {
		at := r.Call.Operand("attn_mask")
		t := r.Call.Tensor("attn_mask")
		switch {
		case r.order(at) != nil || t.Rank() > 4:
			return false
		case t.DType == ir.Float32:
			mode = addedMask
		case t.DType == ir.Bool:
			mode = keptMask
		default:
			return false
		}
		in.Operands = append(in.Operands, at)
		step := sym.Int(1)
		for i := range 4 {
			d := t.Rank() - 1 - i
			size := sym.Int(1)
			if d >= 0 {
				size = t.Sizes[d]
			}
			var ok bool
			if steps[3-i], ok = repeats(size, sizes[3-i], step); !ok {
				return false
			}
			step = sym.Mul(step, size)
		}
	}
	maps.Copy(values, Values{"mask_mode": num(mode), "mask_stride_batch": steps[0],
		"mask_stride_head": steps[1], "mask_stride_row": steps[2], "mask_stride_col": steps[3]})
	return true
}

// lead returns the size of dimension i of the two that a tensor has before its
// last two, 1 where it has fewer.
func lead(t ir.Type, i int) sym.Expr {
	if d := t.Rank() - 4 + i; d >= 0 {
		return t.Sizes[d]
	}
	return sym.Int(1)
}

// stepsOf returns the distances in memory of elements that are neighbours in
// each dimension, for four dimensions; those that a tensor does not have come
// first.
func stepsOf(t ir.Type, order []int) (steps [4]sym.Expr, ok bool) {
	n := t.Rank()
	if n < 2 || n > 4 {
		return steps, false
	}
	for i := range steps {
		steps[i] = sym.Int(0)
	}
	step := sym.Int(1)
	for i := n - 1; i >= 0; i-- {
		d := i
		if order != nil {
			d = order[i]
		}
		steps[4-n+d] = step
		step = sym.Mul(step, t.Sizes[d])
	}
	return steps, true
}

// repeats returns the step over a dimension of size n where size all is wanted: 0
// if its one element repeats.
func repeats(n, all, step sym.Expr) (sym.Expr, bool) {
	switch {
	case n.Equal(all):
		return step, true
	case n.Is(1):
		return sym.Int(0), true
	}
	return step, false
}

func truth(b bool) sym.Expr {
	if b {
		return sym.Int(1)
	}
	return sym.Int(0)
}

// Legal returns what tells the calls that one of kernels does as a whole,
// though the operator decomposes into others.
func Legal(kernels []*Kernel, target Target) func(*ops.Call) bool {
	return func(c *ops.Call) bool {
		return slices.ContainsFunc(kernels, func(k *Kernel) bool {
			return k.Composite &&
				k.match(&Request{Call: c, Target: target, Const: func(int) ([]byte, bool) {
					return nil, false
				}}) != nil
		})
	}
}

// AnyOrder reports whether operand k of a call that Legal accepts, or with -1 its
// result, may as well lie in any order of its dimensions in memory that leaves
// the last one innermost. Keys and values are read again and again, for which
// rows that lie apart are only good if the cache holds them all.
func AnyOrder(c *ops.Call, k int) bool {
	if _, ok := ops.AttentionOf(c); !ok {
		return false
	}
	switch {
	case k < 0 || k == c.Operand("query"):
		return true
	case k == c.Operand("key") || k == c.Operand("value"):
		return cost(c.Operands()[k].Type.Numel()) <= cacheElements
	}
	return false
}

// cacheElements is how many float32 elements a processor's nearest cache holds
// next to others.
const cacheElements = 4096
