package lower

import (
	"testing"

	"github.com/etgen/etgen/kernels/ops"
)

func TestKeep(t *testing.T) {
	for name, want := range map[string]struct{ core, kernel bool }{
		"aten.add.Tensor":       {true, true},
		"aten.linear.default":   {false, true},
		"aten.softmax.int":      {false, false},
		"aten.unfold.default":   {true, true},
		"aten._softmax.default": {true, true},
		"_operator.add":         {true, true},
	} {
		op, ok := ops.Standard().Lookup(name)
		if !ok {
			t.Errorf("%s is not in the table", name)
			continue
		}
		if got := HasKernel(op); got != want.kernel {
			t.Errorf("HasKernel(%s) = %v", name, got)
		}
		if got := IsCore(op); got != want.core {
			t.Errorf("IsCore(%s) = %v", name, got)
		}
	}
	if n := len(coreNames()); n < 150 {
		t.Errorf("only %d Core ATen operators", n)
	}
}

func TestNearest(t *testing.T) {
	for op, want := range map[string]string{
		"aten.relu.out":          "aten.relu.default",
		"aten._softmaxx.default": "aten._softmax.default",
		"aten.ab.default":        "",
		"aten.unheard_of":        "",
	} {
		if got := nearest(ops.Standard(), op); got != want {
			t.Errorf("nearest(%s) = %q, want %q", op, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ac", 1},
		{"kitten", "sitting", 3}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := distance(tt.b, tt.a); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}
