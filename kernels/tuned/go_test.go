package tuned_test

import (
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gofunc"
)

// runGo calls the Go form of a trial's kernel.
func (tr *trial) runGo(t testing.TB) []float32 {
	y := make([]float32, len(tr.want))
	for i := range y {
		y[i] = float32(math.NaN())
	}
	bufs := append([][]float32{y}, tr.inputs()...)
	if n := tr.number(t, tr.in.Scratch); n > 0 {
		bufs = append(bufs, make([]float32, n/4))
	}
	var ints []int
	for _, n := range tr.ints(t) {
		ints = append(ints, int(n))
	}
	var f func([]float32, int, int)
	if e := tr.epilogue; e != nil {
		f = func(run []float32, o, c int) {
			if &run[0] != &y[o] {
				t.Errorf("%s: the run is not at %d of the result", tr.name, o)
			}
			for i := range run {
				extra := float32(0)
				switch {
				case e.perResult:
					extra = tr.extra[o+i]
				case e.channel && tr.in.RunChannels:
					extra = tr.extra[c+i]
				case e.channel:
					extra = tr.extra[c]
				}
				run[i] = e.apply(run[i], extra)
			}
		}
	}
	if name := unknown(tr.in); name != "" {
		t.Errorf("%s does not know %s", tr.in.Kernel.Go, name)
	}
	call, ok := gofunc.Lookup(tr.in.Kernel.Go, tr.in.Slots())
	if !ok {
		t.Fatalf("%s: no Go function %q", tr.name, tr.in.Kernel.Go)
	}
	epilogue := gofunc.Plain()
	epilogue.EpilogueFunc = f
	call(bufs, ints, &epilogue)
	return y
}

// TestGo runs trials, each with every epilogue in turn, through the Go forms.
func TestGo(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	all := epilogues()
	target := tuned.Target{Language: tuned.Go, Machine: machine("generic"), Speed: true}
	sets := trialsOf(r, target, tier.Of(4, 60, 100))
	for _, kernel := range sorted(sets) {
		t.Run(kernel, func(t *testing.T) {
			for i, tr := range sets[kernel] {
				tr.epilogue = all[i%len(all)]
				if !tr.prepare(t, r, target) || tr.in.Name() != kernelOf(kernel) {
					t.Errorf("%s: not taken by %s", tr.name, kernel)
					continue
				}
				tr.check(t, tr.runGo(t))
			}
		})
	}
}

// TestGoMachines runs the tests of the kernels that have assembly without it,
// and with that of another machine, emulated.
func TestGoMachines(t *testing.T) {
	t.Parallel()
	tier.Needs(t, tier.Normal)
	for _, c := range []struct {
		name, env string
		args      []string
	}{
		{"plain", "", []string{"-tags=purego"}},
		{"arm64", "GOARCH=arm64 ETGEN_SMMLA=1",
			[]string{"-exec=" + strings.Join(toolchain.NEON().Emulator, " ")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go",
				append(append([]string{"test"}, c.args...), "./gokernels/rows")...)
			cmd.Env = append(os.Environ(), strings.Fields(c.env)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
