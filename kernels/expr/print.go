package expr

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// Names are the names by which Format refers to what an expression uses.
type Names struct {
	Operand func(k int) string // of Load.Buf
	Scalar  func(k int) string // of Scalar.Buf
	Local   func(*Var) string
	Index   func(sym.Expr) string
}

// String returns e for dumps and messages: operands are %k, scalars $k.
func (e *Expr) String() string {
	return e.Format(Names{
		Operand: func(k int) string { return fmt.Sprintf("%%%d", k) },
		Scalar:  func(k int) string { return fmt.Sprintf("$%d", k) },
		Local:   func(v *Var) string { return v.Name },
		Index:   indexString,
	}, false)
}

// String returns the tensor expression as "f32[i<4, j<8] = body".
func (t Tensor) String() string {
	return fmt.Sprintf("%s[%s] = %s", t.DType.Short(), rangesString(t.Vars, indexString), t.Body)
}

// Format returns e in the notation of C:
//
//	x[8*i + j]*w[j] + 0.5      ! ~ - * / % + - << >> < <= > >= == != & ^ | ?:
//	f32(n), bits.i32(x)        casts and bitcasts
//	min(a, b), fma(a, b, c), sqrt(x), floor, ceil, trunc, round, abs
//	exp_f32(x)                 a scalar function
//	index(8*i + j), index32(i) an index expression as an i64, i32
//
// Operators mean what Op says of them on their dtype: & | ^ ! are logical on
// bool, / truncates on integers, % on floats is fmod. A constant has the dtype
// of the operand beside it or of what the whole expression is put into, if
// typed tells that the reader knows this, else it says its own: 2.5f32. A NaN
// is written nan whatever its bits.
//
// Reductions and data-dependent indices, which only tensors have, are written
// "sum(j<8: x)" and "p where p=x".
func (e *Expr) Format(n Names, typed bool) string {
	p := &formatter{names: n}
	p.expr(e, precLowest, typed)
	return p.b.String()
}

// Precedences, those of C.
const (
	precLowest = iota // ?:
	precOr
	precXor
	precAnd
	precEqual
	precLess
	precShift
	precAdd
	precMul
	precUnary
)

type infix struct {
	text string
	prec int
}

// infixes are the operators written between their operands.
var infixes = [...]infix{
	OpOr: {"|", precOr}, OpXor: {"^", precXor}, OpAnd: {"&", precAnd},
	OpEq: {"==", precEqual}, OpNe: {"!=", precEqual},
	OpLt: {"<", precLess}, OpLe: {"<=", precLess}, OpGt: {">", precLess}, OpGe: {">=", precLess},
	OpShl: {"<<", precShift}, OpShr: {">>", precShift},
	OpAdd: {"+", precAdd}, OpSub: {"-", precAdd},
	OpMul: {"*", precMul}, OpDiv: {"/", precMul}, OpRem: {"%", precMul},
}

func infixOf(op Op) (infix, bool) {
	if int(op) < len(infixes) && infixes[op].text != "" {
		return infixes[op], true
	}
	return infix{}, false
}

func isComparison(op Op) bool { return op >= OpEq && op <= OpGe }

// keepsDType reports whether all operands of op have the dtype of its result.
func keepsDType(op Op) bool { return op >= OpAdd && op <= OpShr }

// untyped reports whether nothing in e's text tells its dtype: it is made of
// constants only.
func untyped(e *Expr) bool {
	switch {
	case e.Op == OpConst:
		return e.DType != ir.Bool
	case e.Op == OpSelect:
		return untyped(e.Args[1]) && untyped(e.Args[2])
	case !keepsDType(e.Op):
		return false
	}
	return !slices.ContainsFunc(e.Args, func(a *Expr) bool { return !untyped(a) })
}

type formatter struct {
	b     strings.Builder
	names Names
}

