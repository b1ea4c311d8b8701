package portable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/portable"
)

// shared is where cases made by ExecuTorch's own exporter are.
const shared = "../../../shared/pte"

// passing is how many of them pass; it can only grow.
const passing = 58

// TestCases executes the programs that ExecuTorch's exporter wrote and compares
// with what PyTorch gave.
func TestCases(t *testing.T) {
	dirs, err := testcase.Find(shared)
	if errors.Is(err, fs.ErrNotExist) || len(dirs) == 0 {
		t.Skip("the cases are not beside the repository")
	}
	passed := 0
	for _, dir := range tier.Some(dirs, 20, -1) {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			if err := runCase(dir); err != nil {
				t.Error(err)
				return
			}
			passed++
		})
	}
	t.Logf("%d of %d cases pass", passed, len(dirs))
	if least := tier.Of(20, passing, passing); passed < least {
		t.Errorf("%d cases pass, %d did before", passed, least)
	}
}

func runCase(dir string) error {
	c, err := testcase.Read(dir)
	if err != nil {
		return err
	}
	p, file, err := open(filepath.Join(dir, c.Models[0]))
	if err != nil {
		return err
	}
	defer file.Close()
	terms := int64(1)
	table := ops.Standard()
	o := &rt.MethodOptions{Registry: portable.Watched(table, func(n *ir.Node) {
		g := &ir.Graph{Nodes: []*ir.Node{n}}
		terms = max(terms, way.Terms(table, &ir.Program{Methods: []*ir.Method{{Graph: g}}})[0])
	})}
	ptds, _ := filepath.Glob(filepath.Join(dir, "*.ptd"))
	for _, path := range ptds {
		d, err := rt.OpenData(path)
		if err != nil {
			return err
		}
		defer d.Close()
		o.Data = append(o.Data, d)
	}
	var m *rt.Method
	for i, call := range c.Calls {
		if m == nil || !c.Stateful {
			if m, err = p.LoadMethod(p.MethodNames()[0], o); err != nil {
				return err
			}
		}
		if err := runCall(m, &call); err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
		if c.Unrecorded {
			continue
		}
		check := func(got, want tensor.Value) error {
			if miss := compare.Values(got, want, compare.Tolerance{Terms: terms, Slack: c.Slack,
				Class: c.ByClass}); miss != nil {
				return miss
			}
			return nil
		}
		if err := outputs(m, &call, check); err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
	}
	if len(c.Calls) == 0 {
		return fmt.Errorf("there are no calls")
	}
	return nil
}

// open opens a program, or the one in a bundle.
func open(path string) (*rt.Program, io.Closer, error) {
	if filepath.Ext(path) != ".bpte" {
		p, err := rt.Open(path, nil)
		return p, p, err
	}
	b, file, err := pte.OpenBundle(path)
	if err != nil {
		return nil, nil, err
	}
	p, err := rt.NewProgram(b.Program, nil)
	return p, file, err
}

func runCall(m *rt.Method, call *testcase.Call) error {
	for i, v := range call.Inputs {
		if err := setInput(m, i, v); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	return m.Execute(context.Background())
}

// outputs compares the outputs of a call with the recorded ones.
func outputs(m *rt.Method, call *testcase.Call, check func(got, want tensor.Value) error) error {
	var want []tensor.Value
	for _, t := range call.Mutated { // the program gives them first
		if t != nil {
			want = append(want, tensor.Value{Tensor: t})
		}
	}
	want = append(want, call.Outputs...)
	if n := len(m.Meta().Outputs); n != len(want) {
		return fmt.Errorf("%d outputs, want %d", n, len(want))
	}
	for i, w := range want {
		if err := check(valueOf(m.Output(i)), w); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

func setInput(m *rt.Method, i int, v tensor.Value) error {
	switch x := v.Scalar.(type) {
	case ir.Int:
		return m.SetInput(i, int64(x))
	case ir.Float:
		return m.SetInput(i, float64(x))
	case ir.BoolArg:
		return m.SetInput(i, bool(x))
	case ir.None:
		return m.SetInput(i, nil)
	}
	t, err := rt.NewTensor(v.Tensor.DType, v.Tensor.Shape, nil, slices.Clone(v.Tensor.Data))
	if err != nil {
		return err
	}
	return m.SetInput(i, t)
}

// valueOf returns an output with its elements in row-major order.
func valueOf(v *rt.EValue) tensor.Value {
	switch v.Kind {
	case rt.Int:
		return tensor.Value{Scalar: ir.Int(v.Int)}
	case rt.Double:
		return tensor.Value{Scalar: ir.Float(v.Double)}
	case rt.Bool:
		return tensor.Value{Scalar: ir.BoolArg(v.Bool)}
	case rt.TensorKind:
		t := v.Tensor
		out := &tensor.Tensor{DType: t.DType, Shape: t.Sizes, Data: make([]byte, len(t.Data))}
		portable.RowMajor(t, out.Data)
		return tensor.Value{Tensor: out}
	}
	return tensor.Value{Scalar: ir.None{}}
}

// Execute, beside which generated Go and C can be measured with golden/bench.
func BenchmarkExecute(b *testing.B) {
	for _, name := range []string{"lenet", "lenet.constprop", "mlperf_kws_dscnn", "nanogpt_sdpa"} {
		b.Run(name, func(b *testing.B) {
			dir := filepath.Join(shared, name)
			if _, err := os.Stat(dir); err != nil {
				b.Skip("the cases are not beside the repository")
			}
			c, err := testcase.Read(dir)
			if err != nil {
				b.Fatal(err)
			}
			p, err := rt.Open(filepath.Join(dir, "model.pte"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			m, err := p.LoadMethod("forward", &rt.MethodOptions{Registry: portable.Registry()})
			if err != nil {
				b.Fatal(err)
			}
			for i, v := range c.Calls[0].Inputs {
				if err := setInput(m, i, v); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := m.Execute(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A missing operator is named.
func TestUnknown(t *testing.T) {
	if _, ok := portable.Registry().Lookup("aten::no_such.out"); ok {
		t.Error("an operator nobody has")
	}
	for _, name := range []string{"aten::add.out", "aten::copy_", "aten::index_put_",
		"aten::_softmax.out", "aten::split_copy.Tensor_out"} {
		if k, ok := portable.Registry().Lookup(name); !ok || k.Name != name ||
			strings.Contains(k.Name, ".default") {
			t.Errorf("%s is not in the registry", name)
		}
	}
}
