package aten

import (
	_ "embed"
	"strings"
	"sync"
)

// out_variants.txt has a line for every functional operator that has an out
// variant: its name, the variant's, and the variant's out arguments in the
// order of the results. It follows from PyTorch's schemas and ExecuTorch's
// (kernels/portable/custom_ops.yaml, kernels/quantized/quantized.yaml): the
// variant takes the same arguments, but for those that say what tensor to
// make, and the tensors to write.
//
//go:embed out_variants.txt
var outVariantsText string

// OutVariant is an operator that writes its results into tensors it is given:
// it takes the arguments of Functional, then Outs. A functional operator that
// is told dtype, layout, device and pin_memory of its result (full, _to_copy)
// has a variant without these arguments: the tensors it is given have them. A
// result that is a list of tensors is one out argument.
type OutVariant struct {
	Name       string   // "aten.add.out"
	Functional string   // "aten.add.Tensor"
	Outs       []string // the names of its out arguments, one per result
}

var outVariants = sync.OnceValue(func() (t struct{ of, named map[string]*OutVariant }) {
	t.of, t.named = map[string]*OutVariant{}, map[string]*OutVariant{}
	for line := range strings.Lines(outVariantsText) {
		if f := strings.Fields(line); len(f) > 2 {
			v := &OutVariant{Functional: f[0], Name: f[1], Outs: f[2:]}
			t.of[v.Functional], t.named[v.Name] = v, v
		}
	}
	return t
})

// OutOf returns the out variant of a functional operator.
func OutOf(functional string) (*OutVariant, bool) {
	v, ok := outVariants().of[functional]
	return v, ok
}

// OutNamed returns the out variant called name.
func OutNamed(name string) (*OutVariant, bool) {
	v, ok := outVariants().named[name]
	return v, ok
}

// Schema returns the schema of v, given that of its functional operator. What
// it returns is as the functional operator's; PyTorch's own schema has alias
// annotations there, and nothing in place of a list.
func (v *OutVariant) Schema(functional *Schema) *Schema {
	s := &Schema{Name: v.Name, Returns: functional.Returns}
	pin := functional.Index("pin_memory")
	makes := pin >= 0 && functional.Args[pin].KwOnly
	for _, a := range functional.Args {
		switch a.Name {
		case "dtype", "layout", "device", "pin_memory":
			if makes {
				continue
			}
		}
		s.Args = append(s.Args, a)
	}
	for i, name := range v.Outs {
		t := *functional.Returns[min(i, len(functional.Returns)-1)].Type
		written := &t
		if t.IsList() {
			elem := *t.Elems[0]
			written, t.Elems = &elem, []*Type{&elem}
		}
		written.Alias = Alias{Set: string(rune('a' + i)), Write: true}
		s.Args = append(s.Args, Param{Name: name, Type: &t, KwOnly: true})
	}
	return s
}
