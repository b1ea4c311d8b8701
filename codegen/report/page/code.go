package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/lower/native"
)

// mostCode is how much of a text a page has, in bytes.
const mostCode = 1 << 20

// codeOf returns the text of a program, the kernels by their names, and the lines of calls. These
// are found by a copy that is made for profiles: it has lines more, which name the calls around them.
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
	kernels, functions := map[string]int{}, functionsIn(text)
	for _, k := range np.Kernels {
		x := Kernel{Name: pkg.Name + "_" + k.Name, Doc: k.Doc, Tuned: k.Tuned != nil}
		if x.Lines = functions(x.Name); x.Lines == nil {
			x.Name = camel(k.Name)
			x.Lines = functions(x.Name)
		}
		kernels[k.Name] = len(code.Kernels)
		code.Kernels = append(code.Kernels, x)
	}
	opt.Profile, opt.Warn = true, nil
	marks := eventsIn(text, textOf(must.Get(compile.Print(np, opt))))
	events, lines := codegen.NewEvents(np), map[*native.Call]*Lines{}
	for _, m := range np.Methods {
		codegen.Walk(m.Body, func(s native.Stmt) {
			c, _ := s.(*native.Call)
			begin, _ := events.Begin(c)
			end, is := events.End(c)
			last, ok := marks[end]
			if !is || !ok || last <= marks[begin] {
				return
			}
			first := marks[begin] + 1
			for first > 1 && strings.HasPrefix(strings.TrimSpace(text[first-2]), "/") {
				first-- // the comment before it
			}
			lines[c] = &Lines{first, last}
		})
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

// eventsIn tells behind which line of a text, counted from 1, a copy of it that is made for
// profiles has which event: none if the two differ in more than spaces.
func eventsIn(text, profiled []string) map[int]int {
	marks := map[int]int{}
	at := 0
	for _, line := range profiled {
		n := 0
		_, arg, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(line), "_", ""), "profileevent(")
		_, err := fmt.Sscanf(arg, "%d)", &n)
		switch {
		case at < len(text) && slices.Equal(strings.Fields(line), strings.Fields(text[at])):
			at++
		case err == nil:
			marks[n] = at
		}
	}
	if at < len(text) {
		return nil
	}
	return marks
}

var called = regexp.MustCompile(` (\w+)\(`)

// functionsIn finds by name the lines of a function's definition, with the comment before it; nil
// if it is not there.
func functionsIn(text []string) func(name string) *Lines {
	at := map[string]int{}
	for i, line := range text {
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") || strings.HasSuffix(line, ";") {
			continue
		}
		for _, m := range called.FindAllStringSubmatch(line, -1) {
			if _, known := at[m[1]]; !known {
				at[m[1]] = i
			}
		}
	}
	return func(name string) *Lines {
		i, ok := at[name]
		if !ok {
			return nil
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
}
