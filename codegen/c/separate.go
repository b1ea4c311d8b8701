package c

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/lower/native"
)

// separate prints each method of p as a model of its own, with files that are called like the
// method, and the kernels of all of them once, in files that have the package's name. Delegates,
// and kernels that call them, are their model's own.
func separate(p *native.Program, opt Options) *codegen.Package {
	whole := *p
	whole.Kernels, whole.Methods, whole.State, whole.Delegates = nil, nil, nil, nil
	var models []*gen
	for _, m := range p.Methods {
		own := opt
		own.Name = m.Name.Identifier()
		must.Check(checkName(own.Name))
		if own.Name == opt.Name {
			must.Fail("a model and what it shares with others are both called %s: give one another name",
				own.Name)
		}
		part := codegen.Alone(p, m)
		part, events := own.Begin(part)
		models = append(models, newGen(part, own, events))
		whole.Methods = append(whole.Methods, part.Methods...)
		for _, k := range part.Kernels {
			if len(p.DelegatesOf(k)) == 0 && !slices.Contains(whole.Kernels, k) {
				whole.Kernels = append(whole.Kernels, k)
			}
		}
	}
	common := models[0].opt
	common.Name = opt.Name
	shared := newGen(&whole, common, nil)
	shared.weights = &codegen.Weights{}
	shared.interfaceText = &writer{}
	shared.reserveNames()
	for _, g := range models {
		g.shared, g.names, g.idx = shared, shared.names, shared.idx
		g.kernels, g.backends = shared.kernels, shared.backends
		g.reserveNames()
	}
	shared.loadSupport()
	shared.signatures()
	for _, m := range whole.Methods {
		shared.divided = shared.divided || codegen.Divided(m.Body)
	}
	shared.nameCustom()
	shared.ownKernels()
	pkg := shared.files()
	files := map[string]bool{}
	for _, g := range models {
		for _, info := range shared.kernels {
			if info.params != nil {
				info.params.named = map[string]string{} // constants of one file
			}
		}
		g.run()
		pkg.Files = append(pkg.Files, g.files().Files...)
	}
	for _, f := range pkg.Files {
		key := strings.ToLower(f.Name) // macros are in capitals
		if files[key] {
			must.Fail("two models have a file %s, or macros alike: give one another name", f.Name)
		}
		files[key] = true
	}
	return pkg
}

// kernelHead is how the definition of a kernel begins. One that other files call is not static, and
// their header declares it.
func (g *gen) kernelHead(head, name string, params []parameter) string {
	list := paramList(params)
	if g.interfaceText != nil {
		head = strings.Replace(head, "static ", "", 1)
		fields := strings.Fields(head)
		g.interfaceText.raw(fmt.Sprintf("%s %s(%s);", fields[len(fields)-1], name,
			strings.ReplaceAll(list, restricted, "*")))
	}
	return fmt.Sprintf("%s %s(%s)", head, name, list)
}

// sharedHeader is the header of what separate models share.
func (g *gen) sharedHeader() string {
	w := &writer{}
	w.remark(append([]string{g.banner(g.prefix + ".h"), ""}, fill(fmt.Sprintf(
		"What separate models share. An arena of %[1]s_ARENA_SIZE bytes, aligned to "+
			"%[1]s_ARENA_ALIGN, is "+
			"enough for each of them, and all may have the same if one runs at a time. The functions are "+
			"kernels, which the models' own files call.", g.upper), lineWidth-3)...))
	w.raw(fmt.Sprintf(headerBegin, g.upper))
	w.raw(g.arenaMacros("they need not survive between calls"))
	w.raw(fmt.Sprintf("#define %s_ARENA_ALIGN %du", g.upper, codegen.ArenaAlign(g.p)))
	if g.interfaceText.b.Len() > 0 {
		w.blank()
		w.b.WriteString(strings.Trim(g.interfaceText.b.String(), "\n") + "\n")
	}
	w.raw(headerEnd)
	return w.b.String()
}
