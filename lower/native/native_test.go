package native

import (
	"testing"

	"github.com/etgen/etgen/golden/irtest"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/plan"
)

// The cases say in their comment what they show: what is fused, what gets a
// buffer, which copies go, which kernels are shared.
func TestBuild(t *testing.T) {
	irtest.RunText(t, "testdata/*.txtar", func(p *ir.Program) (string, error) {
		np, err := Build(p, Options{Table: ops.Standard(), Planner: plan.Best{},
			Kernels: tuned.Standard(), Target: tuned.Target{Language: tuned.C, Machine: machine("generic")}})
		if err != nil {
			return "", err
		}
		return np.String(), nil
	})
}

// Those of testdata/speed show what only kernels for speed ask for, layouts, and
// those of testdata/speed_go what only those of Go do.
func TestBuildForSpeed(t *testing.T) {
	for dir, lang := range map[string]*tuned.Language{"speed": tuned.C, "speed_go": tuned.Go} {
		irtest.RunText(t, "testdata/"+dir+"/*.txtar", func(p *ir.Program) (string, error) {
			np, err := Build(p, Options{Table: ops.Standard(), Planner: plan.Best{},
				Kernels: tuned.Standard(), Target: tuned.Target{Language: lang,
					Machine: machine("generic"), Speed: true}})
			if err != nil {
				return "", err
			}
			return np.String(), nil
		})
	}
}

// Those of testdata/patches have patches of at least two rows.
func TestBuildPatches(t *testing.T) {
	irtest.RunText(t, "testdata/patches/*.txtar", func(p *ir.Program) (string, error) {
		np, err := Build(p, Options{Table: ops.Standard(), Planner: plan.Best{},
			Kernels: tuned.Standard(), Target: tuned.Target{Language: tuned.C, Machine: machine("generic"),
				Speed: true}, Patches: 2})
		if err != nil {
			return "", err
		}
		return np.String(), nil
	})
}

// Those of testdata/patches_mcu are made for a microcontroller, in patches where that
// saves memory.
func TestBuildPatchesOfMicrocontrollers(t *testing.T) {
	irtest.RunText(t, "testdata/patches_mcu/*.txtar", func(p *ir.Program) (string, error) {
		np, err := Build(p, Options{Table: ops.Standard(), Planner: plan.Best{},
			Kernels: tuned.Standard(), Target: tuned.Target{Language: tuned.C,
				Machine: machine("cortex-m4")}})
		if err != nil {
			return "", err
		}
		return np.String(), nil
	})
}

// machine is a target that there is.
func machine(name string) *tuned.Machine {
	m, err := tuned.MachineNamed(name)
	if err != nil {
		panic(err)
	}
	return m
}
