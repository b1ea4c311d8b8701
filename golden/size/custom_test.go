package size

import (
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/golden/tier"
)

// A package with custom operators is linked with stubs for their kernels.
func TestCustomOperators(t *testing.T) {
	tier.Needs(t, tier.Normal)
	skipWithout(t, "arm-none-eabi-gcc")
	k, err := custom.Load(t.Context(), "../custom/c/fir.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"filter", "range"} {
		p, closer, err := compile.Read("../custom/cases/" + name + "/model.pt2")
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := compile.Package(p, compile.Options{Name: "net", Lang: "c", Custom: k,
			Target: "cortex-m4", Generator: "etgen --target=cortex-m4"})
		closer.Close()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := pkg.Write(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		s, err := Folder(t.Context(), dir, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.Text == 0 || s.Stack <= 0 || s.RAM != s.Arena+s.State {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
