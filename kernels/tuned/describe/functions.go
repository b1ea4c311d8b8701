package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etgen/etgen/kernels/tuned"
)

// functions prints how package gofunc finds the buffers of a call by their names, and calls
// the Go functions of kernels.
func functions() string {
	imports := map[string]bool{}
	var b strings.Builder
	for _, k := range tuned.Standard() {
		dir, _, ok := strings.Cut(k.Go, ".")
		if !ok {
			continue
		}
		imports[dir] = true
		fmt.Fprintf(&b, "\tcase %q:\n", k.Go)
		before, args := arguments(&b, dir, k)
		fmt.Fprintf(&b,
			"\t\treturn func(b [][]float32, n []int, f *Epilogue) {\n\t\t\ta := %s.New%s(n)\n",
			dir, k.Descriptor.GoName())
		result := ""
		if k.Rescales {
			before += "\t\t\te.Rescale(f.Shift, f.Scale, f.Least, f.Most, f.Plus)\n"
			result = "f.Rescaled = "
		}
		fmt.Fprintf(&b, "%s\t\t\t%s%s(%s)\n\t\t}, true\n", before, result, k.Go,
			strings.Join(args, ", "))
	}
	text := generated + "package gofunc\n\nimport (\n\"github.com/etgen/etgen/kernels/tuned\"\n"
	for _, dir := range slices.Sorted(maps.Keys(imports)) {
		text += fmt.Sprintf("%q\n", "github.com/etgen/etgen/kernels/tuned/gokernels/"+dir)
	}
	return text + `)

// Lookup returns the function that tuned.Kernel.Go names, for calls with buffers in the
// order of slots and integers in that of the descriptor; false if there is none.
func Lookup(name string, slots []tuned.Slot) (Function, bool) {
	switch name {
` + b.String() + "\t}\n\treturn nil, false\n}\n"
}

// arguments prints what is done once for all calls of a kernel's function, and returns the
// statements before a call, and its arguments.
func arguments(b *strings.Builder, dir string, k *tuned.Kernel) (before string, args []string) {
	buffer := func(name string) string {
		fmt.Fprintf(b, "\t\t%s := at(slots, %q)\n", name, name)
		if (tuned.Slot{Name: name}).Bool() {
			return "bools(take(b, " + name + "))"
		}
		return "take(b, " + name + ")"
	}
	for _, a := range k.Arguments(false) {
		arg := ""
		switch a.Kind {
		case tuned.Buffer:
			arg = buffer(a.Name)
		case tuned.Inputs:
			var fields []string
			for _, f := range a.Fields {
				fields = append(fields, buffer(f))
			}
			before += fmt.Sprintf("\t\t\tin := %s.New%s(%s)\n", dir, a.Name,
				strings.Join(fields, ",\n\t\t\t\t"))
			arg = "&in"
		case tuned.Integers:
			arg = "&a"
		case tuned.Vectors:
			b.WriteString("\t\tvec := vectors()\n")
			arg = "&vec"
		case tuned.EpilogueSlot:
			before += "\t\t\te := rows.NewEpilogue(f.Add, f.Low, f.High, f.EpilogueFunc)\n"
			arg = "&e"
		case tuned.OnRuns:
			arg = "f.EpilogueFunc"
		}
		args = append(args, arg)
	}
	return before, args
}
