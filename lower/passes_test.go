package lower

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/golden/irtest"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// Every pass has a folder of cases in testdata.
func TestPasses(t *testing.T) {
	ctx := &Context{Checked: true, CortexM: true,
		Bounds: map[string]int64{"s0": 8, "s1": 9, "u0": 4}, Legal: func(c *ops.Call) bool {
			return c.Op.Name() == ops.Attention
		}}
	known := map[string]bool{"to-core": true, "fold-constants-for-speed": true,
		"exact-products-for-speed": true, "integer-arithmetic-fixed": true, StreamPass: true}
	for _, pass := range Passes() {
		known[pass.Name] = true
		t.Run(pass.Name, func(t *testing.T) {
			irtest.RunTxtar(t, filepath.Join("testdata", pass.Name, "*.txtar"),
				func(p *ir.Program) (err error) {
					own := *ctx
					if own.Table, err = ops.Of(p); err != nil {
						return err
					}
					return Pipeline{Passes: []Pass{pass}}.Run(&own, p, nil)
				})
		})
	}
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !known[e.Name()] {
			t.Errorf("testdata/%s is of no pass", e.Name())
		}
	}
}

func TestToCore(t *testing.T) {
	ctx := &Context{Table: ops.Standard()}
	irtest.RunTxtar(t, "testdata/to-core/*.txtar", func(p *ir.Program) error {
		return ToCore.Run(ctx, p, nil)
	})
}

func TestFoldConstantsForSpeed(t *testing.T) {
	ctx := &Context{Table: ops.Standard(), Speed: true}
	irtest.RunTxtar(t, "testdata/fold-constants-for-speed/*.txtar", func(p *ir.Program) error {
		return Pipeline{Passes: []Pass{FoldConstants}}.Run(ctx, p, nil)
	})
}

func TestIntegerArithmeticFixed(t *testing.T) {
	ctx := &Context{Table: ops.Standard(), Fixed: true}
	irtest.RunTxtar(t, "testdata/integer-arithmetic-fixed/*.txtar", func(p *ir.Program) error {
		return Pipeline{Passes: []Pass{IntegerArithmetic, DeadCode}}.Run(ctx, p, nil)
	})
}

func TestPipelineRun(t *testing.T) {
	var seen []string
	note := func(name string, err error) Pass {
		return Pass{Name: name, Run: func(*Context, *ir.Program) error {
			seen = append(seen, name)
			return err
		}}
	}
	fault := &ir.Error{Node: "n", Op: "o", Err: errors.New("bad")}
	after := func(stop string, with error) func(Pass, *ir.Program) error {
		return func(p Pass, _ *ir.Program) error {
			if p.Name == stop {
				return with
			}
			return nil
		}
	}
	both := []Pass{note("a", nil), note("b", nil)}
	failing := []Pass{note("a", errors.Join(fault, errors.New("too"))), note("b", nil)}
	for _, tt := range []struct {
		name  string
		pl    Pipeline
		after func(Pass, *ir.Program) error
		want  string
		seen  int
	}{
		{"all", Pipeline{Passes: both}, nil, "", 2},
		{"stop", Pipeline{Passes: both}, after("a", Stop), "", 1},
		{"after fails", Pipeline{Passes: both}, after("a", errors.New("no")),
			"after a: no", 1},
		{"fails", Pipeline{Passes: failing}, nil,
			"m.pt2: node n (o): bad\ntoo", 1},
	} {
		seen = nil
		err := tt.pl.Run(&Context{}, &ir.Program{Source: "m.pt2"}, tt.after)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || len(seen) != tt.seen {
			t.Errorf("%s: error %q after %v, want %q after %d passes", tt.name, got, seen,
				tt.want, tt.seen)
		}
	}
}

// Names of passes are what users type; each occurs once.
func TestPassNames(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Passes() {
		if p.Name == "" || p.Doc == "" || p.Run == nil || seen[p.Name] {
			t.Errorf("pass %q is incomplete or there twice", p.Name)
		}
		seen[p.Name] = true
	}
}

// A pipeline takes a program of its dialect, or of one that is part of it.
func TestPipelineTakesItsDialect(t *testing.T) {
	for _, tt := range []struct {
		from, in ir.Dialect
		takes    bool
	}{
		{ir.ATen, ir.ATen, true},
		{ir.ATen, ir.Backend, true},
		{ir.Functional, ir.Edge, true},
		{ir.Functional, "", true},
		{"", ir.ExecuTorch, true},
		{ir.Functional, ir.ATen, false},
		{ir.Functional, ir.ExecuTorch, false},
		{ir.Edge, ir.Backend, false},
	} {
		err := Pipeline{From: tt.from, To: ir.Backend}.Run(&Context{}, &ir.Program{Dialect: tt.in}, nil)
		if (err == nil) != tt.takes {
			t.Errorf("a program in %q for passes that take %q: %v", tt.in, tt.from, err)
		}
	}
}
