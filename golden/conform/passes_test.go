package conform

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower"
)

// maxPassWeight bounds the bytes of the models that every pass is tried on.
const maxPassWeight = 300 << 10

// Every pass leaves a program that verifies and computes the same: the
// interpreter runs what each has made, from where the graph is functional on,
// and is held against what PyTorch recorded.
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
	first := len(lower.Functional)
	var ways []way.Way
	for n := first; n <= len(lower.Backend); n++ {
		ways = append(ways, afterPass{way.Reference{Pipeline: verified(lower.Backend[:n])}, lower.Backend[n-1].Name})
	}
	ran := 0
	for _, dir := range dirs {
		c, err := testcase.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range c.Models {
			info, err := os.Stat(filepath.Join(dir, model))
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() > maxPassWeight {
				continue
			}
			ran++
			missed := false
			for _, w := range ways {
				w.Run(t.Context(), []way.Job{Job(c, model)}, func(_ int, r *way.Result) {
					if miss := check(c, r); miss != nil {
						missed = true
						t.Errorf("%s %s %s: %s", filepath.Base(dir), model, w.Name(), miss.Problem)
					}
				})
				if missed {
					break // the passes behind it can only repeat it
				}
			}
		}
	}
	t.Logf("%d model files, %d passes each", ran, len(ways))
}

type afterPass struct {
	way.Reference
	pass string
}

func (w afterPass) Name() string { return "after " + w.pass }

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
