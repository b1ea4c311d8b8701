package registry

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/ops"
)

// customPrinter prints kernels for rt of the user's functions.
type customPrinter struct {
	body    strings.Builder
	imports map[string]bool
	names   map[string]string // of packages, by their paths
	dir     string            // of the file
}

// kernelName is what a program calls a custom operator: "fir::square.out".
func kernelName(s *aten.Schema) string {
	name := strings.Replace(ops.OutForm(s).Name, ".", "::", 1)
	return strings.TrimSuffix(name, ".default")
}

// kernels prints the functions CustomKernels and CustomOperators.
func (w *customPrinter) kernels(k *custom.Kernels, list []*custom.Function) {
	w.body.WriteString("// CustomKernels returns the kernels of custom operators, as " +
		"rt.Registry.With takes them.\nfunc CustomKernels() []rt.Kernel {\nreturn compiled.Kernels(\n")
	for _, f := range list {
		w.kernel(k, f)
	}
	w.body.WriteString(")\n}\n\n// CustomOperators returns the schemas of these operators, for " +
		"Custom of the options of rt/optimize.\nfunc CustomOperators() []string {\nreturn []string{\n")
	for _, f := range list {
		fmt.Fprintf(&w.body, "%s,\n", foreign.Of(f.Schema.String()).GoLiteral())
	}
	w.body.WriteString("}\n}\n")
}

// in is what stands before names of f's package.
func (w *customPrinter) in(f *custom.Function) string {
	if f.In(w.dir) {
		return ""
	}
	if f.Pkg == "main" || strings.HasSuffix(f.Path, "_test") {
		must.Fail("%s: kernel %s is in package %s, which no other imports: write the file to its folder",
			f.Place, f.Name, f.Pkg)
	}
	name, taken := w.names[f.Path], map[string]bool{}
	for _, n := range w.names {
		taken[n] = true
	}
	for n := 1; name == ""; n++ {
		try := f.Pkg + "Kernels"
		if n > 1 {
			try += fmt.Sprint(n)
		}
		if !taken[try] {
			name = try
		}
	}
	w.names[f.Path] = name
	w.imports[fmt.Sprintf("%s %q", name, f.Path)] = true
	return name + "."
}

// kernel prints the kernel that calls f.
func (w *customPrinter) kernel(k *custom.Kernels, f *custom.Function) {
	b, pkg := &w.body, w.in(f)
	fmt.Fprintf(b, "compiled.Custom{\nOp: %s, Func: %q, Outs: %d,\nArgs: []compiled.Param{\n",
		foreign.Of(kernelName(f.Schema)).GoLiteral(), f.Pkg+"."+f.Name, len(f.Schema.Returns))
	for i, p := range f.Params {
		fmt.Fprintf(b, "{Name: %q, %s},\n", p.Name, paramText(p, f.Type(i)))
	}
	b.WriteString("},\n")
	args := make([]string, len(f.Params))
	for i, p := range f.Params {
		args[i] = argument(fmt.Sprintf("a[%d]", i), pkg, f.Type(i), p)
	}
	call := fmt.Sprintf("%s%s(\n%s,\n)", pkg, f.Name, strings.Join(args, ",\n"))
	if f.Err {
		call = "return " + call
	} else {
		call += "\nreturn nil"
	}
	fmt.Fprintf(b, "Call: func(a []*compiled.Value) error {\n%s\n},\n", call)
	if s := k.Shape(f); s != nil {
		w.sizes(s)
	}
	b.WriteString("},\n")
}

// sizes prints the call of the function s that tells the sizes of results.
func (w *customPrinter) sizes(s *custom.Function) {
	pkg := w.in(s)
	var args, results []string
	for i, p := range s.Params {
		value := fmt.Sprintf("a[%d]", i)
		if t := s.Schema.Args[i].Type; t.Base().Name == "Tensor" {
			args = append(args, value+".Sizes()")
		} else {
			args = append(args, argument(value, pkg, t, p))
		}
	}
	for i := range s.Schema.Returns {
		results = append(results, fmt.Sprintf("s%d", i))
	}
	list := strings.Join(results, ", ")
	fmt.Fprintf(&w.body, "Sizes: func(a []*compiled.Value) [][]int {\n%s := %s%s(%s)\n"+
		"return [][]int{%s}\n},\n", list, pkg, s.Name, strings.Join(args, ", "), list)
}

