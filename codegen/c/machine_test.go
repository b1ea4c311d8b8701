package c

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/kernels/tuned"
	ctext "github.com/etgen/etgen/templates/c"
)

// Sums of products of bytes have instructions for pairs of them where the machine may, and
// nothing of them where it may not.
func TestPairsOfProducts(t *testing.T) {
	text, err := ctext.Text("sums_i8", &ctext.Kernel{Index: "int32_t", Rows: 4, Cols: 4})
	if err != nil {
		t.Fatal(err)
	}
	with := 0
	for _, m := range tuned.Machines() {
		if !m.Microcontroller {
			continue
		}
		got := specialised(text, machineMacros(m))
		if strings.Contains(got, "smlad") != m.DSP || strings.Contains(got, macroDSP) != m.DSP {
			t.Errorf("%s:\n%s", m.Name, got)
		}
		if m.DSP {
			with++
		}
	}
	if with == 0 {
		t.Error("no machine has them")
	}
}

const macroDSP = "__ARM_FEATURE_DSP"
