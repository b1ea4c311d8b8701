package golang

import (
	"fmt"
	"go/ast"
	"strings"

	"github.com/etgen/etgen/codegen"
)

// copies returns what roots need of a library, its names replaced: the texts of
// declarations that all machines have, and a file, or two with assembly, for
// what each of its variants has of its own. head is the first line of files.
func (u *unit) copies(lib *library, roots []string, rename func(string) string, head,
	prefix string) (common []string, files []codegen.File, err error) {
	variants := variantsOf(lib, u.machine)
	if len(variants) > 0 {
		lib = variants[0].library
	}
	decls, err := lib.closure(roots)
	if err != nil {
		return nil, nil, err
	}
	shared := map[string]bool{}
	take := func(lib *library, d *libDecl) {
		if text := lib.text(d, rename); !shared[text] {
			shared[text] = true
			common = append(common, text)
		}
	}
	for _, d := range decls {
		if d.file.constraint == "" {
			take(lib, d)
		}
	}
	for _, v := range variants {
		more, err := u.variantFiles(v, roots, rename, head, prefix, take)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, more...)
	}
	return common, files, nil
}

// variantFiles returns what a variant has of its own, and gives take what all
// have.
func (u *unit) variantFiles(v *variant, roots []string, rename func(string) string, head,
	prefix string, take func(*library, *libDecl)) ([]codegen.File, error) {
	decls, err := v.closure(roots)
	if err != nil {
		return nil, err
	}
	var own []string
	var assembled []string // functions
	for _, d := range decls {
		if d.file.constraint == "" {
			take(v.library, d)
			continue
		}
		own = append(own, v.text(d, rename))
		if f, ok := d.node.(*ast.FuncDecl); ok && f.Body == nil {
			assembled = append(assembled, f.Name.Name)
		}
	}
	if len(own) == 0 {
		return nil, nil
	}
	if v.constraint != "" {
		head += v.constraint + "\n\n"
	}
	data, err := u.file(head, strings.Join(own, "\n\n"))
	if err != nil {
		return nil, err
	}
	files := []codegen.File{{Name: prefix + v.file, Data: data}}
	if len(assembled) == 0 {
		return files, nil
	}
	text, err := assembly(string(v.assembly), assembled, rename)
	if err != nil {
		return nil, fmt.Errorf("assembly of %s: %w", v.file, err)
	}
	return append(files, codegen.File{Name: strings.TrimSuffix(prefix+v.file, ".go") + ".s",
		Data: []byte(head + text)}), nil
}
