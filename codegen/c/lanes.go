package c

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	kmath "github.com/etgen/etgen/kernels/math"
)

// vectorHeader declares the functions of MVE, and types of vectors.
const vectorHeader = "arm_mve.h"

// usesVectors reports whether something is printed that the header declares: texts for other
// machines have types of the same names.
func (g *gen) usesVectors() bool {
	if g.opt.Machine == nil || !g.opt.Machine.MVE {
		return false
	}
	for _, t := range []string{"int8x16_t", "int16x8_t", "int32x4_t", "float32x4_t"} {
		if g.tunedNames[t] {
			return true
		}
	}
	return g.lanes
}

// lanes prints expressions for the elements of a vector at once, with the functions of MVE.
// Each operation gives the bits that the printer of single elements has it give, but for numbers
// below the smallest normal one, which vectors take for zero. What it has no function for sets
// failed.
type lanes struct {
	p      *printer
	acc    *expr.Var                // is a vector by itself; may be nil
	along  []*sym.Symbol            // indices that count lanes: all have the same lane
	values map[*expr.Expr]string    // what is in a local
	uses   map[*expr.Expr]int       // how often the statement reads it
	vars   map[*expr.Var]string     // vectors by the variables of which they hold one for each lane
	defs   map[*expr.Var]*expr.Expr // what variables are, where it is printed where they are used
	sums   map[*expr.Var]bool       // what the loop adds up, or the largest
	index  map[*sym.Symbol]string
	mask   string // which lanes count; "" if all do
	byte   bool   // lanes are bytes, which nothing is computed of, and not 32 bits
	names  int
	failed bool
}

// vectorTypes are the types of vectors by the type of what an element is computed as.
var vectorTypes = map[ir.DType]string{ir.Float32: "float32x4_t", ir.Int32: "int32x4_t",
	ir.Bool: "mve_pred16_t", ir.Int8: "int8x16_t"}

// wide is the type in which lanes compute with elements of d; ok is false if they do not.
func (l *lanes) wide(d ir.DType) (w ir.DType, ok bool) {
	if l.byte {
		return d, d == ir.Int8 || d == ir.Bool
	}
	switch d {
	case ir.Float32, ir.Int32, ir.Bool:
		return d, true
	case ir.Int8, ir.Int16, ir.Uint8:
		return ir.Int32, true
	}
	return d, false
}

// lanes prints for a vector acc, which may be nil, and indices that count its lanes.
func (p *printer) lanes(acc *expr.Var, along ...*sym.Symbol) *lanes {
	return &lanes{p: p, acc: acc, along: along, values: map[*expr.Expr]string{},
		uses: map[*expr.Expr]int{}, vars: map[*expr.Var]string{}, defs: map[*expr.Var]*expr.Expr{},
		sums: map[*expr.Var]bool{}, index: map[*sym.Symbol]string{}}
}

// fail gives up.
func (l *lanes) fail() string {
	l.failed = true
	return ""
}

// written is e without variables that are printed where they are used.
func (l *lanes) written(e *expr.Expr) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if d := l.defs[e.Var]; e.Op == expr.OpLocal && d != nil {
			return d
		}
		return e
	})
}

// shared is e with equal parts made one, so that each is computed once.
func (l *lanes) shared(e *expr.Expr) *expr.Expr {
	e = expr.NewSharer().Share(l.written(e))
	var count func(e *expr.Expr)
	count = func(e *expr.Expr) {
		if l.uses[e]++; l.uses[e] == 1 {
			for _, a := range e.Args {
				count(a)
			}
		}
	}
	count(e)
	return e
}

