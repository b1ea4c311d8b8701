package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir/sym"
)

// String returns a readable form for dumps and messages: operations by name,
// loads as %k[coords].
func (e *Expr) String() string {
	var b strings.Builder
	e.format(&b)
	return b.String()
}

// String returns the tensor expression as "f32[i, j] = body" with ranges.
func (t Tensor) String() string {
	vars := make([]string, len(t.Vars))
	for i, v := range t.Vars {
		vars[i] = v.Name + "<" + Extent(v).String()
	}
	return fmt.Sprintf("%s[%s] = %s", t.DType.Short(), strings.Join(vars, ", "), t.Body)
}

func (e *Expr) format(b *strings.Builder) {
	switch e.Op {
	case OpConst:
		b.WriteString(e.constString())
	case OpIndex:
		fmt.Fprintf(b, "index.%s(%s)", e.DType.Short(), indexString(e.Idx))
	case OpLoad:
		fmt.Fprintf(b, "%%%d[%s]", e.Buf, coordsString(e.Coords))
	case OpLocal:
		b.WriteString(e.Var.Name)
		if len(e.Coords) > 0 {
			fmt.Fprintf(b, "[%s]", coordsString(e.Coords))
		}
	case OpScalar:
		fmt.Fprintf(b, "$%d", e.Buf)
	case OpReduce:
		fmt.Fprintf(b, "%s(", e.Kind)
		for i, v := range e.Vars {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "%s<%s", v.Name, Extent(v))
		}
		b.WriteString(": ")
		e.Args[0].format(b)
		b.WriteString(")")
	default:
		name := e.Op.String()
		switch e.Op {
		case OpCast, OpBitcast:
			name += "." + e.DType.Short()
		case OpCall:
			name = e.Fn.Name
		}
		b.WriteString(name + "(")
		for i, a := range e.Args {
			if i > 0 {
				b.WriteString(", ")
			}
			a.format(b)
		}
		b.WriteString(")")
	}
}

func (e *Expr) constString() string {
	switch {
	case !e.DType.IsFloat():
		return strconv.FormatInt(e.Int, 10)
	case e.Float == math.Trunc(e.Float) && math.Abs(e.Float) < 1e6:
		return strconv.FormatFloat(e.Float, 'f', 1, 64)
	}
	return strconv.FormatFloat(e.Float, 'g', -1, 64)
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

func coordsString(xs []sym.Expr) string {
	ss := make([]string, len(xs))
	for i, x := range xs {
		ss[i] = indexString(x)
	}
	return strings.Join(ss, ", ")
}
