package measure

import (
	"slices"
	"time"

	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/lower/native"
)

// Report is how a model ran.
type Report struct {
	Model string `json:"model"` // base name of the file, with that of its folder
	// Peak is the GFLOP/s of fused multiply-adds on one core, measured before
	// and after the model; 0 if it is not known.
	Peak  float64  `json:"peak_gflops,omitempty"`
	Ways  []*Way   `json:"ways"`
	Notes []string `json:"notes,omitempty"`
}

// Way is how a model ran one way. A multiply-accumulate is two operations. The
// speed is that of the best call: the peak is the best of many measurements too,
// and other processes take away from both.
type Way struct {
	Name    string  `json:"way"` // "c", "go", "rt", "rt-optimize"
	How     string  `json:"how"` // the compiler and its flags, or what runs it
	Calls   int     `json:"calls"`
	Best    float64 `json:"best_us"`
	Median  float64 `json:"median_us"`
	P10     float64 `json:"p10_us"`
	P90     float64 `json:"p90_us"`
	MACs    int64   `json:"macs,omitempty"`    // of a call; 0: none, or not known
	GFLOPS  float64 `json:"gflops,omitempty"`  // at Best
	OfPeak  float64 `json:"of_peak,omitempty"` // GFLOPS over the peak
	Arena   int64   `json:"arena_bytes"`
	Weights int64   `json:"weights_bytes"`
	// Kernels are the calls of kernels, the one that took longest first. They
	// are of an instrumented copy, of which a call takes Probed.
	Probed  float64   `json:"probed_median_us"`
	Kernels []*Kernel `json:"kernels"`
}

// Kernel is a call of a kernel in the program.
type Kernel struct {
	Name   string   `json:"kernel"` // function, or operator of an ExecuTorch program
	Ops    []string `json:"operators"`
	Lines  []string `json:"lines"`            // of the model's Python source, with the module
	Nodes  []string `json:"nodes"`            // of the graph
	Type   string   `json:"type,omitempty"`   // of the result
	Calls  float64  `json:"calls"`            // in a call of the model: loops repeat it
	Best   float64  `json:"best_us"`          // of all its calls in a call of the model
	Time   float64  `json:"us"`               // the same, median
	Share  float64  `json:"share"`            // of Time of all kernels
	MACs   int64    `json:"macs,omitempty"`   // of all its calls
	GFLOPS float64  `json:"gflops,omitempty"` // at Best
	OfPeak float64  `json:"of_peak,omitempty"`
}

func micro(d time.Duration) float64 { return float64(d) / 1e3 }

// newKernel returns what is known of a step, nil if it did not run.
func newKernel(s way.Step, r way.StepRun) *Kernel {
	if r.Calls == 0 {
		return nil
	}
	times := NewSample(r.Times)
	k := &Kernel{
		Name: s.Kernel, Type: s.Type, Calls: r.Calls, Best: micro(times.Least()),
		Time: micro(times.Median()),
		MACs: int64(float64(r.MACs)*r.Calls + 0.5), Ops: []string{}, Lines: []string{},
		Nodes: []string{},
	}
	add := func(list []string, s string) []string {
		if s == "" || slices.Contains(list, s) {
			return list
		}
		return append(list, s)
	}
	for _, o := range s.From {
		k.Ops, k.Nodes = add(k.Ops, o.Base().Raw()), add(k.Nodes, o.Node.Raw())
	}
	for _, l := range locations(s.From) {
		k.Lines = add(k.Lines, l.String())
	}
	return k
}

// add lists what is known of a step. Calls of one kernel for the same nodes are
// parts of one: patches of rows.
func (w *Way) add(k *Kernel) {
	for _, whole := range w.Kernels {
		if whole.Name == k.Name && len(k.Nodes) > 0 && slices.Equal(whole.Nodes, k.Nodes) {
			whole.plus(k)
			return
		}
	}
	w.Kernels = append(w.Kernels, k)
}

// plus counts another kernel as a part of k.
func (k *Kernel) plus(x *Kernel) {
	k.Calls, k.Best, k.Time, k.Share, k.MACs = k.Calls+x.Calls, k.Best+x.Best, k.Time+x.Time,
		k.Share+x.Share, k.MACs+x.MACs
}

// locations are the known places of origins; one without a module is left out
// where the line occurs with one.
func locations(from []native.Origin) []native.Location {
	var all []native.Location
	for _, o := range from {
		if o.Loc != (native.Location{}) {
			all = append(all, o.Loc)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(l native.Location) bool {
		return l.Module.IsEmpty() && slices.ContainsFunc(all, func(x native.Location) bool {
			return x.File == l.File && x.Line == l.Line && !x.Module.IsEmpty()
		})
	})
}

// compare holds the numbers against each other and the peak.
func (w *Way) compare(peak float64) {
	speed := func(macs int64, us float64) (gflops, part float64) {
		if macs == 0 || us == 0 {
			return 0, 0
		}
		gflops = 2e-3 * float64(macs) / us
		if peak > 0 {
			part = gflops / peak
		}
		return gflops, part
	}
	w.GFLOPS, w.OfPeak = speed(w.MACs, w.Best)
	sum := 0.0
	for _, k := range w.Kernels {
		sum += k.Time
	}
	for _, k := range w.Kernels {
		k.GFLOPS, k.OfPeak = speed(k.MACs, k.Best)
		if sum > 0 {
			k.Share = k.Time / sum
		}
	}
}
