package conform

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/golden/testcase"
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
// and is held against what PyTorch recorded. Models with operators that are
// not in the table are left out.
func TestEveryPass(t *testing.T) {
	roots := []string{"../cases"}
	for _, dir := range []string{"../../../shared/models", "../../../shared/models-torch2.6"} {
		if _, err := os.Stat(dir); err != nil {
			t.Logf("%s is not here", dir)
			continue
		}
		roots = append(roots, dir)
	}
	dirs, err := testcase.Find(roots...)
	if err != nil {
		t.Fatal(err)
	}
	ran, unsupported := 0, 0
	for _, dir := range dirs {
		c, err := testcase.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range c.Models {
			if info, err := os.Stat(filepath.Join(dir, model)); err != nil || info.Size() > maxPassWeight {
				continue
			}
			job := Job(c, model)
			steps, err := changing(job)
			if err != nil {
				unsupported++
				continue
			}
			for _, n := range steps {
				ran++
				w := way.Reference{Pipeline: verified(lower.Backend[:n])}
				var miss *Miss
				w.Run(t.Context(), []way.Job{job}, func(_ int, r *way.Result) { miss = check(c, r) })
				if miss != nil {
					t.Errorf("%s %s after %s: %s", dir, model, lower.Backend[n-1].Name, miss.Problem)
					break // the passes behind it can only repeat it
				}
			}
		}
	}
	t.Logf("%d runs; %d models are not supported", ran, unsupported)
	if ran < 200 {
		t.Errorf("only %d runs", ran)
	}
}

// changing returns after how many passes of lower.Backend the program is
// another than before, from where it is functional on.
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
	err = lower.Backend.Run(&lower.Context{Table: ops.Standard()}, p, func(_ lower.Pass, p *ir.Program) error {
		n++
		if now := p.String(); n >= len(lower.Functional) && now != text {
			steps = append(steps, n)
			text = now
		}
		return nil
	})
	return steps, err
}

// verified returns pl with a check behind each pass.
func verified(pl lower.Pipeline) lower.Pipeline {
	var out lower.Pipeline
	for _, p := range pl {
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
		out = append(out, pass)
	}
	return out
}
