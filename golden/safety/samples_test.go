package safety

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// Every sample of every entry of the table, through the interpreter, C and Go.
// From definitions alone the three agree to the bit where nothing is summed; a
// sum may be taken in another order, and a tuned kernel is a second form, so
// those agree within the tolerance of cases.
func TestSamples(t *testing.T) {
	jobs, names := sampleJobs(t)
	untuned := way.Settings{Options: compile.Options{Untuned: true}}
	reference := runAll(t.Context(), way.Reference{}, jobs)
	for _, c := range []struct {
		name string
		way  way.Way
		bits bool
	}{
		{"c", way.C{Settings: untuned}, true},
		{"go", way.Go{Settings: untuned}, true},
		{"c tuned", way.C{}, false},
		{"go tuned", way.Go{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			results := runAll(t.Context(), c.way, jobs)
			for i, r := range results {
				if err := agree(reference[i], r, c.bits); err != nil {
					t.Errorf("%s: %v", names[i], err)
				}
			}
		})
	}
	t.Logf("%d samples", len(jobs))
}

func agree(a, b *way.Result, bits bool) error {
	if err := failure(a, b); err != nil {
		return err
	}
	tol := compare.Tolerance{Terms: a.Terms, Exact: bits && a.Terms == 1}
	for i := range a.Calls {
		if err := sameCall(&a.Calls[i], &b.Calls[i], tol); err != nil {
			return err
		}
	}
	return nil
}

// sampleJobs makes a program of one node of each sample. Data depends on the
// operator's name alone, so that a new entry changes nothing for the others.
func sampleJobs(t *testing.T) (jobs []way.Job, names []string) {
	table := ops.Standard()
	for _, name := range table.Names() {
		op, _ := table.Lookup(name)
		if op.Samples == nil {
			continue
		}
		seed := fnv.New64a()
		io.WriteString(seed, name)
		r := ops.NewRand(seed.Sum64())
		for i, s := range op.Samples(r) {
			p, err := sampleProgram(table, op, s)
			if err != nil {
				t.Errorf("%s: sample %d: %v", name, i, err)
				continue
			}
			call := way.Call{}
			for _, in := range s.Inputs {
				call.Inputs = append(call.Inputs, sampleInput(in, r))
			}
			jobs = append(jobs, way.Job{
				Name:  ir.OpBase(name),
				Open:  func() (*ir.Program, io.Closer, error) { return ir.Clone(p), nil, nil },
				Calls: []way.Call{call},
			})
			names = append(names, fmt.Sprintf("%s sample %d %s", name, i, sampleText(s)))
		}
	}
	if len(jobs) < 500 {
		t.Errorf("only %d samples", len(jobs))
	}
	return jobs, names
}

func sampleProgram(table *ops.Table, op *ops.Op, s ops.Sample) (*ir.Program, error) {
	n := s.Node(op)
	bound, err := table.Bind(n)
	if err != nil {
		return nil, err
	}
	m := &ir.Method{Name: "forward", Graph: &ir.Graph{}}
	for _, in := range s.Inputs {
		m.Graph.Inputs = append(m.Graph.Inputs, in.Value)
		m.Inputs = append(m.Inputs, ir.InputSpec{Kind: ir.UserInput})
	}
	for i, typ := range bound.Outs {
		v := &ir.Value{Name: fmt.Sprintf("result%d", i), Type: typ, Def: n, Index: i}
		n.Outputs = append(n.Outputs, v)
		m.Graph.Outputs = append(m.Graph.Outputs, ir.Ref{Value: v})
		m.Outputs = append(m.Outputs, ir.OutputSpec{Kind: ir.UserOutput})
	}
	m.Graph.Nodes = []*ir.Node{n}
	p := &ir.Program{Source: "sample", Methods: []*ir.Method{m}}
	return p, ir.Verify(p)
}

func sampleInput(in ops.Input, r *ops.Rand) tensor.Value {
	data := in.Data(r)
	typ := in.Value.Type
	switch typ.Kind {
	case ir.IntKind:
		return tensor.Value{Scalar: ir.Int(binary.LittleEndian.Uint64(data))}
	case ir.FloatKind:
		return tensor.Value{Scalar: ir.Float(math.Float64frombits(binary.LittleEndian.Uint64(data)))}
	case ir.BoolKind:
		return tensor.Value{Scalar: ir.BoolArg(data[0] != 0)}
	}
	shape, _ := typ.StaticSizes()
	return tensor.Value{Tensor: &tensor.Tensor{DType: typ.DType, Shape: shape, Data: data}}
}

func sampleText(s ops.Sample) string {
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
