package golang

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gokernels/rows"
	"github.com/etgen/etgen/lower/native"
)

// copied is what is copied of a library.
type copied struct {
	lib      *library
	roots    []string // with all that they need
	assembly []string // the architectures that have some
	cases    []string // of functions in assembly that have cases
	rename   func(string) string
	head     string // the first line of files
	prefix   string // of their names
}

// copies returns the texts of declarations that all machines have, and a file, or two
// with assembly, for what each variant of the library has of its own.
func (u *unit) copies(c *copied) (common []string, files []codegen.File) {
	lib, variants := c.lib, variantsOf(c.lib, c.assembly)
	if len(variants) > 0 {
		lib = variants[0].library
	}
	shared := map[string]bool{}
	take := func(lib *library, d *libDecl) {
		if text := lib.text(d, c.rename); !shared[text] {
			shared[text] = true
			common = append(common, text)
		}
	}
	libs := []*library{lib}
	for _, v := range variants {
		libs = append(libs, v.library)
	}
	all := closures(libs, c.roots)
	for _, d := range all[0] {
		if d.file.constraint == "" {
			take(lib, d)
		}
	}
	for i, v := range variants {
		files = append(files, u.variantFiles(v, all[i+1], c, take)...)
	}
	return common, files
}

// variantFiles returns what a variant has of its own of declarations, and gives take what all
// have.
func (u *unit) variantFiles(v *variant, decls []*libDecl, c *copied,
	take func(*library, *libDecl)) []codegen.File {
	var own []string
	var assembled []string // functions
	for _, d := range decls {
		if d.file.constraint == "" {
			take(v.library, d)
			continue
		}
		own = append(own, v.text(d, c.rename))
		if f, ok := d.node.(*ast.FuncDecl); ok && f.Body == nil {
			assembled = append(assembled, f.Name.Name)
		}
	}
	if len(own) == 0 {
		return nil
	}
	head, name := c.head, c.prefix+v.file
	if v.constraint != "" {
		head += v.constraint + "\n\n"
	}
	files := []codegen.File{{Name: name, Data: u.file(head, strings.Join(own, "\n\n"))}}
	if len(assembled) == 0 {
		return files
	}
	text := assembly(string(v.assembly), assembled, c.cases, c.rename)
	return append(files, codegen.File{Name: strings.TrimSuffix(name, ".go") + ".s",
		Data: []byte(head + text)})
}

// cases returns those that calls of t's functions may come to of functions in assembly, and
// whether these calls are worth having it.
func (t *tunedSource) cases(g *generator) (names []string, worth bool) {
	work := 0.0
	for _, m := range g.p.Methods {
		codegen.Walk(m.Body, func(s native.Stmt) {
			switch s := s.(type) {
			case *native.For, *native.While:
				worth = true
			case *native.Call:
				if s.Kernel.Tuned == nil {
					return
				}
				dir, fn, _ := strings.Cut(s.Kernel.Tuned.Kernel.Go, ".")
				if dir != t.lib.name || len(t.lib.variants) == 0 {
					return
				}
				_, rescaled := s.Kernel.Tuned.Rescaling()
				names = append(names, rows.Cases(fn, integers(s), g.divides(s.Kernel), rescaled)...)
				// Calls that share a kernel may differ in their work.
				work += s.Kernel.Tuned.Most()
				worth = worth || len(s.Kernel.Params) > 0
			}
		})
	}
	slices.Sort(names)
	return slices.Compact(names), worth || work >= tuned.WorthAssembly
}

// integers returns the values of the parameters of a call of a tuned kernel.
func integers(c *native.Call) (values []int) {
	for _, x := range c.Fields() {
		n, known := x.Const()
		if !known {
			n = rows.Unknown
		}
		values = append(values, int(n))
	}
	return values
}

// assembly returns the functions of an assembly file that names lists, in its
// order, called what rename says. A function's text ends where the comment of
// the next begins. The functions stand by themselves: none refers to another,
// nor to data but a table of the file that lies behind it. Of what a function has for
// single cases there is what cases lists, as "function case".
func assembly(src string, names, cases []string, rename func(string) string) string {
	const mark = "\n// func "
	head, rest, ok := strings.Cut(src, mark)
	if !ok {
		must.Fail("there are no functions in assembly")
	}
	texts := map[string]string{}
	for _, text := range strings.Split(rest, mark) {
		name, _, _ := strings.Cut(text, "(")
		texts[name] = strings.TrimSpace(text)
	}
	var b strings.Builder
	for line := range strings.Lines(head) {
		if strings.HasPrefix(line, "#include") {
			b.WriteString(line)
		}
	}
	for _, name := range names {
		text, ok := texts[name]
		if !ok {
			must.Fail("there is no function %s in assembly", name)
		}
		text = reached(name, text, cases)
		to := rename(name)
		signature := to + strings.TrimPrefix(text, name)
		b.WriteString("\n// func " + strings.Replace(signature, "TEXT ·"+name+"(SB)",
			"TEXT ·"+to+"(SB)", 1) + "\n")
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// reached returns the text of a function without what it has for cases that are not in a
// list. Behind "case NAME" stands what is done in a case, up to "end": who comes there
// all the same is stopped. Behind "branch NAME" stands a branch to it.
func reached(function, text string, cases []string) string {
	head, body, _ := strings.Cut(text, "\n\t")
	var lines []string
	var around []bool // for each mark around a line, whether what it marks is left out
	out, marked, kept, last := false, false, false, ""
	for _, line := range strings.Split("\t"+body, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 3 && words[0] == "//" && (words[1] == "case" || words[1] == "branch"):
			around = append(around, out)
			is := slices.Contains(cases, function+" "+words[2])
			marked, kept = true, kept || is
			if words[1] == "case" && !out && !is && last != "UNDEF" {
				lines, last = append(lines, "\tUNDEF"), "UNDEF"
			}
			out = out || !is
		case len(words) == 2 && words[0] == "//" && words[1] == "end":
			out, around = around[len(around)-1], around[:len(around)-1]
		case out:
		case len(words) > 0:
			lines, last = append(lines, line), words[0]
		case len(lines) > 0 && lines[len(lines)-1] != "":
			lines = append(lines, "")
		}
	}
	if marked && !kept {
		return head + "\n\tUNDEF"
	}
	return head + "\n" + strings.Join(lines, "\n")
}

// architectures are those that have assembly, as file names and build
// constraints call them.
func architectures() []string { return []string{"amd64", "arm64"} }

// assembly returns the architectures that a package has assembly for.
func (u *unit) assembly() []string {
	if u.machine == nil {
		return architectures()
	}
	return u.machine.Assembly
}

// variantsOf returns the variants of a library that a package has with assembly for some
// architectures. Those without assembly are for every architecture that is left.
func variantsOf(lib *library, own []string) []*variant {
	var out []*variant
	for _, v := range lib.variants {
		arch := architectureOf(v.file)
		kept := arch == ""
		for _, a := range own {
			kept = kept || a == arch
		}
		if !kept {
			continue
		}
		if arch == "" && len(own) < len(architectures()) {
			rest := *v
			rest.constraint = ""
			for _, a := range own {
				rest.constraint = "//go:build !" + a + " || purego"
			}
			v = &rest
		}
		out = append(out, v)
	}
	return out
}

// architectureOf returns the architecture that a file's name restricts it to, ""
// if it does not.
func architectureOf(file string) string {
	for _, a := range architectures() {
		if strings.HasSuffix(file, "_"+a+".go") {
			return a
		}
	}
	return ""
}
