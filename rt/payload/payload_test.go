package payload_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/payload"
	"github.com/etgen/etgen/rt/portable"
)

const batch = "../../golden/delegated/batch/model.pte"

// A program that ExecuTorch's exporter delegated to XNNPACK runs without XNNPACK.
func Example() {
	program, err := rt.Open("../../golden/delegated/static/model.pte", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	method, err := program.LoadMethod("forward", &rt.MethodOptions{
		Registry: portable.Registry(),
		Backends: payload.Backends(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer method.Close()
	x, err := rt.TensorOf([]int64{1, 10}, make([]float32, 10))
	if err != nil {
		log.Fatal(err)
	}
	outputs, err := method.Forward(context.Background(), x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outputs[0].Tensor.Sizes)
	// Output: [1 5]
}

// A delegate runs with arguments of any sizes that fit, in any order.
func TestSizes(t *testing.T) {
	p, err := rt.Open(batch, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	m, err := p.LoadMethod("forward", &rt.MethodOptions{Registry: portable.Registry(),
		Backends: payload.Backends()})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in := m.Meta().Inputs[0]
	first := map[int64][]float32{}
	for round := range 2 {
		for n := int64(2); n <= 14; n++ { // more than are kept
			sizes := append([]int64{n}, in.Sizes[1:]...)
			count := int64(1)
			for _, s := range sizes {
				count *= s
			}
			data := make([]float32, count)
			for i := range data {
				data[i] = float32(i%7) - 3
			}
			x, err := rt.TensorOf(sizes, data)
			if err != nil {
				t.Fatal(err)
			}
			outs, err := m.Forward(t.Context(), x)
			if err != nil {
				t.Fatalf("%d rows: %v", n, err)
			}
			got, err := rt.Data[float32](outs[0].Tensor)
			if err != nil {
				t.Fatal(err)
			}
			if round == 0 {
				first[n] = append([]float32(nil), got...)
			} else if fmt.Sprint(got) != fmt.Sprint(first[n]) {
				t.Errorf("%d rows: %v, before %v", n, got, first[n])
			}
		}
	}
}

// A payload that cannot be read lets the method not load.
func TestDamaged(t *testing.T) {
	p, closer, err := pte.Open(batch)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	p.Plans[0].Delegates[0].Processed = ir.Bytes("no payload at all")
	program, err := rt.NewProgram(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = program.LoadMethod("forward", &rt.MethodOptions{Registry: portable.Registry(),
		Backends: payload.Backends()})
	if err == nil || !strings.Contains(err.Error(), "delegate 0 (XnnpackBackend): XNNPACK payload:") {
		t.Error(err)
	}
	_, err = program.LoadMethod("forward", &rt.MethodOptions{Registry: portable.Registry()})
	if !errors.Is(err, rt.ErrMissingBackend) {
		t.Error(err)
	}
}

// notes are the events of a method's delegates, and of their calls.
type notes struct{ list []string }

func (n *notes) Begin(e *rt.Event) { n.list = append(n.list, "<"+e.Op) }

func (n *notes) End(e *rt.Event, err error) {
	n.list = append(n.list, fmt.Sprintf("%v>", err))
}

// A traced delegate tells of its parts by the debug handles of the payload's nodes.
func TestTraced(t *testing.T) {
	program, err := rt.Open("../../golden/delegated/static/model.pte", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	seen := &notes{}
	m, err := program.LoadMethod("forward", &rt.MethodOptions{Registry: portable.Registry(),
		Backends: payload.Backends(), Tracer: seen})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	x, err := rt.TensorOf([]int64{1, 10}, make([]float32, 10))
	if err == nil {
		_, err = m.Forward(t.Context(), x)
	}
	if err != nil {
		t.Fatal(err)
	}
	const want = "<DelegateCall XnnpackBackend <XnnpackBackend debug handle 2 <nil>> " +
		"<XnnpackBackend debug handle 7 <nil>> <nil>>"
	if got := strings.Join(seen.list, " "); got != want {
		t.Errorf("%s", got)
	}
}

// values are what parts of delegates gave: the first byte of each tensor.
type values struct{ list []string }

func (*values) ReadsValues() bool { return true }

func (*values) Begin(*rt.Event) {}

func (v *values) End(e *rt.Event, _ error) {
	for _, x := range e.Values {
		if e.Delegate != "" {
			v.list = append(v.list, fmt.Sprint(e.Delegate, " ", x.Tensor.DType, x.Tensor.Sizes,
				x.Tensor.Data[0]))
		}
	}
}

// Who reads values is told what each node of a payload gives by its debug handle: images with
// their channels first, and floats of what is quantized.
func TestValues(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"static", "debug handle 2 float32 [1 10] 0; debug handle 7 float32 [1 5] 99"},
		{"channels_last", "debug handle 1 float32 [1 8 8 8] 0; debug handle 3 float32 [1 4 3 3] 55"},
	} {
		program, err := rt.Open("../../golden/delegated/"+c.name+"/model.pte", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		seen := &values{}
		m, err := program.LoadMethod("forward", &rt.MethodOptions{Registry: portable.Registry(),
			Backends: payload.Backends(), Tracer: seen})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		in := m.Meta().Inputs[0]
		x, err := rt.NewTensor(in.DType, in.Sizes, in.DimOrder, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Data {
			x.Data[i] = byte(i % 61)
		}
		if _, err := m.Forward(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(seen.list, "; "); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
