package measure

import "testing"

// Calls of a kernel that make parts of one result are one line of the table;
// those for other nodes, and copies between them, are not.
func TestAddPatches(t *testing.T) {
	w := &Way{}
	for _, k := range []*Kernel{
		{Name: "conv", Nodes: []string{"a"}, Calls: 1, Best: 1, Time: 2, MACs: 100},
		{Name: "copy", Nodes: []string{"a"}, Calls: 5, Time: 1},
		{Name: "conv", Nodes: []string{"a"}, Calls: 5, Best: 8, Time: 10},
		{Name: "conv", Nodes: []string{"b"}, Calls: 1, Time: 3, MACs: 50},
		{Name: "conv", Calls: 1, Time: 3},
		{Name: "conv", Calls: 1, Time: 3},
	} {
		w.add(k)
	}
	if len(w.Kernels) != 5 {
		t.Fatalf("%d lines", len(w.Kernels))
	}
	if k := w.Kernels[0]; k.Calls != 6 || k.Best != 9 || k.Time != 12 || k.MACs != 100 {
		t.Errorf("patches: %g calls, best %g µs, median %g µs, %d multiply-accumulates", k.Calls,
			k.Best, k.Time, k.MACs)
	}
}

// The speed of a way and of a kernel is that of their best times, however the
// others spread; shares are of the medians.
func TestCompare(t *testing.T) {
	w := &Way{Best: 10, Median: 40, MACs: 500e3, Kernels: []*Kernel{
		{Best: 4, Time: 30, MACs: 100e3},
		{Best: 5, Time: 10},
	}}
	w.compare(200)
	if w.GFLOPS != 100 || w.OfPeak != 0.5 {
		t.Errorf("the way: %g GFLOP/s, %g of the peak", w.GFLOPS, w.OfPeak)
	}
	if k := w.Kernels[0]; k.GFLOPS != 50 || k.OfPeak != 0.25 || k.Share != 0.75 {
		t.Errorf("the kernel: %g GFLOP/s, %g of the peak, %g of the time", k.GFLOPS,
			k.OfPeak, k.Share)
	}
	if k := w.Kernels[1]; k.GFLOPS != 0 || k.OfPeak != 0 || k.Share != 0.25 {
		t.Errorf("no multiply-adds: %g GFLOP/s, %g of the peak, %g of the time", k.GFLOPS,
			k.OfPeak, k.Share)
	}
	w.compare(0)
	if w.GFLOPS != 100 || w.OfPeak != 0 {
		t.Errorf("without a peak: %g GFLOP/s, %g of the peak", w.GFLOPS, w.OfPeak)
	}
}
