package conform

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// maxPassWeight bounds the bytes of the models that every pass is tried on:
// the interpreter is slow.
const maxPassWeight = 128 << 10

// Every pass leaves a program that verifies and computes the same: the
// interpreter runs what each has made, from where the graph is functional on,
// and is held against what PyTorch recorded. So are Core ATen and Edge.
func TestEveryPass(t *testing.T) {
	tier.Needs(t, tier.Normal)
	roots := []string{"../cases"}
	for _, dir := range []string{"../../../shared/models", "../../../shared/models-torch2.6"} {
		if _, err := os.Stat(dir); err != nil {
			t.Logf("%s is not here", dir)
			continue
		}
		roots = append(roots, dir)
	}
	runs, unsupported := 0, 0
	dirs, err := testcase.Find(roots...)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		c, err := testcase.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range c.Models {
			info, err := os.Stat(filepath.Join(dir, model))
			if err != nil || info.Size() > maxPassWeight {
				continue
			}
			n, miss := everyPass(t.Context(), c, Job(c, model))
			runs += n
			if miss != nil && !isRefusal(*miss) {
				t.Errorf("%s %s %s: %s", dir, model, miss.Way, miss.Problem)
			} else if n == 0 {
				unsupported++ // an operator is not in the table: TestReference tells of it
			}
		}
	}
	t.Logf("%d runs; %d models are not supported", runs, unsupported)
	if runs < 200 {
		t.Errorf("only %d runs", runs)
	}
}

// everyPass interprets a program in Edge, and after each pass of [lower.Backend] that changes it,
// from where it is functional on. It returns how many that were, and the first miss: the passes
// behind it can only repeat it. The way of the miss says after which pass it is.
func everyPass(ctx context.Context, c *testcase.Case, job way.Job) (int, *Miss) {
	p, closer, err := job.Open()
	if err != nil {
		return 0, nil
	}
	if closer != nil {
		defer closer.Close()
	}
	runs, passes, text := 0, 0, ""
	var miss *Miss
	try := func(after string, pl lower.Pipeline, as way.Job) error {
		runs++
		way.Reference{Pipeline: pl}.Run(ctx, []way.Job{as}, func(_ int, r *way.Result) {
			miss = check(ctx, c, job, r)
		})
		if miss == nil {
			return nil
		}
		miss.Case, miss.Way = c.Dir, "after "+after
		return lower.Stop
	}
	err = lower.Backend.Run(&lower.Context{Table: ops.Standard()}, p,
		func(pass lower.Pass, p *ir.Program) error {
			if err := ir.Verify(p); err != nil {
				miss = &Miss{Case: c.Dir, Way: "after " + pass.Name, Problem: err.Error()}
				return lower.Stop
			}
			now := p.String()
			if passes++; passes < len(lower.Functional.Passes) || now == text {
				return nil
			}
			text = now
			as := job
			as.Open = func() (*ir.Program, io.Closer, error) { return p, nil, nil }
			return try(pass.Name, lower.Pipeline{From: p.Dialect, Passes: []lower.Pass{}}, as)
		})
	switch {
	case miss != nil:
	case err != nil && runs > 0:
		miss = &Miss{Case: c.Dir, Way: "in a pass", Problem: err.Error()}
	case err == nil:
		try("the passes to "+string(lower.ToEdge.To), verified(lower.ToEdge), job)
	}
	return runs, miss
}

// verified returns pl with a check behind each pass.
func verified(pl lower.Pipeline) lower.Pipeline {
	out := lower.Pipeline{From: pl.From, To: pl.To}
	for _, p := range pl.Passes {
		pass := p
		pass.Run = func(ctx *lower.Context, prog *ir.Program) error {
			if err := p.Run(ctx, prog); err != nil {
				return err
			}
			if err := ir.Verify(prog); err != nil {
				return fmt.Errorf("after %s: %w", p.Name, err)
			}
			return nil
		}
		out.Passes = append(out.Passes, pass)
	}
	return out
}
