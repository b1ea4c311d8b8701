package conform

import (
	"fmt"
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
	runs := 0
	eachSmall(t, roots, func(c *testcase.Case, model string, steps []int) {
		pipelines := []lower.Pipeline{lower.ToEdge}
		for _, n := range steps {
			pipelines = append(pipelines, lower.Pipeline{Passes: lower.Backend.Passes[:n]})
		}
		for _, pl := range pipelines {
			runs++
			var miss *Miss
			w := way.Reference{Pipeline: verified(pl)}
			job := Job(c, model)
			w.Run(t.Context(), []way.Job{job}, func(_ int, r *way.Result) {
				miss = check(t.Context(), c, job, r)
			})
			if miss != nil {
				if miss.Case = c.Dir; isRefusal(*miss) {
					break
				}
				t.Errorf("%s %s after %d passes to %s: %s", c.Dir, model, len(pl.Passes),
					pl.Passes[len(pl.Passes)-1].Name, miss.Problem)
				break // the passes behind it can only repeat it
			}
		}
	})
	t.Logf("%d runs", runs)
	if runs < 200 {
		t.Errorf("only %d runs", runs)
	}
}

// eachSmall calls f for the small model files of all cases at or below roots.
// Steps are the numbers of passes of lower.Backend after which the program is
// another than before, from where it is functional on. Models with operators
// that are not in the table are left out; TestReference tells of them.
func eachSmall(t *testing.T, roots []string, f func(c *testcase.Case, model string, steps []int)) {
	dirs, err := testcase.Find(roots...)
	if err != nil {
		t.Fatal(err)
	}
	unsupported := 0
	for _, dir := range dirs {
		c, err := testcase.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range c.Models {
			if info, err := os.Stat(filepath.Join(dir, model)); err != nil ||
				info.Size() > maxPassWeight {
				continue
			}
			steps, err := changing(Job(c, model))
			if err != nil {
				unsupported++
				continue
			}
			f(c, model, steps)
		}
	}
	t.Logf("%d models are not supported", unsupported)
}

func changing(j way.Job) ([]int, error) {
	p, closer, err := j.Open()
	if err != nil {
		return nil, err
	}
	if closer != nil {
		defer closer.Close()
	}
	var steps []int
	n, text := 0, ""
	err = lower.Backend.Run(&lower.Context{Table: ops.Standard()}, p,
		func(_ lower.Pass, p *ir.Program) error {
			n++
			if now := p.String(); n >= len(lower.Functional.Passes) && now != text {
				steps = append(steps, n)
				text = now
			}
			return nil
		})
	return steps, err
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
