// Package measure tells how fast compiled models run: calls, the kernels in
// them with the Python lines they came from, and how far that is from what the
// machine can do.
//
// Model is the door; its Report prints as text, JSON and a picture.
package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// Options say what to measure.
type Options struct {
	Via     []string // of c, go, rt, rt-optimize; in order
	For     time.Duration
	Compile compile.Options
	Open    record.Opener // reads the model; nil reads the file
	Method  string        // what is called; "" is the first
	CC      string        // the C compiler; "" is gcc
	CFlags  []string      // nil is -O3 -march=native
	Inputs  []string      // files and numbers; nil are the case's, else random ones
	Memory  int64         // bytes that a call may take; 0 is way.DefaultMemory
	Limit   time.Duration // of a call; 0 is way.DefaultTime
	Step    func(string)  // if not nil, is told what is measured next
}

// ways are what Options.Via may name.
var ways = []struct {
	name string
	make func(s way.Settings, opt Options) way.Way
	how  func(opt Options) string
}{
	{way.C{}.Name(), func(s way.Settings, opt Options) way.Way {
		cc, flags := opt.compiler()
		return way.C{Settings: s, Unguarded: true, Target: toolchain.Target{Name: cc, Compiler: cc,
			Flags: append([]string{"-std=c99"}, flags...), Libs: []string{"-lm"}}}
	}, func(opt Options) string {
		cc, flags := opt.compiler()
		return strings.Join(append([]string{cc}, flags...), " ")
	}},
	{way.Go{}.Name(), func(s way.Settings, _ Options) way.Way { return way.Go{Settings: s} },
		func(Options) string { return "go build" }},
	{way.RT{}.Name(), func(s way.Settings, _ Options) way.Way { return way.RT{Settings: s} },
		func(Options) string { return "the .pte, interpreted" }},
	{way.RT{Optimize: true}.Name(), func(s way.Settings, _ Options) way.Way {
		return way.RT{Settings: s, Optimize: true}
	}, func(Options) string { return "the .pte, optimized when it is loaded" }},
}

// wayNames are the names of ways.
func wayNames() []string {
	var names []string
	for _, w := range ways {
		names = append(names, w.name)
	}
	return names
}

// UnknownWayError says that Options.Via names what is no way.
type UnknownWayError struct{ Name string }

func (e *UnknownWayError) Error() string {
	return fmt.Sprintf("%q cannot be measured: take %s", e.Name, strings.Join(wayNames(), ", "))
}

// ModelError is an error that is the model's, or its inputs', fault.
type ModelError struct{ Err error }

func (e *ModelError) Error() string { return e.Err.Error() }

func (e *ModelError) Unwrap() error { return e.Err }

// Model measures a model file, or the first model of a case folder.
func Model(ctx context.Context, path string, opt Options) (*Report, error) {
	for _, name := range opt.Via {
		if !slices.Contains(wayNames(), name) {
			return nil, &UnknownWayError{name}
		}
	}
	job, err := opt.job(path)
	if err != nil {
		return nil, &ModelError{err}
	}
	r := &Report{Model: job.Name}
	if dir := filepath.Base(filepath.Dir(job.File)); dir != "." && dir != string(filepath.Separator) {
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
		w, err := measure(ctx, name, job, opt)
		if err != nil {
			return nil, &ModelError{fmt.Errorf("--via=%s: %w", name, err)}
		}
		r.Ways = append(r.Ways, w)
	}
	if r.Peak, err = peak.Measure(ctx); err != nil {
		return nil, err
	}
	for _, w := range r.Ways {
		w.compare(r.Peak)
		if w.P90 > busy*w.P10 {
			r.Notes = append(r.Notes,
				fmt.Sprintf(
					"%s: the times spread as they do beside other programs: the best tells of the code, "+
						"the median of them too", w.Name))
		}
	}
	return r, nil
}

// job finds the model file, the method, and what to call it with.
func (opt Options) job(path string) (job way.Job, err error) {
	model, open, method, words := path, opt.Open, opt.Method, opt.Inputs
	call := way.Call{For: opt.For}
	if _, err := os.Stat(filepath.Join(path, "meta.json")); err == nil {
		c, err := testcase.Read(path)
		if err != nil {
			return job, err
		}
		model = filepath.Join(path, c.Models[0])
		if len(c.Methods) > 0 {
			open = conform.Job(c, c.Models[0]).Open
		}
		for _, x := range c.Calls {
			if method == "" || slices.Index(c.Methods, method) == x.Method {
				call.Method, call.Inputs = x.Method, x.Inputs
				break
			}
		}
	}
	if open == nil {
		open = record.File(model, opt.Compile.Custom.Declared()...)
	}
	if words != nil || call.Inputs == nil {
		var given *record.Given
		if words == nil {
			given, err = record.Random(open, method, 1, opt.Memory)
		} else {
			given, err = record.Inputs(open, method, words, opt.Memory)
		}
		if err != nil {
			return job, err
		}
		call.Method, call.Inputs = given.Method, given.Values
	}
	return way.Job{Name: filepath.Base(model), File: model, Open: open,
		Calls: []way.Call{call}}, nil
}

// measure runs a model one way, plain and instrumented.
func measure(ctx context.Context, name string, job way.Job, opt Options) (*Way, error) {
	if opt.Step == nil {
		opt.Step = func(string) {}
	}
	opt.Step("measure calls: " + name)
	plain, err := call(ctx, opt.way(name, false), job)
	if err != nil {
		return nil, err
	}
	c := plain.Calls[0]
	times := NewSample(c.Times)
	w := &Way{
		Name: name, How: opt.how(name), Calls: len(c.Times),
		Best: micro(times.Least()), Median: micro(times.Median()), P10: micro(times.At(0.1)),
		P90:  micro(times.At(0.9)),
		MACs: c.MACs, Arena: plain.Arena, Weights: plain.Weights,
	}
	opt.Step("measure kernels: " + name)
	probed, err := call(ctx, opt.way(name, true), job)
	if err != nil {
		return nil, fmt.Errorf("instrumented: %w", err)
	}
	w.Probed = micro(NewSample(probed.Calls[0].Times).Median())
	sum := int64(0)
	for i, s := range probed.Steps[job.Calls[0].Method] {
		if k := newKernel(s, probed.Calls[0].Steps[i]); k != nil {
			w.add(k)
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
	s := way.Settings{Options: opt.Compile, Memory: opt.Memory,
		Limit: max(cmp.Or(opt.Limit, way.DefaultTime), 3*opt.For)}
	s.Options.Profile = probes
	return ways[slices.Index(wayNames(), name)].make(s, opt)
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
	return ways[slices.Index(wayNames(), name)].how(opt)
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
