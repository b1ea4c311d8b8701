package c

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
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
	acc    *expr.Var             // is a vector by itself; may be nil
	along  []*sym.Symbol         // indices that count lanes: all have the same lane
	values map[*expr.Expr]string // what is in a local
	vars   map[*expr.Var]string  // vectors by the variables of which they hold one for each lane
	lines  []string
	names  int
	failed bool
}

// vectorTypes are the types of vectors by the type of what an element is computed as.
var vectorTypes = map[ir.DType]string{ir.Float32: "float32x4_t", ir.Int32: "int32x4_t",
	ir.Bool: "mve_pred16_t"}

// wide is the type in which lanes compute with elements of d; ok is false if they do not.
func wide(d ir.DType) (w ir.DType, ok bool) {
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
		vars: map[*expr.Var]string{}}
}

// fail gives up.
func (l *lanes) fail() string {
	l.failed = true
	return ""
}

// statements prints what locals hold. It gives up on all but declarations.
func (l *lanes) statements(body []loop.Stmt) {
	for _, s := range body {
		let, ok := s.(*loop.Let)
		if !ok || let.Mutable || let.Value == nil || let.Var.Len > 0 {
			l.fail()
			return
		}
		if c, ok := l.scalar(let.Value); ok {
			t := typeOf(let.Var.DType)
			name := l.p.scope.Take(let.Var.Name)
			l.p.vars[let.Var] = name
			l.lines = append(l.lines, fmt.Sprintf("const %s %s = %s;", t, name, convert(c, t).s))
			continue
		}
		l.vars[let.Var] = l.local(let.Value, l.expr(let.Value))
	}
}

// local declares a vector.
func (l *lanes) local(e *expr.Expr, value string) string {
	w, ok := wide(e.DType)
	if !ok {
		return l.fail()
	}
	name := l.p.scope.Take(fmt.Sprintf("v%d", l.names))
	l.names++
	l.lines = append(l.lines, fmt.Sprintf("const %s %s = %s;", vectorTypes[w], name, value))
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
	for _, s := range l.along {
		if x.Uses(s) {
			return true
		}
	}
	return false
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
	if !l.failed && len(e.Args) > 0 && len(v) > 60 {
		v = l.local(e, v)
	}
	l.values[e] = v
	return v
}

// all is a vector that has the same number in each lane.
func (l *lanes) all(e *expr.Expr, c code) string {
	switch w, _ := wide(e.DType); {
	case e.DType == ir.Bool:
		return l.fail()
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

func (l *lanes) operation(e *expr.Expr) string {
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
	case expr.OpAnd, expr.OpOr, expr.OpXor:
		if e.DType != ir.Int32 {
			return l.fail()
		}
	case expr.OpAdd, expr.OpSub, expr.OpMul, expr.OpNeg, expr.OpAbs:
		// of 32 bits: others would have to wrap around
		if e.DType != ir.Int32 && e.DType != ir.Float32 {
			return l.fail()
		}
	}
	name, ok := lanesNames[e.Op]
	if !ok {
		return l.fail()
	}
	return l.apply(e, name, e.Args...)
}

// apply prints a function of vectors.
func (l *lanes) apply(e *expr.Expr, name string, args ...*expr.Expr) string {
	w, ok := wide(args[0].DType)
	suffix, known := map[ir.DType]string{ir.Int32: "_s32", ir.Float32: "_f32"}[w]
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

// load prints the elements of a buffer that lie beside each other.
func (l *lanes) load(e *expr.Expr) string {
	if e.Buf >= len(l.p.bufs) || len(e.Coords) != 1 || !l.contiguous(e.Coords[0]) {
		return l.fail()
	}
	b := l.p.bufs[e.Buf]
	format, ok := map[ir.DType]string{ir.Float32: "vldrwq_f32(%s)", ir.Int32: "vldrwq_s32(%s)",
		ir.Int16: "vldrhq_s32(%s)", ir.Int8: "vldrbq_s32(%s)",
		ir.Uint8: "vreinterpretq_s32_u32(vldrbq_u32(%s))"}[b.dtype]
	if !ok {
		return l.fail()
	}
	l.p.use(b.names...)
	return fmt.Sprintf(format, "&"+b.name+"["+l.p.index(e.Coords[0]).s+"]")
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
	if e.DType == ir.Int32 {
		name := map[expr.Op]string{expr.OpMin: "vminq_s32", expr.OpMax: "vmaxq_s32"}[e.Op]
		return name + "(" + l.expr(a) + ", " + l.expr(b) + ")"
	}
	if e.DType != ir.Float32 {
		return l.fail()
	}
	op := map[expr.Op]expr.Op{expr.OpMin: expr.OpLt, expr.OpMax: expr.OpGt}[e.Op]
	compare := &expr.Expr{Op: op, DType: ir.Bool, Args: []*expr.Expr{a, b}}
	if !l.varies(a) { // there is a form in which the number comes last
		swapped := map[expr.Op]expr.Op{expr.OpLt: expr.OpGt, expr.OpGt: expr.OpLt}[op]
		compare = &expr.Expr{Op: swapped, DType: ir.Bool, Args: []*expr.Expr{b, a}}
	}
	return "vpselq_f32(" + l.expr(a) + ", " + l.expr(b) + ", " + l.expr(compare) + ")"
}

func (l *lanes) cast(e *expr.Expr) string {
	a := e.Args[0]
	from, ok := wide(a.DType)
	to, known := wide(e.DType)
	switch {
	case !ok || !known || to == ir.Bool || from == ir.Bool:
		return l.fail()
	case from == ir.Int32 && to == ir.Float32:
		return "vcvtq_f32_s32(" + l.expr(a) + ")"
	case from == to:
		if e.DType.Size() < a.DType.Size() || e.DType.Size() == a.DType.Size() && e.DType != a.DType {
			return l.fail() // it would wrap around
		}
		return l.expr(a)
	}
	n, ok := l.p.roundedTo(a, typeOf(e.DType))
	if !ok || !n.constant() {
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
	by := e.Args[1]
	if e.DType != ir.Int32 || by.Op != expr.OpConst || by.Int < 1 || by.Int > 31 {
		return l.fail()
	}
	name := map[expr.Op]string{expr.OpShl: "vshlq_n_s32", expr.OpShr: "vshrq_n_s32"}[e.Op]
	return fmt.Sprintf("%s(%s, %d)", name, l.expr(e.Args[0]), by.Int)
}

// call prints what a function computes.
func (l *lanes) call(e *expr.Expr) string {
	for i, v := range e.Fn.Params {
		l.vars[v] = l.local(e.Args[i], l.expr(e.Args[i]))
	}
	clear(l.values) // the function may have been called before
	v := l.local(e, l.expr(e.Fn.Body))
	clear(l.values)
	return v
}

// store returns the statement that stores a vector of elements of d.
func (l *lanes) store(d ir.DType, to, value string) string {
	format, ok := map[ir.DType]string{ir.Float32: "vstrwq_f32(%s, %s);", ir.Int32: "vstrwq_s32(%s, %s);",
		ir.Int16: "vstrhq_s32(%s, %s);", ir.Int8: "vstrbq_s32(%s, %s);",
		ir.Uint8: "vstrbq_u32(%s, vreinterpretq_u32_s32(%s));"}[d]
	if !ok {
		return l.fail()
	}
	return fmt.Sprintf(format, to, value)
}
