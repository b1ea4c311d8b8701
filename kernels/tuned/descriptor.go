package tuned

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/sym"
)

//go:generate go run ./describe

// Descriptor declares the integers that the code of some kernels is written in terms
// of. From it follow the structs that C and Go pass them in, the names that the code
// has for them, how the runtime binds them, and their documentation.
type Descriptor struct {
	Name   string // of the struct in C, e.g. "conv_params"; in Go it is ConvParams
	Fields []*Field
}

// Field is one integer of a descriptor. A name means the same in all descriptors.
type Field struct {
	Name string // in C, e.g. "kernel_h"; in Go it is kernelH
	Unit string // what it counts: "rows", "elements"; flag says that it is 0 or 1
	Doc  string // one short sentence
	Form bool   // the code differs so much by its value that calls share none
}

// flag is the unit of a field that tells whether something is so.
const flag = "flag"

// Flag reports whether the field is 0 or 1, a bool in Go.
func (f *Field) Flag() bool { return f.Unit == flag }

// GoName is the name of the field in Go.
func (f *Field) GoName() string {
	name := goName(f.Name)
	return strings.ToLower(name[:1]) + name[1:]
}

// GoType is the type of the field in Go.
func (f *Field) GoType() string {
	if f.Flag() {
		return "bool"
	}
	return "int"
}

// GoName is the name of the struct in the package of a Go kernel.
func (d *Descriptor) GoName() string { return goName(d.Name) }

// goName joins the words of a name.
func goName(name string) string {
	joined := ""
	for _, word := range strings.Split(name, "_") {
		joined += strings.ToUpper(word[:1]) + word[1:]
	}
	return joined
}

// Comment says in a line what the field is.
func (f *Field) Comment() string { return strings.TrimSuffix(f.Doc, ".") }

// Values are what an instance sets the fields of its descriptor to, by name.
type Values map[string]sym.Expr

// Param is a field with its value: a constant, or dynamic.
type Param struct {
	Name  string
	Value sym.Expr
}

// params returns values in the order of the fields. It panics unless every field has
// one, of its own or of those that are given, and no other name has one of its own.
func (d *Descriptor) params(own, given Values) []Param {
	params := make([]Param, len(d.Fields))
	for i, f := range d.Fields {
		v, ok := own[f.Name]
		if !ok {
			v, ok = given[f.Name]
		}
		if !ok {
			panic(fmt.Sprintf("%s: field %s has no value", d.Name, f.Name))
		}
		params[i] = Param{f.Name, v}
	}
	for name := range own {
		if d.Field(name) == nil {
			panic(fmt.Sprintf("%s has no field %s", d.Name, name))
		}
	}
	return params
}

// Field returns the field of a name, nil if there is none.
func (d *Descriptor) Field(name string) *Field {
	i := slices.IndexFunc(d.Fields, func(f *Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return d.Fields[i]
}

// Descriptors returns those of kernels, each once.
func Descriptors(kernels []*Kernel) (list []*Descriptor) {
	for _, k := range kernels {
		if !slices.Contains(list, k.Descriptor) {
			list = append(list, k.Descriptor)
		}
	}
	return list
}

// describe returns a descriptor of fields of the vocabulary.
func describe(name string, fields ...[]string) *Descriptor {
	d := &Descriptor{Name: name}
	for _, f := range slices.Concat(fields...) {
		field, ok := vocabulary[f]
		if !ok {
			panic(name + ": there is no field " + f)
		}
		d.Fields = append(d.Fields, &field)
	}
	return d
}
