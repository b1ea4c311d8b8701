package rt_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

// doubler is a backend whose delegates write twice their first argument to
// their second.
type doubler struct {
	init   rt.DelegateInit
	closed bool
	fail   string
}

func (d *doubler) Init(init *rt.DelegateInit) (rt.Delegate, error) {
	d.init = *init
	switch d.fail {
	case "panic":
		panic("no such device")
	case "nil":
		return nil, nil
	}
	return d, nil
}

func (d *doubler) Execute(_ context.Context, args []*rt.EValue) error {
	if d.fail == "execute" {
		return errors.New("the device is gone")
	}
	x, y := view(args[0]), view(args[1])
	for i := range y {
		y[i] = 2 * x[i]
	}
	return nil
}

func (d *doubler) Close() error { d.closed = true; return nil }

func delegated() *build {
	b := newBuild("forward")
	x, y, out := b.planned(2), b.planned(2), b.planned(2)
	b.file.Named = []ir.NamedData{{Key: "weights", Data: ir.Bytes("abc")}}
	b.plan.Delegates = []pte.Delegate{
		{ID: "DoublerBackend", Processed: ir.Bytes("blob"),
			Specs: []ir.CompileSpec{{Key: "k", Value: []byte("v")}}},
	}
	b.emit(pte.DelegateCall{Delegate: 0, Args: []int32{x, y}})
	b.kernel("aten::add", "out", y, x, out)
	return b.inputs(x).outputs(out)
}

func TestBackend(t *testing.T) {
	d := &doubler{}
	p := delegated().program(t)
	m, err := load(p, "forward", &rt.MethodOptions{Backends: map[string]rt.Backend{
		"DoublerBackend": d}})
	if err != nil {
		t.Fatal(err)
	}
	forward(t, m, tensor(t, []float32{1, 2}, 2))
	wantFloats(t, m, 0, 3, 6)
	named, ok := d.init.Named("weights")
	if d.init.Method != "forward" || d.init.Processed.Size() != 4 || len(d.init.Specs) != 1 ||
		!ok || named.Size() != 3 {
		t.Errorf("the backend got %+v", d.init)
	}
	if _, ok := d.init.Named("others"); ok {
		t.Error("data that is not there")
	}
	if m.Close() != nil || !d.closed {
		t.Error("the delegate is not closed")
	}
	if got := fmt.Sprint(m.Meta().Backends); got != "[DoublerBackend]" {
		t.Errorf("backends are %s", got)
	}

	if _, err := load(p, "forward", nil); !errors.Is(err, rt.ErrMissingBackend) ||
		!strings.Contains(err.Error(), `"DoublerBackend"`) {
		t.Errorf("no backend: %v", err)
	}
	for _, fail := range []string{"panic", "nil", "execute"} {
		m, err := load(p, "forward", &rt.MethodOptions{Backends: map[string]rt.Backend{
			"DoublerBackend": &doubler{fail: fail}}})
		if fail != "execute" {
			if !errors.Is(err, rt.ErrInternal) {
				t.Errorf("%s: %v", fail, err)
			}
			continue
		}
		_, err = m.Forward(t.Context(), tensor(t, []float32{1, 2}, 2))
		if err == nil ||
			err.Error() !=
				`method "forward", instruction 0 (DelegateCall DoublerBackend): the device is gone` {
			t.Errorf("%s: %v", fail, err)
		}
	}
}

// ticks is a clock that advances a microsecond a look.
type ticks struct{ now int64 }

func (c *ticks) Now() int64              { c.now += 1000; return c.now }
func (c *ticks) Log(rt.LogLevel, string) {}

// recorder notes the events.
type recorder struct{ seen []string }

func (r *recorder) Begin(e *rt.Event) {
	r.seen = append(r.seen, fmt.Sprintf("%s %d:%d %s #%d", e.Method, e.Chain, e.Instruction, e.Op,
		e.DebugHandle))
}
func (r *recorder) End(e *rt.Event, err error) {
	if err != nil {
		r.seen = append(r.seen, err.Error())
	}
}

func TestTracer(t *testing.T) {
	r := &recorder{}
	m := branches().method(t, &rt.MethodOptions{Tracer: r})
	forward(t, m, bools(t, false, true), tensor(t, []float32{1, 2}, 2))
	want := []string{"forward 0:0 JumpFalseCall #0", "forward 0:4 aten::mul.out #4",
		"forward 0:5 MoveCall #5"}
	if fmt.Sprint(r.seen) != fmt.Sprint(want) {
		t.Errorf("events are %q", r.seen)
	}

	profile := rt.NewProfile(&ticks{})
	m = loop().method(t, &rt.MethodOptions{Tracer: profile})
	forward(t, m, tensor(t, []float32{30}, 1)) // twice through the body
	ops := profile.Ops()
	if len(ops) != 4 ||
		ops[0] != (rt.OpTime{Op: "JumpFalseCall", Calls: 5, Time: 5 * time.Microsecond}) {
		t.Errorf("the profile is %v", ops)
	}
	var text strings.Builder
	n, err := profile.WriteTo(&text)
	if err != nil || n != int64(text.Len()) || !strings.Contains(text.String(), "5µs") ||
		strings.Count(text.String(), "\n") != 4 {
		t.Errorf("%d, %v: %s", n, err, text.String())
	}
}

