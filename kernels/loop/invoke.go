package loop

import (
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// Invoke calls the kernel of a custom operator, which is the user's. It reads and writes whole
// buffers. The kernel may fail, and the function that the Invoke is in fails then.
type Invoke struct {
	Op   *aten.Schema
	Args []Actual // one for each argument of Op, then one for each result
}

func (*Invoke) isStmt() {}

// Actual is what an Invoke passes.
type Actual struct {
	Kind  ActualKind
	Const ir.Arg     // Constant: a number, a string, a dtype or None
	Value *expr.Expr // Number: the number; ReadTensor: a load of the tensor's first element
	Index sym.Expr   // IndexNumber
	Buf   int        // WrittenTensor: a result, or what an argument becomes
	Sizes []sym.Expr // of tensors, which are row-major
	List  []Actual
}

// ActualKind tells what is passed.
type ActualKind uint8

// The kinds of what is passed.
const (
	Constant ActualKind = iota
	Number              // that is known at run time
	IndexNumber
	ReadTensor
	WrittenTensor
	List
)

// NumberType is the dtype of a number that is passed; ok is false if a is none.
func (a *Actual) NumberType() (_ ir.DType, ok bool) {
	switch a.Kind {
	case Number:
		return a.Value.DType, true
	case IndexNumber:
		return ir.Int64, true
	case Constant:
		switch a.Const.(type) {
		case ir.Int:
			return ir.Int64, true
		case ir.Float:
			return ir.Float64, true
		case ir.BoolArg:
			return ir.Bool, true
		}
	}
	return ir.InvalidDType, false
}

// each calls f for all of args, those of lists as well.
func each(args []Actual, f func(*Actual)) {
	for i := range args {
		f(&args[i])
		each(args[i].List, f)
	}
}

// Invokes returns the calls of custom operators' kernels in f.
func (f *Func) Invokes() (list []*Invoke) {
	Each(f.Body, func(s *Invoke) { list = append(list, s) })
	return list
}

// mapActuals returns args with expressions replaced.
func mapActuals(args []Actual, value func(*expr.Expr) *expr.Expr,
	index func(sym.Expr) sym.Expr) []Actual {
	if args == nil {
		return nil
	}
	out := make([]Actual, len(args))
	for i, a := range args {
		if a.Value != nil {
			a.Value = value(a.Value)
		}
		a.Index = index(a.Index)
		sizes := seq.Map(a.Sizes, index)
		a.Sizes, a.List = sizes, mapActuals(a.List, value, index)
		out[i] = a
	}
	return out
}

// invoke prints "invoke my::op(x[2, 3], 1, out y[2, 3])".
func (p *printer) invoke(s *Invoke) {
	p.printf("invoke %s(%s)", s.Op.Name, p.actuals(s.Args))
}

func (p *printer) actuals(args []Actual) string {
	texts := make([]string, len(args))
	for i, a := range args {
		switch a.Kind {
		case Constant:
			texts[i] = ir.ArgString(a.Const)
		case Number:
			texts[i] = p.value(a.Value, true)
		case IndexNumber:
			texts[i] = p.index(a.Index)
		case ReadTensor:
			texts[i] = p.operand(a.Value.Buf) + p.sizes(a.Sizes)
		case WrittenTensor:
			texts[i] = "out " + p.operand(a.Buf) + p.sizes(a.Sizes)
		case List:
			texts[i] = "[" + p.actuals(a.List) + "]"
		}
	}
	return strings.Join(texts, ", ")
}

func (p *printer) sizes(sizes []sym.Expr) string {
	texts := seq.Map(sizes, p.index)
	return "[" + strings.Join(texts, ", ") + "]"
}
