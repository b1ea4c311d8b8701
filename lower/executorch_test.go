package lower

import (
	"os"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/kernels/ops"
)

// The list of operators is ExecuTorch's.
func TestPortableNames(t *testing.T) {
	want, err := os.ReadFile("../../shared/reference/executorch_registered_ops.txt")
	if err != nil {
		t.Skip("../shared/reference is not here: ", err)
	}
	if got, want := strings.Fields(executorchText), strings.Fields(string(want)); strings.Join(got,
		" ") != strings.Join(want, " ") {
		t.Errorf("executorch_ops.txt has %d operators that are not the %d registered",
			len(got), len(want))
	}
}

// What decomposition keeps and PortableForms does not know has a kernel, or
// nothing simpler means it.
func TestIsPortable(t *testing.T) {
	table := ops.Standard()
	for name, want := range map[string]bool{
		"aten.mm.default": true, "aten.full.default": true, "aten.max_pool2d.default": false,
		"aten.silu.default": false,
		"aten.split.Tensor": true, "aten.permute.default": true, "aten.t.default": false,
		"aten.linear.default": false,
		"_operator.add":       true, "quantized_decomposed.quantize_per_tensor.default": true,
	} {
		op, ok := table.Lookup(name)
		if !ok {
			t.Errorf("%s is not in the table", name)
		} else if got := IsPortable(op); got != want {
			t.Errorf("IsPortable(%s) = %v", name, got)
		}
	}
	for _, name := range table.Names() {
		op, _ := table.Lookup(name)
		v, ok := aten.OutOf(name)
		if ok && portableNames()[v.Name] && !IsPortable(op) {
			t.Errorf("%s is decomposed though %s has a kernel", name, v.Name)
		}
	}
}
