// Package measure tells how fast compiled models run: calls, the kernels in
// them with the Python lines they came from, and how far that is from what the
// machine can do.
//
// Model is the door; its Report prints as text, JSON and a picture.
package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
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

// Way is how a model ran one way. A multiply-accumulate is two operations.
type Way struct {
	Name    string  `json:"way"` // "c", "go", "rt"
	How     string  `json:"how"` // the compiler and its flags, or what runs it
	Calls   int     `json:"calls"`
	Best    float64 `json:"best_us"`
	Median  float64 `json:"median_us"`
	P10     float64 `json:"p10_us"`
	P90     float64 `json:"p90_us"`
	MACs    int64   `json:"macs,omitempty"` // of a call; 0: none, or not known
	GFLOPS  float64 `json:"gflops,omitempty"`
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
	Lines  []string `json:"lines"`          // of the model's Python source, with the module
	Nodes  []string `json:"nodes"`          // of the graph
	Type   string   `json:"type,omitempty"` // of the result
	Calls  float64  `json:"calls"`          // in a call of the model: loops repeat it
	Time   float64  `json:"us"`             // of all its calls in a call of the model, median
	Share  float64  `json:"share"`          // of the time of all kernels
	MACs   int64    `json:"macs,omitempty"` // of all its calls
	GFLOPS float64  `json:"gflops,omitempty"`
	OfPeak float64  `json:"of_peak,omitempty"`
}

// Options say what to measure.
type Options struct {
	Via     []string // of c, go, rt; in order
	For     time.Duration
	Compile compile.Options
	CC      string   // the C compiler; "" is gcc
	CFlags  []string // nil is -O3 -march=native
	Inputs  []string // files and numbers; nil are the case's, else random ones
}

// ways are what Options.Via may name.
const ways = "c, go, rt"

// UnknownWayError says that Options.Via names what is no way.
type UnknownWayError struct{ Name string }

func (e *UnknownWayError) Error() string {
	return fmt.Sprintf("%q cannot be measured: take %s", e.Name, ways)
}

// ModelError is an error that is the model's, or its inputs', fault.
type ModelError struct{ Err error }

func (e *ModelError) Error() string { return e.Err.Error() }

func (e *ModelError) Unwrap() error { return e.Err }

// Model measures a model file, or the first model of a case folder.
func Model(ctx context.Context, path string, opt Options) (*Report, error) {
	for _, name := range opt.Via {
		if !slices.Contains(strings.Split(ways, ", "), name) {
			return nil, &UnknownWayError{name}
		}
	}
	model, inputs, err := inputsOf(path, opt.Inputs)
	if err != nil {
		return nil, &ModelError{err}
	}
	r := &Report{Model: filepath.Base(model)}
	if dir := filepath.Base(filepath.Dir(model)); dir != "." && dir != string(filepath.Separator) {
		r.Model = dir + "/" + r.Model
	}
	peak, err := NewPeak(ctx)
	if missing, ok := errors.AsType[*toolchain.MissingError](err); ok {
		r.Notes = append(r.Notes, fmt.Sprintf("the machine's peak is not known: %v", missing))
	} else if err != nil {
		return nil, err
	}
	defer peak.Close()
	for _, name := range opt.Via {
		if _, err := peak.Measure(ctx); err != nil {
			return nil, err
		}
		w, err := measure(ctx, name, model, inputs, opt)
		if err != nil {
			return nil, fmt.Errorf("--via=%s: %w", name, err)
		}
		r.Ways = append(r.Ways, w)
	}
	if r.Peak, err = peak.Measure(ctx); err != nil {
		return nil, err
	}
	for _, w := range r.Ways {
		w.compare(r.Peak)
		if w.P90 > busy*w.P10 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: the times spread as they do beside other programs; the best tells more of the code", w.Name))
		}
	}
	return r, nil
}

// inputsOf finds the model file and what to call it with.
func inputsOf(path string, words []string) (model string, inputs []tensor.Value, err error) {
	model = path
	if _, err := os.Stat(filepath.Join(path, "meta.json")); err == nil {
		c, err := testcase.Read(path)
		if err != nil {
			return "", nil, err
		}
		model = filepath.Join(path, c.Models[0])
		if words == nil && len(c.Calls) > 0 {
			return model, c.Calls[0].Inputs, nil
		}
	}
	var given *record.Given
	if words == nil {
		given, err = record.Random(model, 1)
	} else {
		given, err = record.Inputs(model, words)
	}
	if err != nil {
		return "", nil, err
	}
	return model, given.Values, nil
}

