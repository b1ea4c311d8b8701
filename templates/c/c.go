// Package c holds the C text that is emitted as it stands, tuned kernels above
// all. A printer fills in a kernel's integers and its epilogue.
package c

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
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
// template is the function's body; its printer writes the head, in which the result is
// called y, operands and packed constants have the names that the kernel gives them, and
// scratch is "void *scratch". The integers that it reads have the names of the fields of
// the kernel's descriptor; WithIntegers declares them.
type Kernel struct {
	Index string           // C type of integers, signed: "int32_t"
	Known map[string]int64 // fields that are the same number in all calls
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

// WithIntegers returns a text with declarations of integers where its body begins:
// behind a pragma, which has to come first.
func WithIntegers(text string, declarations []string) string {
	const open, contract = "{\n", "    TILE_CONTRACT\n"
	if len(declarations) == 0 {
		return text
	}
	rest := strings.TrimPrefix(text, open)
	begin := open
	if behind, ok := strings.CutPrefix(rest, contract); ok {
		begin, rest = open+contract, behind
	}
	return begin + "    " + strings.Join(declarations, "\n    ") + "\n" + rest
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
	return "((" + n + " % parts == 0) || (" + n + " > 4 * parts))"
}

// Is reports whether a field is always n.
func (k *Kernel) Is(name string, n int64) bool {
	x, ok := k.Known[name]
	return ok && x == n
}

// One reports whether a field is always 1.
func (k *Kernel) One(name string) bool { return k.Is(name, 1) }

// Multiple reports whether a field is always the same multiple of n.
func (k *Kernel) Multiple(name string, n int64) bool {
	x, ok := k.Known[name]
	return ok && x%n == 0
}

// Few reports whether a field is always the same number of at most 4: compilers
// unroll a loop so short, and see what its steps do together.
func (k *Kernel) Few(name string) bool {
	x, ok := k.Known[name]
	return ok && x <= 4
}

// parsed holds all templates.
var parsed = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Option("missingkey=error").ParseFS(files, "*.c.tmpl")
})

// Text executes the template called name: a tuned kernel's, or that of helpers
// that tuned kernels name in Kernel.Helpers, which only needs the tile and Index. With
// vectors it is NAME_vector if there is one: a text for vectors has nothing in common with
// the one for numbers.
func Text(name string, k *Kernel) (string, error) {
	t, err := parsed()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	file := name + ".c.tmpl"
	if vector := name + "_vector.c.tmpl"; k.Vector && t.Lookup(vector) != nil {
		file = vector
	}
	if err := t.ExecuteTemplate(&b, file, k); err != nil {
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