// statements prints declarations, stores and sums. It gives up on all else.
func (l *lanes) statements(body []loop.Stmt) {
	stored, behind := map[int]bool{}, false // a statement is behind a store
	for i, s := range body {
		switch s := s.(type) {
		case *loop.Store:
			stored[s.Buf], behind = true, behind || i < len(body)-1
		case *loop.Assign:
			l.sums[s.Var] = true
		}
	}
	// What is loaded may be loaded again, where it is used, if nothing has changed. A store may
	// change what other buffers hold, which lie in place.
	again := !behind && !slices.ContainsFunc(body, func(s loop.Stmt) bool {
		return loop.AnyNode(s, func(e *expr.Expr) bool { return e.Op == expr.OpLoad && stored[e.Buf] })
	})
	for _, s := range body {
		l.p.spilled = nil
		switch s := s.(type) {
		case *loop.Let:
			l.let(s, again)
		case *loop.LetIndex:
			l.letIndex(s)
		case *loop.Store:
			to, value := l.p.bufs[s.Buf], l.stored(s.Value)
			if !l.contiguous(s.At) || expr.Any(s.Value, l.isSum) {
				l.fail()
			}
			if value = l.store(to.dtype, "&"+to.name+"["+l.p.index(s.At).s+"]", value); !l.failed {
				l.p.use(to.names...)
				l.p.w.line("%s", value)
			}
		case *loop.Assign:
			l.accumulate(s)
		default:
			l.fail()
		}
		if l.failed {
			return
		}
	}
}

func (l *lanes) let(s *loop.Let, again bool) {
	if s.Mutable || s.Value == nil || s.Var.Len > 0 || expr.Any(s.Value, l.isSum) {
		l.fail()
		return
	}
	e := l.written(s.Value)
	if c, ok := l.scalar(e); ok {
		t := typeOf(s.Var.DType)
		name := l.p.scope.Take(s.Var.Name)
		l.p.vars[s.Var] = name
		l.p.w.line("const %s %s = %s;", t, name, convert(c, t).s)
		return
	}
	if again {
		l.defs[s.Var] = e
		return
	}
	e = l.shared(e)
	l.vars[s.Var] = l.local(e, l.expr(e))
}

// stored prints a vector of which each lane's low bits are stored.
func (l *lanes) stored(e *expr.Expr) string {
	if e = l.shared(e); e.Op == expr.OpCast && e.DType.IsInt() && e.DType.Size() < 4 &&
		e.Args[0].DType == ir.Int32 {
		e = e.Args[0]
	}
	return l.expr(e)
}

// local declares a vector.
func (l *lanes) local(e *expr.Expr, value string) string {
	w, ok := l.wide(e.DType)
	if !ok {
		return l.fail()
	}
	name := l.p.scope.Take(fmt.Sprintf("v%d", l.names))
	l.names++
	l.p.w.line("const %s %s = %s;", vectorTypes[w], name, value)
	return name
}

// scalar prints e if it is the same in all lanes.
func (l *lanes) scalar(e *expr.Expr) (c code, ok bool) {
	if l.varies(e) {
		return code{}, false
	}
	return l.p.expr(e), true
}

// varies reports whether e differs between lanes.
func (l *lanes) varies(e *expr.Expr) (differs bool) {
	expr.Walk(e, func(e *expr.Expr) {
		switch e.Op {
		case expr.OpLocal:
			differs = differs || e.Var == l.acc || l.vars[e.Var] != ""
		case expr.OpIndex:
			differs = differs || l.moves(e.Idx)
		case expr.OpLoad:
			for _, c := range e.Coords {
				differs = differs || l.moves(c)
			}
		}
	})
	return differs
}

// moves reports whether an index differs between lanes.
func (l *lanes) moves(x sym.Expr) bool {
	return x.AnySymbol(func(s *sym.Symbol) bool {
		return l.index[s] != "" || slices.Contains(l.along, s)
	})
}

// expr prints e as a vector.
func (l *lanes) expr(e *expr.Expr) string {
	if l.failed {
		return ""
	}
	if v, ok := l.values[e]; ok {
		return v
	}
	if c, ok := l.scalar(e); ok {
		return l.all(e, c)
	}
	v := l.operation(e)
	if !l.failed && (len(e.Args) > 0 && len(v) > 60 || l.uses[e] > 1 && e.Op != expr.OpLocal) {
		v = l.local(e, v)
	}
	l.values[e] = v
	return v
}

// all is a vector that has the same number in each lane.
func (l *lanes) all(e *expr.Expr, c code) string {
	switch w, _ := l.wide(e.DType); {
	case e.DType == ir.Bool:
		return "(mve_pred16_t)(" + c.at(precUnary) + " ? 0xFFFF : 0)"
	case w == ir.Int8:
		return "vdupq_n_s8(" + convert(c, tI8).s + ")"
	case w == ir.Int32:
		return "vdupq_n_s32(" + convert(c, tI32).s + ")"
	case w == ir.Float32:
		return "vdupq_n_f32(" + convert(c, tF32).s + ")"
	}
	return l.fail()
}

