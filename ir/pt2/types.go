package pt2

import (
	"math"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// maxRank bounds the dimensions of a tensor; PyTorch's own bound is 64.
const maxRank = 64

// valueType returns the type that the graph records for the value a names.
func (c *converter) valueType(s *scope, a *wireArg) ir.Type {
	switch a.tag {
	case "as_tensor":
		t, ok := s.wire.tensors[a.name]
		if !ok {
			panic(problem("the graph records no type for %q", a.name))
		}
		var typ ir.Type
		within(func() { typ = c.tensorType(t) }, "value %q", a.name)
		return typ
	case "as_sym_int":
		w, ok := s.wire.ints[a.name]
		if !ok {
			return ir.Type{Kind: ir.IntKind}
		}
		var typ ir.Type
		within(func() { typ = ir.SymInt(c.expr(w)) }, "value %q", a.name)
		return typ
	case "as_sym_float":
		return ir.Type{Kind: ir.FloatKind}
	case "as_sym_bool":
		return ir.Type{Kind: ir.BoolKind}
	case "as_custom_obj":
		return ir.Type{Kind: ir.CustomKind, Class: s.wire.classes[a.name]}
	}
	panic(problem("%q is no value but %s", a.name, a.tag))
}

func (c *converter) tensorType(w *wireTensor) ir.Type {
	d := dtypeOf(w.dtype)
	if w.layout != layoutStrided {
		panic(problem("tensors of layout %s are not supported", layoutName(w.layout)).
			hint("make them dense in the model"))
	}
	if len(w.sizes) != len(w.strides) || len(w.sizes) > maxRank {
		panic(problem("a tensor has %d sizes and %d strides", len(w.sizes),
			len(w.strides)))
	}
	t := ir.Type{Kind: ir.TensorKind, DType: d}
	t.Sizes = c.exprList(w.sizes)
	t.Strides = c.exprList(w.strides)
	t.Offset = c.expr(w.offset)
	notNegative(t)
	return t
}

// notNegative checks the constant sizes, strides and offset of a tensor, and
// that the number of elements fits 63 bits.
func notNegative(t ir.Type) {
	numel := int64(1)
	for i, e := range t.Sizes {
		if n, ok := e.Const(); ok {
			if n < 0 {
				panic(problem("a tensor has the size %d", n))
			}
			if n > 0 {
				if numel > math.MaxInt64/16/n {
					panic(problem("a tensor has more elements than 64 bits can count"))
				}
				numel *= n
			}
		}
		if n, ok := t.Strides[i].Const(); ok && n < 0 {
			panic(problem("a tensor has the stride %d", n))
		}
	}
	if n, ok := t.Offset.Const(); ok && n < 0 {
		panic(problem("a tensor has the storage offset %d", n))
	}
}

func (c *converter) exprList(ws []wireSym) []sym.Expr {
	return seq.Map(ws, c.expr)
}

func (c *converter) expr(w wireSym) sym.Expr {
	if w.expr == "" {
		return sym.Int(w.n)
	}
	if e, ok := c.exprs[w.expr]; ok {
		return e
	}
	var e sym.Expr
	if err := must.Try(func() {
		e = must.Get(sym.ParseSrepr(w.expr, func(name string) *sym.Symbol {
			return c.symbol(name, w.expr)
		}))
	}); err != nil {
		p := problem("bad size expression %s", w.expr)
		p.Err = err
		panic(p)
	}
	c.exprs[w.expr] = e
	return e
}

// symbol returns the symbol called name. One that range_constraints does not
// mention has the range its assumptions in srepr give it.
func (c *converter) symbol(name, srepr string) *sym.Symbol {
	if s := c.symbols[name]; s != nil {
		return s
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	r := c.wire.ranges[name]
	switch {
	case r.hasLo:
		lo = r.lo
	case c.sizes[name]:
		lo = 0
	case strings.Contains(srepr, "Symbol('"+name+"', positive=True"):
		lo = 1
	case strings.Contains(srepr, "Symbol('"+name+"', nonnegative=True"):
		lo = 0
	}
	if r.hasHi {
		hi = r.hi
	}

	switch {
	case !identifier(name):
		panic(problem("the symbol name %q is no identifier", name))
	case c.sizes[name] && lo < 0:
		panic(problem("the size %s has the range [%d, %d]: a size is not negative", name, lo, hi))
	case lo > hi:
		panic(problem("the symbol %s has the empty range [%d, %d]", name, lo, hi))
	}
	unique := name
	if c.sizes[name] && strings.HasPrefix(name, "u") {
		unique = "s_" + name // u is for sizes that data decides
	}
	s := sym.NewSymbol(unique, lo, hi)
	c.symbols[name] = s
	c.order = append(c.order, s)
	return s
}

// inputSizes returns the symbols that are whole sizes of tensors among the graph's
// inputs: they are not negative.
func inputSizes(g *wireGraph) map[string]bool {
	sizes := map[string]bool{}
	for i := range g.inputs {
		t := g.tensors[g.inputs[i].name]
		if t == nil {
			continue
		}
		for _, w := range t.sizes {
			rest, ok := strings.CutPrefix(w.expr, "Symbol('")
			if name, rest, end := strings.Cut(rest, "'"); ok && end &&
				strings.Count(rest, "(") == 0 {
				sizes[name] = true
			}
		}
	}
	return sizes
}

func identifier(name string) bool {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != "" && len(name) < 256
}

// tree reads a treespec and checks that it has leaves leaves.
func (c *converter) tree(what, text string, leaves int) (*ir.Tree, error) {
	if text == "" {
		return nil, nil
	}
	t, err := ir.ReadTree(text, c.wire.namedtuples)
	if err != nil {
		return nil, problem("the calling convention (%s) cannot be read: %v", what, err).
			hint("containers may be nested %d deep", ir.MaxTree)
	}
	if n := len(t.Leaves()); n != leaves {
		return nil, problem("the calling convention (%s) has %d leaves, the signature %d", what,
			n, leaves)
	}
	return t, nil
}
