package delegate

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/optimize"
	"github.com/etgen/etgen/rt/portable"
)

// dynamic is a program whose delegate keeps rows: only it knows how many. It negates what there is
// before the delegate and behind it. The result has its rows last in memory.
func dynamic() *pte.Program {
	plan := &pte.ExecutionPlan{Name: "forward", BufferSizes: []int64{0, 128}}
	for i, order := range [][]uint8{{0, 1}, {0, 1}, {1, 0}, {1, 0}} {
		plan.Values = append(plan.Values, &pte.Tensor{ScalarType: 6, Sizes: []int32{4, 2},
			DimOrder: order, Dynamism: pte.DynamicBound,
			Allocation: &pte.Allocation{MemoryID: 1, Offset: uint64(32 * i)}})
	}
	plan.Operators = []pte.Operator{{Name: "aten::neg", Overload: "out"}}
	plan.Delegates = []pte.Delegate{{ID: ID, Processed: ir.Bytes("rows")}}
	plan.Chains = []*pte.Chain{{Instructions: []pte.Instruction{
		pte.KernelCall{Op: 0, Args: []int32{0, 1, 1}},
		pte.DelegateCall{Delegate: 0, Args: []int32{1, 2}},
		pte.KernelCall{Op: 0, Args: []int32{2, 3, 3}},
	}}}
	plan.Inputs, plan.Outputs = []int32{0}, []int32{3}
	return &pte.Program{Plans: []*pte.ExecutionPlan{plan}, Constants: []ir.Blob{nil}}
}

// Results have the sizes that the delegate gives them, whether the method is interpreted or
// compiled around it. More than the program has room for is refused.
func TestDynamicRT(t *testing.T) {
	p := load(t, dynamic())
	for _, optimizer := range []rt.Optimizer{nil, optimize.With(optimize.Options{Strict: true})} {
		m, err := p.LoadMethod("forward", &rt.MethodOptions{Registry: portable.Registry(),
			Optimize: optimizer, Backends: map[string]rt.Backend{ID: Backend{}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ in, want []float32 }{
			{[]float32{-1, 2, 3, 4, -5, 6}, []float32{-1, 2, -5, 6}},
			{[]float32{1, 2}, nil},
			{[]float32{-1, -2, -3, 0, -5, 1, -7, 2}, []float32{-1, -2, -3, 0, -5, 1, -7, 2}},
			{[]float32{-9, 2}, nil},
		} {
			x, err := rt.NewTensor(ir.Float32, []int64{int64(len(c.in)) / 2, 2}, nil, floats(c.in...))
			if err != nil {
				t.Fatal(err)
			}
			if err := m.SetInput(0, x); err != nil {
				t.Fatal(err)
			}
			err = m.Execute(t.Context())
			if c.in[0] == -9 {
				if !errors.Is(err, rt.ErrNotSupported) {
					t.Errorf("%d rows: %v", 9, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got := m.Output(0).Tensor
			if len(c.want) == 0 && got.Numel() == 0 {
				continue
			}
			var columns []float32 // as they lie in memory
			for k := range 2 {
				for i := k; i < len(c.want); i += 2 {
					columns = append(columns, c.want[i])
				}
			}
			if !slices.Equal(got.Sizes, []int64{int64(len(c.want)) / 2, 2}) ||
				!bytes.Equal(got.Data, floats(columns...)) {
				t.Errorf("%v gives %v %x", c.in, got.Sizes, got.Data)
			}
		}
	}
}

// wantDynamic is what C and Go print: of each call its status, the sizes and the elements.
const wantDynamic = "2 2: -1 2 -5 6 \n0 2: \n4 2: -1 -2 -3 0 -5 1 -7 2 \nfails\n"

func TestDynamicC(t *testing.T) {
	got := runC(t, dynamic(), toolchain.GCC().With(toolchain.Sanitizers()...), compile.Options{},
		"c/dynamic.c", "c/driver.c")
	if got != wantDynamic {
		t.Errorf("it prints %q, want %q", got, wantDynamic)
	}
}

// A .pte would not say which results are sizes.
func TestDynamicPTE(t *testing.T) {
	p := must.Get(raise.Program(dynamic(), "net.pte", ops.Standard()))
	_, err := compile.Package(p, compile.Options{Lang: "pte", Name: "net"})
	if err == nil || !strings.Contains(err.Error(), "only delegate lowered_module_0 knows") {
		t.Error(err)
	}
}

func TestDynamicGo(t *testing.T) {
	if got := runGo(t, dynamic(), "driver.go.txt", "dynamic.go.txt"); got != wantDynamic {
		t.Errorf("it prints %q, want %q", got, wantDynamic)
	}
}
