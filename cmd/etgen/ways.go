package main

import (
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/way"
)

// wayNames are the words of --via.
const wayNames = "c, go, rt, rt-optimize, eval"

// wayOf turns a word of --via into a way.
func wayOf(word string, opt compile.Options) (way.Way, error) {
	settings := way.Settings{Options: opt}
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
		if opt.Checked {
			return nil, usageError("--checked is for --via=c, go and eval: ExecuTorch programs have no assertions")
		}
		return way.RT{Settings: settings, Optimize: word == "rt-optimize"}, nil
	case "eval":
		return way.Reference{Options: opt}, nil
	}
	return nil, usageError("--via=%s is unknown: take %s", word, wayNames)
}

func waysOf(words []string, opt compile.Options) ([]way.Way, error) {
	var ways []way.Way
	for _, word := range words {
		w, err := wayOf(word, opt)
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
