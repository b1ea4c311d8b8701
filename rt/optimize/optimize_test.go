package optimize_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/optimize"
	"github.com/etgen/etgen/rt/portable"
)

// strict refuses to interpret.
var strict = optimize.With(optimize.Options{Strict: true})

// compiled returns a case of the repository as a program.
func compiled(t testing.TB, name string) (*testcase.Case, *pte.Program) {
	t.Helper()
	c, err := testcase.Read(filepath.Join("../../golden/cases", name))
	if err != nil {
		t.Fatal(err)
	}
	p, closer, err := compile.Read(filepath.Join(c.Dir, c.Models[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	out, err := compile.PTE(p, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := pte.Write(&file, out.Program); err != nil {
		t.Fatal(err)
	}
	again, err := pte.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return c, again
}

func loaded(t testing.TB, file *pte.Program, o *rt.MethodOptions) *rt.Method {
	t.Helper()
	p, err := rt.NewProgram(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.LoadMethod(p.MethodNames()[0], o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func setInputs(t testing.TB, m *rt.Method, call *testcase.Call) {
	t.Helper()
	for i, v := range call.Inputs {
		if err := setInput(m, i, v); err != nil {
			t.Fatal(err)
		}
	}
}

// Control flow, state, sizes that vary and tensors in other orders give what
// PyTorch gave, call after call.
func TestOwnCases(t *testing.T) {
	for _, name := range tier.Some([]string{
		"lenet", "cond_nested", "while_loop", "while_loop_swap", "lstm_bidirectional", "gru",
		"dynamic_batch", "dynamic_two", "symbolic_int", "mutated_buffer", "mutated_input", "cache",
		"channels_last_conv", "noncontiguous_input", "input_as_output", "scalar_inputs",
		"zero_size", "constants", "int8_arith", "bf16_chain",
	}, 5, -1) {
		t.Run(name, func(t *testing.T) {
			c, file := compiled(t, name)
			p, err := rt.NewProgram(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			terms, err := termsOf(filepath.Join(c.Dir, c.Models[0]))
			if err != nil {
				t.Fatal(err)
			}
			var m *rt.Method
			for i := range c.Calls {
				if m == nil || !c.Stateful {
					if m, err = p.LoadMethod("forward", &rt.MethodOptions{Optimize: strict}); err !=
						nil {
						t.Fatal(err)
					}
				}
				setInputs(t, m, &c.Calls[i])
				if err := m.Execute(context.Background()); err != nil {
					t.Fatal(err)
				}
				if err := outputs(m, &c.Calls[i], compare.Tolerance{Terms: terms, Slack: c.Slack,
					Class: c.ByClass}); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			}
		})
	}
}

// What instructions free, or move elsewhere, an optimized method has its own memory for.
// What is read after it was freed means nothing: the method is run as it is, or refused.
func TestFreedInputs(t *testing.T) {
	for name, change := range map[string]func(chain *pte.Chain, in, out int32){
		"freed": func(chain *pte.Chain, in, _ int32) {
			chain.Instructions = append(chain.Instructions, pte.FreeCall{Value: in})
		},
		"moved": func(chain *pte.Chain, in, out int32) {
			chain.Instructions = slices.Insert(chain.Instructions, 0,
				pte.Instruction(pte.MoveCall{From: in, To: in}),
				pte.Instruction(pte.MoveCall{From: out, To: out}))
		},
		"output freed": func(chain *pte.Chain, _, out int32) {
			chain.Instructions = append(chain.Instructions, pte.FreeCall{Value: out})
		},
	} {
		c, file := compiled(t, "linear")
		plan := file.Plans[0]
		chain := plan.Chains[0]
		change(chain, plan.Inputs[0], plan.Outputs[0])
		chain.Stacktrace = nil
		if name == "output freed" {
			p, err := rt.NewProgram(file, nil)
			if err == nil {
				_, err = p.LoadMethod("forward", &rt.MethodOptions{Optimize: strict})
			}
			if err == nil || !strings.Contains(err.Error(), "its memory was freed") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		m := loaded(t, file, &rt.MethodOptions{Optimize: strict})
		for range 2 {
			setInputs(t, m, &c.Calls[0])
			if err := m.Execute(context.Background()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := outputs(m, &c.Calls[0], compare.Tolerance{Terms: 5}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A method of fixed sizes does not allocate when it executes.
func TestAllocations(t *testing.T) {
	for _, name := range []string{"lenet", "cond_nested", "while_loop", "gru", "mutated_buffer",
		"layer_norm_gelu"} {
		c, file := compiled(t, name)
		m := loaded(t, file, &rt.MethodOptions{Optimize: strict})
		setInputs(t, m, &c.Calls[0])
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if n := testing.AllocsPerRun(10, func() {
			if err := m.Execute(ctx); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// canceller cancels a context when a step begins, and lists the steps.
type canceller struct {
	cancel context.CancelFunc
	at     int
	steps  []string
}

func (c *canceller) Begin(e *rt.Event) {
	c.steps = append(c.steps, e.Op)
	if len(c.steps) == c.at {
		c.cancel()
	}
}

func (*canceller) End(*rt.Event, error) {}

// An execution ends after the step in which its context is done; without, the
// tracer sees every step.
func TestCancel(t *testing.T) {
	c, file := compiled(t, "lenet")
	trace := &canceller{at: -1}
	m := loaded(t, file, &rt.MethodOptions{Optimize: strict, Tracer: trace})
	setInputs(t, m, &c.Calls[0])
	if err := m.Execute(context.Background()); err != nil {
		t.Fatal(err)
	}
	whole := slices.Clone(trace.steps)
	if len(whole) < 4 || !slices.ContainsFunc(whole, func(s string) bool {
		return strings.Contains(s, "+aten.relu")
	}) {
		t.Errorf("steps %q", whole)
	}
	ctx, cancel := context.WithCancel(context.Background())
	trace.cancel, trace.at, trace.steps = cancel, 2, nil
	if err := m.Execute(ctx); !errors.Is(err, context.Canceled) || len(trace.steps) != 2 {
		t.Errorf("error %v after steps %q", err, trace.steps)
	}
	trace.at, trace.steps = -1, nil
	if err := m.Execute(context.Background()); err != nil || !slices.Equal(trace.steps, whole) {
		t.Errorf("error %v, steps %q after one that was cancelled", err, trace.steps)
	}
}

// Methods of a program run in goroutines of their own, each with its state.
func TestGoroutines(t *testing.T) {
	c, file := compiled(t, "mutated_buffer")
	p, err := rt.NewProgram(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for g := range errs {
		wg.Go(func() {
			errs[g] = func() error {
				m, err := p.LoadMethod("forward", &rt.MethodOptions{Optimize: strict})
				if err != nil {
					return err
				}
				for i := range c.Calls {
					for k, v := range c.Calls[i].Inputs {
						if err := setInput(m, k, v); err != nil {
							return err
						}
					}
					if err := m.Execute(context.Background()); err != nil {
						return err
					}
					if err := outputs(m, &c.Calls[i], compare.Tolerance{Terms: 1,
						Slack: c.Slack}); err != nil {
						return err
					}
				}
				return nil
			}()
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// What cannot be raised is interpreted, and it is said why.
func TestRefused(t *testing.T) {
	c, file := compiled(t, "lenet")
	registry := portable.Registry()
	own := file.Plans[0].Operators[0]
	kernel, _ := registry.Lookup(own.String())
	file.Plans[0].Operators[0] = pte.Operator{Name: "custom::own", Overload: "out"}
	kernels := rt.NewRegistry(append(others(t, registry, file), rt.Kernel{Name: "custom::own.out",
		Prepare: kernel.Prepare})...)

	said := ""
	m := loaded(t, file, &rt.MethodOptions{Registry: kernels,
		Optimize: optimize.With(optimize.Options{
			Refused: func(method string, reason error) { said = method + ": " + reason.Error() },
		})})
	if !strings.Contains(said, "forward") || !strings.Contains(said, "custom::own") {
		t.Errorf("the reason is %q", said)
	}
	setInputs(t, m, &c.Calls[0])
	if err := m.Execute(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := outputs(m, &c.Calls[0], compare.Tolerance{Terms: 100, Slack: c.Slack}); err != nil {
		t.Error(err)
	}

	p, err := rt.NewProgram(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.LoadMethod("forward", &rt.MethodOptions{Registry: kernels,
		Optimize: strict}); !errors.Is(err, optimize.ErrRefused) ||
		!strings.Contains(err.Error(), "custom::own") {
		t.Errorf("error %v", err)
	}
}

// others returns the kernels of a program's operators.
func others(t *testing.T, registry *rt.Registry, file *pte.Program) []rt.Kernel {
	var kernels []rt.Kernel
	for _, o := range file.Plans[0].Operators {
		if k, ok := registry.Lookup(o.String()); ok {
			kernels = append(kernels, k)
		}
	}
	return kernels
}

// A method needs no more memory than it may.
func TestMemoryLimit(t *testing.T) {
	_, file := compiled(t, "digits")
	p, err := rt.NewProgram(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	enough := int64(1 << 20)
	if _, err := p.LoadMethod("forward", &rt.MethodOptions{Optimize: optimize.Default,
		Memory: &rt.MemoryManager{Limit: enough}}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.LoadMethod("forward", &rt.MethodOptions{Optimize: optimize.Default,
		Memory: &rt.MemoryManager{Limit: 3000}}); !errors.Is(err, rt.ErrOutOfMemory) {
		t.Errorf("error %v", err)
	}
}

// Sizes that the program was not made for are refused.
func TestSizes(t *testing.T) {
	_, file := compiled(t, "dynamic_batch")
	m := loaded(t, file, &rt.MethodOptions{Optimize: strict})
	meta := m.Meta().Inputs[0]
	sizes := slices.Clone(meta.Sizes)
	sizes[len(sizes)-1]--
	x, err := rt.NewTensor(meta.DType, sizes, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.SetInput(0, x); err != nil {
		t.Skip("the runtime refuses it already: ", err)
	}
	if err := m.Execute(context.Background()); !errors.Is(err, rt.ErrNotSupported) ||
		!strings.Contains(err.Error(), "input 0") {
		t.Errorf("error %v", err)
	}
}

// termsOf returns the longest reduction in a model.
func termsOf(path string) (int64, error) {
	p, closer, err := compile.Read(path)
	if err != nil {
		return 0, err
	}
	defer closer.Close()
	if err := compile.Lower(p, compile.Options{}); err != nil {
		return 0, err
	}
	return slices.Max(way.Terms(ops.Standard(), p)), nil
}
