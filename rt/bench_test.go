package rt_test

import (
	"testing"

	"github.com/etgen/etgen/rt"
)

// BenchmarkStep is what the interpreter adds to a kernel: calls of one that does
// nothing, with a context that can be cancelled.
func BenchmarkStep(b *testing.B) {
	const steps = 1000
	p := newBuild("forward")
	x := p.planned(1)
	for range steps {
		p.kernel("test::nothing", "out", x, x)
	}
	m := p.inputs(x).outputs(x).method(b,
		&rt.MethodOptions{Registry: rt.NewRegistry(acceptAll("test::nothing.out"))})
	if err := m.SetInput(0, tensor(b, []float32{1}, 1)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := m.Execute(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/steps, "ns/step")
}
