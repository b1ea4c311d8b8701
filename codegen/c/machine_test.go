package c

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/tuned"
	ctext "github.com/etgen/etgen/templates/c"
)

// Texts for a machine say nothing of macros that are other machines' alone, and have
// instructions for pairs of products and for square roots where the machine may.
func TestMachines(t *testing.T) {
	for _, m := range tuned.Machines() {
		g := &gen{prefix: "pk", upper: "PK", opt: Options{Machine: m}, idx: tI32,
			names: codegen.NewScope(nil)}
		g.loadSupport()
		used := map[string]bool{"tile_rows": true, "TILE_CHAINS": true, "window(": true,
			"sums_one": true, "sums_depth": true, "taps(": true}
		for _, name := range ctext.Names() {
			if m.Tile.Vector || m.MVE && strings.HasPrefix(name, "sums") {
				used[name], used[name+"("] = true, true
			}
		}
		text := ""
		k := g.template(m.Tile)
		k.Used, k.Func = used, func(name string) string { return name }
		for _, h := range ctext.HelpersFor(used, m.Tile.Vector) {
			s, err := ctext.Text(h, k)
			if err != nil {
				t.Fatal(err)
			}
			text += s
		}
		for _, d := range []ir.DType{ir.Float32, ir.Float64} {
			for _, h := range []string{"sqrt", "fma", "abs"} {
				g.helper(h, d)
			}
		}
		text += strings.Join(g.support.texts, "\n")
		for _, macro := range m.Undefined {
			if strings.Contains(text, macro) {
				t.Errorf("%s: %s in\n%s", m.Name, macro, text)
			}
		}
		if got := strings.Contains(text, "smlad"); got != m.MayPair() {
			t.Errorf("%s: pairs of products: %t", m.Name, got)
		}
		if got := strings.Contains(text, "vldrbq") && strings.Contains(text, "vfmaq"); got != m.MVE {
			t.Errorf("%s: vectors of MVE: %t", m.Name, got)
		}
		if got := strings.Contains(text, "vsqrt.f32"); m.Microcontroller && got != m.Floats {
			t.Errorf("%s: square roots: %t", m.Name, got)
		}
	}
}
