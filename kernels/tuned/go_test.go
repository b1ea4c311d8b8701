package tuned_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gokernels/conv"
	"github.com/etgen/etgen/kernels/tuned/gokernels/depthwise"
	"github.com/etgen/etgen/kernels/tuned/gokernels/linear"
	"github.com/etgen/etgen/kernels/tuned/gokernels/matmul"
)

// goFuncs are the Go forms by the names that kernels give.
func goFuncs() map[string]any {
	return map[string]any{"linear.F32": linear.F32, "matmul.F32": matmul.F32, "conv.F32": conv.F32, "depthwise.F32": depthwise.F32}
}

// runGo calls the Go form of a trial's kernel.
func (tr *trial) runGo(t testing.TB) []float32 {
	y := make([]float32, len(tr.want))
	for i := range y {
		y[i] = float32(math.NaN())
	}
	args := []reflect.Value{reflect.ValueOf(y)}
	for _, x := range tr.inputs() {
		args = append(args, reflect.ValueOf(x))
	}
	for _, n := range tr.ints(t) {
		args = append(args, reflect.ValueOf(int(n)))
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
				case e.channel && tr.in.Kernel.RunChannels:
					extra = tr.extra[c+i]
				case e.channel:
					extra = tr.extra[c]
				}
				run[i] = e.apply(run[i], extra)
			}
		}
	}
	args = append(args, reflect.ValueOf(f))
	fn := goFuncs()[tr.in.Kernel.Go]
	if fn == nil {
		t.Fatalf("%s: no Go function %q", tr.name, tr.in.Kernel.Go)
	}
	reflect.ValueOf(fn).Call(args)
	return y
}

// TestGo runs trials, each with every epilogue in turn, through the Go forms.
func TestGo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := epilogues()
	target := tuned.Target{Lang: "go", Name: "generic", Speed: true}
	sets := trialsOf(r, target, 100)
	for _, kernel := range sorted(sets) {
		t.Run(kernel, func(t *testing.T) {
			for i, tr := range sets[kernel] {
				tr.epilogue = all[i%len(all)]
				if !tr.prepare(t, r, target) || tr.in.Kernel.Name != kernel {
					t.Errorf("%s: not taken by %s", tr.name, kernel)
					continue
				}
				tr.check(t, tr.runGo(t))
			}
		})
	}
}
