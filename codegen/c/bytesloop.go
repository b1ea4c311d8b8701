package c

import (
	"slices"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	ctext "github.com/etgen/etgen/templates/c"
)

// manyBytes is from how many iterations on a loop that stores bytes is worth text for vectors.
const manyBytes = 128

// inRows prints a loop whose iterations are independent, and which stores rounded floats as bytes
// beside each other, with rows of vectors as [gen.epilogueBytes] does, and the rest one by one. It
// reports false, having printed nothing, if the loop is of another kind.
func (p *printer) inRows(s *loop.For) bool {
	least, _ := s.Extent.Bounds()
	last := len(s.Body) - 1
	if !p.g.opt.Machine.May("__SSE2__") || !p.g.p.Tile.Vector || least < manyBytes || last < 0 {
		return false
	}
	to, ok := s.Body[last].(*loop.Store)
	if !ok || to.Value.Op != expr.OpCast || to.Value.DType != ir.Int8 || !of32Bits(s.Body[:last]) ||
		otherBits(to.Value.Args[0]) {
		return false
	}
	if coef, _, linear := to.At.Coef(s.Var); !linear || !coef.Is(1) {
		return false
	}
	r, ok := p.limitedTo(to.Value.Args[0], tI8)
	if !ok || !r.constant() || !r.inShorts() || p.ranges.floatBounds(r.of).nan &&
		!(interval{0, 0}).in(r.interval) {
		return false
	}
	p.rows(s, to, &r)
	return true
}

// of32Bits reports whether statements only name values, of 32 bits as what they are made of.
func of32Bits(body []loop.Stmt) bool {
	return !slices.ContainsFunc(body, func(s loop.Stmt) bool {
		l, ok := s.(*loop.Let)
		return !ok || l.Mutable || l.Var.Len > 0 || l.Value == nil || otherBits(l.Value)
	})
}

// otherBits reports whether something in e has not 32 bits. Compilers make vectors of lanes of one
// size.
func otherBits(e *expr.Expr) bool {
	return expr.Any(e, func(e *expr.Expr) bool { return e.DType != ir.Bool && e.DType.Size() != 4 })
}

// rows prints that loop, which stores r.
func (p *printer) rows(s *loop.For, to *loop.Store, r *roundedNumber) {
	macro := func(name string) string { return ctext.PrefixedName(name, p.g.prefix) }
	rows, lanes, nearest := macro("BYTES_ROWS"), macro("BYTES_LANES"), macro("bytes_nearest")
	p.g.tunedHelpers(p.g.p.Tile, map[string]bool{"BYTES_LANES": true, "BYTES_ROWS": true,
		"BYTES_INLINE": true, "bytes_nearest": true})
	outer, end, i := p.scope, p.index(s.Extent), p.scope.Take(s.Var.Name)
	p.scope = codegen.NewScope(outer)
	row, lane := p.scope.Take("r"), p.scope.Take("k")
	wide, at := p.scope.Take("wide"), p.scope.Take("at")
	p.w.line("%s %s = 0;", p.g.idx, i)
	p.w.b.WriteString("#if defined(" + lanes + ")\n")
	p.w.open("for (; %s - %s >= %s * %s; %[2]s += %[3]s * %[4]s) {", end.at(precAdd), i, rows, lanes)
	p.w.line("float %s[%s][%s];", wide, rows, lanes)
	p.w.open("for (int %[1]s = 0; %[1]s < %[2]s; %[1]s++) {", row, rows)
	p.w.line("%s", p.g.rolled())
	p.w.open("for (int %[1]s = 0; %[1]s < %[2]s; %[1]s++) {", lane, lanes)
	p.w.line("const %s %s = %s + %s * %s + %s;", p.g.idx, at, i, row, lanes, lane)
	p.syms[s.Var] = at
	p.block(s.Body[:len(s.Body)-1])
	p.spilled = nil
	p.share(r.of)
	p.w.line("%s[%s][%s] = %s;", wide, row, lane, p.assign(r.of, tF32).s)
	p.w.close()
	p.w.close()
	p.syms[s.Var] = i
	out := p.bufs[to.Buf]
	p.use(out.names...)
	p.w.line("%s(%s, %t, &%s[%s], %s, %s, %d, %d, %d);", nearest, rows, !p.roundable(r.of), out.name,
		p.index(to.At).s, lanes, wide, r.zero, r.lo, r.hi)
	p.w.close()
	p.w.b.WriteString("#endif\n")
	p.scope = outer
	p.w.line("for (; %s < %s; %[1]s++) {", i, end.at(precShift))
	p.nested(s.Body)
	p.w.line("}")
}
