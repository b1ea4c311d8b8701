package registry_test

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/codegen/registry"
	"github.com/etgen/etgen/ir/pte"
)

// program returns one that calls operators, each on a tensor of two elements.
func program(operators ...pte.Operator) *pte.Program {
	tensor := func(memory *pte.Allocation) *pte.Tensor {
		return &pte.Tensor{ScalarType: 6, Sizes: []int32{2}, DimOrder: []uint8{0},
			Allocation: memory}
	}
	plan := &pte.ExecutionPlan{
		Name: "forward", Operators: operators, Inputs: []int32{0}, Outputs: []int32{1},
		Values: []pte.EValue{tensor(&pte.Allocation{MemoryID: 1}),
			tensor(&pte.Allocation{MemoryID: 1, Offset: 16})},
		Chains:      []*pte.Chain{{}},
		BufferSizes: []int64{0, 32},
	}
	for i := range operators {
		plan.Chains[0].Instructions = append(plan.Chains[0].Instructions,
			pte.KernelCall{Op: int32(i), Args: []int32{0, 1, 1}})
	}
	return &pte.Program{Plans: []*pte.ExecutionPlan{plan}}
}

// All operators that there are no kernels for are named, each once.
func TestUnknownOperators(t *testing.T) {
	p := program(pte.Operator{Name: "mine::f", Overload: "out"}, pte.Operator{Name: "aten::relu",
		Overload: "out"},
		pte.Operator{Name: "mine::g", Overload: "out"}, pte.Operator{Name: "mine::f",
			Overload: "out"})
	q := program(pte.Operator{Name: "mine::h", Overload: "out"})
	_, err := registry.Generate([]registry.Program{{Name: "a.pte", Program: p},
		{Name: "b.pte", Program: q}}, registry.Options{Package: "kernels"})
	if err == nil {
		t.Fatal("no error")
	}
	for _, text := range []string{
		"mine::f.out (a.pte: method forward: instruction 0)",
		"mine::g.out (a.pte: method forward: instruction 2)",
		"mine::h.out (b.pte: method forward: instruction 0)",
	} {
		if strings.Count(err.Error(), text) != 1 {
			t.Errorf("error %q has not %q once", err, text)
		}
	}
	if strings.Contains(err.Error(), "relu") || !strings.Contains(err.Error(), "--custom-op") {
		t.Errorf("error %q names an operator that there is, or does not say what to do", err)
	}
}

// A program that is not sound is refused, and named.
func TestUnsound(t *testing.T) {
	p := program(pte.Operator{Name: "aten::relu", Overload: "out"})
	p.Plans[0].Chains[0].Instructions = append(p.Plans[0].Chains[0].Instructions,
		pte.KernelCall{Op: 0, Args: []int32{0, 7, 7}})
	_, err := registry.Generate([]registry.Program{{Name: "a.pte", Program: p}},
		registry.Options{Package: "kernels"})
	if err == nil || !strings.HasPrefix(err.Error(), "a.pte: ") {
		t.Errorf("got error %v", err)
	}
}

// Without programs there have to be kernels in Go: others are not in the file.
func TestNothing(t *testing.T) {
	declared := &custom.Kernels{}
	if err := declared.Declare("mine::f(Tensor x) -> Tensor"); err != nil {
		t.Fatal(err)
	}
	for _, k := range []*custom.Kernels{nil, declared} {
		_, err := registry.Generate(nil, registry.Options{Package: "kernels", Kernels: k})
		if err == nil || !strings.Contains(err.Error(), "no kernels in Go") {
			t.Errorf("got error %v", err)
		}
	}
}

// Calls that differ in what they are given only are one function.
func TestForms(t *testing.T) {
	relu := pte.Operator{Name: "aten::relu", Overload: "out"}
	p := program(relu, relu)
	pkg, err := registry.Generate([]registry.Program{{Name: "a.pte", Program: p},
		{Name: "b.pte", Program: p}}, registry.Options{Package: "main", File: "x.go"})
	if err != nil {
		t.Fatal(err)
	}
	text := string(pkg.File("x.go"))
	if n := strings.Count(text, "Args:"); n != 1 {
		t.Errorf("%d forms, want 1:\n%s", n, text)
	}
	if !strings.Contains(text, `Args: "f32[2], f32[2]"`) ||
		!strings.Contains(text, "package main\n") {
		t.Error(text)
	}
}

// Of custom operators that are declared the application has the kernels, which the registry says.
func TestCustomOperators(t *testing.T) {
	k := &custom.Kernels{}
	if err := k.Declare("mine::f(Tensor x) -> Tensor"); err != nil {
		t.Fatal(err)
	}
	p := program(pte.Operator{Name: "mine::f", Overload: "out"}, pte.Operator{Name: "aten::relu",
		Overload: "out"})
	only := program(pte.Operator{Name: "mine::f", Overload: "out"})
	for _, programs := range [][]registry.Program{{{Name: "a.pte", Program: p}},
		{{Name: "b.pte", Program: only}}} {
		pkg, err := registry.Generate(programs, registry.Options{Package: "kernels",
			Kernels: k})
		if err != nil {
			t.Error(err)
			continue
		}
		text := string(pkg.Files[0].Data)
		if !strings.Contains(text, "with its method With:\n//   - mine::f.out\n") ||
			strings.Contains(text, `"mine::f.out"`) {
			t.Errorf("%s:\n%s", programs[0].Name, text)
		}
	}
}
