package layers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/way"
)

// scaling multiplies by two factors, and tells which results are positive.
const scaling = `program "scaling.txt"
dialect functional

method forward {
  input %x: f32[2]

  %first: f32[2] = aten.mul.Scalar(self=%x, other=FIRST)
  %second: f32[2] = aten.mul.Scalar(self=%first, other=SECOND)
  %tanh: f32[2] = aten.tanh.default(self=%second)
  %gt: b8[2] = aten.gt.Scalar(self=%tanh, other=0)
  return (RESULT)
}
`

// scalingProgram is an ExecuTorch program of scaling.
func scalingProgram(t *testing.T, first, second, result string) Side {
	t.Helper()
	dir := t.TempDir()
	text := strings.NewReplacer("FIRST", first, "SECOND", second, "RESULT", result).Replace(scaling)
	model := filepath.Join(dir, "scaling.txt")
	if err := os.WriteFile(model, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p, closer, err := compile.Read(model)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	pkg, err := compile.Package(p, compile.Options{Lang: "pte", Name: "scaling"})
	if err != nil {
		t.Fatal(err)
	}
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return Side{Path: filepath.Join(dir, "scaling.pte"), Way: way.Reference{}}
}

// Programs may come to the same by other steps: these are no differences. What an output has of a
// difference is one, and what only decides the sign is, too.
func TestOtherSteps(t *testing.T) {
	x := pair(t)
	for _, c := range []struct {
		first, second, result string
		rows, alone, at       int
	}{
		{"0.3", "0.2", "%tanh", 2, 1, -1},
		{"0.3", "0.4", "%tanh", 3, 0, 0},
		{"0.2", "0.4", "%tanh", 3, 0, 1},
		{"0.3", "0.2", "%first, %tanh", 3, 0, 0},
		{"0.3", "0.4", "%gt", 4, 0, 0},
	} {
		a := scalingProgram(t, "0.2", "0.3", c.result)
		b := scalingProgram(t, c.first, c.second, c.result)
		r, err := Compare(t.Context(), a, b, "", given(t, x))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Rows) != c.rows || len(r.OnlyA) != c.alone || len(r.OnlyB) != c.alone ||
			r.First != c.at {
			t.Errorf("%+v: %d rows, of A alone %q, of B alone %q, first %d", c, len(r.Rows), r.OnlyA,
				r.OnlyB, r.First)
		}
	}
}
