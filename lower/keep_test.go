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