// lanesNames are the functions of operations, without the type of their operands.
var lanesNames = map[expr.Op]string{expr.OpAdd: "vaddq", expr.OpSub: "vsubq", expr.OpMul: "vmulq",
	expr.OpEq: "vcmpeqq", expr.OpNe: "vcmpneq", expr.OpLt: "vcmpltq", expr.OpLe: "vcmpleq",
	expr.OpGt: "vcmpgtq", expr.OpGe: "vcmpgeq", expr.OpNeg: "vnegq", expr.OpAbs: "vabsq",
	expr.OpFloor: "vrndmq", expr.OpCeil: "vrndpq", expr.OpTrunc: "vrndq", expr.OpRound: "vrndnq",
	expr.OpAnd: "vandq", expr.OpOr: "vorrq", expr.OpXor: "veorq"}

// greater is what compares floats with the operands swapped: MVE has what is no number less than
// anything.
var greater = map[expr.Op]expr.Op{expr.OpLt: expr.OpGt, expr.OpLe: expr.OpGe}

func (l *lanes) operation(e *expr.Expr) string {
	if x, y, ok := kmath.IsHighMul(e); ok {
		return l.apply(e, "vqrdmulhq", x, y)
	}
	if x, by, ok := kmath.IsRoundShift(e); ok {
		return l.roundShift(x, by)
	}
	switch e.Op {
	case expr.OpLocal:
		if e.Var == l.acc {
			l.p.use(l.p.vars[e.Var])
			return l.p.vars[e.Var]
		}
		return l.vars[e.Var]
	case expr.OpLoad:
		return l.load(e)
	case expr.OpCast:
		return l.cast(e)
	case expr.OpSelect:
		return l.apply(e, "vpselq", e.Args[1], e.Args[2], e.Args[0])
	case expr.OpMin, expr.OpMax:
		return l.extreme(e)
	case expr.OpFMA:
		return l.apply(e, "vfmaq", e.Args[2], e.Args[0], e.Args[1])
	case expr.OpBitcast:
		return l.bitcast(e)
	case expr.OpShl, expr.OpShr:
		return l.shift(e)
	case expr.OpCall:
		return l.call(e)
	case expr.OpFloor, expr.OpCeil, expr.OpTrunc, expr.OpRound:
		if e.DType != ir.Float32 {
			return l.fail()
		}
	case expr.OpAnd, expr.OpOr, expr.OpXor: // not of masks, which gcc 12 does not compile
		if e.DType != ir.Int32 {
			return l.fail()
		}
	case expr.OpDiv:
		if e.DType != ir.Float32 {
			return l.fail()
		}
		return "(" + l.expr(e.Args[0]) + " / " + l.expr(e.Args[1]) + ")" // lane by lane
	case expr.OpAdd, expr.OpSub, expr.OpMul, expr.OpNeg, expr.OpAbs:
		// of 32 bits: others would have to wrap around
		if e.DType != ir.Int32 && e.DType != ir.Float32 {
			return l.fail()
		}
	}
	args, op := e.Args, e.Op
	if swapped := greater[op]; swapped != 0 && args[0].DType == ir.Float32 {
		op, args = swapped, []*expr.Expr{args[1], args[0]}
	}
	name, ok := lanesNames[op]
	if !ok {
		return l.fail()
	}
	return l.apply(e, name, args...)
}

// apply prints a function of vectors.
func (l *lanes) apply(e *expr.Expr, name string, args ...*expr.Expr) string {
	w, ok := l.wide(args[0].DType)
	suffix, known := map[ir.DType]string{ir.Int32: "_s32", ir.Float32: "_f32",
		ir.Int8: "_s8"}[w]
	if !ok || !known {
		return l.fail()
	}
	var list []string
	for i, a := range args {
		last := i == len(args)-1 && len(args) > 1 && e.Op != expr.OpSelect && e.Op != expr.OpFMA &&
			e.Op != expr.OpAnd && e.Op != expr.OpOr && e.Op != expr.OpXor
		if c, same := l.scalar(a); same && last { // there is a form with a number
			t := typeOf(w)
			list = append(list, convert(c, t).s)
			suffix = "_n" + suffix
			continue
		}
		list = append(list, l.expr(a))
	}
	return name + suffix + "(" + strings.Join(list, ", ") + ")"
}