// paramText is what a compiled.Param says of p besides its name.
func paramText(p custom.Param, t *aten.Type) string {
	kind := map[string]string{"Tensor": "TensorKind", "float": "Double", "Scalar": "Double",
		"bool": "Bool", "str": "String"}[t.Base().Name]
	if kind == "" {
		kind = "Int"
	}
	text := "Kind: rt." + kind
	if p.Elem != "" {
		text += fmt.Sprintf(", Elem: %q", p.Elem)
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"List", t.IsList()}, {"Optional", t.Optional}, {"Written", t.Mutates()}} {
		if flag.set {
			text += ", " + flag.name + ": true"
		}
	}
	return text
}

// argument is what a function takes for a value, as of hostArgument in codegen/custom.
func argument(value, pkg string, t *aten.Type, p custom.Param) string {
	of := func(typ string) string {
		return fmt.Sprintf("func(v *compiled.Value) %s { return %s }", typ, element("v", pkg, typ, p))
	}
	switch {
	case t.IsList():
		typ := strings.TrimPrefix(p.Type, "[]")
		switch {
		case p.Struct != "":
			typ = pkg + p.Struct
		case p.Elem != "":
			typ = "[]" + p.Elem
		}
		return fmt.Sprintf("compiled.List(%s, %s)", value, of(typ))
	case p.Elem == "" && strings.HasPrefix(p.Type, "*"):
		return fmt.Sprintf("compiled.Optional(%s, %s)", value, of(p.Type[1:]))
	}
	return element(value, pkg, p.Type, p)
}

// element is what a function takes for a tensor, a number or a string.
func element(value, pkg, typ string, p custom.Param) string {
	switch {
	case p.Struct != "":
		text := fmt.Sprintf("%s%s{Data: compiled.Elements[%s](%s)", pkg, p.Struct, p.Elem, value)
		if p.HasSizes {
			text += ", Sizes: " + value + ".Sizes()"
		}
		if p.HasStrides {
			text += ", Strides: " + value + ".Strides()"
		}
		return text + "}"
	case p.Elem != "":
		return fmt.Sprintf("compiled.Elements[%s](%s)", p.Elem, value)
	case typ == "float64":
		return value + ".Float()"
	case typ == "string":
		return value + ".Text()"
	case typ == "bool":
		return value + ".Bool()"
	case typ == "int":
		return "int(" + value + ".Int())"
	}
	return value + ".Int()"
}

// customPart prints the kernels of the user's functions: of those that the programs call, or of all
// without programs. It takes them off c.left.
func (c *collector) customPart(opt Options, programs bool) *customPrinter {
	w := &customPrinter{imports: map[string]bool{}, names: map[string]string{}}
	if opt.Kernels == nil || len(opt.Kernels.Go) == 0 {
		return w
	}
	dir, err := filepath.Abs(opt.Dir)
	must.Check(err)
	w.dir = dir
	list := slices.DeleteFunc(slices.Clone(opt.Kernels.Go), func(f *custom.Function) bool {
		return programs && !c.left[kernelName(f.Schema)]
	})
	for _, f := range list {
		delete(c.left, kernelName(f.Schema))
	}
	w.kernels(opt.Kernels, list)
	return w
}

// source names the packages that the kernels are in.
func (w *customPrinter) source() foreign.Text {
	var names []foreign.Text
	for _, path := range slices.Sorted(maps.Keys(w.names)) {
		names = append(names, foreign.Of(path))
	}
	if names == nil {
		return foreign.Of("kernels of custom operators")
	}
	return foreign.Join(names, ", ")
}
