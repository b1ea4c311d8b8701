package delegate

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/optimize"
	"github.com/etgen/etgen/rt/payload"
	"github.com/etgen/etgen/rt/portable"
)

// twin is a program whose file ExecuTorch's exporter writes for several models, see
// ../tools/twins.py, and what the models answer.
type twin struct {
	Inputs []struct {
		Shape []int64
		Data  []float32
	}
	Results map[string][]float32
	Weights map[string][][]float32
}

// readings are what the payloads of programs of twin are taken for, by models: formulas over the
// arguments, in their order.
var readings = map[string]func(args [][]float32) []float32{
	"x @ y":     func(a [][]float32) []float32 { return product(a[0], a[1]) },
	"y @ x":     func(a [][]float32) []float32 { return product(a[1], a[0]) },
	"x @ y + y": func(a [][]float32) []float32 { return sum(product(a[0], a[1]), a[1]) },
	"x @ y + x": func(a [][]float32) []float32 { return sum(product(a[0], a[1]), a[0]) },
	"y @ x + x": func(a [][]float32) []float32 { return sum(product(a[1], a[0]), a[0]) },
	"x @ x + y": func(a [][]float32) []float32 { return sum(product(a[0], a[0]), a[1]) },
	"x @ y + x @ y": func(a [][]float32) []float32 {
		return sum(product(a[0], a[1]),
			product(a[0], a[1]))
	},
}

// weighted are readings of payloads that leave the weights out, which those models differ in.
var weighted = map[string]func(args, weights [][]float32) []float32{
	"parameters": func(a, w [][]float32) []float32 { return sum(sum(a[0], w[0]), w[1]) },
	"names":      func(a, w [][]float32) []float32 { return tanOfConvolution(a[0], w[0], w[1][0]) },
}

// tanOfConvolution is tan(relu(conv(x))) of an image of 2x3, with a window of 3x3 and padding.
func tanOfConvolution(x, w []float32, bias float32) (list []float32) {
	for i := range 6 {
		y := bias
		for k, by := range w {
			if row, col := i/3+k/3-1, i%3+k%3-1; row >= 0 && row < 2 && col >= 0 && col < 3 {
				y += x[3*row+col] * by
			}
		}
		list = append(list, float32(math.Tan(float64(max(y, 0)))))
	}
	return list
}

// product is that of two matrices of 2x2.
func product(a, b []float32) []float32 {
	return []float32{a[0]*b[0] + a[1]*b[2], a[0]*b[1] + a[1]*b[3], a[2]*b[0] + a[3]*b[2],
		a[2]*b[1] + a[3]*b[3]}
}

func sum(a, b []float32) []float32 {
	return []float32{a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]}
}

// reader runs delegates of which it is told what they compute, by payloads.
type reader func(payload string) func(args [][]float32) []float32

// Init implements [rt.Backend].
func (r reader) Init(d *rt.DelegateInit) (rt.Delegate, error) {
	text, err := read(d.Processed)
	if err != nil {
		return nil, err
	}
	return formula(r(string(text))), nil
}

type formula func(args [][]float32) []float32

// Execute implements [rt.Delegate].
func (f formula) Execute(_ context.Context, args []*rt.EValue) error {
	var list [][]float32
	for _, a := range args[:len(args)-1] {
		var x []float32
		for i := range len(a.Tensor.Data) / 4 {
			x = append(x, get(a.Tensor.Data, i))
		}
		list = append(list, x)
	}
	out := args[len(args)-1].Tensor.Data
	for i, y := range f(list) {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(y))
	}
	return nil
}

// One file is that of several models with other results: payloads of ExecuTorch's demonstrations
// name neither operands nor weights. So etgen computes nothing of them, and says so. A run side
// that is told what they are gives the results of each model, in the runtime and compiled.
func TestTwins(t *testing.T) {
	for name, want := range map[string]string{
		"product":         "does not say what its operators, aten.mm.default, work on",
		"product_and_sum": "takes 4: its payload does not say which; that is nowhere in the file",
		"parameters":      `does not say what its operators, "aten.add.Tensor aten.add.Tensor", work on`,
		"names":           "has names for a profiler, and neither operands nor weights",
	} {
		text, err := os.ReadFile("twins/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var x twin
		if err := json.Unmarshal(text, &x); err != nil {
			t.Fatal(err)
		}
		all := slices.Collect(maps.Values(x.Results))
		for i, a := range all {
			if slices.ContainsFunc(all[:i], func(b []float32) bool { return reflect.DeepEqual(a, b) }) {
				t.Errorf("%s: two models give %v", name, a)
			}
		}
		if len(all) < 2 {
			t.Errorf("%s: it is the file of %d models", name, len(all))
		}
		file, err := os.ReadFile("twins/" + name + ".pte")
		if err != nil {
			t.Fatal(err)
		}
		p, err := rt.Load(bytes.NewReader(file), nil)
		if err != nil {
			t.Fatal(err)
		}
		strict := optimize.With(optimize.Options{Strict: true})
		_, err = x.call(t, p, strict, payload.Backends())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: without a run side: %v, want %s", name, err, want)
		}
		for model, result := range x.Results {
			known := readings[model]
			if of := weighted[name]; of != nil {
				known = func(a [][]float32) []float32 { return of(a, x.Weights[model]) }
			}
			x.run(t, p, nil, name+", "+model, known, result)
			x.run(t, p, strict, name+", "+model+", optimized", known, result)
		}
	}
}

