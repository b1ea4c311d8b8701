package safety

import (
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/tuned"
)

// cmsisNN returns a compiler that links CMSIS-NN: a stand-in that computes by the library's
// documentation or, if ETGEN_CMSIS_NN names a folder with the headers in Include and
// libcmsis-nn.a for this machine, the library itself.
func cmsisNN(t *testing.T) toolchain.Target {
	t.Helper()
	folder, err := filepath.Abs("testdata/cmsisnn")
	if err != nil {
		t.Fatal(err)
	}
	target := toolchain.GCC().With("-O1", "-I"+folder)
	linked := []string{}
	if real := os.Getenv("ETGEN_CMSIS_NN"); real != "" {
		target = toolchain.GCC().With("-O1", "-isystem", filepath.Join(real, "Include"))
		linked = append(linked, filepath.Join(real, "libcmsis-nn.a"))
	} else if linked, err = target.Compile(t.Context(), t.TempDir(),
		filepath.Join(folder, "standin.c")); err != nil {
		t.Fatal(err)
	}
	target.Libs = append(slices.Clone(target.Libs), linked...)
	return target
}

// C that calls CMSIS-NN gives the definition's bytes: every function of it that is called, with the
// calls of cortex_m operators that samples have, and networks of several layers.
func TestCMSISNNAgrees(t *testing.T) {
	tier.Needs(t, tier.Normal)
	var jobs []way.Job
	for _, job := range sampleJobs(t) {
		if strings.HasPrefix(job.operator, "cortex_m.") {
			jobs = append(jobs, constantParameters(t, job.Job))
		}
	}
	r := rand.New(rand.NewSource(2))
	for range tier.Of(4, 16, 24) {
		jobs = append(jobs, randomBytes(t, r))
	}
	want := runAll(t.Context(), way.Reference{}, jobs)
	got := runAll(t.Context(),
		way.C{Target: cmsisNN(t), Settings: way.Settings{Options: compile.Options{
			Target: "scalar", Library: compile.LibraryCMSISNN}}}, jobs)
	called := map[string]bool{}
	for i := range jobs {
		if err := sameBytes(want[i], got[i]); err != nil {
			t.Errorf("%s: %v", jobs[i].Name, err)
			continue
		}
		for _, k := range got[i].Native.Kernels {
			if k.Tuned != nil {
				called[k.Tuned.Name()] = true
			}
		}
	}
	for _, k := range tuned.CMSISNN() {
		if !called[k.Name] {
			t.Errorf("nothing calls %s", k.Name)
		}
	}
}

// constantParameters makes constants of the operands of job's methods that are no images: with the
// values of the calls, weights, biases, multipliers and shifts.
func constantParameters(t *testing.T, job way.Job) way.Job {
	t.Helper()
	p, _, err := job.Open()
	if err != nil {
		t.Fatal(err)
	}
	images := []string{"input", "self", "other", "lhs", "rhs_transposed"}
	calls := slices.Clone(job.Calls)
	for i, m := range p.Methods {
		g, n := m.Graph, m.Graph.Nodes[0]
		isImage := map[*ir.Value]bool{}
		for _, a := range n.Args {
			if ref, ok := a.Value.(ir.Ref); ok {
				isImage[ref.Value] = slices.Contains(images, a.Name)
			}
		}
		var inputs []*ir.Value
		var specs []ir.InputSpec
		given := calls[i].Inputs
		calls[i].Inputs = nil
		for k, v := range g.Inputs {
			if isImage[v] {
				inputs, specs = append(inputs, v), append(specs, m.Inputs[k])
				calls[i].Inputs = append(calls[i].Inputs, given[k])
				continue
			}
			v.Const = &ir.Constant{Type: v.Type, Data: ir.Bytes(given[k].Tensor.Data)}
			g.Constants = append(g.Constants, v)
		}
		g.Inputs, m.Inputs = inputs, specs
	}
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	job.Calls = calls
	job.Open = func() (*ir.Program, io.Closer, error) { return ir.Clone(p), nil, nil }
	return job
}
