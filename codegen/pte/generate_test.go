package pte

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/irtest"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/plan"
)

// The cases are functional programs of operators that ExecuTorch's runtime has;
// tensors share no memory unless they must, so that a listing shows what does.
func TestGenerate(t *testing.T) {
	irtest.RunText(t, "testdata/*.txtar", func(p *ir.Program) (string, error) {
		out, err := generate(p, Options{Planner: plan.Disjoint{}})
		if err != nil {
			return "", err
		}
		return out.Program.String(), nil
	})
}

// generate makes a program of a functional one.
func generate(p *ir.Program, opt Options) (*Output, error) {
	ctx := &lower.Context{Table: ops.Standard()}
	if err := (lower.Pipeline{Passes: []lower.Pass{lower.OutVariants}}).Run(ctx, p, nil); err != nil {
		return nil, err
	}
	return Generate(p, opt)
}

const traced = `program "m.pt2"

method forward {
  parameter %w: f32[2] "layer.w" = [1.0, 2.0]
  parameter %v: f32[2] "v" = [1.0, 2.0]
  const %c: f32[2] = [3.0, 4.0]
  input %x: f32[2]

  %add: f32[2] = aten.add.Tensor(self=%x, other=%w)  # m.py:7 in layer
  %mul: f32[2] = aten.mul.Tensor(self=%add, other=%v)  # m.py:8
  %sub: f32[2] = aten.sub.Tensor(self=%mul, other=%c)
  return (%sub)
}
`

func TestStackTraces(t *testing.T) {
	out, err := generate(irtest.Parse(t, "m.pt2", traced), Options{StackTraces: true})
	if err != nil {
		t.Fatal(err)
	}
	chain := out.Program.Plans[0].Chains[0]
	if len(chain.Stacktrace) != 3 || len(chain.Instructions) != 3 {
		t.Fatalf("%d traces of %d instructions", len(chain.Stacktrace), len(chain.Instructions))
	}
	if f := chain.Stacktrace[0][0]; f != (pte.Frame{Filename: "m.py", Line: 7, Name: "layer"}) {
		t.Errorf("got %+v", f)
	}
	if len(chain.Stacktrace[2]) != 0 {
		t.Errorf("a trace of an instruction that comes from no line: %+v", chain.Stacktrace[2])
	}
}

// External data has the model's names, and what has none there is called after
// its bytes.
func TestExternalWeights(t *testing.T) {
	out, err := generate(irtest.Parse(t, "m.pt2", traced), Options{ExternalWeights: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Program.Constants) != 1 {
		t.Errorf("%d constants are inside", len(out.Program.Constants)-1)
	}
	if err := pte.VerifyData(out.Program, out.Data); err != nil {
		t.Error(err)
	}
	var keys []string
	for _, e := range out.Data.Entries {
		keys = append(keys, e.Key)
	}
	if len(keys) != 3 || len(keys[0]) != 16 || keys[1] != "layer.w" || keys[2] != "v" {
		t.Errorf("got %v", keys)
	}
}

// at gives a node a Python line.
func at(node string) string {
	first, rest, more := strings.Cut(node, "\n")
	if first += "  # m.py:3"; more {
		first += "\n" + rest
	}
	return first
}

// What cannot be said in a program is told with its node and line.
func TestErrors(t *testing.T) {
	for _, tt := range []struct{ node, want string }{
		{"%out: f32[2] = aten.relu_odd.default(self=%x)",
			"m.pt2: node out (aten.relu_odd.default) at m.py:3: it gives a new tensor"},
		{"%out: f32[2] = aten.add.out(self=%x, other=%x)", "its argument out is missing"},
		{"%out: f32[2] = aten.add.out(self=%x, other=%x, more=1, out=%x)",
			"it has no argument more"},
		{"%out: f32[2] = aten.clamp.out(self=%x, min=device(\"cpu\"), out=%x)",
			"a .pte cannot hold"},
		{"%out: f32[2] = wrap: higher_order.wrap(%x)\n    region (%y: f32[2]) {\n      return " +
			"(%y)\n    }", "not supported"},
	} {
		text := "program \"m.pt2\"\n\nmethod forward {\n  input %x: f32[2]\n\n  " + at(tt.node) +
			"\n  return (%out)\n}\n"
		p, err := ir.Parse("m.pt2", text)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := Generate(p, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.node, err, tt.want)
		}
	}
}
