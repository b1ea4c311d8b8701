// Package conform holds cases against what models compute: every case, each
// model file in it, each way.
package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/lower/raise"
)

// Miss is one model file of a case that did not give what it should, one way.
type Miss struct {
	Case    string `json:"case"`  // folder
	Model   string `json:"model"` // base name of the model file
	Way     string `json:"way"`
	Call    int    `json:"call"`   // -1: the model could not be compiled
	Output  int    `json:"output"` // index; -1: the call failed
	Mutated bool   `json:"mutated,omitempty"`
	Problem string `json:"problem"`
}

// String is the miss in one line.
func (m Miss) String() string {
	where := ""
	if m.Call > 0 {
		where = fmt.Sprintf(" call %d", m.Call)
	}
	if m.Output >= 0 {
		kind := "output"
		if m.Mutated {
			kind = "input after the call"
		}
		where += fmt.Sprintf(" %s %d", kind, m.Output)
	}
	return fmt.Sprintf("%s %s via %s%s: %s", m.Case, m.Model, m.Way, where, m.Problem)
}

// Result is what came of a model file of a case, one way.
type Result struct {
	Case    string `json:"case"`
	Model   string `json:"model"`
	Way     string `json:"way"`
	Calls   int    `json:"calls"`
	Arena   int64  `json:"arena"`   // bytes that the method with the largest one plans
	Weights int64  `json:"weights"` // bytes of constants
	// Problem is null if it passed.
	Problem *string `json:"problem" jsonschema:"oneof_type=string;null"`
}

// Report counts model files times ways. Its JSON has the form of schema.json.
type Report struct {
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Misses  []Miss   `json:"misses"` // at most one for each model file and way
	Results []Result `json:"results"`
}

// String is the last line of a check.
func (r *Report) String() string { return fmt.Sprintf("%d passed, %d failed", r.Passed, r.Failed) }

// These are what is built into one program: a number of models, and bytes of model
// files, most of which are weights. What compilers address by 32 bits ends at 2 GiB.
const (
	batchModels = 48
	batchBytes  = 1 << 30
)

// batches divides items into programs. A model that is larger than a batch has its own.
func batches(items []item) iter.Seq[[]item] {
	return func(yield func([]item) bool) {
		first, bytes := 0, int64(0)
		for i, it := range items {
			full := i-first == batchModels || bytes+it.bytes > batchBytes
			if i > first && full {
				if !yield(items[first:i]) {
					return
				}
				first, bytes = i, 0
			}
			bytes += it.bytes
		}
		if first < len(items) {
			yield(items[first:])
		}
	}
}

// Check runs every case at or below the roots, each way. Missed, if not nil,
// sees each miss at once, step each model file done. The error is a
// [*testcase.Error] for roots that cannot be read, that of ctx, or a
// [*toolchain.MissingError] for a way whose compiler is not installed: that is no
// miss.
func Check(ctx context.Context, roots []string, ways []way.Way, missed func(Miss),
	step func(done, all int)) (*Report, error) {
	dirs, err := testcase.Find(roots...)
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, &testcase.Error{Err: fmt.Errorf("no case at or below %s",
			strings.Join(roots, ", "))}
	}
	c := &checker{report: &Report{Misses: []Miss{}, Results: []Result{}}, missed: missed, step: step}
	for _, dir := range dirs {
		if err := c.add(dir); err != nil {
			return nil, err
		}
	}
	c.all = len(c.items) * len(ways)
	for _, w := range ways {
		for part := range batches(c.items) {
			if err := c.run(ctx, w, part); err != nil {
				return nil, err
			}
		}
	}
	return c.report, nil
}

// item is one model file of a case.
type item struct {
	dir, model string
	bytes      int64 // of the file, or of an unpacked archive's folder
}

type checker struct {
	report    *Report
	items     []item
	missed    func(Miss)
	step      func(done, all int)
	done, all int
}

func (c *checker) add(dir string) error {
	k, err := testcase.Read(dir)
	if err != nil {
		return err
	}
	for _, m := range k.Models {
		c.items = append(c.items, item{dir, m, size(filepath.Join(dir, m))})
	}
	return nil
}

// size returns the bytes of the files at and below path. What cannot be read has none: it
// is an error where it is opened.
func size(path string) (bytes int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return bytes
}

// run checks some items one way. Their tensors are in memory only that long.
func (c *checker) run(ctx context.Context, w way.Way, items []item) error {
	var missing *toolchain.MissingError
	cases := make([]*testcase.Case, len(items))
	jobs := make([]way.Job, len(items))
	for i, it := range items {
		k, err := testcase.Read(it.dir)
		if err != nil { // it was readable a moment ago
			jobs[i] = way.Job{Name: it.dir, Open: func() (*ir.Program, io.Closer, error) {
				return nil, nil, err
			}}
			continue
		}
		cases[i] = k
		jobs[i] = Job(k, it.model)
	}
	w.Run(ctx, jobs, func(i int, r *way.Result) {
		if ctx.Err() != nil || errors.As(r.Err, &missing) {
			return // nobody knows
		}
		miss := check(ctx, cases[i], jobs[i], r)
		c.done++
		result := Result{Case: items[i].dir, Model: items[i].model, Way: w.Name(),
			Calls: len(jobs[i].Calls), Arena: r.Arena, Weights: r.Weights}
		if miss != nil {
			result.Problem = &miss.Problem
		}
		c.report.Results = append(c.report.Results, result)
		if miss == nil {
			c.report.Passed++
		} else {
			miss.Case, miss.Model, miss.Way = items[i].dir, items[i].model, w.Name()
			c.report.Failed++
			c.report.Misses = append(c.report.Misses, *miss)
			if c.missed != nil {
				c.missed(*miss)
			}
		}
		if c.step != nil {
			c.step(c.done, c.all)
		}
	})
	if missing != nil {
		return missing
	}
	return context.Cause(ctx)
}

