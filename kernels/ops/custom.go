package ops

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// functionalSuffix is what the name of the functional form of an operator that writes to its
// arguments has behind it: fir.step_functional.default returns what fir.step.default returns, then
// what it leaves in each argument that it writes to.
const functionalSuffix = "_functional"

// IsCustom reports whether an operator is no one of PyTorch's or ExecuTorch's own: its kernel
// comes with the program.
func IsCustom(op string) bool {
	for _, ns := range []string{"aten.", "prims.", "_operator.", "math.", "torch.", "etgen.",
		"executorch_prim.", "torch_nn.", "dim_order_ops.", "et_copy.", "higher_order.", "memory."} {
		if strings.HasPrefix(op, ns) {
			return false
		}
	}
	return true
}

// With returns t and custom operators, of which only the schemas are known. Their kernels are the
// user's: a call of one becomes a loop.Invoke. The types of results are those that a file records.
// A custom operator that writes to arguments has a functional form too, which returns what it
// writes. An operator that t has must not be among them, nor one of PyTorch's own.
func (t *Table) With(custom ...*aten.Schema) (*Table, error) {
	var entries []entry
	for _, s := range custom {
		if _, known := t.Lookup(s.Name); known {
			return nil, fmt.Errorf("%s is an operator that etgen has; give the custom one another name",
				s.Name)
		}
		if err := customFaultOf(s); err != nil {
			return nil, err
		}
		if !s.Mutates() {
			entries = append(entries, customEntry(s, s))
			continue
		}
		functional := functionalSchema(s)
		entries = append(entries, customWrites(s, functional), customEntry(functional, s))
	}
	more, err := newTable(entries)
	if err != nil {
		return nil, err
	}
	maps.Copy(more.byName, t.byName)
	more.names = slices.Sorted(maps.Keys(more.byName))
	return more, nil
}

// customFault returns why a schema is not one of a custom operator, nil if it is.
func customFault(s *aten.Schema) error {
	if !IsCustom(s.Name) {
		return fmt.Errorf("its namespace is PyTorch's own")
	}
	if s.VarArgs {
		return fmt.Errorf("it has any number of arguments")
	}
	results := 0
	for _, r := range s.Returns {
		switch {
		case r.Type.Name != "Tensor":
			return fmt.Errorf("it returns %s; only tensors can be results", r.Type)
		case r.Type.Optional:
			return fmt.Errorf("a result may be None; only tensors can be results")
		case r.Type.Alias.Set != "":
			return fmt.Errorf("a result is one of its arguments; return a new tensor")
		}
		results++
	}
	for _, a := range s.Args {
		if a.Type.Mutates() && a.Type.IsList() {
			return fmt.Errorf("it writes to a list of tensors, %s; write to each as an argument", a.Name)
		}
		if a.Type.Mutates() && a.Type.Optional {
			return fmt.Errorf("it writes to %s, which may be None", a.Name)
		}
		if a.Type.Mutates() {
			results++
		}
		if !customTypes[a.Type.Base().Name] {
			return fmt.Errorf("argument %s is a %s, which a kernel cannot take", a.Name, a.Type)
		}
	}
	if results == 0 {
		return fmt.Errorf(
			"it neither returns nor writes a tensor; mark what it writes to, as in Tensor(a!) x")
	}
	return nil
}

// customTypes are the types that arguments of custom operators may have.
var customTypes = map[string]bool{"Tensor": true, "int": true, "SymInt": true, "float": true,
	"bool": true, "str": true, "Scalar": true, "ScalarType": true}

// FunctionalForm is the name of the functional form of a custom operator that writes to arguments.
func FunctionalForm(op string) string {
	at := strings.LastIndexByte(op, '.')
	return op[:at] + functionalSuffix + op[at:]
}

// OutForm is the schema of a custom operator as ExecuTorch programs call it: it writes its results
// to further arguments. One that only writes to arguments is called as it is.
func OutForm(s *aten.Schema) *aten.Schema {
	if len(s.Returns) == 0 {
		return s
	}
	out := *s
	base, overload := s.Name[:strings.LastIndexByte(s.Name, '.')], "out"
	if o := s.Name[len(base)+1:]; o != "default" {
		overload = o + "_out"
	}
	out.Name, out.Args = base+"."+overload, slices.Clone(s.Args)
	for i := range s.Returns {
		name := "out"
		if len(s.Returns) > 1 {
			name += itoa(i)
		}
		out.Args = append(out.Args, aten.Param{Name: name, KwOnly: true,
			Type: &aten.Type{Name: "Tensor", Alias: aten.Alias{Set: "o" + itoa(i), Write: true}}})
	}
	return &out
}

// functionalSchema is the schema of the functional form of s.
func functionalSchema(s *aten.Schema) *aten.Schema {
	f := *s
	f.Name = FunctionalForm(s.Name)
	f.Args = slices.Clone(s.Args)
	f.Returns = slices.Clone(s.Returns)
	for i, a := range f.Args {
		if a.Type.Mutates() {
			plain := *a.Type
			plain.Alias = aten.Alias{}
			f.Args[i].Type = &plain
			f.Returns = append(f.Returns, aten.Param{Type: &plain})
		}
	}
	return &f
}

// customEntry is the entry of a functional operator that the kernel of an operator computes.
func customEntry(s, kernel *aten.Schema) entry {
	return entry{
		Schema: s.String(),
		Custom: kernel,
		Infer:  func(c *Call) []ir.Type { return recorded(c, len(kernel.Returns)) },
		Loops:  func(c *Call) *loop.Func { return invoke(c, kernel) },
	}
}

