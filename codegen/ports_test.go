package codegen

import (
	"testing"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/lower/native"
)

func TestOutputName(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string // of the last
	}{
		{[]string{"out0"}, "out"}, {[]string{"scores"}, "scores"},
		{[]string{"out0", "out1"}, "out1"},
	} {
		m := &native.Method{}
		for _, n := range c.names {
			m.Outputs = append(m.Outputs, native.Port{Name: foreign.Of(n)})
		}
		if got := OutputName(m, len(m.Outputs)-1); got != foreign.Of(c.want) {
			t.Errorf("the last of %q is called %q, want %q", c.names, got, c.want)
		}
	}
}
