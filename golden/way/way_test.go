package way

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/native"
)

// caseJob is the first model file of a checked-in case.
func caseJob(t *testing.T, name string) Job {
	t.Helper()
	dir := filepath.Join("../cases", name)
	c, err := testcase.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	j := Job{Name: name, Open: func() (*ir.Program, io.Closer, error) {
		return compile.Read(filepath.Join(dir, c.Models[0]))
	}}
	for i, call := range c.Calls {
		j.Calls = append(j.Calls, Call{Inputs: call.Inputs, Keep: c.Stateful && i > 0})
	}
	return j
}

func all(t *testing.T, w Way, jobs ...Job) []*Result {
	t.Helper()
	results := make([]*Result, len(jobs))
	w.Run(t.Context(), jobs, func(i int, r *Result) {
		if results[i] != nil {
			t.Errorf("job %d is done twice", i)
		}
		results[i] = r
	})
	for i, r := range results {
		if r == nil {
			t.Fatalf("job %d is never done", i)
		}
	}
	return results
}

// A job that goes wrong, at whatever stage, does not lose the others.
func TestOneFailsOthersRun(t *testing.T) {
	broken := errors.New("broken")
	add := caseJob(t, "add")
	wrong := caseJob(t, "add")
	wrong.Calls = append([]Call{{Inputs: wrong.Calls[0].Inputs[:1]}}, wrong.Calls...)
	jobs := []Job{
		add,
		{Name: "unreadable", Open: func() (*ir.Program, io.Closer, error) {
			return nil, nil, broken
		}},
		{Name: "panics", Open: func() (*ir.Program, io.Closer, error) { panic("at the disco") }},
		wrong,
		caseJob(t, "mutated_buffer"),
	}
	for _, w := range []Way{Reference{}, C{}, Go{}} {
		t.Run(w.Name(), func(t *testing.T) {
			r := all(t, w, jobs...)
			if !errors.Is(r[1].Err, broken) {
				t.Errorf("unreadable: %v", r[1].Err)
			}
			if r[2].Err == nil || !strings.Contains(r[2].Err.Error(), "at the disco") {
				t.Errorf("panics: %v", r[2].Err)
			}
			for _, i := range []int{0, 3, 4} {
				if r[i].Err != nil || len(r[i].Calls) != len(jobs[i].Calls) {
					t.Fatalf("job %d: %d calls, %v", i, len(r[i].Calls), r[i].Err)
				}
			}
			if err := r[3].Calls[0].Err; err == nil ||
				!strings.Contains(err.Error(), "inputs are given") {
				t.Errorf("a call with too few inputs: %v", err)
			}
			for _, c := range []CallResult{r[0].Calls[0], r[3].Calls[1], r[4].Calls[1]} {
				if c.Err != nil || len(c.Outputs) == 0 {
					t.Errorf("%d outputs, %v", len(c.Outputs), c.Err)
				}
			}
		})
	}
}

// A package that the compiler refuses is a miss of its own.
func TestCompilerRefuses(t *testing.T) {
	target := toolchain.GCC().With("-Dm_add_2_forward=m_add_2_forward(")
	r := all(t, C{Target: target}, caseJob(t, "add"), caseJob(t, "add"))
	if r[0].Err != nil {
		t.Error(r[0].Err)
	}
	if r[1].Err == nil || !strings.HasPrefix(r[1].Err.Error(), "the C compiler: m_add_2/") {
		t.Errorf("got %v", r[1].Err)
	}
}

func TestReadCHeader(t *testing.T) {
	const header = `/* net_forward(int x); in a comment */
typedef enum { NET_OK } net_status;
typedef struct { float cache[4]; } net_state;
typedef struct {
    int32_t x_dim0; /* in: 1 to 8 */
    int32_t out_dim0; /* out */
} net_forward_sizes;
void net_reset(net_state *state);
net_status net_forward(const float *x, bool flag,
                       uint8_t *out, net_forward_sizes *sizes, net_state *state, void *arena);
net_status net_other(void);
`
	got, err := readCHeader(header, "net")
	if err != nil {
		t.Fatal(err)
	}
	want := []*cAPI{{name: "net_forward", reset: true,
		params: []cParam{
			{"const float *x", "x", "float", true}, {"bool flag", "flag", "bool", false},
			{"uint8_t *out", "out", "uint8_t", true},
			{"net_forward_sizes *sizes", "sizes", "net_forward_sizes", true}, {"net_state *state",
				"state", "net_state", true},
			{"void *arena", "arena", "void", true},
		},
		sizes: []cParam{{"int32_t x_dim0", "x_dim0", "int32_t", false}, {"int32_t out_dim0",
			"out_dim0", "int32_t", false}},
	}, {name: "net_other", reset: true}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(cAPI{}, cParam{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, bad := range []string{"net_status net_f(float x[4]);",
		"net_status net_f(const float *x, net_f_sizes *sizes);"} {
		if got, err := readCHeader(bad, "net"); err == nil {
			t.Errorf("%s: %v", bad, got)
		}
	}
}

// Inputs of another form than the model's are refused before anything runs.
func TestArgumentsThatDoNotFit(t *testing.T) {
	job := caseJob(t, "dynamic_batch")
	p, closer, err := job.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	np, err := compile.Native(p, compile.Options{Lang: "c"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLayout(np.Methods[0])
	if err != nil {
		t.Fatal(err)
	}
	good := job.Calls[0].Inputs[0].Tensor
	if _, err := l.arguments(job.Calls[0]); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]tensor.Value{
		"dtype": {Tensor: &tensor.Tensor{DType: ir.Int32, Shape: good.Shape, Data: good.Data}},
		"rank": {Tensor: &tensor.Tensor{DType: ir.Float32, Shape: append([]int64{1},
			good.Shape...), Data: good.Data}},
		"size": {Tensor: &tensor.Tensor{DType: ir.Float32, Shape: []int64{good.Shape[0],
			good.Shape[1] + 1}, Data: good.Data}},
		"bytes": {Tensor: &tensor.Tensor{DType: ir.Float32, Shape: good.Shape,
			Data: good.Data[1:]}},
		"scalar": {Scalar: ir.Int(1)},
	} {
		if _, err := l.arguments(Call{Inputs: []tensor.Value{v}}); err == nil {
			t.Errorf("%s: %v is taken", name, v)
		}
	}
}

func TestLiteral(t *testing.T) {
	if got := literal(native.Port{Type: ir.SymInt(ir.Ints([]int64{3})[0])}); got != ir.Int(3) {
		t.Errorf("got %v", got)
	}
	if got := literal(native.Port{Value: ir.None{}}); got != (ir.None{}) {
		t.Errorf("got %v", got)
	}
}
