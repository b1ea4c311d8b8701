package profile

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
)

// The words that lines of generated code's profiles begin with.
const (
	beginWord  = "etgen-profile"
	kernelWord = "etgen-kernel"
	endWord    = "etgen-end"
)

// IsLines reports whether data has lines that ReadLines reads.
func IsLines(data []byte) bool { return bytes.Contains(data, []byte(beginWord)) }

// ReadLines reads the sums that generated code with a profile wrote:
//
//	etgen-profile VERSION KERNELS HZ
//	etgen-kernel K CALLS TICKS "KERNEL" "NODES" "OPERATORS" "LINES"
//	etgen-end
//
// VERSION is 1. HZ are the ticks in a second, 0 if they are not known. There is a line for each
// kernel, in order. Text before and between lines, a console's, is passed over. Of several profiles
// the last counts; one with a line that is damaged counts only if no whole one is behind it, as an
// error.
func ReadLines(data []byte) (_ *Profile, err error) {
	defer must.Catch(&err)
	var p, last *Profile
	var damage error // since the last profile
	var hz uint64
	kernels, number := 0, 0
	for line := range strings.Lines(string(data)) {
		number++
		text := strings.TrimRight(line, "\r\n")
		at := strings.Index(text, "etgen-")
		if at < 0 {
			continue
		}
		// A reset cuts a line off: the new profile begins in the middle of it. What has that word
		// in quotation marks is a kernel.
		if k := strings.LastIndex(text, beginWord+" "); k > at && !strings.Contains(text[k:], `"`) {
			at = k
		}
		word, rest, _ := strings.Cut(text[at:], " ")
		bad := func(why string) {
			p, damage = nil, fmt.Errorf("line %d: %s: %s", number, foreign.Message(text[at:]), why)
		}
		switch word {
		case beginWord:
			var version int
			if _, err := fmt.Sscanf(rest, "%d %d %d", &version, &kernels, &hz); err != nil ||
				version != 1 || kernels < 0 {
				bad("take version 1, kernels, ticks per second")
				continue
			}
			p = &Profile{Ticks: hz == 0, Steps: []Step{}}
		case kernelWord:
			if p == nil {
				continue // its beginning was not recorded
			}
			s, ticks, ok := step(rest)
			if !ok {
				bad("take a number, calls, ticks, and kernel, nodes, operators and lines in quotation marks")
				continue
			}
			if s.Instruction != len(p.Steps) || s.Instruction >= kernels {
				bad(fmt.Sprintf("it comes after %d of %d kernels", len(p.Steps), kernels))
				continue
			}
			s.Start, s.Time = uint64(p.Total), duration(ticks, hz)
			if p.Total += s.Time; p.Total < 0 {
				bad("the times are too long")
				continue
			}
			p.Steps = append(p.Steps, s)
		case endWord:
			if p == nil {
				continue
			}
			if len(p.Steps) != kernels {
				bad(fmt.Sprintf("%d of %d kernels have a line", len(p.Steps), kernels))
				continue
			}
			p, last, damage = nil, p, nil
		}
	}
	if damage != nil {
		return nil, damage
	}
	if last == nil {
		must.Fail("no profile ends: %s to %s have to be there", beginWord, endWord)
	}
	return last, nil
}

// step reads what a line says of a kernel; ok is false if it is damaged.
func step(rest string) (_ Step, ticks uint64, ok bool) {
	var k, runs int
	var kernel, nodes, ops, lines string
	_, err := fmt.Sscanf(rest, "%d %d %d %q %q %q %q", &k, &runs, &ticks, &kernel, &nodes, &ops,
		&lines)
	return Step{Runs: runs, Instruction: k, Kernel: foreign.Of(kernel), Nodes: foreign.Of(nodes),
		Operator: foreign.Of(ops), Line: foreign.Of(lines)}, ticks, err == nil && runs >= 0
}

// duration is the time of ticks; ticks themselves if nobody knows how many a second has. What is
// longer than a Duration is its longest.
func duration(ticks, hz uint64) time.Duration {
	n := new(big.Int).SetUint64(ticks)
	if hz > 0 {
		n.Mul(n, big.NewInt(int64(time.Second))).Div(n, new(big.Int).SetUint64(hz))
	}
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return time.Duration(n.Int64())
}
