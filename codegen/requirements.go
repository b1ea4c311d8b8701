package codegen

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
)

// Requirements words what a method asserts of sizes and numbers that the caller
// gives, besides their bounds, e.g. "x_dim0 % 2 == 0"; where that cannot be said
// in the caller's names, as the model's message does. "" if there is nothing.
func Requirements(m *native.Method, w *SizeWords) string {
	lets := map[*expr.Var]*expr.Expr{}
	var list []string
	Walk(m.Body, func(s native.Stmt) {
		switch s := s.(type) {
		case *native.Let:
			if s.Var != nil && len(s.Args) == 0 {
				lets[s.Var] = s.Value
			}
		case *native.Assert:
			if !s.Given {
				return
			}
			text, ok := w.condition(s.Cond, lets)
			if !ok {
				text = s.Message.Behind(": ").Comment()
			}
			if !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	})
	if list == nil {
		return ""
	}
	return "Requires " + strings.Join(list, "; ") + "."
}

// comparisons as C, Go and Python write them.
var comparisons = map[expr.Op]string{
	expr.OpEq: "==", expr.OpNe: "!=", expr.OpLt: "<", expr.OpLe: "<=", expr.OpGt: ">",
	expr.OpGe: ">=",
}

// condition words a condition on integers that the caller knows; ok is false for
// others.
func (w *SizeWords) condition(e *expr.Expr, lets map[*expr.Var]*expr.Expr) (text string, ok bool) {
	if e.Op == expr.OpLocal && lets[e.Var] != nil {
		return w.condition(lets[e.Var], lets)
	}
	if e.Op == expr.OpAnd {
		a, oka := w.condition(e.Args[0], lets)
		b, okb := w.condition(e.Args[1], lets)
		return a + " and " + b, oka && okb
	}
	compare := comparisons[e.Op]
	if compare == "" {
		return "", false
	}
	a, oka := integer(e.Args[0], lets)
	b, okb := integer(e.Args[1], lets)
	if !oka || !okb || !w.knows(a) || !w.knows(b) {
		return "", false
	}
	return w.Relation(a, compare, b), true
}

// integer returns the number that e is.
func integer(e *expr.Expr, lets map[*expr.Var]*expr.Expr) (sym.Expr, bool) {
	switch {
	case !e.DType.IsInt():
	case e.Op == expr.OpIndex:
		return e.Idx, true
	case e.Op == expr.OpConst:
		return sym.Int(e.Int), true
	case e.Op == expr.OpCast:
		return integer(e.Args[0], lets)
	case e.Op == expr.OpLocal && lets[e.Var] != nil:
		return integer(lets[e.Var], lets)
	}
	return sym.Expr{}, false
}
