package cli

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
)

// wayRow is a row of the table of ways: a word of --via.
type wayRow struct {
	name    string
	heeds   []string // flags of compileFlags that make a difference to it
	program bool     // it runs ExecuTorch programs, as which others are written first
	make    func(s way.Settings) way.Way
}

// compiledFlags make a difference to generated code.
var compiledFlags = []string{"target", "optimize", "threads", "plan", "bound", "checked"}

var wayTable = []wayRow{
	{name: way.C{}.Name(), heeds: compiledFlags, make: func(s way.Settings) way.Way {
		c := way.C{Settings: s}
		if host, ok := hostOf(s.Options.Target); ok {
			c.Target = host // what is written for a machine is compiled for it
		}
		return c
	}},
	{name: way.Go{}.Name(), heeds: compiledFlags,
		make: func(s way.Settings) way.Way { return way.Go{Settings: s} }},
	{name: way.RT{}.Name(), heeds: []string{"plan", "bound", "checked"}, program: true,
		make: func(s way.Settings) way.Way { return way.RT{Settings: s} }},
	{name: way.RT{Optimize: true}.Name(), heeds: []string{"plan", "bound", "checked"},
		program: true,
		make:    func(s way.Settings) way.Way { return way.RT{Settings: s, Optimize: true} }},
	{name: way.Reference{}.Name(), heeds: []string{"bound", "checked"},
		make: func(s way.Settings) way.Way {
			return way.Reference{Options: s.Options, Memory: s.Memory, Limit: s.Limit}
		}},
}

// wayNamed returns the row of a word, nil if there is none.
func wayNamed(word string) *wayRow {
	for i := range wayTable {
		if wayTable[i].name == word {
			return &wayTable[i]
		}
	}
	return nil
}

// wayNames are the words of --via.
func wayNames() (names []string) {
	return seq.Map(wayTable, func(w wayRow) string { return w.name })
}

// unheard fails if the user set a flag that none of the ways heeds. Model is what they
// run, "" if it is several.
func (f *compileFlags) unheard(model string, vias ...string) {
	var heeds []string
	for _, via := range vias {
		w := wayNamed(via)
		if w == nil {
			return // which is the error to tell of
		}
		if !w.program || model == "" || !record.IsProgram(model) {
			heeds = append(heeds, w.heeds...)
		}
	}
	for _, name := range compiledFlags {
		if !slices.Contains(heeds, name) {
			f.ignored("with --via="+strings.Join(vias, ","), name)
		}
	}
	var wrong error // of the target, unless one of the ways is for it
	for _, via := range vias {
		l, err := compile.LanguageNamed(via)
		if err != nil {
			continue // it is not by generated code
		}
		if wrong = f.targetOf(l, "--via="+via); wrong == nil {
			return
		}
	}
	must.Check(wrong)
}
