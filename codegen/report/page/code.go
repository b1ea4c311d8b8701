package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/lower/native"
)

// mostCode is how much of a text a page has, in bytes.
const mostCode = 1 << 20

// source is a file of a program's code.
type source struct {
	name   string
	events *codegen.Events // of the calls in it, if there are any
}

// sourcesOf are the files that may have code: what separate models share, and each model's own;
// else one, and kernels that are in a file of their own.
func sourcesOf(np *native.Program, pkg *codegen.Package, opt compile.Options) []source {
	main, extension := source{name: pkg.Name}, "."+must.Get(compile.LanguageNamed(opt.Lang)).Name
	list := []source{main, {name: "kernels"}}
	if opt.Separate {
		list = list[:1]
		for _, m := range np.Methods {
			list = append(list, source{m.Name.Identifier(), codegen.NewEvents(codegen.Alone(np, m))})
		}
	} else {
		list[0].events = codegen.NewEvents(np)
	}
	for i := range list {
		list[i].name += extension
	}
	return list
}

// codeOf returns the text of a program, the kernels by their names, and the lines of calls. These
// are found by a copy that is made for profiles: it has lines more, which name the calls around
// them.
func codeOf(np *native.Program, pkg *codegen.Package, opt compile.Options) (_ Code,
	_ map[string]int,
	_ map[*native.Call]*Lines) {
	code := Code{Language: must.Get(compile.LanguageNamed(opt.Lang)).Name, Kernels: []Kernel{}}
	opt.Profile, opt.Warn = true, nil
	profiled := must.Get(compile.Print(np, opt))
	var text []string
	lines := map[*native.Call]*Lines{}
	for _, s := range sourcesOf(np, pkg, opt) {
		file := pkg.File(s.name)
		if file == nil {
			continue
		}
		if code.Name == "" {
			code.Name = s.name
		} else {
			text = append(text, "// "+s.name, "")
		}
		own, before := strings.Split(string(file), "\n"), len(text)
		text = append(text, own...)
		if s.events == nil {
			continue
		}
		marks := eventsIn(own, strings.Split(string(profiled.File(s.name)), "\n"))
		for _, m := range np.Methods {
			codegen.Walk(m.Body, func(stmt native.Stmt) {
				c, _ := stmt.(*native.Call)
				begin, _ := s.events.Begin(c)
				end, is := s.events.End(c)
				last, ok := marks[end]
				if !is || !ok || last <= marks[begin] {
					return
				}
				first := marks[begin] + 1
				for first > 1 && strings.HasPrefix(strings.TrimSpace(own[first-2]), "/") {
					first-- // the comment before it
				}
				lines[c] = &Lines{before + first, before + last}
			})
		}
	}
	prefixes := []string{pkg.Name}
	if opt.Separate { // kernels that call delegates are their model's own
		for _, m := range np.Methods {
			prefixes = append(prefixes, m.Name.Identifier())
		}
	}
	kernels, functions := map[string]int{}, functionsIn(text)
	for _, k := range np.Kernels {
		x := Kernel{Doc: k.Doc, Tuned: k.Tuned != nil}
		for _, name := range append(seq.Map(prefixes, func(p string) string { return p + "_" + k.Name }),
			camel(k.Name)) {
			x.Name, x.Lines = name, functions(name)
			if x.Lines != nil {
				break
			}
		}
		kernels[k.Name] = len(code.Kernels)
		code.Kernels = append(code.Kernels, x)
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
