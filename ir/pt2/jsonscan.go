package pt2

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// maxDepth bounds the nesting of JSON values. A sub-graph takes about eight
// levels, so this leaves room for a hundred of them inside each other.
const maxDepth = 1000

// scanner reads JSON as PyTorch writes it: torch 2.6 has the bare tokens NaN,
// Infinity and -Infinity, later ones have them as strings; integers use all 64
// bits. Members with the value null are the same as members left out. Only
// what is asked for is decoded, everything else is skipped.
//
// The first error sticks; from then on all methods return zero values.
type scanner struct {
	data  []byte
	pos   int
	depth int
	err   *Error
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = problem(format, args...)
		s.err.Problem += " at byte " + strconv.Itoa(s.pos)
	}
}

// peek returns the next byte that is no white space, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// accept consumes c if it is next.
func (s *scanner) accept(c byte) bool {
	if s.err == nil && s.peek() == c && s.pos < len(s.data) {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) expect(c byte) {
	if s.err == nil && !s.accept(c) {
		if s.pos >= len(s.data) {
			s.fail("the JSON ends early, expected %q", c)
		} else {
			s.fail("bad JSON: found %q, expected %q", s.data[s.pos], c)
		}
	}
}

func (s *scanner) enter() bool {
	if s.depth++; s.depth > maxDepth {
		s.fail("JSON is nested more than %d deep", maxDepth)
	}
	return s.err == nil
}

// object calls f for every member that is not null. f must consume the value.
func (s *scanner) object(f func(key string)) {
	s.expect('{')
	if !s.enter() {
		return
	}
	defer func() { s.depth-- }()
	if s.accept('}') {
		return
	}
	for s.err == nil {
		s.peek()
		key := s.str()
		s.expect(':')
		if s.err == nil && !s.null() {
			f(key)
		}
		if !s.accept(',') {
			s.expect('}')
			return
		}
	}
}

// array calls f for every element. f must consume the element.
func (s *scanner) array(f func()) {
	s.expect('[')
	if !s.enter() {
		return
	}
	defer func() { s.depth-- }()
	if s.accept(']') {
		return
	}
	for s.err == nil {
		f()
		if !s.accept(',') {
			s.expect(']')
			return
		}
	}
}

// union reads an object of exactly one member, the tag of a tagged union.
func (s *scanner) union(f func(tag string)) {
	start, n := s.pos, 0
	s.object(func(tag string) {
		n++
		f(tag)
	})
	if s.err == nil && n != 1 {
		s.pos = start
		s.fail("a tagged value has %d tags instead of one", n)
	}
}

// null consumes a null if it is next.
func (s *scanner) null() bool {
	if s.err == nil && s.peek() == 'n' && bytes.HasPrefix(s.data[s.pos:], []byte("null")) {
		s.pos += len("null")
		return true
	}
	return false
}

// rawString consumes a string and returns it with its quotes and escapes.
func (s *scanner) rawString() []byte {
	if s.expect('"'); s.err != nil {
		return nil
	}
	start := s.pos - 1
	for {
		i := bytes.IndexByte(s.data[s.pos:], '"')
		if i < 0 {
			s.pos = len(s.data)
			s.fail("a string that starts at byte %d does not end", start)
			return nil
		}
		// The quote ends the string unless an odd number of backslashes
		// stands before it.
		end := s.pos + i
		s.pos = end + 1
		back := end
		for back > start+1 && s.data[back-1] == '\\' {
			back--
		}
		if (end-back)%2 == 0 {
			return s.data[start:s.pos]
		}
	}
}

func (s *scanner) str() string {
	raw := s.rawString()
	if s.err != nil {
		return ""
	}
	body := raw[1 : len(raw)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return string(bytes.ToValidUTF8(body, []byte("\uFFFD")))
	}
	var out string
	if err := json.Unmarshal(raw, &out); err != nil {
		s.fail("bad string: %v", err)
	}
	return out
}

// scalar consumes a run of bytes up to the next delimiter.
func (s *scanner) scalar() string {
	s.peek()
	start := s.pos
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ',', '}', ']', ':', '"', '{', '[', ' ', '\n', '\t', '\r':
			return string(s.data[start:s.pos])
		}
		s.pos++
	}
	return string(s.data[start:])
}

func (s *scanner) int() int64 {
	if s.err != nil {
		return 0
	}
	t := s.scalar()
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		s.fail("%q is no 64-bit integer", t)
	}
	return n
}

func (s *scanner) float() float64 {
	if s.err != nil {
		return 0
	}
	var t string
	if s.peek() == '"' {
		t = s.str()
	} else {
		t = s.scalar()
	}
	switch t {
	case "NaN":
		return math.NaN()
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	}
	if !json.Valid([]byte(t)) || t == "" || (t[0] != '-' && (t[0] < '0' || t[0] > '9')) {
		s.fail("%q is no number", t)
		return 0
	}
	f, err := strconv.ParseFloat(t, 64) // out of range gives ±Inf, as in Python
	if err != nil && !math.IsInf(f, 0) {
		s.fail("%q is no number", t)
	}
	return f
}

func (s *scanner) bool() bool {
	if s.err != nil {
		return false
	}
	switch t := s.scalar(); t {
	case "true":
		return true
	case "false":
	default:
		s.fail("%q is neither true nor false", t)
	}
	return false
}

// skip consumes one value whatever it is.
func (s *scanner) skip() {
	switch s.peek() {
	case '{':
		s.object(func(string) { s.skip() })
	case '[':
		s.array(s.skip)
	case '"':
		s.rawString()
	default:
		if s.err == nil && s.scalar() == "" {
			s.fail("a value is missing")
		}
	}
}

// end requires that nothing is left.
func (s *scanner) end() {
	if s.err == nil && (s.peek() != 0 || s.pos < len(s.data)) {
		s.fail("data after the end of the JSON")
	}
}