// measure runs a model one way, plain and instrumented.
func measure(ctx context.Context, name, model string, inputs []tensor.Value, opt Options) (*Way, error) {
	job := way.Job{
		Name:  filepath.Base(model),
		Open:  func() (*ir.Program, io.Closer, error) { return compile.Read(model) },
		Calls: []way.Call{{Inputs: inputs, For: opt.For}},
	}
	plain, err := call(ctx, opt.way(name, false), job)
	if err != nil {
		return nil, err
	}
	probed, err := call(ctx, opt.way(name, true), job)
	if err != nil {
		return nil, fmt.Errorf("instrumented: %w", err)
	}
	c := plain.Calls[0]
	times := NewSample(c.Times)
	w := &Way{
		Name: name, How: opt.how(name), Calls: len(c.Times),
		Best: micro(times.At(0)), Median: micro(times.Median()), P10: micro(times.At(0.1)), P90: micro(times.At(0.9)),
		MACs: c.MACs, Arena: plain.Arena, Weights: plain.Weights,
	}
	w.Probed = micro(NewSample(probed.Calls[0].Times).Median())
	sum := int64(0)
	for i, s := range probed.Steps[0] {
		if k := newKernel(s, probed.Calls[0].Steps[i]); k != nil {
			w.Kernels = append(w.Kernels, k)
			sum += k.MACs
		}
	}
	if w.MACs == 0 { // loops have some: they are known now that they ran
		w.MACs = sum
	}
	slices.SortStableFunc(w.Kernels, func(a, b *Kernel) int {
		switch {
		case a.Time > b.Time:
			return -1
		case a.Time < b.Time:
			return 1
		}
		return 0
	})
	return w, nil
}

// way is a way to run the model.
func (opt Options) way(name string, probes bool) way.Way {
	s := way.Settings{Options: opt.Compile, Limit: max(time.Minute, 3*opt.For)}
	s.Options.Probes = probes
	switch name {
	case "go":
		return way.Go{Settings: s}
	case "rt":
		return way.RT{Settings: s}
	}
	cc, flags := opt.compiler()
	return way.C{Settings: s, Target: toolchain.Target{Name: cc, Compiler: cc, Flags: append([]string{"-std=c99"}, flags...), Libs: []string{"-lm"}}}
}

func (opt Options) compiler() (cc string, flags []string) {
	cc, flags = opt.CC, opt.CFlags
	if cc == "" {
		cc = "gcc"
	}
	if flags == nil {
		flags = []string{"-O3", "-march=native"}
	}
	return cc, flags
}

func (opt Options) how(name string) string {
	switch name {
	case "go":
		return "go build"
	case "rt":
		return "the .pte, interpreted"
	}
	cc, flags := opt.compiler()
	return strings.Join(append([]string{cc}, flags...), " ")
}

// call makes the job's call.
func call(ctx context.Context, w way.Way, job way.Job) (*way.Result, error) {
	var result *way.Result
	w.Run(ctx, []way.Job{job}, func(_ int, r *way.Result) { result = r })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case result == nil || result.Err == nil && len(result.Calls) == 0:
		return nil, errors.New("the model was not called")
	case result.Err != nil:
		return nil, result.Err
	}
	return result, result.Calls[0].Err
}

// busy is from how many times the tenth percentile on the ninetieth tells that
// the machine does other things.
const busy = 1.5

func micro(d time.Duration) float64 { return float64(d) / 1e3 }

// newKernel returns what is known of a step, nil if it did not run.
func newKernel(s way.Step, r way.StepRun) *Kernel {
	if r.Calls == 0 {
		return nil
	}
	k := &Kernel{
		Name: s.Kernel, Type: s.Type, Calls: r.Calls, Time: micro(NewSample(r.Times).Median()),
		MACs: int64(float64(r.MACs)*r.Calls + 0.5), Ops: []string{}, Lines: []string{}, Nodes: []string{},
	}
	add := func(list []string, s string) []string {
		if s == "" || slices.Contains(list, s) {
			return list
		}
		return append(list, s)
	}
	for _, o := range s.From {
		k.Ops, k.Nodes = add(k.Ops, ir.OpBase(o.Op)), add(k.Nodes, o.Node)
	}
	for _, l := range locations(s.From) {
		k.Lines = add(k.Lines, l.String())
	}
	return k
}

// locations are the known places of origins; one without a module is left out
// where the line occurs with one.
func locations(from []native.Origin) []ir.Location {
	var all []ir.Location
	for _, o := range from {
		if o.Loc != (ir.Location{}) {
			all = append(all, o.Loc)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(l ir.Location) bool {
		return l.Module == "" && slices.ContainsFunc(all, func(x ir.Location) bool { return x.File == l.File && x.Line == l.Line && x.Module != "" })
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
	w.GFLOPS, w.OfPeak = speed(w.MACs, w.Median)
	sum := 0.0
	for _, k := range w.Kernels {
		sum += k.Time
	}
	for _, k := range w.Kernels {
		k.GFLOPS, k.OfPeak = speed(k.MACs, k.Time)
		if sum > 0 {
			k.Share = k.Time / sum
		}
	}
}
