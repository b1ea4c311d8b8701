package tensor

import (
	"fmt"
	"strconv"
	"strings"
)

// literal reads the Python literals of a .npy header from the front of text.
// After the first mistake err is set and every method returns zero values.
type literal struct {
	text string
	err  error
}

func (p *literal) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *literal) accept(c byte) bool {
	p.text = strings.TrimLeft(p.text, " \t\n")
	if p.err != nil || p.text == "" || p.text[0] != c {
		return false
	}
	p.text = p.text[1:]
	return true
}

func (p *literal) expect(c byte) {
	if !p.accept(c) {
		p.fail("%q is missing", string(c))
	}
}

// str reads a quoted string without escapes.
func (p *literal) str() string {
	quote := byte('\'')
	if !p.accept(quote) {
		quote = '"'
		p.expect(quote)
	}
	s, rest, ok := strings.Cut(p.text, string(quote))
	if !ok || strings.Contains(s, `\`) {
		p.fail("a string is malformed")
		return ""
	}
	p.text = rest
	return s
}

func (p *literal) boolean() bool {
	p.text = strings.TrimLeft(p.text, " ")
	for word, value := range map[string]bool{"True": true, "False": false} {
		if rest, ok := strings.CutPrefix(p.text, word); ok {
			p.text = rest
			return value
		}
	}
	p.fail("neither True nor False")
	return false
}

// ints reads a tuple of integers.
func (p *literal) ints() []int64 {
	list := []int64{}
	p.expect('(')
	for !p.accept(')') && p.err == nil {
		p.text = strings.TrimLeft(p.text, " ")
		n := strings.IndexFunc(p.text, func(r rune) bool { return r < '0' || r > '9' })
		if n < 0 {
			n = len(p.text)
		}
		x, err := strconv.ParseInt(p.text[:n], 10, 64)
		if err != nil {
			p.fail("the shape is malformed")
			return nil
		}
		p.text = strings.TrimPrefix(p.text[n:], "L") // NumPy under Python 2
		list = append(list, x)
		if !p.accept(',') {
			p.expect(')')
			break
		}
	}
	return list
}
