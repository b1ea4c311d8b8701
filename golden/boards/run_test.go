package boards

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

const (
	timeLimit = 2 * time.Minute // for all calls of a model in the emulator
	// bytes of stack that one function takes, that of the calls with their arguments
	maxFrame = 336
	maxStack = 768     // bytes of stack that a call takes in all
	maxText  = 8 << 10 // bytes that the code of any model here takes
)

// onBoard are the models that run on the board, with what they may take of the
// arena. Classifiers must name every recorded input by its label.
var onBoard = []struct {
	dir      string
	arena    int64 // bytes at most
	classify bool
}{
	{shared + "/kws_trained", 42240, true},
	{sharedPTE + "/kws_cortex_m_int8", 10240, true},
	{shared + "/mlperf_kws_dscnn", 42240, false},
	{shared + "/mlperf_vww_mobilenetv1", 65536, false},
	{shared + "/mlperf_ic_resnet8", 135168, false},
	{shared + "/mlperf_ad_autoencoder", 1024, false},
	{shared + "/lenet", 18816, false},
	{ours + "/digits", 7168, true},
	{ours + "/lenet", 2048, false},
	{ours + "/lstm", 1024, false},
	{ours + "/attention_causal", 4096, false},
	{ours + "/cache", 1024, false},
}

// modelName is the end of a case's path: "cases/digits".
func modelName(dir string) string {
	return filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)
}

// Models, compiled for size as is usual there, run on a Cortex-M4 as PyTorch
// says, within their limits, in an arena that no plan can make smaller, and compute
// nothing in double precision, which that core has no instructions for.
func TestCortexM4(t *testing.T) {
	tier.Needs(t, tier.Normal)
	target := toolchain.CortexM4()
	skipWithout(t, target.Compiler, "qemu-system-arm")
	var rows []row
	for _, m := range onBoard {
		t.Run(modelName(m.dir), func(t *testing.T) {
			g := generate(t, readCase(t, m.dir), target)
			dir := t.TempDir()
			report, err := g.execute(t.Context(), target, dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Doubles) > 0 {
				t.Errorf("double-precision functions are linked: %v", report.Doubles)
			}
			if g.arena.Size > m.arena {
				t.Errorf("the arena has %d bytes, at most %d are wanted", g.arena.Size, m.arena)
			}
			if g.arena.Size > g.arena.LowerBound {
				t.Errorf("the arena has %d bytes, the plan's lower bound is %d", g.arena.Size,
					g.arena.LowerBound)
			}
			if report.Sizes.Text >= maxText {
				t.Errorf("the code takes %d bytes, less than %d are wanted",
					report.Sizes.Text, maxText)
			}
			checkFrames(t, g, dir)
			if report.Stack > maxStack {
				t.Errorf("a call takes %d bytes of stack, at most %d are wanted",
					report.Stack, maxStack)
			}
			checkOutputs(t, g, report, m.classify)
			rows = append(rows, newRow(modelName(m.dir), g, report))
		})
	}
	checkSizes(t, target, rows)
}

// checkFrames holds the stack frames of the generated functions, which were
// compiled in dir, against the limit.
func checkFrames(t *testing.T, g *generated, dir string) {
	t.Helper()
	frames, err := toolchain.StackFrames(filepath.Join(dir, g.name+".o"))
	if err != nil || len(frames) == 0 {
		t.Fatalf("%d stack frames, error %v", len(frames), err)
	}
	most := maxFrame
	if inDoubles(g.kase) {
		most *= 2 // each in two registers
	}
	for _, f := range frames {
		if !f.Bounded || f.Bytes > most {
			t.Errorf("function %s takes %d bytes of stack, bounded: %t; at most %d are wanted",
				f.Function, f.Bytes, f.Bounded, most)
		}
	}
}

// checkOutputs compares every call with what PyTorch gave.
func checkOutputs(t *testing.T, g *generated, report *baremetal.Report, classify bool) {
	t.Helper()
	tol := compare.Tolerance{Terms: g.terms, Slack: g.kase.Slack, Class: g.kase.ByClass}
	named := 0
	for i, got := range report.Runs {
		call := g.kase.Calls[i]
		if got.Status != 0 {
			t.Fatalf("call %d: status %d", i, got.Status)
		}
		var want []*tensor.Tensor // the harness prints in the order of the arguments
		for _, m := range call.Mutated {
			if m != nil {
				want = append(want, m)
			}
		}
		for _, o := range call.Outputs {
			if o.Tensor != nil {
				want = append(want, o.Tensor)
			}
		}
		if len(got.Outputs) != len(want) {
			t.Fatalf("call %d: %d outputs, want %d", i, len(got.Outputs), len(want))
		}
		for k, w := range want {
			read := *w
			read.Data = got.Outputs[k]
			if miss := compare.Tensors(&read, w, tol); miss != nil {
				t.Errorf("call %d, output %d: %v", i, k, miss)
			}
			if k == 0 && classify && class(&read, g.kase.Labels) == call.Label {
				named++
			}
		}
	}
	if !classify {
		return
	}
	t.Logf("%d of %d recordings are named rightly", named, len(g.kase.Calls))
	if named != len(g.kase.Calls) || named < 10 {
		t.Errorf("%d of %d recordings are named rightly, want all of at least 10", named,
			len(g.kase.Calls))
	}
}

// class is the label of the largest element.
func class(t *tensor.Tensor, labels []string) string {
	best := compare.Largest(t)
	if best >= len(labels) {
		return fmt.Sprint(best)
	}
	return labels[best]
}
