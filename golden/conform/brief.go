package conform

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// mostTold bounds what is told of a compiler's messages.
const mostTold = 6

// longest is how many bytes of a command that failed are shown, half of them from its end.
const longest = 480

// telling are what compilers and linkers say that something is wrong, without the places that are
// temporary.
var telling = regexp.MustCompile("undefined reference to .*|undefined symbol:? .*|" +
	"multiple definition of [^;]*|\"[^\"]+\", referenced from|error: .*|\\w+\\.go:\\d+:\\d+: .*")

// Brief is the first line of an error's text, and behind it what the messages of a compiler or
// linker in it tell, in one line.
func Brief(err error) string {
	line, rest, _ := strings.Cut(err.Error(), "\n")
	var told []string
	for text := range strings.Lines(rest) {
		what := strings.TrimSpace(telling.FindString(text))
		if what == "" || strings.HasPrefix(what, "error: ld returned") ||
			slices.Contains(told, what) {
			continue
		}
		told = append(told, what)
	}
	if more := len(told) - mostTold; more > 0 {
		told = append(told[:mostTold], fmt.Sprintf("and %d more", more))
	}
	if half := longest / 2; len(told) > 0 && len(line) > longest {
		line = strings.ToValidUTF8(line[:half], "") + " … " + strings.ToValidUTF8(line[len(line)-half:],
			"")
	}
	return strings.Join(append([]string{line}, told...), "; ")
}
