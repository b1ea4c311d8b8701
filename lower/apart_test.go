package lower

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
)

// Methods that share nothing have state of their own, and what nobody writes
// keeps its name.
func TestSeparateStateSetsApart(t *testing.T) {
	p, err := ir.Parse("m.ir", `program "m.pt2"

method write {
  parameter %w: f32[2] "w" = [1.0, 2.0]
  buffer %state: f32[2] "s" = [1.0, 2.0]
  buffer %own: f32[2] "own" = [1.0, 2.0]
  input %x: f32[2]

  %add: f32[2] = aten.add.Tensor(self=%state, other=%x)
  %mul: f32[2] = aten.mul.Tensor(self=%own, other=%w)
  return (mutates_buffer "s" = %add, mutates_buffer "own" = %mul)
}

method read {
  parameter %w: f32[2] "w" = [1.0, 2.0]
  buffer %state: f32[2] "s" = [1.0, 2.0]

  %add: f32[2] = aten.add.Tensor(self=%state, other=%w)
  return (%add)
}
`)
	if err != nil {
		t.Fatal(err)
	}
	p.Apart = true
	if err := SeparateState.Run(&Context{}, p); err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	if shared := p.SharedState(); len(shared) > 0 || p.Apart {
		t.Errorf("%v is shared still", shared)
	}
	text := p.String()
	for _, name := range []string{`"write.s"`, `"read.s"`, `"own"`, `"w"`, `mutates_buffer "write.s"`} {
		if !strings.Contains(text, name) {
			t.Errorf("%s is not in\n%s", name, text)
		}
	}
}
