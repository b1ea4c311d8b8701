// Package custom finds the kernels of custom operators that a user wrote, by their marks:
//
//	//etgen:kernel my::scale(Tensor x, *, float by) -> Tensor
//
// in the comment of a Go function, or in any comment of a C file. A mark declares the operator:
// its arguments, which of them it writes to, as in Tensor(a!) x, and its results.
package custom

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
)

// Kernels are the custom operators that a user declared, and where their kernels are.
type Kernels struct {
	Schemas []*aten.Schema
	Go      []*Function // kernels in Go
	C       []string    // files with kernels in C
	Modules []Module    // of the Go kernels
	shapes  []*Function // what tells the sizes of results
	inC     map[string]bool
}

// Mark begins what declares a kernel in a comment.
const Mark = "etgen:kernel"

// ShapeMark, with the name of an operator behind it, is in the comment of a Go function that tells
// the sizes of results. The function takes the operator's arguments, of a tensor its sizes as
// []int, and returns a []int for each result. The runtime rt needs it where sizes are dynamic.
const ShapeMark = "etgen:shape"

// Load reads declarations and kernels: of a name that ends with .c, .h or .txt a file with marks,
// of any other a Go package: its folder, which may be one of another module, or what the go
// command calls it.
func Load(ctx context.Context, names ...string) (k *Kernels, err error) {
	return LoadOver(ctx, Over{}, names...)
}

// Over is a file of Go that is taken to have other text than what is written, or to be there.
type Over struct {
	Path string // "" is no file
	Text []byte
}

// LoadOver is Load with over, which may be in a package that is loaded.
func LoadOver(ctx context.Context, over Over, names ...string) (k *Kernels, err error) {
	defer must.Catch(&err)
	k = &Kernels{inC: map[string]bool{}}
	var packages []string
	for _, name := range names {
		switch filepath.Ext(name) {
		case ".c", ".h", ".txt":
			k.file(name)
		default:
			packages = append(packages, name)
		}
	}
	for _, name := range packages {
		k.load(ctx, name, over)
	}
	return k, nil
}

// Declare adds operators of which only the schemas are known.
func (k *Kernels) Declare(schemas ...string) (err error) {
	defer must.Catch(&err)
	for _, text := range schemas {
		k.declare("--custom-op", text)
	}
	return nil
}

// Declared returns the schemas of all operators; k may be nil.
func (k *Kernels) Declared() []*aten.Schema {
	if k == nil {
		return nil
	}
	return k.Schemas
}

// InC reports whether an operator has a kernel in C; k may be nil.
func (k *Kernels) InC(op string) bool { return k != nil && k.inC[op] }

// Shape returns what tells the sizes of results of f's operator, nil if nothing does.
func (k *Kernels) Shape(f *Function) *Function {
	s, _ := k.shape(f)
	return s
}

// shape returns what tells the sizes of results of f's operator, and its number, nil if nothing
// does.
func (k *Kernels) shape(f *Function) (*Function, int) {
	for i, s := range k.shapes {
		if s.Schema == f.Schema {
			return s, i
		}
	}
	return nil, 0
}

// Function returns the Go kernel of an operator, nil if there is none.
func (k *Kernels) Function(op string) *Function {
	if k == nil {
		return nil
	}
	for _, f := range k.Go {
		if f.Schema.Name == op {
			return f
		}
	}
	return nil
}

// file reads the marks of a file.
func (k *Kernels) file(name string) {
	text := string(must.Get(os.ReadFile(name)))
	found, number := false, 0
	for line := range strings.Lines(text) {
		number++
		_, schema, ok := strings.Cut(line, Mark)
		if !ok {
			continue
		}
		schema, _, _ = strings.Cut(schema, "*/")
		s := k.declare(fmt.Sprintf("%s:%d", name, number), schema)
		if filepath.Ext(name) == ".c" {
			k.inC[s.Name] = true
		}
		found = true
	}
	if !found {
		must.Fail("%s: no comment declares a kernel: write //%s and the operator's schema before it",
			foreign.Message(name), Mark)
	}
	if filepath.Ext(name) == ".c" {
		k.C = append(k.C, name)
	}
}

// declare notes a schema. Two declarations of an operator have to be the same.
func (k *Kernels) declare(place, text string) *aten.Schema {
	text = strings.Trim(text, "\" \t\r\n") // messages quote schemas
	s, err := aten.Parse(text)
	if err != nil {
		must.Fail("%s: %w", place, err)
	}
	for _, a := range s.Args {
		if a.Type.Mutates() && a.Type.Base().Name != "Tensor" {
			must.Fail("%s: %s writes to %s; only tensors can be written", place, s, a.Name)
		}
	}
	i := slices.IndexFunc(k.Schemas, func(o *aten.Schema) bool { return o.Name == s.Name })
	switch {
	case i < 0:
		k.Schemas = append(k.Schemas, s)
	case k.Schemas[i].String() != s.String():
		must.Fail("%s: %s is declared as %s elsewhere", place, s, k.Schemas[i])
	default:
		return k.Schemas[i]
	}
	return s
}
