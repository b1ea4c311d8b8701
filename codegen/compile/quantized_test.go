package compile

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
)

// Quantized models multiply integers on microcontrollers: with the kernels for
// bytes, nothing as floats, and no weight is dequantized when they run.
func TestQuantizedModelsMultiplyIntegers(t *testing.T) {
	files := []string{"../../golden/cases/q_lenet_static/model.pt2"}
	for _, pattern := range []string{"models*/q_*/model*.pt2"} {
		shared, err := filepath.Glob(filepath.Join("../../../shared", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, shared...)
	}
	for _, file := range files {
		t.Run(strings.ReplaceAll(file, "../", ""), func(t *testing.T) {
			p, closer, err := pt2.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			defer closer.Close()
			np, err := Native(p, Options{Target: "cortex-m4"})
			if err != nil {
				t.Fatal(err)
			}
			products := 0
			for n := range p.Methods[0].Graph.All() {
				switch base := ir.OpBase(n.Op); {
				case strings.HasPrefix(n.Op, "etgen.integer_"):
					products++
				case strings.HasPrefix(base, "conv"), base == "linear", strings.HasSuffix(base, "mm"),
					base == "dequantize_per_channel":
					t.Errorf("%s is left", n.Op)
				}
			}
			tuned := 0
			for _, k := range np.Kernels {
				if k.Tuned != nil && strings.HasSuffix(k.Tuned.Kernel.Name, "_i8") {
					tuned++
				}
			}
			if products == 0 || tuned == 0 {
				t.Errorf("%d products of integers, %d kernels for bytes", products, tuned)
			}
		})
	}
}
