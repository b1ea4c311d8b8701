package compile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// A size that may be 0 may be 0 in the .pte too, and in what is made of that.
func TestLeastSizeOfZero(t *testing.T) {
	p, err := ir.Parse("rows", `program "rows"

method forward {
  symbol s0 in [0, 16]
  input %x: f32[s0, 4]

  %relu: f32[s0, 4] = aten.relu.default(self=%x)
  %flat: f32[4*s0] = aten.view.default(self=%relu, size=[-1])
  return (%flat)
}
`)
	if err != nil {
		t.Fatal(err)
	}
	out, err := PTE(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer
	if err := pte.Write(&data, out.Program); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rows.pte")
	if err := os.WriteFile(file, data.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	raised, closer, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	size := raised.Methods[0].Graph.Inputs[0].Type.Sizes[0]
	if lo, hi := size.Bounds(); lo != 0 || hi != 16 {
		t.Errorf("the size %v is %d to %d, want 0 to 16", size, lo, hi)
	}
}
