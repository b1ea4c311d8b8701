// Package portable has a kernel for every operator of the table that a program
// can call: the table's definitions run by kernels/eval, and the hand-made
// kernels of kernels/tuned where they fit.
//
// A call is compiled when its method is loaded if its sizes and numbers are
// known then, else when it is first executed with them; the code for a few
// combinations of sizes is kept.
package portable

import (
	"strings"
	"sync/atomic"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/rt"
)

// Registry returns the kernels of every operator etgen has.
func Registry() *rt.Registry { return New(ops.Standard(), tuned.Standard()) }

// New returns the kernels of the operators of a table. Calls that one of the
// hand-made kernels accepts run by it; without any, all run by their
// definitions.
func New(table *ops.Table, handMade []*tuned.Kernel) *rt.Registry {
	var kernels []rt.Kernel
	programs := &cache{programs: map[string]*program{}}
	for _, f := range forms(table) {
		k := &kernel{form: f, table: table, handMade: handMade, calls: new(atomic.Uint32),
			cache: programs}
		kernels = append(kernels, rt.Kernel{Name: f.file, Prepare: k.prepare})
	}
	return rt.NewRegistry(kernels...)
}

// kernel is the kernel of one operator of programs.
type kernel struct {
	form
	table    *ops.Table
	handMade []*tuned.Kernel
	calls    *atomic.Uint32 // prepared so far
	cache    *cache
	depth    int                     // of decompositions around what is compiled
	reserve  func(bytes int64) error // of the call
}

// form is an operator as programs call it: a table's operator whose results go
// to arguments.
type form struct {
	file   string // "aten::add.out"
	node   string // what is bound: "aten.add.Tensor", or the in-place operator "aten.add_.Tensor"
	in     []aten.Param
	dtype  bool // the result's dtype stands for an argument dtype
	listed bool // the results are a list in one argument
	outs   int  // out arguments, behind in
	// where the results are among the arguments: len(in), or the one that is changed in place
	first int
}

// forms returns how programs can call the operators of a table: the out
// variants, the in-place operators, and those that compute numbers.
func forms(table *ops.Table) []form {
	var all []form
	for _, name := range table.Names() {
		op, _ := table.Lookup(name)
		args, returns := op.ParsedSchema().Args, op.ParsedSchema().Returns
		if v, ok := aten.OutOf(name); ok {
			all = append(all, outForm(op, v))
		}
		if in := inPlace(name); in != "" && len(returns) == 1 && returns[0].Type.Name == "Tensor" {
			if f, ok := table.Functional(in); ok && !f.Rebind {
				all = append(all, form{file: fileName(in), node: in, in: args, first: f.Mutated})
			}
		}
		if _, _, python := pythonOperator(name); !python && (op.Value != nil ||
			op.ScalarOp != nil) && !op.Effect {
			all = append(all, form{file: fileName(name), node: name, in: args, outs: 1,
				first: len(args)})
		}
	}
	return all
}

// outForm is how programs call the out variant of op.
func outForm(op *ops.Op, v *aten.OutVariant) form {
	all := v.Schema(op.ParsedSchema()).Args
	n := len(all) - len(v.Outs)
	f := form{file: fileName(v.Name), node: op.Name(), in: all[:n], outs: len(v.Outs), first: n,
		listed: all[n].Type.IsList()}
	f.dtype = v.Schema(op.ParsedSchema()).Index("dtype") < 0 &&
		op.ParsedSchema().Index("dtype") >= 0
	return f
}

// pythonOperator reports whether an operator is one of Python's own, which
// programs have under other names.
func pythonOperator(name string) (module, rest string, ok bool) {
	module, rest, _ = strings.Cut(name, ".")
	return module, rest, strings.Count(name, ".") < 2
}

// fileName returns the name that programs have for what nodes call name.
func fileName(name string) string {
	return strings.TrimSuffix(strings.Replace(name, ".", "::", 1), ".default")
}

// inPlace returns the name of the in-place form of an operator, "" if it has
// none to be.
func inPlace(name string) string {
	base := ir.OpBase(name)
	parts := strings.SplitN(name, ".", 3)
	if len(parts) < 3 || strings.HasSuffix(base, "_") {
		return ""
	}
	return parts[0] + "." + parts[1] + "_." + parts[2]
}

// earlier returns k for a call of an earlier version of the operator, which had
// fewer arguments; ok is false if they do not fit.
func (k *kernel) earlier(args []*rt.EValue) (_ *kernel, ok bool) {
	n := len(args) - k.outs
	if n < 0 || n >= len(k.in) || k.first != len(k.in) {
		return nil, false
	}
	var kinds []aten.ArgKind
	for _, v := range args[:n] {
		if v == nil {
			return nil, false
		}
		kinds = append(kinds, argKind(v.Kind))
	}
	at, ok := aten.Earlier(k.in, kinds)
	if !ok {
		return nil, false
	}
	old := *k
	old.in, old.first = nil, n
	for _, i := range at {
		old.in = append(old.in, k.in[i])
	}
	return &old, true
}

func argKind(k rt.Kind) aten.ArgKind {
	switch k {
	case rt.None:
		return aten.NoArg
	case rt.Int:
		return aten.IntArg
	case rt.Bool:
		return aten.BoolArg
	case rt.Double:
		return aten.FloatArg
	case rt.String:
		return aten.StringArg
	case rt.TensorKind:
		return aten.TensorArg
	}
	return aten.ListArg
}
