package safety

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

// Every sample of every entry of the table, through the interpreter, C and Go.
// From definitions alone the three agree to the bit where nothing is summed; a
// sum may be taken in another order, and a tuned kernel is a second form, so
// those agree within the tolerance of cases.
func TestSamples(t *testing.T) {
	jobs := sampleJobs(t)
	some := tier.Some(jobs, 12, -1)
	for _, j := range jobs { // with kernels, whatever the others have
		if len(some) < len(jobs) && (j.operator == "aten.mm.default" ||
			j.operator == "aten.max_pool2d_with_indices.default") {
			some = append(some, j)
		}
	}
	jobs = some
	untuned := way.Settings{Options: compile.Options{Untuned: true, Planner: quick}}
	tuned := way.Settings{Options: compile.Options{Planner: quick}}
	reference := runSamples(t.Context(), way.Reference{}, jobs)
	for _, c := range []struct {
		name  string
		way   way.Way
		lang  string
		tuned bool
	}{
		{"c", way.C{Settings: untuned, Target: toolchain.GCC().With(tier.Of("-O0", "-O0", "-O1"))},
			"c", false},
		{"go", way.Go{Settings: untuned}, "go", false},
		{"c tuned", way.C{Settings: tuned}, "c", true},
		{"go tuned", way.Go{Settings: tuned}, "go", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var run []sampleJob
			var index []int
			for i, j := range jobs {
				if !c.tuned || j.tuned(c.lang) {
					run, index = append(run, j), append(index, i)
				}
			}
			calls := 0
			for k, r := range runSamples(t.Context(), c.way, run) {
				i := index[k]
				calls += len(jobs[i].Calls)
				for _, problem := range agree(jobs[i], reference[i], r, !c.tuned) {
					t.Error(problem)
				}
			}
			if calls == 0 {
				t.Error("no samples")
			}
			t.Logf("%d samples of %d operators", calls, len(run))
		})
	}
}

// agree compares two runs of an operator's samples and tells of the first few
// that differ.
func agree(j sampleJob, a, b *way.Result, bits bool) (problems []string) {
	for _, err := range []error{a.Err, b.Err} {
		if err != nil {
			return []string{j.operator + ": " + err.Error()}
		}
	}
	for i := range a.Calls {
		err := a.Calls[i].Err
		if err == nil {
			err = b.Calls[i].Err
		}
		if err == nil {
			tol := compare.Tolerance{Terms: a.Terms[i], Exact: bits && a.Terms[i] == 1}
			err = sameCall(&a.Calls[i], &b.Calls[i], tol)
		}
		if err != nil && len(problems) < 3 {
			problems = append(problems, fmt.Sprintf("%s: sample %d %s: %v", j.operator, i,
				j.samples[i], err))
		}
	}
	return problems
}

// sampleJob is a program with a method for each sample of an operator.
type sampleJob struct {
	way.Job
	operator string
	samples  []string
}

// tuned reports whether hand-made kernels are chosen for a sample.
func (j sampleJob) tuned(lang string) bool {
	p, _, _ := j.Open()
	np, err := compile.Native(p, compile.Options{Lang: lang, Planner: quick})
	if err != nil {
		return true // the run will tell
	}
	return slices.ContainsFunc(np.Kernels, func(k *native.Kernel) bool { return k.Tuned != nil })
}

// quick plans as ever but does not search for long: here it matters what operators
// compute, not how little memory they take.
var quick = plan.Best{Effort: 100_000}

// perBundle is how many operators are built into one program, so that compilers
// are started less often and what operators have in common is compiled once.
const perBundle = 12

// runSamples runs the operators, each a result, as methods of programs that hold
// several. Those of a program that cannot be compiled run one by one, so that the
// error is its operator's alone.
func runSamples(ctx context.Context, w way.Way, jobs []sampleJob) (results []*way.Result) {
	var bundles []way.Job
	var parts [][]sampleJob
	for part := range slices.Chunk(jobs, perBundle) {
		bundles, parts = append(bundles, bundle(part)), append(parts, part)
	}
	for i, r := range runAll(ctx, w, bundles) {
		if r.Err != nil && len(parts[i]) > 1 {
			for _, j := range parts[i] {
				results = append(results, runAll(ctx, w, []way.Job{j.Job})...)
			}
			continue
		}
		first := 0
		for _, j := range parts[i] {
			own := &way.Result{Err: r.Err}
			if end := first + len(j.Calls); r.Err == nil {
				own.Terms, own.Calls = r.Terms[first:end], r.Calls[first:end]
				first = end
			}
			results = append(results, own)
		}
	}
	return results
}

