package portable

import (
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/rt"
)

func tensorSlot(t *rt.Tensor) *rt.EValue { return &rt.EValue{Kind: rt.TensorKind, Tensor: t} }

func floats(t *testing.T, sizes []int64, xs ...float32) *rt.EValue {
	t.Helper()
	x, err := rt.TensorOf(sizes, xs)
	if err != nil {
		t.Fatal(err)
	}
	return tensorSlot(x)
}

func prepared(t *testing.T, op string, fixed func(*rt.EValue) bool,
	args ...*rt.EValue) func() error {
	t.Helper()
	k, ok := Registry().Lookup(op)
	if !ok {
		t.Fatalf("no kernel %s", op)
	}
	run, err := k.Prepare(rt.NewCall(op, args, fixed))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func check(t *testing.T, run func() error, v *rt.EValue, sizes []int64, want ...float32) {
	t.Helper()
	if err := run(); err != nil {
		t.Fatal(err)
	}
	got, err := rt.Data[float32](v.Tensor)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(v.Tensor.Sizes, sizes) || !slices.Equal(got, want) {
		t.Fatalf("got %v%v, want %v%v", v.Tensor.Sizes, got, sizes, want)
	}
}

func integerSlot(n int64) *rt.EValue { return &rt.EValue{Kind: rt.Int, Int: n} }

func bounded(t *testing.T, sizes ...int64) *rt.EValue {
	t.Helper()
	x, err := rt.NewBoundedTensor(ir.Float32, sizes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tensorSlot(x)
}

// Sizes change from call to call, there and back, and beyond what keeps its
// code.
func TestSizesChange(t *testing.T) {
	x, y := bounded(t, 100), bounded(t, 100)
	run := prepared(t, "aten::add.out", nil, x, x, integerSlot(1), y)
	for round := range 2 {
		for n := range int64(2 * maxVariants) {
			if err := x.Tensor.Resize([]int64{n}); err != nil {
				t.Fatal(err)
			}
			xs, _ := rt.Data[float32](x.Tensor)
			want := make([]float32, n)
			for i := range xs {
				xs[i] = float32(i + round)
				want[i] = 2 * xs[i]
			}
			check(t, run, y, []int64{n}, want...)
		}
	}
	if n := testing.AllocsPerRun(10, func() { _ = run() }); n > 0 {
		t.Errorf("%v allocations for sizes that are known", n)
	}
	large := bounded(t, 101)
	run = prepared(t, "aten::add.out", nil, large, large, integerSlot(1), y)
	if err := run(); err == nil || !strings.Contains(err.Error(), "aten::add.out: result 0") {
		t.Errorf("a result beyond its bound: %v", err)
	}
}

// The items of a list are computed at run time.
func TestListItemsChange(t *testing.T) {
	x, rows := floats(t, []int64{6}, 1, 2, 3, 4, 5, 6), integerSlot(2)
	y := bounded(t, 6, 6)
	size := &rt.EValue{Kind: rt.IntList, List: []*rt.EValue{rows, integerSlot(-1)}}
	run := prepared(t, "aten::view_copy.out", func(v *rt.EValue) bool {
		return v != rows && v != y
	}, x, size, y)
	check(t, run, y, []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	rows.Int = 3
	check(t, run, y, []int64{3, 2}, 1, 2, 3, 4, 5, 6)
	rows.Int = 4
	if err := run(); err == nil {
		t.Error("a view of 6 elements as 4 rows")
	}
	rows.Int = 6
	check(t, run, y, []int64{6, 1}, 1, 2, 3, 4, 5, 6)
}

// Lists in a list are refused, those that are in themselves too.
func TestListsInLists(t *testing.T) {
	y := bounded(t, 6, 6)
	loop := &rt.EValue{Kind: rt.IntList, List: []*rt.EValue{integerSlot(2), nil}}
	loop.List[1] = loop
	run := prepared(t, "aten::view_copy.out", func(v *rt.EValue) bool {
		return v != loop && v != y
	}, floats(t, []int64{1}, 1), loop, y)
	if err := run(); err == nil || !strings.Contains(err.Error(), "a list in a list") {
		t.Errorf("a list in itself: %v", err)
	}
}

// A number that is no constant is read at every call.
func TestNumbersChange(t *testing.T) {
	x, y, alpha := floats(t, []int64{2}, 1, 2), floats(t, []int64{2}, 0, 0),
		&rt.EValue{Kind: rt.Double, Double: 2}
	run := prepared(t, "aten::add.out", func(v *rt.EValue) bool { return v == x }, x, x, alpha, y)
	check(t, run, y, []int64{2}, 3, 6)
	alpha.Double = math.Inf(1)
	check(t, run, y, []int64{2}, float32(math.Inf(1)), float32(math.Inf(1)))
}

// Results may lie over operands, exactly or in part, whatever the kernel.
func TestOverlap(t *testing.T) {
	memory := make([]float32, 12)
	at := func(first int, sizes ...int64) *rt.EValue {
		n := int64(1)
		for _, s := range sizes {
			n *= s
		}
		return floats(t, sizes, memory[first:][:n]...)
	}
	whole, _ := rt.TensorOf([]int64{12}, memory)
	part := func(first int, sizes ...int64) *rt.EValue {
		v := at(first, sizes...)
		v.Tensor.Data = whole.Data[4*first:][:len(v.Tensor.Data)]
		return v
	}
	reset := func() {
		for i := range memory {
			memory[i] = float32(i)
		}
	}
	reset()
	x, y := part(0, 2, 3), part(0, 3, 2)
	perm := &rt.EValue{Kind: rt.IntList, List: []*rt.EValue{integerSlot(1), integerSlot(0)}}
	fixed := func(v *rt.EValue) bool { return v.Kind != rt.TensorKind }
	check(t, prepared(t, "aten::permute_copy.out", fixed, x, perm, y), y, []int64{3, 2}, 0, 3,
		1, 4, 2, 5)
	reset()
	x, y = part(0, 6), part(1, 6)
	check(t, prepared(t, "aten::relu.out", fixed, x, y), y, []int64{6}, 0, 1, 2, 3, 4, 5)
	reset()
	x, y = part(0, 2, 2), part(0, 2, 2)
	check(t, prepared(t, "aten::mm.out", fixed, x, x, y), y, []int64{2, 2}, 2, 3, 6, 11)
	reset()
	x = part(0, 4)
	check(t, prepared(t, "aten::add_.Tensor", fixed, x, x, integerSlot(1)), x, []int64{4},
		0, 2, 4, 6)
}

// Memory need not be aligned.
func TestUnaligned(t *testing.T) {
	shifted := func(v *rt.EValue) *rt.EValue {
		b := make([]byte, len(v.Tensor.Data)+1)[1:]
		copy(b, v.Tensor.Data)
		v.Tensor.Data = b
		return v
	}
	x, w := shifted(floats(t, []int64{2, 2}, 1, 2, 3, 4)),
		shifted(floats(t, []int64{2, 2}, 1, 0, 0, 1))
	for _, op := range []string{"aten::mm.out", "aten::add.out", "aten::maximum.out"} {
		y := shifted(floats(t, []int64{2, 2}, 0, 0, 0, 0))
		args := []*rt.EValue{x, w, y}
		if op == "aten::add.out" {
			args = []*rt.EValue{x, w, integerSlot(1), y}
		}
		want := map[string][]float32{"aten::mm.out": {1, 2, 3, 4}, "aten::add.out": {2, 2, 3, 5},
			"aten::maximum.out": {1, 2, 3, 4}}[op]
		run := prepared(t, op, func(v *rt.EValue) bool { return v != y }, args...)
		if err := run(); err != nil {
			t.Fatal(err)
		}
		copied := append([]byte{}, y.Tensor.Data...)
		y.Tensor.Data = copied
		check(t, func() error { return nil }, y, []int64{2, 2}, want...)
	}
}

func TestRefused(t *testing.T) {
	x, y := floats(t, []int64{2}, 1, 2), floats(t, []int64{3}, 0, 0, 0)
	wrong, err := rt.NewTensor(ir.Int32, []int64{2}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	none := &rt.EValue{}
	for _, c := range []struct {
		op, want string
		fixed    bool
		args     []*rt.EValue
	}{
		{"aten::relu.out", "result 0 has sizes [2], its tensor [3]", false, []*rt.EValue{x, y}},
		{"aten::relu.out", "result 0 is float32[2], its tensor int32[2]", false,
			[]*rt.EValue{x, tensorSlot(wrong)}},
		{"aten::relu.out", "result 0 is a tensor", false, []*rt.EValue{x, none}},
		{"aten::relu.out", "1 arguments, want 2", false, []*rt.EValue{x}},
		{"aten::relu.out", "constant", true, []*rt.EValue{x, x}},
		{"aten::relu.out", "argument self", false, []*rt.EValue{none, x}},
		{"aten::add.out", "do not broadcast", false, []*rt.EValue{x, y, integerSlot(1), y}},
	} {
		k, _ := Registry().Lookup(c.op)
		run, err := k.Prepare(rt.NewCall(c.op, c.args, func(*rt.EValue) bool { return c.fixed }))
		if err == nil {
			err = run()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), c.op+": ") {
			t.Errorf("%s: %v, want %q", c.op, err, c.want)
		}
	}
}

// Whatever is in the slots, a kernel gives an error or runs.
func TestHostile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	registry := Registry()
	all := forms(ops.Standard())
	var slot func(depth int) *rt.EValue
	slot = func(depth int) *rt.EValue {
		v := &rt.EValue{Kind: rt.Kind(r.IntN(int(rt.TensorList) + 1))}
		switch v.Kind {
		case rt.Int:
			v.Int = []int64{-1, 0, 1, 2, 3, 6, 15, math.MaxInt64, math.MinInt64}[r.IntN(9)]
		case rt.Double:
			v.Double = []float64{0, 1, -1, math.NaN(), math.Inf(1)}[r.IntN(5)]
		case rt.DoubleList:
			v.Doubles = make([]float64, r.IntN(4))
		case rt.BoolList:
			v.Bools = make([]bool, r.IntN(4))
		case rt.TensorKind:
			sizes := make([]int64, r.IntN(5))
			for i := range sizes {
				sizes[i] = r.Int64N(4)
			}
			d := []ir.DType{ir.Float32, ir.Float32, ir.Int64, ir.Bool, ir.Uint8, ir.Float16,
				ir.Complex64}[r.IntN(7)]
			if r.IntN(3) == 0 {
				v.Tensor, _ = rt.NewBoundedTensor(d, sizes, nil)
			} else {
				v.Tensor, _ = rt.NewTensor(d, sizes, nil, nil)
			}
		case rt.IntList, rt.TensorList:
			for range r.IntN(4) {
				if depth > 0 {
					v.List = append(v.List, slot(depth-1))
				}
			}
		}
		return v
	}
	ran := 0
	for range tier.Of(4, 20, 20) {
		for _, f := range all {
			args := make([]*rt.EValue, len(f.in)+f.outs)
			for i := range args {
				args[i] = slot(1)
				for range 5 { // mostly something that fits
					if f.listed && i >= len(f.in) {
						args[i].Kind = rt.TensorList
					} else if i < len(f.in) && (f.in[i].Type.Name == "Tensor") !=
						(args[i].Kind == rt.TensorKind) || i >= len(f.in) &&
						args[i].Kind != rt.TensorKind {
						args[i] = slot(1)
					}
				}
			}
			k, _ := registry.Lookup(f.file)
			func() {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("%s: panic: %v\n%s", f.file, p, debug.Stack())
					}
				}()
				run, err := k.Prepare(rt.NewCall(f.file, args, func(*rt.EValue) bool {
					return false
				}))
				if err == nil {
					err = run()
				}
				if err == nil {
					ran++
				}
			}()
		}
	}
	if ran == 0 {
		t.Error("no call ran")
	}
	t.Logf("%d calls ran", ran)
}

// What an operator asserts of its operands is held against each call.
func TestAssertion(t *testing.T) {
	x, y := floats(t, []int64{2, 2}, 1, 2, 0, 2), floats(t, []int64{2, 2}, 0, 0, 0, 0)
	run := prepared(t, "aten::linalg_inv.out", func(v *rt.EValue) bool {
		return v != x && v != y
	}, x, y)
	check(t, run, y, []int64{2, 2}, 1, -1, 0, 0.5)
	xs, _ := rt.Data[float32](x.Tensor)
	clear(xs)
	if err := run(); err == nil || !strings.Contains(err.Error(), "singular") {
		t.Errorf("the inverse of a matrix of zeros: %v", err)
	}
}