// expr writes e, in parentheses if it binds less than prec. typed is as of
// Format.
func (p *formatter) expr(e *Expr, prec int, typed bool) {
	if !typed && e.Op != OpConst {
		// One typed operand tells the dtype of the others.
		typed = !untyped(e)
	}
	if in, ok := infixOf(e.Op); ok && len(e.Args) == 2 {
		p.open(in.prec < prec)
		left := in.prec
		if isComparison(e.Op) {
			typed = !untyped(e.Args[0]) || !untyped(e.Args[1])
			left++ // a < b < c reads badly
		}
		p.expr(e.Args[0], left, typed)
		p.b.WriteString(p.blank(in) + in.text + p.blank(in))
		p.expr(e.Args[1], in.prec+1, typed)
		p.shut(in.prec < prec)
		return
	}
	switch e.Op {
	case OpConst:
		p.b.WriteString(e.constString())
		if !typed && e.DType != ir.Bool {
			p.b.WriteString(e.DType.Short())
		}
	case OpIndex:
		name := "index"
		if e.DType == ir.Int32 {
			name = "index32"
		}
		p.b.WriteString(name + "(" + p.names.Index(e.Idx) + ")")
	case OpLoad:
		p.b.WriteString(p.names.Operand(e.Buf))
		p.coords(e.Coords)
	case OpLocal:
		p.b.WriteString(p.names.Local(e.Var))
		if len(e.Coords) > 0 {
			p.coords(e.Coords)
		}
	case OpScalar:
		p.b.WriteString(p.names.Scalar(e.Buf))
	case OpReduce:
		p.b.WriteString(e.Kind.String() + "(" + rangesString(e.Vars, p.names.Index) + ": ")
		p.expr(e.Args[0], precLowest, false)
		p.b.WriteByte(')')
	case OpNeg, OpNot:
		p.open(precUnary < prec)
		p.b.WriteString(signOf(e))
		if a := e.Args[0]; a.Op == OpConst { // -1 would be the constant
			p.b.WriteByte('(')
			p.expr(a, precLowest, typed)
			p.b.WriteByte(')')
		} else {
			p.expr(a, precUnary, typed)
		}
		p.shut(precUnary < prec)
	case OpSelect:
		p.open(precLowest < prec)
		p.expr(e.Args[0], precLowest+1, true)
		p.b.WriteString(" ? ")
		p.expr(e.Args[1], precLowest+1, typed)
		p.b.WriteString(" : ")
		p.expr(e.Args[2], precLowest, typed)
		p.shut(precLowest < prec)
	case OpCast:
		p.call(e.DType.Short(), e.Args, func(int) bool { return false })
	case OpBitcast:
		p.call("bits."+e.DType.Short(), e.Args, func(int) bool { return false })
	case OpCall:
		p.call(e.Fn.Name, e.Args, func(int) bool { return true })
	default:
		p.call(e.Op.String(), e.Args, func(int) bool { return typed })
	}
}

func signOf(e *Expr) string {
	switch {
	case e.Op == OpNeg:
		return "-"
	case e.DType == ir.Bool:
		return "!"
	}
	return "~"
}

// blank is what stands around an operator: products read best without.
func (p *formatter) blank(in infix) string {
	if in.prec == precMul && in.text != "%" {
		return ""
	}
	return " "
}

func (p *formatter) open(yes bool) {
	if yes {
		p.b.WriteByte('(')
	}
}

func (p *formatter) shut(yes bool) {
	if yes {
		p.b.WriteByte(')')
	}
}

func (p *formatter) call(name string, args []*Expr, typed func(int) bool) {
	p.b.WriteString(name + "(")
	for i, a := range args {
		if i > 0 {
			p.b.WriteString(", ")
		}
		p.expr(a, precLowest, typed(i))
	}
	p.b.WriteByte(')')
}

func (p *formatter) coords(xs []sym.Expr) {
	ss := seq.Map(xs, p.names.Index)
	p.b.WriteString("[" + strings.Join(ss, ", ") + "]")
}

func rangesString(vars []*sym.Symbol, index func(sym.Expr) string) string {
	ss := seq.Map(vars, func(v *sym.Symbol) string { return v.Name + "<" + index(Extent(v)) })
	return strings.Join(ss, ", ")
}

// constString returns the shortest text that gives the constant back. Floats
// are told from integers.
func (e *Expr) constString() string {
	switch {
	case e.DType == ir.Bool:
		return strconv.FormatBool(e.Int != 0)
	case e.DType == ir.Uint64:
		return strconv.FormatUint(uint64(e.Int), 10)
	case !e.DType.IsFloat():
		return strconv.FormatInt(e.Int, 10)
	case math.IsNaN(e.Float):
		return "nan"
	case math.IsInf(e.Float, 1):
		return "inf"
	case math.IsInf(e.Float, -1):
		return "-inf"
	case e.Float == math.Trunc(e.Float) && math.Abs(e.Float) < 1e6:
		return strconv.FormatFloat(e.Float, 'f', 1, 64)
	}
	return strconv.FormatFloat(e.Float, 'g', -1, floatBits(e.DType))
}

// floatBits returns the precision to print and read constants of d with.
func floatBits(d ir.DType) int {
	if d == ir.Float64 {
		return 64
	}
	return 32 // the values of narrower types are values of it
}

// indexString shows data-dependent indices by what computes them.
func indexString(x sym.Expr) string {
	s := x.String()
	for _, v := range x.Symbols() {
		if d := DefOf(v); d != nil {
			s += " where " + v.Name + "=" + d.String()
		}
	}
	return s
}
