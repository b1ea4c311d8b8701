package report

import (
	"regexp"
	"strings"
)

// code estimates machine code by the length of C's text, comments and spaces left out.
type code struct {
	functions map[string]int // characters of those not taken yet, by name
	perChar   float64
	total     int64
}

func newCode(p Program) *code {
	c := &code{functions: map[string]int{}}
	rates := p.Target.Rates()
	if rates == nil {
		return c
	}
	c.perChar = rates.Code
	sum := 0
	for _, prefix := range p.prefixes(p.Native.Methods...) {
		for name, n := range functionsOf(string(p.Package.File(prefix + ".c"))) {
			c.functions[name] = n
			sum += n
		}
	}
	c.total = int64(c.perChar * float64(sum))
	return c
}

// take returns the estimate for a function, the first time.
func (c *code) take(name string) int64 {
	n := c.functions[name]
	c.functions[name] = 0
	return int64(c.perChar * float64(n))
}

var (
	comment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	spaces  = regexp.MustCompile(`\s+`)
	defined = regexp.MustCompile(`(\w+)\([^()]*(\([^()]*\)[^()]*)*\)\s*$`)
)

// functionsOf returns how long the functions of a text are, by name.
func functionsOf(text string) map[string]int {
	found := map[string]int{}
	text = comment.ReplaceAllString(text, "")
	head := ""
	for part := range strings.SplitSeq(text, "\n{\n") {
		body, rest, ok := strings.Cut(part, "\n}\n")
		if head != "" && ok {
			found[head] += len(spaces.ReplaceAllString(body, ""))
			part = rest
		}
		head = ""
		if m := defined.FindStringSubmatch(part); m != nil {
			head = m[1]
		}
	}
	return found
}