func (x *twin) run(t *testing.T, p *rt.Program, o rt.Optimizer, name string,
	known func([][]float32) []float32, want []float32) {
	backend := reader(func(string) func([][]float32) []float32 { return known })
	out, err := x.call(t, p, o, map[string]rt.Backend{"BackendWithCompilerDemo": backend,
		"BackendWithDelegateMappingDemo": backend})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for i, y := range want {
		if got := get(out, i); math.Abs(float64(got-y)) > 1e-6 {
			t.Errorf("%s: element %d is %v, want %v", name, i, got, y)
		}
	}
}

// call runs the program with the inputs, and returns the bytes of its result.
func (x *twin) call(t *testing.T, p *rt.Program, o rt.Optimizer,
	backends map[string]rt.Backend) ([]byte, error) {
	m, err := p.LoadMethod("forward", &rt.MethodOptions{Registry: portable.Registry(), Optimize: o,
		Backends: backends})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	for i, in := range x.Inputs {
		v, err := rt.NewTensor(ir.Float32, in.Shape, nil, floats(in.Data...))
		if err == nil {
			err = m.SetInput(i, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Execute(t.Context()); err != nil {
		return nil, err
	}
	return slices.Clone(m.Output(0).Tensor.Data), nil
}

// Of the programs of the collection beside this repository, two have payloads that do not name
// their operands. Where these are told, all that their models do is done, in branches and in loops.
func TestToldOperands(t *testing.T) {
	tier.Needs(t, tier.Normal)
	told := reader(func(payload string) func([][]float32) []float32 {
		switch {
		case !strings.Contains(payload, "aten.mm.default"):
			return func(a [][]float32) []float32 { return sum(a[0], a[1]) }
		case strings.Contains(payload, "aten.add.Tensor"):
			return readings["x @ y + y"]
		}
		return readings["y @ x"]
	})
	var dirs []string
	for _, name := range []string{"demo_cond", "demo_map"} {
		dir := filepath.Join("../../../shared/pte-delegated", name)
		if _, err := os.Stat(dir); err != nil {
			t.Skip(err)
		}
		dirs = append(dirs, dir)
	}
	backends := map[string]rt.Backend{"BackendWithCompilerDemo": told}
	for _, w := range []way.RT{{Backends: backends}, {Backends: backends, Optimize: true}} {
		report, err := conform.Check(t.Context(), dirs, []way.Way{w},
			func(m conform.Miss) { t.Error(m) }, nil)
		if err != nil || report.Passed != len(dirs) {
			t.Errorf("%s: %v, %v", w.Name(), report, err)
		}
	}
	for _, dir := range dirs {
		path, err := filepath.Abs(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("CASE", path)
		program, closer, err := pte.Open(filepath.Join(dir, "model.pte"))
		if err != nil {
			t.Fatal(err)
		}
		defer closer.Close()
		want, err := os.ReadFile(filepath.Join(dir, "output_0.bin"))
		if err != nil {
			t.Fatal(err)
		}
		target := toolchain.GCC().With(toolchain.Sanitizers()...)
		for lang, printed := range map[string]string{
			"C":  runC(t, program, target, compile.Options{}, "c/demo.c"),
			"Go": runGo(t, program, "demo.go.txt")} {
			got := strings.Fields(printed)
			if len(got) != len(want)/4 {
				t.Fatalf("%s in %s: %d numbers, want %d", dir, lang, len(got), len(want)/4)
			}
			for i := range got {
				y, err := strconv.ParseFloat(got[i], 64)
				if err != nil || math.Abs(y-float64(get(want, i))) > 1e-6 {
					t.Errorf("%s in %s: element %d is %v, want %v", dir, lang, i, y, get(want, i))
				}
			}
		}
	}
}
