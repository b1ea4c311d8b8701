package raise

import (
	"strconv"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// knowSizes gives integers that are read from tensors, and stand where an
// operator wants sizes or positions, symbols. Other numbers read from tensors
// stay what they are: values of the run.
func (r *raiser) knowSizes(args []any) {
	for _, a := range args {
		named := a.(ops.Named)
		list, ok := named.Value.(ir.List)
		if !ok {
			if x, one := named.Value.(ir.Arg); one && integerOnly[named.Name] {
				list = ir.List{x}
			}
		}
		for _, x := range list {
			if ref, ok := x.(ir.Ref); ok {
				r.know(ref.Value)
			}
		}
	}
}

// integerOnly are the parameters that operators take for positions or sizes.
var integerOnly = map[string]bool{"start": true, "end": true, "step": true, "length": true,
	"size": true, "N": true, "n": true, "m": true}

// know makes the value of an integer an expression, if it is read from a tensor
// or computed from such integers.
func (r *raiser) know(v *ir.Value) bool {
	if v.Type.Kind != ir.IntKind || v.Def == nil {
		return false
	}
	if v.Type.HasExpr {
		return true
	}
	if v.Def.Op == "aten._local_scalar_dense.default" || v.Def.Op == "aten.item.default" {
		within := unasserted
		at, read := r.readAt[v]
		if found, ok := r.spans[at]; read && ok {
			within = found
		}
		if e, ok := r.earlier(at); read && ok {
			v.Type, r.sizeAt[at] = ir.SymInt(e), e
			return true
		}
		s := sym.NewSymbol("u"+strconv.Itoa(r.unbacked), within.lo, within.hi)
		r.unbacked++
		if read {
			r.readBy[s], r.decided[s], r.sizeAt[at] = at, at, s.Expr()
		}
		v.Type = ir.SymInt(s.Expr())
		return true
	}
	all := true
	for _, a := range v.Def.Args {
		ir.EachRef(a.Value, func(x *ir.Value) { all = r.know(x) && all })
	}
	c, err := r.table.Bind(v.Def)
	if !all || err != nil || c.Op.Value == nil {
		return false
	}
	e, err := c.Op.Value(c)
	if err != nil || e.Undefined() {
		return false
	}
	v.Type = ir.SymInt(e)
	return true
}

// earlier returns what an earlier instruction gives, which the program asserts to be
// the same as what the one at gives.
func (r *raiser) earlier(at int) (sym.Expr, bool) {
	i, ok := r.ties[at]
	if !ok {
		return sym.Expr{}, false
	}
	if v := r.readFrom[i]; v != nil {
		r.know(v)
	}
	e, ok := r.sizeAt[i]
	return e, ok
}

// settle replaces the size of results that data decides, if it is known: a tensor of
// fixed size that takes them refuses any other, and the program may assert that it is
// one that was before. The pass define-sizes asserts what is replaced.
func (r *raiser) settle(results []*ir.Value, outs []int32) {
	for i, v := range results {
		if v == nil {
			continue
		}
		for d, e := range v.Type.Sizes {
			if !ops.DataDecides(e) {
				continue
			}
			s := e.Symbols()[0]
			if _, old := r.decided[s]; old {
				continue
			}
			r.decided[s] = r.now
			if i < len(outs) {
				t := r.tensors[outs[i]]
				if !t.dynamic && d < len(t.sizes) {
					e = sym.Int(t.sizes[d])
				}
			}
			if r.b.Emitter == r.top {
				if x, ok := r.earlier(r.now); ok {
					e = x
				}
				r.sizeAt[r.now] = e
			}
			replace(results, s, e)
		}
	}
}

// replace puts e for s in the types of values.
func replace(values []*ir.Value, s *sym.Symbol, e sym.Expr) {
	for _, v := range values {
		if v == nil {
			continue
		}
		v.Type = v.Type.MapSizes(func(x sym.Expr) sym.Expr {
			return x.Subst(func(y *sym.Symbol) (sym.Expr, bool) { return e, y == s })
		})
	}
}

// limit notes that a size of a result is no larger than what the tensor that
// takes it has room for: a runtime refuses others. Only what is computed whenever
// the method runs tells that.
func (r *raiser) limit(t *tensor, typ ir.Type) {
	room, at := int64(1), -1
	for i, e := range typ.Sizes {
		room *= t.sizes[i]
		if n, ok := e.Const(); ok && n > 0 {
			continue
		}
		if at >= 0 {
			return
		}
		at = i
	}
	if at < 0 {
		return
	}
	for _, e := range typ.Sizes {
		if n, ok := e.Const(); ok && n > 0 {
			room /= n
		}
	}
	size := typ.Sizes[at]
	for _, s := range size.Symbols() {
		if x := s.Expr(); size.Equal(x) || size.Equal(sym.Max(x, sym.Int(0))) {
			if old, ok := r.most[s]; ok {
				room = min(room, old)
			}
			r.most[s] = room
		}
	}
}

// declare lists the symbols that types mention besides those of inputs, bounded
// by most. Where two have one name the later gets another.
func declare(m *ir.Method, most map[*sym.Symbol]int64) {
	now := map[*sym.Symbol]*sym.Symbol{}
	names := map[string]bool{}
	for _, s := range m.Symbols {
		now[s], names[s.Name] = s, true
	}
	renamed := func(e sym.Expr) sym.Expr {
		other := false
		for _, s := range e.Symbols() {
			if now[s] == nil {
				now[s] = s
				name := s.Name
				for i := 0; names[name]; i++ {
					name = "u" + strconv.Itoa(i)
				}
				bound, bounded := most[s]
				if name != s.Name || bounded {
					now[s] = &sym.Symbol{Name: name, Lo: s.Lo, Hi: s.Hi}
					if bounded {
						now[s].Hi = sym.Min(s.Hi, sym.Int(bound))
					}
					now[now[s]] = now[s] // types share their lists of sizes
				}
				names[now[s].Name] = true
				m.Symbols = append(m.Symbols, now[s])
			}
			other = other || now[s] != s
		}
		if !other {
			return e
		}
		return e.Subst(func(s *sym.Symbol) (sym.Expr, bool) { return now[s].Expr(), true })
	}
	m.MapSizes(renamed)
}
