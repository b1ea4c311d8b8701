package eval

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
	"github.com/etgen/etgen/kernels/loop"
)

// kind is how values of a dtype are held: Bool and integers as int64, Float64
// as itself, Float32 and narrower floats as float32.
type kind uint8

const (
	intKind kind = iota
	f32Kind
	f64Kind
)

func kindOf(d ir.DType) kind {
	switch {
	case d == ir.Float64:
		return f64Kind
	case d == ir.Float32 || half.Is(d):
		return f32Kind
	case d.IsInt() || d == ir.Bool:
		return intKind
	}
	must.Fail("no values of dtype %s", d)
	return 0
}

type compiler struct {
	p    *Program
	syms map[*sym.Symbol]int
	vars map[*expr.Var]int // first slot in the slots of the kind
	fns  map[*expr.Func]*function
}

// symbol returns the slot of s, a new one if it has none.
func (c *compiler) symbol(s *sym.Symbol) int {
	slot, ok := c.syms[s]
	if !ok {
		slot = c.p.ints
		c.syms[s] = slot
		c.p.ints++
	}
	return slot
}

// local returns the first slot of v, new ones if it has none.
func (c *compiler) local(v *expr.Var) int {
	slot, ok := c.vars[v]
	if ok {
		return slot
	}
	count := &c.p.ints
	switch kindOf(v.DType) {
	case f32Kind:
		count = &c.p.f32s
	case f64Kind:
		count = &c.p.f64s
	}
	slot = *count
	*count += max(v.Len, 1)
	c.vars[v] = slot
	return slot
}

// known returns the slot of a declared local.
func (c *compiler) known(v *expr.Var) int {
	slot, ok := c.vars[v]
	if !ok {
		must.Fail("local %s is used before it is declared", v.Name)
	}
	return slot
}

func (c *compiler) block(body []loop.Stmt) block {
	var b block
	for _, s := range body {
		b = append(b, c.stmt(s))
	}
	return b
}

func (c *compiler) stmt(s loop.Stmt) func(*frame) bool {
	switch s := s.(type) {
	case *loop.For:
		return c.loop(s)
	case *loop.Chunks:
		return c.chunks(s)
	case *loop.Transpose:
		return c.transpose(s)
	case *loop.While:
		cond, body := c.bool(s.Cond), c.block(s.Body)
		return func(fr *frame) bool {
			for cond(fr) && !body.run(fr) {
				fr.spend(1)
			}
			return false
		}
	case *loop.If:
		cond, then, other := c.bool(s.Cond), c.block(s.Then), c.block(s.Else)
		return func(fr *frame) bool {
			if cond(fr) {
				return then.run(fr)
			}
			return other.run(fr)
		}
	case *loop.Let:
		if s.Value == nil {
			return c.clear(s.Var)
		}
		if s.Var.Len > 0 {
			must.Fail("array %s declared with a value", s.Var.Name)
		}
		// The value does not see the new variable.
		return c.assign(s.Var, nil, s.Value, func() int { return c.local(s.Var) })
	case *loop.Assign:
		var at func(*frame) int64
		if s.Var.Len > 0 {
			at = c.element(s.Var, s.At)
		}
		return c.assign(s.Var, at, s.Value, func() int { return c.known(s.Var) })
	case *loop.LetIndex:
		v := c.int(s.Value)
		slot := c.symbol(s.Sym)
		return func(fr *frame) bool { fr.ints[slot] = v(fr); return false }
	case *loop.Store:
		return c.store(s)
	case *loop.Break:
		return func(*frame) bool { return true }
	}
	must.Fail("unknown statement %T", s)
	return nil
}

// loop compiles a counted loop.
func (c *compiler) loop(s *loop.For) func(*frame) bool {
	extent := c.index(s.Extent)
	slot := c.symbol(s.Var)
	body := c.block(s.Body)
	run := body.run
	if len(body) == 1 {
		run = body[0]
	}
	return func(fr *frame) bool {
		n := extent(fr)
		for i := int64(0); i < n; {
			end := min(n, i+pollEvery)
			for fr.spend(end - i); i < end; i++ {
				fr.ints[slot] = i
				if run(fr) {
					return false
				}
			}
		}
		return false
	}
}

// clear gives a local without a value a definite one: undefined values must
// not depend on what ran before.
func (c *compiler) clear(v *expr.Var) func(*frame) bool {
	lo := c.local(v)
	hi := lo + max(v.Len, 1)
	switch kindOf(v.DType) {
	case f32Kind:
		return func(fr *frame) bool { clear(fr.f32s[lo:hi]); return false }
	case f64Kind:
		return func(fr *frame) bool { clear(fr.f64s[lo:hi]); return false }
	}
	return func(fr *frame) bool { clear(fr.ints[lo:hi]); return false }
}

// assign sets a local, or its element at; slot is asked after the value was
// compiled.
func (c *compiler) assign(v *expr.Var, at func(*frame) int64, value *expr.Expr,
	slotOf func() int) func(*frame) bool {
	if value.DType != v.DType {
		must.Fail("local %s of %s gets a value of %s", v.Name, v.DType, value.DType)
	}
	if at == nil {
		at = func(*frame) int64 { return 0 }
		switch kindOf(v.DType) {
		case f32Kind:
			x := c.f32(value)
			slot := slotOf()
			return func(fr *frame) bool { fr.f32s[slot] = x(fr); return false }
		case f64Kind:
			x := c.f64(value)
			slot := slotOf()
			return func(fr *frame) bool { fr.f64s[slot] = x(fr); return false }
		}
	}
	switch kindOf(v.DType) {
	case f32Kind:
		x := c.f32(value)
		slot := int64(slotOf())
		return func(fr *frame) bool { fr.f32s[slot+at(fr)] = x(fr); return false }
	case f64Kind:
		x := c.f64(value)
		slot := int64(slotOf())
		return func(fr *frame) bool { fr.f64s[slot+at(fr)] = x(fr); return false }
	}
	x := c.int(value)
	slot := int64(slotOf())
	return func(fr *frame) bool { fr.ints[slot+at(fr)] = x(fr); return false }
}

// element compiles the index of an element of array v.
func (c *compiler) element(v *expr.Var, at sym.Expr) func(*frame) int64 {
	i := c.index(at)
	n := int64(v.Len)
	return func(fr *frame) int64 {
		k := i(fr)
		if uint64(k) >= uint64(n) {
			must.Fail("element %d of array %s, which has %d", k, v.Name, n)
		}
		return k
	}
}

// function is a compiled scalar function. It has its own slots, so a call
// must have evaluated all its arguments before it sets the parameters.
type function struct {
	params []func(*frame, Value)
	body   block
	result *expr.Expr
}
