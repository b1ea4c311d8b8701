package safety

import (
	"encoding/binary"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/grow"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
)

// dividedCases are cases of several calls of kernels with state, sizes that vary,
// control flow, numbers read at run time and assertions.
var dividedCases = []string{"static_cache", "cond", "dynamic_batch", "late", "lstm", "while",
	"state", "item"}

// Text whose functions are divided, as those of large programs are, computes the
// same bytes, and refuses the same calls, in one thread or several.
func TestDividedFunctionsAgree(t *testing.T) {
	tier.Needs(t, tier.Normal)
	all, allNames := allCases(t)
	var jobs []way.Job
	var names []string
	var index []int
	for i, name := range allNames {
		dir, file := path.Split(name)
		chosen := func(s string) bool { return strings.Contains(dir, s) }
		if file == "model.pt2" && slices.ContainsFunc(dividedCases, chosen) {
			jobs, names, index = append(jobs, all[i]), append(names, name), append(index, i)
		}
	}
	for _, lang := range []string{"c", "go"} {
		whole := wholeCases(t, lang, index)
		for _, threads := range tier.Of(nil, []int{2}, []int{1, 2}) {
			opt := compile.Options{FunctionWeight: 16, Threads: threads, DivideAll: threads > 1}
			s := way.Settings{Options: opt}
			got := runAll(t.Context(), language(lang, s, comparing()), jobs)
			divided := 0
			for i := range jobs {
				whole := whole[index[i]]
				if err := sameBytes(whole, got[i]); err != nil {
					t.Errorf("%s, %s divided, %d threads: %v", lang, names[i], threads, err)
				}
				if got[i].Err == nil && got[i].Code > whole.Code {
					divided++
				}
			}
			if 3*divided < len(jobs) {
				t.Errorf("%s: only %d of %d programs are divided", lang, divided, len(jobs))
			}
		}
	}
}

// Programs so large that their functions are divided compute what the interpreter
// does, and an assertion that fails in a function of theirs ends the call.
func TestLargeProgramsAgree(t *testing.T) {
	tier.Needs(t, tier.Normal)
	shapes := []string{"asserts", "skip", "conds", "whiles", "states", "fan", "views"}
	var jobs []way.Job
	for _, name := range shapes {
		shape, err := grow.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := shape.Make(1500)
		if err != nil {
			t.Fatal(err)
		}
		j := way.Job{Name: name, Open: func() (*ir.Program, io.Closer, error) {
			return ir.Clone(p), nil, nil
		}}
		for _, first := range []float32{0.5, 1e6 - 200} { // the second fails amid "asserts"
			var inputs []tensor.Value
			for i, in := range p.Methods[0].Inputs {
				if v := p.Methods[0].Graph.Inputs[i]; in.Kind == ir.UserInput {
					inputs = append(inputs, tensor.Value{Tensor: filled(t, v.Type, first)})
				}
			}
			j.Calls = append(j.Calls, way.Call{Inputs: inputs})
		}
		jobs = append(jobs, j)
	}
	want := runAll(t.Context(), way.Reference{}, jobs)
	for _, lang := range []string{"c", "go"} {
		got := runAll(t.Context(), language(lang, way.Settings{}, comparing()), jobs)
		for i, name := range shapes {
			if want[i].Err != nil || got[i].Err != nil {
				t.Errorf("%s, %s: %v, %v", lang, name, got[i].Err, want[i].Err)
				continue
			}
			for k, c := range got[i].Calls {
				fails := name == "asserts" && k == 1
				if (c.Err != nil) != fails || (want[i].Calls[k].Err != nil) != fails {
					t.Errorf("%s, %s, call %d: %v, %v", lang, name, k, c.Err, want[i].Calls[k].Err)
					continue
				}
				for o, v := range c.Outputs {
					near := compare.Tolerance{Terms: 1500}
					if miss := compare.Values(v, want[i].Calls[k].Outputs[o], near); miss != nil {
						t.Errorf("%s, %s, call %d: output %d: %v", lang, name, k, o, miss)
					}
				}
			}
		}
	}
}

// filled returns a tensor of a type whose first element is first; the others are 1.
func filled(t *testing.T, typ ir.Type, first float32) *tensor.Tensor {
	t.Helper()
	var shape []int64
	for _, e := range typ.Sizes {
		n, _ := e.Const()
		shape = append(shape, n)
	}
	x, err := tensor.New(typ.DType, shape...)
	if err != nil {
		t.Fatal(err)
	}
	if typ.DType == ir.Bool {
		x.Data[0] = 1
		return x
	}
	for i := 0; i < len(x.Data); i += 4 {
		binary.LittleEndian.PutUint32(x.Data[i:], math.Float32bits(1))
	}
	binary.LittleEndian.PutUint32(x.Data, math.Float32bits(first))
	return x
}
