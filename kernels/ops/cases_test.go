package ops_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/eval"
)

// TestCases runs the recorded single-operator cases, and those models whose
// operators are all in the table, and compares with PyTorch's results.
func TestCases(t *testing.T) {
	var files []string
	for _, dir := range []string{"ops", "ops-rare", "models", "models-torch2.6"} {
		err := filepath.WalkDir(filepath.Join("../../../shared", dir), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".pt2") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Skip("the recorded cases are not beside the repository: ", err)
		}
	}
	passed, skipped := 0, map[string]int{}
	for _, f := range files {
		name := strings.TrimPrefix(f, "../../../shared/")
		if !wanted(f) {
			continue
		}
		err := safely(func() error { return runCase(f) })
		var skip *skipError
		switch {
		case err == nil:
			passed++
		case errors.As(err, &skip):
			skipped[skip.why]++
		default:
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d cases agree with PyTorch", passed)
	var why []string
	for w := range skipped {
		why = append(why, w)
	}
	sort.Strings(why)
	for _, w := range why {
		t.Logf("not run: %4d %s", skipped[w], w)
	}
}

// wanted leaves out the large models.
func wanted(file string) bool {
	if !strings.Contains(file, "/models") {
		return true
	}
	info, err := os.Stat(file)
	return err == nil && info.Size() < 1<<20
}

func safely(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

type skipError struct{ why string }

func (e *skipError) Error() string { return e.why }

func skipf(format string, args ...any) error { return &skipError{fmt.Sprintf(format, args...)} }

type tensorMeta struct {
	Kind, DType, File string
	Shape             []int64
	Value             any
}

func runCase(file string) error {
	dir := filepath.Dir(file)
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		return err
	}
	var meta struct {
		Inputs, Outputs []tensorMeta
		Note            string
		Diff            float64 `json:"exported_vs_eager_max_abs_diff"`
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return skipf("a meta.json that is no JSON: %v", err)
	}
	p, closer, err := pt2.Read(file)
	if err != nil {
		return err
	}
	defer closer.Close()
	if len(p.Methods) != 1 {
		return skipf("several methods")
	}
	method := p.Methods[0]
	m := newMachine()
	missing := ""
	method.Graph.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			if _, ok := m.table.Lookup(n.Op); !ok {
				missing = n.Op
			}
		}
	})
	if missing != "" {
		return skipf("%s is not in the table", missing)
	}
	k := 0
	for i, spec := range method.Inputs {
		v := method.Graph.Inputs[i]
		if spec.Kind != ir.UserInput && spec.Kind != ir.ConstantInput {
			continue
		}
		if k >= len(meta.Inputs) {
			return skipf("fewer inputs are recorded")
		}
		in := meta.Inputs[k]
		k++
		if in.Kind != "tensor" || v.Type.Kind != ir.TensorKind {
			continue
		}
		o, err := readTensor(dir, in)
		if err != nil {
			return err
		}
		if o.DType.IsComplex() {
			return skipf("complex")
		}
		m.input(v, o)
	}
	if err := m.graph(method.Graph); err != nil {
		if errors.Is(err, errSkip) {
			return skipf("%v", errSkip)
		}
		if strings.Contains(err.Error(), "not yet defined on complex") {
			return skipf("complex")
		}
		return err
	}
	k = 0
	for i, spec := range method.Outputs {
		if spec.Kind != ir.UserOutput {
			continue
		}
		if k >= len(meta.Outputs) {
			return skipf("fewer outputs are recorded")
		}
		out := meta.Outputs[k]
		k++
		ref, ok := method.Graph.Outputs[i].(ir.Ref)
		if !ok || out.Kind != "tensor" || ref.Value.Type.Kind != ir.TensorKind {
			continue
		}
		want, err := readTensor(dir, out)
		if err != nil {
			return err
		}
		if want.DType.IsComplex() {
			return skipf("complex")
		}
		if err := m.alike(m.tensors[ref.Value], want, meta.Diff); err != nil {
			return fmt.Errorf("output %d: %w", k-1, err)
		}
	}
	return nil
}

func readTensor(dir string, t tensorMeta) (eval.Operand, error) {
	d, ok := ir.ParseDType(t.DType)
	if !ok {
		return eval.Operand{}, fmt.Errorf("no dtype is called %q", t.DType)
	}
	data, err := os.ReadFile(filepath.Join(dir, t.File))
	return eval.Operand{DType: d, Sizes: t.Shape, Data: data}, err
}

// alike compares by the rule of DESIGN.md.
func (m *machine) alike(got, want eval.Operand, floor float64) error {
	if got.DType != want.DType || len(got.Data) != len(want.Data) {
		return fmt.Errorf("got %s%v, want %s%v", got.DType, got.Sizes, want.DType, want.Sizes)
	}
	n := int64(len(want.Data) / want.DType.Size())
	largest := 0.0
	if want.DType.IsFloat() {
		for i := range n {
			if x := math.Abs(eval.Get(want.DType, want.Data, i).F); x > largest && !math.IsInf(x, 0) {
				largest = x
			}
		}
	}
	for i := range n {
		g, w := eval.Get(got.DType, got.Data, i), eval.Get(want.DType, want.Data, i)
		if !want.DType.IsFloat() {
			if g.I != w.I {
				return fmt.Errorf("element %d of %v is %d, want %d", i, want.Sizes, g.I, w.I)
			}
			continue
		}
		same := g.F == w.F || g.F != g.F && w.F != w.F
		if !same && !(math.Abs(g.F-w.F) <= tolerance(want.DType, w.F, largest, floor, m.longest)) {
			return fmt.Errorf("element %d of %v is %g, want %g", i, want.Sizes, g.F, w.F)
		}
	}
	return nil
}
