package conform

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// missed reports misses, except of what a .pte cannot say: that has to be
// refused, by the operator's name.
func missed(t *testing.T) func(Miss) {
	return func(m Miss) {
		if m.Way == "c" || m.Way == "go" || m.Call >= 0 || !isRefusal(m) {
			t.Error(m)
		}
	}
}

func isRefusal(m Miss) bool {
	op := Refused(filepath.Base(m.Case))
	return op != "" && strings.Contains(m.Problem, op)
}

// Every model lowers to operators that ExecuTorch's runtime has kernels for.
// The small ones compute what PyTorch recorded in this form; those that etgen
// has to carry all do.
func TestPortable(t *testing.T) {
	tier.Needs(t, tier.Normal)
	var roots []string
	for _, dir := range []string{"../../../shared/models", "../../../shared/models-torch2.6"} {
		if _, err := os.Stat(dir); err == nil {
			roots = append(roots, dir)
		}
	}
	if len(roots) == 0 {
		t.Skip("../shared is not here")
	}
	dirs, err := testcase.Find(roots...)
	if err != nil {
		t.Fatal(err)
	}
	carried := map[string]bool{}
	for _, dir := range Carried("../../../shared") {
		carried[dir] = true
	}
	lowered, ran := 0, 0
	for _, dir := range dirs {
		c, err := testcase.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range c.Models {
			path := filepath.Join(dir, model)
			if err := toExecutorch(path); err != nil {
				if Refused(filepath.Base(dir)) == "" {
					t.Errorf("%s: %v", path, err)
				}
				continue
			}
			lowered++
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if !carried[dir] && info.Size() > maxPassWeight {
				continue
			}
			ran++
			w := way.Reference{Pipeline: verified(lower.ToPortable)}
			job := Job(c, model)
			w.Run(t.Context(), []way.Job{job}, func(_ int, r *way.Result) {
				if miss := check(t.Context(), c, job, r); miss != nil {
					t.Errorf("%s: %s", path, miss.Problem)
				}
			})
		}
	}
	t.Logf("%d models lower, %d of them were run", lowered, ran)
	if lowered < 190 || ran < 100 {
		t.Errorf("only %d models lower and %d were run", lowered, ran)
	}
}

// toExecutorch lowers a model and checks that every operator is one that its
// dialect has.
func toExecutorch(path string) error {
	registered := map[string]bool{}
	list, err := os.ReadFile("../../lower/executorch_ops.txt")
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(list)) {
		name = strings.Replace(name, "::", ".", 1)
		if strings.Count(name, ".") == 1 {
			name += ".default"
		}
		registered[name] = true
	}
	p, closer, err := pt2.Read(path)
	if err != nil {
		return err
	}
	defer closer.Close()
	if err := verified(lower.ToExecutorch).Run(&lower.Context{Table: ops.Standard()}, p,
		nil); err != nil {
		return err
	}
	for _, m := range p.Methods {
		m.Graph.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				if !registered[n.Op] && !besides(n.Op) {
					err = ir.ErrorAt(p.Source, n, errors.New("it is not in the dialect"))
				}
			}
		})
	}
	return err
}

// besides reports whether op is no kernel's but in the dialect all the same.
func besides(op string) bool {
	switch op {
	case "memory.alloc", "aten.view_copy.default", "higher_order.cond", "higher_order.while_loop",
		"higher_order.scan":
		return true
	}
	return strings.HasPrefix(op, "quantized_decomposed.") || strings.HasPrefix(op, "cortex_m.")
}
