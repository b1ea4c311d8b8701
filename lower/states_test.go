package lower

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
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
	p.SeparateState = true
	if err := SeparateState.Run(&Context{}, p); err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	if shared := p.SharedState(); len(shared) > 0 || p.SeparateState {
		t.Errorf("%v is shared still", shared)
	}
	text := p.String()
	for _, name := range []string{`"write.s"`, `"read.s"`, `"own"`, `"w"`,
		`mutates_buffer "write.s"`} {
		if !strings.Contains(text, name) {
			t.Errorf("%s is not in\n%s", name, text)
		}
	}
}

// Constants of methods that share state: one with a name of its own is one, one
// that is only numbered is each method's own, unless it may be either.
func TestSeparateStateOfConstants(t *testing.T) {
	const methods = `program "m.pt2"

method write {
  constant %%c: f32[2] %[1]q = [1.0, 2.0]
  input %%x: f32[2]

  %%add: f32[2] = aten.add_.Tensor(self=%%c, other=%%x)
  return (%%add)
}

method read {
  constant %%c: f32[2] %[1]q = [%[2]s]
  input %%x: f32[2]

  %%add: f32[2] = aten.add.Tensor(self=%%c, other=%%x)
  return (%%add)
}
`
	for _, c := range []struct{ name, data, shared, want string }{
		{"m.count", "1.0, 2.0", "m.count", ""},
		{"m.count", "1.0, 3.0", "", "it begins with other elements"},
		{"m.lifted_tensor_0", "1.0, 3.0", "", ""},
		{"m.lifted_tensor_0", "1.0, 2.0", "", "may mean one tensor by it or two"},
	} {
		p, err := ir.Parse("m.ir", fmt.Sprintf(methods, c.name, c.data))
		if err != nil {
			t.Fatal(err)
		}
		passes := Pipeline{Passes: []Pass{Functionalise, SeparateState}}
		err = passes.Run(&Context{Table: ops.Standard()}, p, nil)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := ir.Verify(p); err != nil {
			t.Error(err)
		}
		if shared := p.SharedState(); c.shared != "" && !shared[c.shared] || c.shared == "" &&
			len(shared) > 0 {
			t.Errorf("%s: %v is shared", c.name, shared)
		}
	}
}
