package page

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/lower/native"
)

// mostCode is how much of a text a page has, in bytes.
const mostCode = 1 << 20

// codeOf returns the text of a program, the kernels by their names, and the lines of calls. These
// are found by an instrumented copy: it has lines more, each of which names the call before it.
func codeOf(np *native.Program, pkg *codegen.Package, opt compile.Options) (_ Code, _ map[string]int,
	_ map[*native.Call]*Lines) {
	code := Code{Language: must.Get(compile.LanguageNamed(opt.Lang)).Name, Kernels: []Kernel{}}
	code.Name = pkg.Name + "." + code.Language
	// Kernels may be in a file of their own.
	apart := "kernels." + code.Language
	textOf := func(p *codegen.Package) []string {
		text := strings.Split(string(p.File(code.Name)), "\n")
		if more := p.File(apart); more != nil {
			text = append(text, strings.Split("// "+apart+"\n\n"+string(more), "\n")...)
		}
		return text
	}
	text := textOf(pkg)
	kernels, names := map[string]int{}, map[*native.Kernel]string{}
	for _, k := range np.Kernels {
		x := Kernel{Name: pkg.Name + "_" + k.Name, Doc: k.Doc, Tuned: k.Tuned != nil}
		if x.Lines = functionAt(text, x.Name); x.Lines == nil {
			x.Name = camel(k.Name)
			x.Lines = functionAt(text, x.Name)
		}
		kernels[k.Name], names[k] = len(code.Kernels), x.Name
		code.Kernels = append(code.Kernels, x)
	}
	opt.Probes, opt.Warn = true, nil
	probed := must.Get(compile.Print(np, opt))
	ends := probesIn(text, textOf(probed))
	lines := map[*native.Call]*Lines{}
	for c, n := range codegen.Probes(np) {
		if last, ok := ends[n]; ok {
			lines[c] = callAt(text, last, names[c.Kernel])
		}
	}
	code.Text = strings.Join(text, "\n")
	if len(code.Text) > mostCode {
		end := strings.LastIndexByte(code.Text[:mostCode], '\n')
		code.Text, code.Cut = code.Text[:end+1], true
	}
	return code, kernels, lines
}

// camel is the name of a kernel in Go.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// probesIn tells behind which line of a text, counted from 1, an instrumented copy of it has the
// probe of which call: none if the two differ otherwise.
func probesIn(text, probed []string) map[int]int {
	ends := map[int]int{}
	at := 0
	for _, line := range probed {
		call := strings.TrimSpace(line)
		n := 0
		_, arg, _ := strings.Cut(strings.ToLower(call), "probe(")
		_, err := fmt.Sscanf(arg, "%d)", &n)
		switch {
		case at < len(text) && line == text[at]:
			at++
		case err == nil:
			ends[n] = at
		}
	}
	if at < len(text) {
		return nil
	}
	return ends
}

// callAt returns the lines of a call that ends with a line, with the comment before it.
func callAt(text []string, last int, kernel string) *Lines {
	first := last
	for first > 1 && last-first < 8 && !strings.Contains(text[first-1], kernel+"(") {
		first--
	}
	if !strings.Contains(text[first-1], kernel+"(") {
		first = last
	}
	for first > 1 && strings.HasPrefix(strings.TrimSpace(text[first-2]), "/") {
		first--
	}
	return &Lines{first, last}
}

// functionAt returns the lines of a function's definition, with the comment before it; nil if it
// is not there.
func functionAt(text []string, name string) *Lines {
	for i, line := range text {
		if !strings.Contains(line, " "+name+"(") || strings.HasPrefix(line, " ") ||
			strings.HasPrefix(line, "\t") || strings.HasSuffix(line, ";") {
			continue
		}
		first, last := i, i
		for last < len(text)-1 && text[last] != "}" {
			last++
		}
		for first > 0 && text[first-1] != "" && text[first-1] != "}" {
			first--
		}
		return &Lines{first + 1, last + 1}
	}
	return nil
}
