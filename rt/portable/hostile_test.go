package portable_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/portable"
)

// TestHostilePrograms changes bytes of programs at random, the same ones each time, and
// executes with all kernels what still loads, twice with zeros. Whatever it says,
// it neither panics nor takes more memory than it may. (Under the fuzzer's
// instrumentation a run takes a second.)
func TestHostilePrograms(t *testing.T) {
	registry := portable.Registry()
	r := rand.New(rand.NewPCG(1, 2))
	executed := 0
	for _, seed := range emitted(t, "cond_nested", "dynamic_two", "cat_split_stack", "sort_stable",
		"index_several", "symbolic_int") {
		for range 400 {
			file := bytes.Clone(seed)
			for range 1 + r.IntN(4) {
				file[r.IntN(len(file))] = []byte{0, 1, 2, 127, 128, 255,
					byte(r.IntN(256))}[r.IntN(7)]
			}
			p, err := rt.Load(rt.Bytes(file), &rt.LoadOptions{Platform: &rt.SystemPlatform{}})
			if err != nil {
				continue
			}
			for _, name := range p.MethodNames() {
				err := execute(p, name, registry)
				if errors.Is(err, rt.ErrInternal) {
					t.Error(err)
				}
				if err == nil {
					executed++
				}
			}
		}
	}
	if executed < 100 {
		t.Errorf("only %d programs run", executed)
	}
}

func execute(p *rt.Program, name string, registry *rt.Registry) error {
	m, err := p.LoadMethod(name, &rt.MethodOptions{Registry: registry,
		Memory: &rt.MemoryManager{Limit: 4 << 20}, MaxInstructions: 500})
	if err != nil {
		return err
	}
	defer m.Close()
	for i, in := range m.Meta().Inputs {
		if in.Kind != rt.TensorKind {
			continue
		}
		x, err := rt.NewTensor(in.DType, in.Sizes, in.DimOrder, make([]byte, in.Bytes))
		if err != nil {
			return err
		}
		if err := m.SetInput(i, x); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := m.Execute(ctx); err != nil {
		return err
	}
	return m.Execute(ctx)
}

// A call that writes over an operand with other sizes does not load: a runtime resizes the
// tensor before the kernel reads it.
func TestResizedOperand(t *testing.T) {
	p, err := rt.Open("../../golden/refused/program_resized_operand/model.pte", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = p.LoadMethod("forward", &rt.MethodOptions{Registry: portable.Registry()})
	if !errors.Is(err, rt.ErrInvalidProgram) {
		t.Errorf("%v, want %v", err, rt.ErrInvalidProgram)
	}
}