// bundle makes one program of those of several operators.
func bundle(jobs []sampleJob) way.Job {
	all := &ir.Program{Source: "samples"}
	out := way.Job{Name: "samples", Open: func() (*ir.Program, io.Closer, error) {
		return ir.Clone(all), nil, nil
	}}
	for k, j := range jobs {
		p, _, _ := j.Open()
		for i, m := range p.Methods {
			m.Name = fmt.Sprintf("operator%d_%s", k, m.Name)
			out.Calls = append(out.Calls, way.Call{Method: len(all.Methods),
				Inputs: j.Calls[i].Inputs})
			all.Methods = append(all.Methods, m)
		}
	}
	return out
}

// sampleJobs makes the programs. Data depends on the operator's name alone, so
// that a new entry changes nothing for the others.
func sampleJobs(t *testing.T) (jobs []sampleJob) {
	table := ops.Standard()
	total := 0
	for _, name := range table.Names() {
		op, _ := table.Lookup(name)
		seed := fnv.New64a()
		io.WriteString(seed, name)
		r := samples.NewRand(seed.Sum64())
		p := &ir.Program{Source: name}
		job := sampleJob{operator: name, Job: way.Job{
			Name: ir.OpBase(name),
			Open: func() (*ir.Program, io.Closer, error) { return ir.Clone(p), nil, nil },
		}}
		all := samples.Of(op, r)
		if len(all) == 0 {
			continue
		}
		for i, s := range all {
			call := way.Call{Method: i}
			for _, in := range s.Inputs {
				call.Inputs = append(call.Inputs, sampleInput(in, r))
			}
			m, err := sampleMethod(table, op, s, i)
			if err != nil {
				t.Errorf("%s: sample %d: %v", name, i, err)
				break
			}
			p.Methods = append(p.Methods, m)
			job.Calls = append(job.Calls, call)
			job.samples = append(job.samples, sampleText(s))
		}
		if err := ir.Verify(p); err != nil {
			t.Error(err)
			continue
		}
		total += len(job.Calls)
		jobs = append(jobs, job)
	}
	if total < 1000 {
		t.Errorf("only %d samples", total)
	}
	return jobs
}

func sampleMethod(table *ops.Table, op *ops.Op, s samples.Sample, i int) (*ir.Method, error) {
	n := s.Node(op)
	n.Name = fmt.Sprintf("sample%d", i)
	bound, err := table.Bind(n)
	if err != nil {
		return nil, err
	}
	m := &ir.Method{Name: n.Name, Graph: &ir.Graph{}}
	for _, typ := range bound.Outs { // sizes that data decides
		for _, s := range typ.Sizes {
			for _, u := range s.Symbols() {
				if !slices.Contains(m.Symbols, u) {
					m.Symbols = append(m.Symbols, u)
				}
			}
		}
	}
	for _, in := range s.Inputs {
		m.Graph.Inputs = append(m.Graph.Inputs, in.Value)
		m.Inputs = append(m.Inputs, ir.InputSpec{Kind: ir.UserInput})
	}
	for k, typ := range bound.Outs {
		v := &ir.Value{Name: fmt.Sprintf("result%d", k), Type: typ, Def: n, Index: k}
		n.Outputs = append(n.Outputs, v)
		m.Graph.Outputs = append(m.Graph.Outputs, ir.Ref{Value: v})
		m.Outputs = append(m.Outputs, ir.OutputSpec{Kind: ir.UserOutput})
	}
	m.Graph.Nodes = []*ir.Node{n}
	return m, nil
}

func sampleInput(in samples.Input, r *samples.Rand) tensor.Value {
	data := in.Data(r)
	typ := in.Value.Type
	switch typ.Kind {
	case ir.IntKind:
		return tensor.Value{Scalar: ir.Int(binary.LittleEndian.Uint64(data))}
	case ir.FloatKind:
		return tensor.Value{
			Scalar: ir.Float(math.Float64frombits(binary.LittleEndian.Uint64(data)))}
	case ir.BoolKind:
		return tensor.Value{Scalar: ir.BoolArg(data[0] != 0)}
	}
	shape, _ := typ.StaticSizes()
	return tensor.Value{Tensor: &tensor.Tensor{DType: typ.DType, Shape: shape, Data: data}}
}

func sampleText(s samples.Sample) string {
	out := "("
	for i, a := range s.Args {
		if i > 0 {
			out += ", "
		}
		if r, ok := a.Value.(ir.Ref); ok {
			out += r.Value.Type.String()
		} else {
			out += a.Name + "=" + ir.ArgString(a.Value)
		}
	}
	return out + ")"
}
