package conform

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
)

// In fixed point the integers of a quantized network are the same in C for microcontrollers and
// for hosts, in Go and in the interpreter. Of the graph that quantizes and dequantizes they
// differ by one step at most, each operator by itself.
func TestFixedPoint(t *testing.T) {
	tier.Needs(t, tier.Normal)
	testFixedPoint(t, "fixed", 1000, "../cases/q_*", "../../../shared/models*/q_*")
}

// CMSIS-NN rounds twice, so that more of them differ.
func TestCMSISNNPoint(t *testing.T) {
	tier.Needs(t, tier.Normal)
	testFixedPoint(t, compile.LibraryCMSISNN, 500, "../cases/q_*",
		"../../../shared/models*/q_*")
}

// testFixedPoint has one of so many elements at most differ from the graph.
func testFixedPoint(t *testing.T, requantize string, of int, cases ...string) {
	whole, cut := quantizedCases(t, cases...)
	fixed := func(optimize string) way.Settings {
		return way.Settings{Options: compile.Options{Requantize: requantize, Optimize: optimize}}
	}
	elements, differ := againstGraph(t, whole, cut, way.Reference{Options: fixed("").Options})
	if differ*of > elements {
		t.Errorf("%d of %d elements differ", differ, elements)
	}
	want := integersOf(t, way.Reference{Options: fixed("").Options}, whole)
	for _, w := range []way.Way{way.C{Settings: fixed("size")}, way.C{Settings: fixed("speed")},
		way.Go{Settings: fixed("")}} {
		sameIntegers(t, w, whole, want)
	}
}

// In float they are the same on this machine as without its vectors, and whether or not the
// compiler may make one operation of a product and a sum. By default gcc and clang do where the
// machine has it.
func TestContraction(t *testing.T) {
	tier.Needs(t, tier.Normal)
	jobs, _ := quantizedCases(t, "../cases/q_ties", "../cases/q_residual", "../cases/q_bias",
		"../cases/q_images", "../cases/q_lenet_static", "../cases/q_scales_apart")
	want := integersOf(t, way.Reference{}, jobs)
	targets := []toolchain.Target{toolchain.GCC().With("-std=gnu99", "-O3", "-march=native")}
	if processorHas("avx2") {
		targets = append(targets, toolchain.GCC().With("-O3", "-mavx2", "-mfma"),
			toolchain.Clang().With("-O3", "-mavx2", "-mfma"))
	}
	for _, target := range targets {
		sameIntegers(t, way.C{Target: target}, jobs, want)
	}
}

// quantizedCases are jobs of cases that PyTorch quantized, with integers as outputs: whole, and cut
// such that every operator of int8 is by itself.
func quantizedCases(t *testing.T, patterns ...string) (whole, cut []way.Job) {
	t.Helper()
	for _, pattern := range patterns {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			c, err := testcase.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, model := range c.Models {
				job := Job(c, model)
				whole = append(whole, withIntegers(job, false))
				cut = append(cut, withIntegers(job, true))
			}
		}
	}
	return whole, cut
}

// sameIntegers runs jobs in one way and compares their integers with what another gave.
func sameIntegers(t *testing.T, w way.Way, jobs []way.Job, want [][][]tensor.Value) {
	t.Helper()
	for i, calls := range integersOf(t, w, jobs) {
		for k, xs := range calls {
			for j, x := range xs {
				if string(x.Tensor.Data) != string(want[i][k][j].Tensor.Data) {
					t.Errorf("%s: %s: integers %d differ", w.Name(), jobs[i].File, j)
				}
			}
		}
	}
}

// againstGraph gives every operator of quantized networks, by itself, the integers that the graph
// of quantize and dequantize nodes has there, runs it in one way or several, and counts elements
// that differ from the graph's. By more than a step none may. All ways give the same. Whole are
// the jobs, cut the same with every operator by itself.
func againstGraph(t *testing.T, whole, cut []way.Job, ways ...way.Way) (elements, differ int) {
	t.Helper()
	graph := integersOf(t, way.Reference{Pipeline: lower.ToCore, Limit: time.Hour}, whole)
	for i := range cut {
		for k := range cut[i].Calls {
			c := &cut[i].Calls[k]
			c.Inputs = append(c.Inputs[:len(c.Inputs):len(c.Inputs)], graph[i][k]...)
		}
	}
	var first [][][]tensor.Value
	for _, w := range ways {
		got := integersOf(t, w, cut)
		if first == nil {
			first = got
		}
		for i, calls := range got {
			for k, xs := range calls {
				for j, x := range xs {
					if string(x.Tensor.Data) != string(first[i][k][j].Tensor.Data) {
						t.Errorf("%s: %s: integers %d are not those of %s", w.Name(), cut[i].Name, j,
							ways[0].Name())
					}
				}
			}
		}
	}
	for i, calls := range first {
		for k, xs := range calls {
			for j, x := range xs {
				for e, b := range x.Tensor.Data {
					elements++
					d := int(int8(b)) - int(int8(graph[i][k][j].Tensor.Data[e]))
					if d < -1 || d > 1 {
						t.Errorf("%s: element %d of integers %d differs by %d", cut[i].Name, e, j, d)
					} else if d != 0 {
						differ++
					}
				}
			}
		}
	}
	t.Logf("%d of %d elements differ by a step", differ, elements)
	if elements == 0 {
		t.Error("there are no integers")
	}
	return elements, differ
}