// loads and stores are the functions that load and store elements as lanes of 32 bits, and the
// types behind their names.
var (
	loads = map[ir.DType][2]string{ir.Float32: {"vldrwq", "f32"}, ir.Int32: {"vldrwq", "s32"},
		ir.Int16: {"vldrhq", "s32"}, ir.Int8: {"vldrbq", "s32"}, ir.Uint8: {"vldrbq", "u32"},
		ir.Bool: {"vldrbq", "u32"}}
	stores = map[ir.DType][2]string{ir.Float32: {"vstrwq", "f32"}, ir.Int32: {"vstrwq", "s32"},
		ir.Int16: {"vstrhq", "s32"}, ir.Int8: {"vstrbq", "s32"}, ir.Uint8: {"vstrbq", "u32"},
		ir.Bool: {"vstrbq", "u32"}}
)

// masked prints a function of memory that leaves lanes alone that do not count.
func (l *lanes) masked(name, mark, suffix, args string) string {
	if l.mask == "" {
		return name + "_" + suffix + "(" + args + ")"
	}
	l.p.use(l.mask)
	return name + mark + "_" + suffix + "(" + args + ", " + l.mask + ")"
}

// load prints elements of a buffer: those that lie beside each other, or anywhere.
func (l *lanes) load(e *expr.Expr) string {
	if e.Buf >= len(l.p.bufs) || len(e.Coords) != 1 {
		return l.fail()
	}
	b := l.p.bufs[e.Buf]
	f, ok := loads[b.dtype]
	if l.byte {
		f, ok = [2]string{"vldrbq", "s8"}, b.dtype == ir.Int8
	}
	if !ok {
		return l.fail()
	}
	if !l.contiguous(e.Coords[0]) {
		return l.gather(b, e.Coords[0], f)
	}
	l.p.use(b.names...)
	v := l.masked(f[0], "_z", f[1], "&"+b.name+"["+l.p.index(e.Coords[0]).s+"]")
	if b.dtype == ir.Uint8 || b.dtype == ir.Bool {
		v = "vreinterpretq_s32_u32(" + v + ")"
	}
	if b.dtype == ir.Bool {
		v = "vcmpgtq_n_s32(" + v + ", 0)" // gcc 12 fails where it selects by inequality
	}
	return v
}

// contiguous reports whether an index grows by one from lane to lane.
func (l *lanes) contiguous(x sym.Expr) bool {
	found := false
	for _, s := range l.along {
		if !x.Uses(s) {
			continue
		}
		coef, _, linear := x.Coef(s)
		if found || !linear || !coef.Is(1) {
			return false
		}
		found = true
	}
	return found
}

// extreme prints the choice of C: of what does not compare, the second.
func (l *lanes) extreme(e *expr.Expr) string {
	a, b := e.Args[0], e.Args[1]
	if w, ok := l.wide(e.DType); ok && w.IsInt() {
		name := map[expr.Op]string{expr.OpMin: "vminq", expr.OpMax: "vmaxq"}[e.Op]
		suffix := map[ir.DType]string{ir.Int32: "_s32", ir.Int8: "_s8"}[w]
		return name + suffix + "(" + l.expr(a) + ", " + l.expr(b) + ")"
	}
	if e.DType != ir.Float32 {
		return l.fail()
	}
	op := map[expr.Op]expr.Op{expr.OpMin: expr.OpLt, expr.OpMax: expr.OpGt}[e.Op]
	l.uses[a]++ // it is compared, and chosen from
	l.uses[b]++
	compare := &expr.Expr{Op: op, DType: ir.Bool, Args: []*expr.Expr{a, b}}
	return "vpselq_f32(" + l.expr(a) + ", " + l.expr(b) + ", " + l.expr(compare) + ")"
}

