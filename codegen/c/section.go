package c

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
)

// section returns the macro that stands before what is to be in the section of a kind, and
// notes that it is used; "" if the kind has no section of its own.
func (g *gen) section(k codegen.SectionKind) string {
	if g.opt.Sections[k] == "" {
		return ""
	}
	return g.upper + "_" + strings.ToUpper(string(k)) + "_SECTION"
}

// sectionMacro defines the macro of a kind: in the words of the compilers that have some. Who
// has another compiler defines the macro before.
func (g *gen) sectionMacro(w *writer, k codegen.SectionKind) {
	macro, name := g.section(k), g.opt.Sections[k]
	if macro == "" {
		return
	}
	w.blank()
	w.b.WriteString(fmt.Sprintf(`/* The section of %[1]s. Words of another compiler may be defined instead. */
#ifndef %[2]s
#if defined(__IAR_SYSTEMS_ICC__)
#define %[2]s _Pragma("location=\"%[3]s\"")
#elif defined(__GNUC__) || defined(__ARMCC_VERSION)
#define %[2]s __attribute__((section("%[3]s")))
#else
#define %[2]s
#endif
#endif
`, k, macro, name))
}

// placed puts the macros of sections before the functions and tables of a file's text. Every
// definition begins a line, and nothing else does that has brackets and no semicolon: the
// texts of micro-kernels and helpers are written so too.
func (g *gen) placed(text string) string {
	code, tables := g.section(codegen.CodeSection), g.section(codegen.TablesSection)
	if code == "" && tables == "" {
		return text
	}
	var b strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		switch {
		case tables != "" && strings.HasPrefix(line, "static const ") && strings.Contains(line, "="):
			b.WriteString(tables + " ")
		case code != "" && beginsFunction(lines[i:]):
			b.WriteString(code + " ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// beginsFunction reports whether the definition of a function begins with the first line:
// its head may take some, and is followed by a line with a bracket.
func beginsFunction(lines []string) bool {
	first := lines[0]
	word, _, _ := strings.Cut(first, " ")
	letter := first != "" && (first[0] >= 'a' && first[0] <= 'z' || first[0] >= 'A' && first[0] <= 'Z')
	if !letter || slices.Contains([]string{"typedef", "extern", "enum", "struct", "union"}, word) ||
		!strings.Contains(first, "(") {
		return false
	}
	for i, line := range lines {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasSuffix(line, ";"), i > 0 && line == "":
			return false
		case line == "{":
			return true
		}
	}
	return false
}
