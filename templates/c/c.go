// Package c holds the C text that is emitted as it stands, tuned kernels above
// all. A printer fills in a kernel's integers and its epilogue.
package c

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
)

//go:embed *.c.tmpl
var files embed.FS

// Names returns the names of functions, types and macros in the templates.
func Names() []string { return names() }

var declared = regexp.MustCompile(
	`(?m)^ *# *define (\w+)|^(?:static|TILE_\w+)[^(\n]*?\b(\w+)\(|^typedef (?:\w+ )+(\w+)(?:;| __)|^} (\w+);`)

var names = sync.OnceValue(func() []string {
	var list []string
	entries, err := files.ReadDir(".")
	for _, e := range entries {
		data, readErr := files.ReadFile(e.Name())
		if err == nil {
			err = readErr
		}
		for _, m := range declared.FindAllStringSubmatch(string(data), -1) {
			list = append(list, m[1]+m[2]+m[3]+m[4])
		}
	}
	if err != nil {
		panic(err) // they are part of the program
	}
	slices.Sort(list)
	return slices.Compact(list)
})

// Kernel is what the template of a tuned kernel, NAME.c.tmpl, is executed with. The
// template is the function's body; its printer writes the head, in which the
// result is called y, operands and packed constants have the names that the
// kernel gives them, and scratch is "void *scratch".
type Kernel struct {
	Index string            // C type of integers, signed: "int32_t"
	Ints  map[string]string // every parameter as a C expression: a constant or a name
	// Rows and Cols are the register tile; Vector asks for vector registers
	// where the C compiler has them: then it sets the rows.
	Rows, Cols int
	Vector     bool
	// Phase is the step of the kernel that the text is to do, of those it names;
	// "" is all of them. A step is done in parts: the integers part and parts
	// say which of how many.
	Phase string
	// Result returns the C expression of what is stored for the plain result
	// acc at flat position o of the output, in channel c. All are simple
	// operands of function calls; an acc may only be used once.
	Result func(acc, o, c string) string
	// Func returns the name of the C function of a float32 function of
	// kernels/math. Helpers may have it, too.
	Func func(name string) string
}

// Does reports whether the text is to do a step of the kernel.
func (k *Kernel) Does(phase string) bool { return k.Phase == "" || k.Phase == phase }

// From and To bound a loop over n steps: all of them, or a part's share.
func (k *Kernel) From(n string) string {
	if k.Phase == "" {
		return "0"
	}
	return n + " * part / parts"
}

// To is the end of what begins at From.
func (k *Kernel) To(n string) string {
	if k.Phase == "" {
		return n
	}
	return n + " * (part + 1) / parts"
}

// Even is whether parts of n are of about the same size.
func (k *Kernel) Even(n string) string {
	return "(" + n + " % parts == 0 || " + n + " > 4 * parts)"
}

// Int returns parameter name as a C expression.
func (k *Kernel) Int(name string) (string, error) {
	s, ok := k.Ints[name]
	if !ok {
		return "", fmt.Errorf("the kernel has no parameter %s", name)
	}
	return s, nil
}

// Has reports whether the kernel has a parameter called name.
func (k *Kernel) Has(name string) bool { return k.Ints[name] != "" }

// One reports whether parameter name is the constant 1.
func (k *Kernel) One(name string) bool { return k.Ints[name] == "1" }

// Choose returns C text yes if parameter name is 1, no if it is 0.
func (k *Kernel) Choose(name, yes, no string) (string, error) {
	switch s, err := k.Int(name); {
	case s == "1":
		return yes, err
	case s == "0":
		return no, err
	default:
		return "(" + s + " ? " + yes + " : " + no + ")", err
	}
}

// Multiple reports whether parameter name is a constant multiple of n.
func (k *Kernel) Multiple(name string, n int64) bool {
	x, err := strconv.ParseInt(k.Ints[name], 10, 64)
	return err == nil && x%n == 0
}

// Few reports whether parameter name is a constant of at most 4: compilers
// unroll a loop so short, and see what its steps do together.
func (k *Kernel) Few(name string) bool {
	n, err := strconv.Atoi(k.Ints[name])
	return err == nil && n <= 4
}

// Mul returns a product of factors: names of parameters or C text. Constants
// are multiplied, ones left out.
func (k *Kernel) Mul(factors ...string) string {
	number := int64(1)
	var rest []string
	for _, f := range factors {
		if s, ok := k.Ints[f]; ok {
			f = s
		}
		if n, err := strconv.ParseInt(f, 10, 64); err == nil {
			number *= n
		} else {
			rest = append(rest, f)
		}
	}
	switch {
	case number == 0 || rest == nil:
		return strconv.FormatInt(number, 10)
	case number != 1:
		rest = append(rest, strconv.FormatInt(number, 10))
	}
	return strings.Join(rest, " * ")
}

// Sub returns C text minus parameter name.
func (k *Kernel) Sub(text, name string) (string, error) {
	s, err := k.Int(name)
	if err != nil || s == "0" {
		return text, err
	}
	return text + " - " + s, nil
}

// parsed holds all templates.
var parsed = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Option("missingkey=error").ParseFS(files, "*.c.tmpl")
})

// Text executes the template called name: a tuned kernel's, or that of helpers
// that tuned kernels name in Kernel.Helpers, which only needs the tile and Index.
func Text(name string, k *Kernel) (string, error) {
	t, err := parsed()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name+".c.tmpl", k); err != nil {
		return "", fmt.Errorf("text of %s: %w", name, err)
	}
	return indent(b.String()), nil
}

// indent indents text by the depth of its braces, so that a template may leave
// loops out. Directives stand at the margin, the further lines of a comment
// below its first word.
func indent(text string) string {
	var b strings.Builder
	depth, comment := 0, false
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		in := depth // never negative: the text's braces are balanced
		if strings.HasPrefix(line, "}") {
			in--
		}
		switch {
		case line == "":
		case comment:
			b.WriteString(strings.Repeat("    ", depth) + "   ")
		case !strings.HasPrefix(line, "#"):
			b.WriteString(strings.Repeat("    ", in))
		}
		b.WriteString(line + "\n")
		depth += strings.Count(line, "{") - strings.Count(line, "}")
		if opened, closed := strings.LastIndex(line, "/*"), strings.LastIndex(line,
			"*/"); opened != closed {
			comment = opened > closed
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