// Job returns a case's model file with the case's calls.
func Job(c *testcase.Case, model string) way.Job {
	files := c.Files(model)
	form := strings.TrimPrefix(strings.TrimSuffix(model, filepath.Ext(model)), "model")
	j := way.Job{
		Name: filepath.Base(c.Dir) + strings.ReplaceAll(form, ".", "_"),
		File: files[0],
		Open: func() (*ir.Program, io.Closer, error) { return compile.Read(files[0]) },
	}
	if strings.Contains(model, "*") {
		j.File = ""
		j.Open = func() (*ir.Program, io.Closer, error) {
			var methods []compile.MethodFile
			for i, path := range files {
				methods = append(methods, compile.MethodFile{Name: c.Methods[i], Path: path})
			}
			return compile.ReadMethods(methods, c.Share)
		}
	}
	for i, call := range c.Calls {
		j.Calls = append(j.Calls, way.Call{Method: call.Method, Inputs: call.Inputs,
			Keep: c.Stateful && i > 0})
	}
	return j
}

// excluded reports whether a guard of the model excludes a call. What a model
// gives in Python was recorded for some such calls; PyTorch's exported program
// refuses them. The call that the model was exported with is never excluded.
func excluded(ctx context.Context, j way.Job, call int) bool {
	if call == 0 || j.Calls[call].Keep {
		return false
	}
	j.Calls = j.Calls[call : call+1]
	found := false
	way.Reference{}.Run(ctx, []way.Job{j}, func(_ int, r *way.Result) {
		if r.Err == nil && errors.Is(r.Calls[0].Err, interp.ErrAssert) {
			text := r.Calls[0].Err.Error()
			found = strings.Contains(text, pt2.GuardFailed) || strings.Contains(text, raise.Refusal)
		}
	})
	return found
}

// check returns the first miss of a result, nil if it is as recorded.
func check(ctx context.Context, c *testcase.Case, j way.Job, r *way.Result) *Miss {
	if r.Err != nil {
		return &Miss{Call: -1, Output: -1, Problem: Brief(r.Err)}
	}
	tol := compare.Tolerance{Terms: slices.Max(append([]int64{1}, r.Terms...)), Slack: c.Slack,
		Class: c.ByClass}
	for i, want := range c.Calls {
		got := r.Calls[i]
		if want.Refused != "" {
			if got.Err == nil {
				return &Miss{Call: i, Output: -1, Problem: "it gives a result, PyTorch refuses: " +
					want.Refused}
			}
			var of *way.InputError
			if !errors.As(got.Err, &of) ||
				strings.HasPrefix(want.Refused, "Guard") && !errors.Is(got.Err, way.ErrShape) {
				return &Miss{Call: i, Output: -1,
					Problem: "PyTorch refuses it otherwise: " + Brief(got.Err)}
			}
			continue
		}
		if errors.Is(got.Err, way.ErrShape) && excluded(ctx, j, i) {
			continue
		}
		if got.Err != nil {
			return &Miss{Call: i, Output: -1, Problem: Brief(got.Err)}
		}
		if c.Unrecorded {
			continue
		}
		if len(got.Outputs) != len(want.Outputs) {
			return &Miss{Call: i, Output: -1, Problem: fmt.Sprintf("%d outputs, want %d",
				len(got.Outputs), len(want.Outputs))}
		}
		for k := range want.Outputs {
			tol := tol
			if k < len(want.Limits) {
				tol.Own = want.Limits[k]
			}
			if miss := compare.Values(got.Outputs[k], want.Outputs[k], tol); miss != nil {
				return &Miss{Call: i, Output: k, Problem: miss.Error()}
			}
		}
		if miss := checkMutated(i, &got, &want, tol); miss != nil {
			return miss
		}
	}
	return nil
}

func checkMutated(i int, got *way.CallResult, want *testcase.Call, tol compare.Tolerance) *Miss {
	for k, w := range want.Mutated {
		if w == nil {
			continue
		}
		if got.Mutated[k] == nil {
			return &Miss{Call: i, Output: k, Mutated: true, Problem: "it is not written"}
		}
		if miss := compare.Tensors(got.Mutated[k], w, tol); miss != nil {
			return &Miss{Call: i, Output: k, Mutated: true, Problem: miss.Error()}
		}
	}
	return nil
}
