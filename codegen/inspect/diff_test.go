package inspect

import (
	"math/rand"
	"strings"
	"testing"
)

// A script of lines gives both lists, and what is kept is as long as a longest common list.
func TestDiffLines(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 300 {
		lists := [2][]line{}
		for i := range lists {
			for range r.Intn(12) {
				word := string(rune('a' + r.Intn(4)))
				lists[i] = append(lists[i], line{word, word})
			}
		}
		var got [2]string
		kept := 0
		for _, l := range diffLines(lists[0], lists[1]) {
			if l.Mark != "+" {
				got[0] += l.Text
			}
			if l.Mark != "-" {
				got[1] += l.Text
			}
			if l.Mark == " " {
				kept++
			}
		}
		for i, list := range lists {
			var want strings.Builder
			for _, l := range list {
				want.WriteString(l.text)
			}
			if got[i] != want.String() {
				t.Fatalf("list %d is %q, want %q", i, got[i], &want)
			}
		}
		if want := longest(lists[0], lists[1]); kept != want {
			t.Fatalf("%d lines are kept of %q and %q, want %d", kept, got[0], got[1], want)
		}
	}
}

// longest is the length of a longest common list, by trying all.
func longest(a, b []line) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if a[0].key == b[0].key {
		return 1 + longest(a[1:], b[1:])
	}
	return max(longest(a[1:], b), longest(a, b[1:]))
}