func TestPlatform(t *testing.T) {
	var log strings.Builder
	platform := &rt.SystemPlatform{Level: rt.LogError, Sink: &log}
	if a := platform.Now(); platform.Now() < a {
		t.Error("the clock goes back")
	}
	platform.Log(rt.LogInfo, "nothing")
	platform.Log(rt.LogError, "something")
	if log.String() != "rt: error: something\n" {
		t.Errorf("the log is %q", log.String())
	}
	// What a panic was is in the log.
	b := newBuild("forward")
	x, out := b.planned(1), b.planned(1)
	b.kernel("test::panic", "out", x, out)
	p, err := rt.NewProgram(b.outputs(out).file, &rt.LoadOptions{Platform: platform})
	if err != nil {
		t.Fatal(err)
	}
	m, err := load(p, "forward", nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Execute(t.Context()) == nil || !strings.Contains(log.String(), "kernels_test.go") {
		t.Errorf("the log is %q", log.String())
	}
}

// tripler is an Executor in place of the instructions of counter.
type tripler struct {
	b      *rt.Boundary
	state  []byte
	closed *bool
	fail   string
}

func (e *tripler) Execute(ctx context.Context) error {
	switch e.fail {
	case "panic":
		panic("a fault")
	case "error":
		return errors.New("it cannot")
	}
	state, _ := rt.NewTensor(ir.Float32, []int64{1}, nil, e.state)
	s, _ := rt.Data[float32](state)
	s[0]++
	x := view(e.b.Inputs[0])
	if err := e.b.Outputs[0].Tensor.Resize(e.b.Inputs[0].Tensor.Sizes); err != nil {
		return err
	}
	for i, out := 0, view(e.b.Outputs[0]); i < len(out); i++ {
		out[i] = 3*x[i] + s[0]
	}
	return nil
}

func (e *tripler) Close() error { *e.closed = true; return nil }

// counter is x plus a state that begins with 10; it returns a constant too.
func counter() *build {
	b := newBuild("forward")
	x, out, w := b.dynamic(4), b.dynamic(4), b.constant([]float32{7}, 1)
	state := b.state([]float32{10}, 1)
	b.kernel("aten::add", "out", state, x, out)
	return b.inputs(x).outputs(out, w, b.unplanned(4))
}

func TestOptimizer(t *testing.T) {
	closed := false
	made := &tripler{closed: &closed}
	p := counter().program(t)
	options := &rt.MethodOptions{Optimize: func(b *rt.Boundary) (rt.Executor, error) {
		var err error
		if made.state, err = b.Initial(b.Plan.Values[3].(*pte.Tensor)); err != nil {
			return nil, err
		}
		w, err := b.Constant(b.Plan.Values[2].(*pte.Tensor))
		if err != nil || string(w) != string(floatBytes(7)) {
			t.Errorf("the constant is %v, %v", w, err)
		}
		if _, err := b.Constant(b.Plan.Values[0].(*pte.Tensor)); !errors.Is(err,
			rt.ErrInvalidArgument) {
			t.Errorf("an input as a constant: %v", err)
		}
		if _, err := b.Initial(b.Plan.Values[2].(*pte.Tensor)); !errors.Is(err,
			rt.ErrInvalidArgument) {
			t.Errorf("a constant's initial data: %v", err)
		}
		made.b = b
		return made, nil
	}}
	m, err := p.LoadMethod("forward", options) // without kernels
	if err != nil {
		t.Fatal(err)
	}
	data := []float32{1, 2}
	if err := m.SetInput(0, tensor(t, data, 2)); err != nil {
		t.Fatal(err)
	}
	data[0] = 100 // planned inputs are copied
	for i := range 2 {
		if err := m.Execute(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantFloats(t, m, 0, float32(14+i), float32(17+i))
		wantFloats(t, m, 1, 7)
	}
	if err := m.SetInput(0, tensor(t, make([]float32, 5), 5)); !errors.Is(err, rt.ErrNotSupported) {
		t.Errorf("beyond the bound: %v", err)
	}
	if err := m.SetOutput(2, make([]byte, 16)); err != nil {
		t.Error(err)
	}
	if err := m.SetOutput(0, make([]byte, 16)); !errors.Is(err, rt.ErrInvalidState) {
		t.Errorf("a planned output: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Execute(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	made.fail = "error"
	if err := m.Execute(t.Context()); err == nil || err.Error() != `method "forward": it cannot` {
		t.Errorf("an error: %v", err)
	}
	if m.Close() != nil || !closed {
		t.Error("the executor is not closed")
	}
}

func TestOptimizerFails(t *testing.T) {
	p, err := rt.NewProgram(counter().file, &rt.LoadOptions{Platform: &rt.SystemPlatform{}})
	if err != nil {
		t.Fatal(err)
	}
	optimize := func(f rt.Optimizer) (*rt.Method, error) {
		return load(p, "forward", &rt.MethodOptions{Optimize: f})
	}
	cannot := errors.New("it cannot")
	if _, err := optimize(func(*rt.Boundary) (rt.Executor, error) {
		return nil, cannot
	}); !errors.Is(err, cannot) {
		t.Errorf("an error: %v", err)
	}
	if _, err := optimize(func(*rt.Boundary) (rt.Executor, error) { panic("a fault") }); !errors.Is(
		err, rt.ErrInternal) {
		t.Errorf("a panic: %v", err)
	}
	m, err := optimize(func(b *rt.Boundary) (rt.Executor, error) {
		return &tripler{b: b, fail: "panic"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Forward(t.Context(), tensor(t, []float32{1}, 1)); !errors.Is(err,
		rt.ErrInternal) {
		t.Errorf("a panic when it executes: %v", err)
	}
	// Without an executor the instructions are interpreted.
	m, err = optimize(func(*rt.Boundary) (rt.Executor, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	forward(t, m, tensor(t, []float32{1, 2}, 2))
	wantFloats(t, m, 0, 11, 12)
}
