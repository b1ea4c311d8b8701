package measure

import "testing"

// Calls of a kernel that make parts of one result are one line of the table;
// those for other nodes, and copies between them, are not.
func TestAddBands(t *testing.T) {
	w := &Way{}
	for _, k := range []*Kernel{
		{Name: "conv", Nodes: []string{"a"}, Calls: 1, Time: 2, MACs: 100},
		{Name: "copy", Nodes: []string{"a"}, Calls: 5, Time: 1},
		{Name: "conv", Nodes: []string{"a"}, Calls: 5, Time: 10},
		{Name: "conv", Nodes: []string{"b"}, Calls: 1, Time: 3, MACs: 50},
		{Name: "conv", Calls: 1, Time: 3},
		{Name: "conv", Calls: 1, Time: 3},
	} {
		w.add(k)
	}
	if len(w.Kernels) != 5 {
		t.Fatalf("%d lines", len(w.Kernels))
	}
	if k := w.Kernels[0]; k.Calls != 6 || k.Time != 12 || k.MACs != 100 {
		t.Errorf("bands: %g calls, %g µs, %d multiply-accumulates", k.Calls, k.Time, k.MACs)
	}
}