// The integers of deep networks, element by element: each operator, given the graph's integers,
// makes the same in the interpreter, in C and in Go, and those of the graph in 99.9 %, never
// more than a step away. Over all layers a step becomes many.
func TestDeepIntegers(t *testing.T) {
	tier.Needs(t, tier.Normal)
	scheme, err := quantize.SchemeNamed("int8")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"trained_ic01", "trained_kws01"}
	for _, name := range append(names, tier.Of(nil, nil, []string{"tv_mobilenet_v2"})...) {
		t.Run(name, func(t *testing.T) {
			dir := "../../../shared/models/" + name
			if _, err := os.Stat(dir); err != nil {
				t.Skip("the recorded cases are not beside the repository")
			}
			job := quantizedJob(t, dir, scheme)
			elements, differ := againstGraph(t, []way.Job{withIntegers(job, false)},
				[]way.Job{withIntegers(job, true)}, way.Reference{Limit: time.Hour}, way.C{}, way.Go{},
				way.C{Settings: way.Settings{Options: compile.Options{Target: "scalar",
					Optimize: "size"}}})
			if differ*1000 > elements {
				t.Errorf("%d of %d elements differ", differ, elements)
			}
		})
	}
}

// withIntegers is job with all tensors of int8 that nodes quantize with constant scales as
// outputs. Cut means that these are inputs to what follows, too, so that every operator of int8
// is by itself.
func withIntegers(job way.Job, cut bool) way.Job {
	open := job.Open
	job.Open = func() (*ir.Program, io.Closer, error) {
		p, closer, err := open()
		if err != nil {
			return nil, nil, err
		}
		// The archive names more in the graph than etgen's passes make functional.
		if err := lower.Functional.Run(&lower.Context{Table: ops.Standard()}, p, nil); err != nil {
			return nil, nil, err
		}
		p.Dialect = ""
		for _, m := range p.Methods {
			integersOut(m, cut)
		}
		return p, closer, nil
	}
	job.Calls = append([]way.Call(nil), job.Calls...)
	return job
}

func integersOut(m *ir.Method, cut bool) {
	m.In, m.Out, m.Graph.Outputs, m.Outputs = nil, nil, nil, nil
	names := ir.NewNames(m)
	given := map[*ir.Value]*ir.Value{}
	for _, n := range m.Graph.Nodes {
		for i := range n.Args {
			n.Args[i].Value = ir.MapRefs(n.Args[i].Value, func(v *ir.Value) ir.Arg {
				if g := given[v]; g != nil {
					v = g
				}
				return ir.Ref{Value: v}
			})
		}
		if !strings.HasPrefix(n.Op, "quantized_decomposed.quantize_per_tensor.default") ||
			n.Outputs[0].Type.DType != ir.Int8 {
			continue
		}
		v := n.Outputs[0]
		m.Graph.Outputs = append(m.Graph.Outputs, ir.Ref{Value: v})
		m.Outputs = append(m.Outputs, ir.OutputSpec{Kind: ir.UserOutput})
		if cut {
			in := &ir.Value{Name: names.Fresh("given"), Type: v.Type}
			m.Graph.Inputs = append(m.Graph.Inputs, in)
			m.Inputs = append(m.Inputs, ir.InputSpec{Kind: ir.UserInput})
			given[v] = in
		}
	}
}

// integersOf runs jobs and returns of each call the outputs of int8.
func integersOf(t *testing.T, w way.Way, jobs []way.Job) [][][]tensor.Value {
	t.Helper()
	got := make([][][]tensor.Value, len(jobs))
	w.Run(t.Context(), jobs, func(i int, r *way.Result) {
		if r.Err != nil {
			t.Errorf("%s: %s: %v", w.Name(), jobs[i].File, r.Err)
		}
		for _, c := range r.Calls {
			if c.Err != nil {
				t.Errorf("%s: %s: %v", w.Name(), jobs[i].File, c.Err)
			}
			var ints []tensor.Value
			for _, o := range c.Outputs {
				if o.Tensor != nil && o.Tensor.DType == ir.Int8 {
					ints = append(ints, o)
				}
			}
			got[i] = append(got[i], ints)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return got
}
