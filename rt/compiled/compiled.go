// Package compiled binds functions that etgen registry generates to the calls of
// a program. Only generated code needs it.
//
// A generated function is made for one form of an operator's arguments: their
// kinds, element types, sizes and literals. A call finds its function by that.
//
// Functions do not look at the context of an execution: that is looked at between
// instructions, so that an execution goes on until the call that it is in ends.
// How long a call takes follows from the sizes that the function was made for,
// of programs that whoever made the registry chose: no other program can make it
// longer, but where elements decide how often a loop runs or how large a result
// is, which the arguments' bounds limit.
package compiled

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/pte/form"
	"github.com/etgen/etgen/rt"
)

// Kernel is the generated code of an operator.
type Kernel struct {
	Op    string // "aten::add.out"
	Forms []Form
}

// Form is code for one form of an operator's arguments.
type Form struct {
	Args    string // by ir/pte/form
	Outs    int    // how many of the last arguments are written, a list counting once
	Mutates bool   // the first argument is read and written
	// New prepares the code for a call and returns what executes it: it is
	// called with c's operands, results and numbers as they are then.
	New func(c *Call) func() error
}

// Registry returns a registry of generated code.
func Registry(kernels ...Kernel) *rt.Registry {
	var all []rt.Kernel
	for _, k := range kernels {
		all = append(all, rt.Kernel{Name: k.Op, Prepare: k.prepare})
	}
	return rt.NewRegistry(all...)
}

// prepare implements rt.Kernel.Prepare.
func (k *Kernel) prepare(c *rt.Call) (func() error, error) {
	if !littleEndian() {
		return nil, fmt.Errorf("%w: %s: generated kernels need a little-endian machine",
			rt.ErrNotSupported, k.Op)
	}
	text := describe(c)
	for i := range k.Forms {
		f := &k.Forms[i]
		if f.Args != text {
			continue
		}
		call, err := newCall(f, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.Op, err)
		}
		return call.bind(f.New(call)), nil
	}
	return nil, k.unknown(text)
}

// unknown is the error for a form that there is no code for.
func (k *Kernel) unknown(text string) error {
	var forms []string
	for i, f := range k.Forms {
		if i == maxShown {
			forms = append(forms, fmt.Sprintf("and %d more", len(k.Forms)-i))
			break
		}
		forms = append(forms, "("+f.Args+")")
	}
	return fmt.Errorf(
		"%w: %s: the registry has no kernel for the arguments (%s), only for %s; run etgen registry "+
			"again with this program",
		rt.ErrNotSupported, k.Op, text, strings.Join(forms, ", "))
}

// maxShown is how many forms an error lists.
const maxShown = 3

// describe returns the form of a call's arguments.
func describe(c *rt.Call) string {
	var w form.Writer
	for _, v := range c.Args {
		argument(&w, c, v)
	}
	return w.String()
}

func argument(w *form.Writer, c *rt.Call, v *rt.EValue) {
	if v == nil {
		w.None()
		return
	}
	fixed := c.Fixed(v)
	switch v.Kind {
	case rt.TensorKind:
		if t := v.Tensor; t != nil {
			w.Tensor(t.DType, t.Bound(), t.DimOrder, fixed, t.Resizable())
			return
		}
		w.None()
	case rt.IntList, rt.TensorList:
		form.List(w, v.List, func(e *rt.EValue) { argument(w, c, e) })
	case rt.DoubleList:
		form.List(w, v.Doubles, w.Float)
	case rt.BoolList:
		form.List(w, v.Bools, w.Bool)
	case rt.String:
		w.Text(v.String)
	case rt.Int:
		number(w, fixed, v.Int, w.Int, "int")
	case rt.Double:
		number(w, fixed, v.Double, w.Float, "float")
	case rt.Bool:
		number(w, fixed, v.Bool, w.Bool, "bool")
	default:
		w.None()
	}
}

// number writes a number of a kind, which instructions compute if it is not fixed.
func number[T any](w *form.Writer, fixed bool, x T, literal func(T), kind string) {
	if fixed {
		literal(x)
	} else {
		w.Number(kind)
	}
}
