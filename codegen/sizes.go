package codegen

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
)

// SizeWords words the dynamic sizes of a method for its callers: by the names
// under which they give and get them.
type SizeWords struct {
	name   func(output bool, d native.Dim) string
	solved []namedSolve
	values map[*sym.Symbol]sym.Expr // in terms of symbols that have the caller's names
}

// namedSolve is how a symbol follows from a dimension with a name.
type namedSolve struct {
	native.Solve
	dim sym.Expr
}

// NewSizeWords returns the words for the sizes of a method. b says how the sizes follow
// from the inputs, and name gives the caller's name of a dimension of an input or output.
func NewSizeWords(b *native.Binding, name func(output bool, d native.Dim) string) *SizeWords {
	w := &SizeWords{name: name, values: map[*sym.Symbol]sym.Expr{}}
	named := func(output bool, d native.Dim) sym.Expr {
		lo, hi := d.Size.Bounds()
		return sym.NewSymbol(name(output, d), lo, hi).Expr()
	}
	for _, s := range b.Solved {
		dim := named(false, s.Dim)
		w.values[s.Sym] = sym.FloorDiv(sym.Sub(dim, w.value(s.Rest)), sym.Int(s.Coef))
		w.solved = append(w.solved, namedSolve{s, dim})
	}
	// A symbol that is known only at run time is named after the first dimension equal to it.
	for _, d := range b.Out {
		if syms := d.Size.Symbols(); len(syms) == 1 && d.Size.Equal(syms[0].Expr()) &&
			!w.knows(d.Size) {
			w.values[syms[0]] = named(true, d)
		}
	}
	return w
}

// knows reports whether all of e has the caller's names.
func (w *SizeWords) knows(e sym.Expr) bool {
	return !slices.ContainsFunc(e.Symbols(), func(s *sym.Symbol) bool {
		_, ok := w.values[s]
		return !ok
	})
}

// value returns e in terms of what the caller knows.
func (w *SizeWords) value(e sym.Expr) sym.Expr {
	// A quotient that stands times its divisor is the dimension itself.
	for _, s := range slices.Backward(w.solved) {
		coef, rest, linear := e.Coef(s.Sym)
		if n, ok := coef.Const(); linear && ok && s.Coef > 1 && n%s.Coef == 0 {
			e = sym.Add(sym.Mul(sym.Int(n/s.Coef), sym.Sub(s.dim, s.Rest)), rest)
		}
	}
	return e.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
		x, ok := w.values[s]
		return x, ok
	})
}

// Expr words a number, e.g. "x_dim0 + 1".
func (w *SizeWords) Expr(e sym.Expr) string { return w.value(e).String() }

// Relation words what must hold of two numbers: compare stands between them.
func (w *SizeWords) Relation(a sym.Expr, compare string, b sym.Expr) string {
	return w.Expr(a) + " " + compare + " " + w.Expr(b)
}

// Input words what a dimension of an input, or an integer input, may be, e.g.
// "4 to 64, even" or "equal to x_dim0". Together the words of all of them are
// what a call checks.
func (w *SizeWords) Input(d native.Dim) string {
	for _, s := range w.solved {
		if s.Dim.Port == d.Port && s.Dim.Axis == d.Axis {
			return w.solvedText(s)
		}
	}
	if _, ok := d.Size.Const(); ok {
		return d.Size.String()
	}
	return "equal to " + w.Expr(d.Size)
}

func (w *SizeWords) solvedText(s namedSolve) string {
	text := rangeText(s.Dim.Size)
	rest, known := s.Rest.Const()
	switch {
	case !known && s.Coef == 1:
		lo, hi := s.Sym.Expr().Bounds()
		text += ", at least " + w.Expr(sym.Add(s.Rest, sym.Int(lo)))
		if hi != math.MaxInt64 {
			text += ", at most " + w.Expr(sym.Add(s.Rest, sym.Int(hi)))
		}
	case !known:
		lo, hi := s.Sym.Expr().Bounds()
		text += fmt.Sprintf(", %s plus %d times %s", w.Expr(s.Rest), s.Coef, boundsText(lo, hi))
	case s.Coef == 2 && rest%2 == 0:
		text += ", even"
	case s.Coef == 2:
		text += ", odd"
	case s.Coef > 1 && rest%s.Coef == 0:
		text += fmt.Sprintf(", a multiple of %d", s.Coef)
	case s.Coef > 1:
		text += fmt.Sprintf(", %d more than a multiple of %d", (rest%s.Coef+s.Coef)%s.Coef, s.Coef)
	}
	return text
}