func (l *lanes) cast(e *expr.Expr) string {
	a := e.Args[0]
	from, ok := l.wide(a.DType)
	to, known := l.wide(e.DType)
	switch {
	case !ok || !known || to == ir.Bool || from == ir.Bool:
		return l.fail()
	case from == ir.Int32 && to == ir.Float32:
		return "vcvtq_f32_s32(" + l.expr(a) + ")"
	case from == to:
		if !l.p.ranges.fitsInt(a, e.DType) && (e.DType.Size() < a.DType.Size() ||
			e.DType.Size() == a.DType.Size() && e.DType != a.DType) {
			return l.fail() // it would wrap around
		}
		return l.expr(a)
	}
	n, ok := l.p.roundedTo(a, typeOf(e.DType))
	if !ok || !n.constant() {
		// what is no number becomes 0 here, too
		if r, ok := l.p.ranges.floatRange(a); ok && r.in(rangeOf(typeOf(e.DType))) ||
			l.p.ranges.fits(a, typeOf(e.DType)) {
			return "vcvtq_s32_f32(" + l.expr(a) + ")"
		}
		return l.fail()
	}
	v := "vcvtnq_s32_f32(" + l.expr(n.of) + ")"
	if n.zero != 0 {
		v = fmt.Sprintf("vaddq_n_s32(%s, %d)", v, n.zero)
	}
	return fmt.Sprintf("vminq_s32(vmaxq_s32(%s, vdupq_n_s32(%d)), vdupq_n_s32(%d))", v, n.lo, n.hi)
}

func (l *lanes) bitcast(e *expr.Expr) string {
	switch a := e.Args[0]; {
	case a.DType == ir.Int32 && e.DType == ir.Float32:
		return "vreinterpretq_f32_s32(" + l.expr(a) + ")"
	case a.DType == ir.Float32 && e.DType == ir.Int32:
		return "vreinterpretq_s32_f32(" + l.expr(a) + ")"
	}
	return l.fail()
}

func (l *lanes) shift(e *expr.Expr) string {
	x, by := e.Args[0], e.Args[1]
	switch {
	case e.DType != ir.Int32:
		return l.fail()
	case by.Op == expr.OpConst && by.Int > 0 && by.Int < 32:
		name := map[expr.Op]string{expr.OpShl: "vshlq_n_s32", expr.OpShr: "vshrq_n_s32"}[e.Op]
		return fmt.Sprintf("%s(%s, %d)", name, l.expr(x), by.Int)
	case e.Op == expr.OpShl && by.DType == ir.Int32:
		return "vshlq_s32(" + l.expr(x) + ", " + l.expr(by) + ")"
	}
	return l.fail()
}

// roundShift prints a quotient by a power of two, ties away from zero: a negative number is one
// less before it is rounded upwards.
func (l *lanes) roundShift(x, by *expr.Expr) string {
	l.uses[x]++
	v := l.expr(x)
	if by.Op == expr.OpConst {
		return fmt.Sprintf("vrshrq_n_s32(vqaddq_s32(%s, vshrq_n_s32(%s, 31)), %d)", v, v, by.Int)
	}
	left := ""
	if n := by.Args; by.Op == expr.OpMax && n[0].Op == expr.OpNeg && expr.IsZero(n[1]) {
		left = "vminq_s32(" + l.expr(n[0].Args[0]) + ", vdupq_n_s32(0))"
	} else {
		left = "vnegq_s32(" + l.expr(by) + ")"
	}
	left = l.local(by, left)
	return fmt.Sprintf("vrshlq_s32(vqaddq_s32(%s, vshrq_n_s32(vandq_s32(%s, %s), 31)), %s)",
		v, v, left, left)
}

// call prints what a function computes.
func (l *lanes) call(e *expr.Expr) string {
	args := seq.Map(e.Args, func(a *expr.Expr) string { return l.local(a, l.expr(a)) })
	for i, v := range e.Fn.Params {
		l.vars[v] = args[i]
	}
	outer := l.values
	l.values = map[*expr.Expr]string{} // the function may have been called before
	body := l.shared(e.Fn.Body)
	v := l.local(e, l.expr(body))
	l.values = outer
	return v
}

// store returns the statement that stores a vector of elements of d.
func (l *lanes) store(d ir.DType, to, value string) string {
	f, ok := stores[d]
	if l.byte {
		f, ok = [2]string{"vstrbq", "s8"}, d == ir.Int8
	}
	if !ok {
		return l.fail()
	}
	if d == ir.Bool {
		value = "vpselq_s32(vdupq_n_s32(1), vdupq_n_s32(0), " + value + ")"
	}
	if d == ir.Uint8 || d == ir.Bool {
		value = "vreinterpretq_u32_s32(" + value + ")"
	}
	return l.masked(f[0], "_p", f[1], to+", "+value) + ";"
}
