package optimize_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/optimize"
	"github.com/etgen/etgen/rt/portable"
)

// shared is where cases made by ExecuTorch's own exporter are.
const shared = "../../../shared/pte"

// refused are the cases that cannot be optimised; all others have to be.
var refused = map[string]bool{}

// Every program that ExecuTorch's exporter wrote gives what PyTorch gave, with
// its state carried over the runs.
func TestCases(t *testing.T) {
	dirs, err := testcase.Find(shared)
	if errors.Is(err, fs.ErrNotExist) || len(dirs) == 0 {
		t.Skip("the cases are not beside the repository")
	}
	for _, dir := range tier.Some(dirs, 8, -1) {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			err := runCase(t, dir)
			if errors.Is(err, optimize.ErrRefused) && refused[name] {
				t.Skip(err)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func runCase(t *testing.T, dir string) error {
	c, err := testcase.Read(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, c.Models[0])
	terms, err := termsOf(path)
	if err != nil {
		return err
	}
	p, file, err := open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	o := &rt.MethodOptions{Registry: portable.Registry(), Optimize: strict}
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
		for k, v := range call.Inputs {
			if err := setInput(m, k, v); err != nil {
				return fmt.Errorf("input %d: %w", k, err)
			}
		}
		if err := m.Execute(context.Background()); err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
		if c.Unrecorded {
			continue
		}
		tolerance := compare.Tolerance{Terms: terms, Slack: c.Slack, Class: c.ByClass}
		if err := outputs(m, &call, tolerance); err != nil {
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

// outputs compares the outputs of a call with the recorded ones.
func outputs(m *rt.Method, call *testcase.Call, tolerance compare.Tolerance) error {
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
		got, err := way.OutputOf(m.Output(i))
		if err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		if miss := compare.Values(got, w, tolerance); miss != nil {
			return fmt.Errorf("output %d: %w", i, miss)
		}
	}
	return nil
}

func setInput(m *rt.Method, i int, v tensor.Value) error {
	x, err := way.InputOf(v, &m.Meta().Inputs[i])
	if err != nil {
		return err
	}
	return m.SetInput(i, x)
}

// Execute of optimised methods; golden/bench measures them beside generated Go.
func BenchmarkExecute(b *testing.B) {
	for _, name := range []string{"lenet", "mlperf_kws_dscnn", "nanogpt_sdpa"} {
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
			m, err := p.LoadMethod("forward", &rt.MethodOptions{Optimize: strict})
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