// Output words what a dimension of an output will be: how it follows from the
// inputs or from dimensions before it, if it does, and its bounds.
func (w *SizeWords) Output(d native.Dim) string {
	text := rangeText(d.Size)
	if value := w.Expr(d.Size); w.knows(d.Size) && value != text && (d.Axis < 0 ||
		value != w.name(true, d)) {
		text = value + ", " + text
	}
	if w.Late(d.Size) {
		text += ", known after the call"
	}
	return text
}

// Late reports whether e is known only at run time: it does not follow from the inputs.
func (w *SizeWords) Late(e sym.Expr) bool {
	return slices.ContainsFunc(e.Symbols(), func(x *sym.Symbol) bool {
		return !slices.ContainsFunc(w.solved, func(s namedSolve) bool { return s.Sym == x })
	})
}

// rangeText words the bounds of e, e.g. "4 to 64".
func rangeText(e sym.Expr) string { return boundsText(e.Bounds()) }

func boundsText(lo, hi int64) string {
	switch {
	case lo == hi:
		return fmt.Sprint(lo)
	case hi == math.MaxInt64 && lo == math.MinInt64:
		return "any size"
	case hi == math.MaxInt64:
		return fmt.Sprintf("at least %d", lo)
	case lo == math.MinInt64:
		return fmt.Sprintf("at most %d", hi)
	}
	return fmt.Sprintf("%d to %d", lo, hi)
}

// MaxBytes returns how many bytes a buffer takes at the bound of every size.
func MaxBytes(b *native.Buffer) int64 { return b.MaxLen * int64(b.DType.Size()) }

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

// Comparisons are the operators of comparisons as C, Go and Python write them.
var Comparisons = map[expr.Op]string{
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
	compare := Comparisons[e.Op]
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

// OutputName is what output i of m is called: "out" if there is no other and the
// model has no name for it.
func OutputName(m *native.Method, i int) foreign.Text {
	if len(m.Outputs) == 1 && m.Outputs[0].Name == foreign.Of("out0") {
		return foreign.Of("out")
	}
	return m.Outputs[i].Name
}

// PortName is what an input or output of m is called.
func PortName(m *native.Method, output bool, i int) foreign.Text {
	if output {
		return OutputName(m, i)
	}
	return m.Inputs[i].Name
}

// SizeNames are what members of a struct for a method's dynamic dimensions are called.
type SizeNames map[dimKey]string

// dimKey is a dimension of an input or output.
type dimKey struct {
	output     bool
	port, axis int
}

// NameSizes names the dynamic dimensions of m: base is the name of one if nothing else has
// it in a scope.
func NameSizes(m *native.Method, b *native.Binding, scope *Scope,
	base func(port foreign.Text, axis int) string) SizeNames {
	names := SizeNames{}
	for i, dims := range [][]native.Dim{b.In, b.Out} {
		for _, d := range dims {
			if d.Axis >= 0 {
				names[dimKey{i == 1, d.Port, d.Axis}] = scope.Take(base(PortName(m, i == 1, d.Port),
					d.Axis))
			}
		}
	}
	return names
}

// Name returns the name of a dimension, "" if it is not dynamic.
func (n SizeNames) Name(output bool, port, axis int) string {
	return n[dimKey{output, port, axis}]
}

// Text returns what words a dynamic size of a port in comments: the name of the dimension
// that has it.
func (n SizeNames) Text(output bool, port int, sizes []sym.Expr) func(sym.Expr) string {
	return func(e sym.Expr) string {
		for axis, s := range sizes {
			if name := n.Name(output, port, axis); name != "" && s.Equal(e) {
				return name
			}
		}
		return e.String()
	}
}

// SolvedName is what a symbol that is solved for is best called: as the dimension that it
// is, else by its own name.
func SolvedName(s native.Solve, names SizeNames) string {
	if name := names.Name(false, s.Dim.Port, s.Dim.Axis); name != "" && s.Coef == 1 &&
		s.Rest.IsZero() {
		return name
	}
	return s.Sym.Name
}
