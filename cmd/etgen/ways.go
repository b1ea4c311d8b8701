package main

import (
	"strings"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/way"
)

// wayNames are the words of --via.
const wayNames = "c, go, rt, rt-optimize, eval"

// unheard returns an error if the user set a flag that none of the ways heeds. Model
// is what they run, "" if it is several.
func (f *compileFlags) unheard(model string, vias ...string) error {
	names := []string{"target", "optimize", "threads", "plan", "bound", "checked"}
	heeds := map[string]bool{}
	for _, via := range vias {
		switch {
		case via == "c" || via == "go":
			for _, name := range names {
				heeds[name] = true
			}
		case via == "eval":
			heeds["bound"], heeds["checked"] = true, true
		case model == "" || !record.IsProgram(model): // written as a .pte first
			heeds["plan"], heeds["bound"], heeds["checked"] = true, true, true
		}
	}
	for _, name := range names {
		if heeds[name] {
			continue
		}
		if err := f.ignored("with --via="+strings.Join(vias, ","), name); err != nil {
			return err
		}
	}
	return nil
}

// wayOf turns a word of --via into a way.
func wayOf(word string, opt compile.Options, limits limitFlags) (way.Way, error) {
	settings := way.Settings{Options: opt, Memory: int64(limits.memory), Limit: limits.time}
	switch word {
	case "c":
		c := way.C{Settings: settings}
		if host, ok := hostOf(opt.Target); ok {
			c.Target = host // what is written for a machine is compiled for it
		}
		return c, nil
	case "go":
		return way.Go{Settings: settings}, nil
	case "rt", "rt-optimize":
		return way.RT{Settings: settings, Optimize: word == "rt-optimize"}, nil
	case "eval":
		return way.Reference{Options: opt, Memory: settings.Memory, Limit: settings.Limit}, nil
	}
	return nil, usageError("--via=%s is unknown: take %s", word, wayNames)
}

func waysOf(words []string, opt compile.Options, limits limitFlags) ([]way.Way, error) {
	var ways []way.Way
	for _, word := range words {
		w, err := wayOf(word, opt, limits)
		if err != nil {
			return nil, err
		}
		ways = append(ways, w)
	}
	if len(ways) == 0 {
		return nil, usageError("--via is empty: take %s", wayNames)
	}
	return ways, nil
}
