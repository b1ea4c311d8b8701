package main

import (
	"github.com/etgen/etgen/golden/way"
)

// waysOf turns the words of --via into ways.
func waysOf(words []string) ([]way.Way, error) {
	var ways []way.Way
	for _, word := range words {
		switch word {
		case "eval":
			ways = append(ways, way.Reference{})
		default:
			return nil, usageError("--via=%s is unknown: take c, go or eval", word)
		}
	}
	if len(ways) == 0 {
		return nil, usageError("--via is empty: take c, go or eval")
	}
	return ways, nil
}