// customWrites is the entry of an operator that writes to arguments.
func customWrites(s, functional *aten.Schema) entry {
	return entry{
		Schema: s.String(),
		Custom: s,
		Infer:  func(c *Call) []ir.Type { return recorded(c, len(s.Returns)) },
		Writes: func(b *Builder, c *Call) []*ir.Value {
			var args []ir.NamedArg
			types := slices.Clone(c.Outs)
			var targets []*ir.Value
			for i, a := range s.Args {
				args = append(args, ir.NamedArg{Name: a.Name, Value: c.Args[i]})
				if a.Type.Mutates() {
					target := c.Args[i].(ir.Ref).Value
					targets = append(targets, target)
					types = append(types, target.Type.Dense())
				}
			}
			results := b.Emit(functional.Name, args, types...).Outputs
			for i, target := range targets {
				b.Write(target, results[len(s.Returns)+i])
			}
			return append([]*ir.Value{}, results[:len(s.Returns)]...)
		},
	}
}

// recorded returns the types of results of c: what the file says of the first n, and of the
// arguments that the operator writes to their own.
func recorded(c *Call, n int) []ir.Type {
	types := make([]ir.Type, len(c.Op.sch.Returns))
	for i := range types {
		v := c.node.Output(i)
		if v == nil && i >= n {
			ref, _ := c.Args[writtenArg(c.Op.Custom, i-n)].(ir.Ref)
			v = ref.Value
		}
		c.errorIf(v == nil, "the file says nothing of result %d; use it, or leave it out", i)
		c.errorIf(v.Type.Kind != ir.TensorKind, "result %d is no tensor", i)
		types[i] = v.Type
	}
	return types
}

// writtenArg is the position of the argument that is number k of those that s writes to.
func writtenArg(s *aten.Schema, k int) int {
	for i, a := range s.Args {
		if !a.Type.Mutates() {
			continue
		}
		if k == 0 {
			return i
		}
		k--
	}
	return -1
}

// invoke returns the call of a custom operator's kernel.
func invoke(c *Call, kernel *aten.Schema) *loop.Func {
	outs := len(c.Outs)
	f := &loop.Func{Name: ir.OpBase(kernel.Name), Bufs: c.buffers()}
	for i := range c.Outs {
		f.Bufs[i].Name = kernelResult(kernel, i)
	}
	for i, a := range kernel.Args {
		if k := c.first[i]; k >= 0 && !a.Type.IsList() {
			f.Bufs[outs+k].Name = a.Name
		}
	}
	for i, v := range c.Scalars() {
		f.Scalars = append(f.Scalars, &expr.Var{Name: fmt.Sprintf("s%d", i),
			DType: ScalarDType(v.Type.Kind)})
	}
	in := &invoker{c: c, next: outs}
	call := &loop.Invoke{Op: kernel}
	results := len(kernel.Returns)
	for i, a := range kernel.Args {
		if a.Type.Mutates() {
			k := c.first[i]
			f.Bufs[results].Role, f.Bufs[results].Init = loop.InOut, outs+k
			call.Args = append(call.Args, loop.Actual{Kind: loop.WrittenTensor, Buf: results,
				Sizes: c.Outs[results].Sizes})
			in.next++ // its operand is what the caller makes a copy of
			results++
			continue
		}
		call.Args = append(call.Args, in.actual(c.Args[i]))
	}
	for i := range kernel.Returns {
		call.Args = append(call.Args, loop.Actual{Kind: loop.WrittenTensor, Buf: i,
			Sizes: c.Outs[i].Sizes})
	}
	f.Body = []loop.Stmt{call}
	return f
}

// kernelResult names buffer i of the results of a custom operator's functional form.
func kernelResult(kernel *aten.Schema, i int) string {
	if i < len(kernel.Returns) {
		if name := kernel.Returns[i].Name; name != "" {
			return name
		}
		if len(kernel.Returns) == 1 {
			return "out"
		}
		return fmt.Sprintf("out%d", i)
	}
	return kernel.Args[writtenArg(kernel, i-len(kernel.Returns))].Name
}

// invoker numbers the operands and scalars of a call in the order of its arguments.
type invoker struct {
	c            *Call
	next, scalar int
}

// actual is what a kernel gets for an argument that it does not write to.
func (in *invoker) actual(a ir.Arg) loop.Actual {
	switch a := a.(type) {
	case ir.Ref:
		v := a.Value
		if v.Type.Kind == ir.TensorKind {
			in.next++
			return loop.Actual{Kind: loop.ReadTensor, Sizes: v.Type.Sizes,
				Value: expr.At(in.next-1, v.Type.DType, sym.Int(0))}
		}
		if v.Type.Kind == ir.IntKind && v.Type.HasExpr {
			return loop.Actual{Kind: loop.IndexNumber, Index: v.Type.Expr}
		}
		in.scalar++
		return loop.Actual{Kind: loop.Number, Value: expr.ScalarRef(in.scalar-1,
			ScalarDType(v.Type.Kind))}
	case ir.List:
		list := loop.Actual{Kind: loop.List}
		for _, x := range a {
			list.List = append(list.List, in.actual(x))
		}
		return list
	}
	return loop.Actual{Kind: loop.Constant, Const: a}
}
