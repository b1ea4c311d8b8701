package layers

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
)

const lenet = "../cases/lenet/model.pt2"

func given(t *testing.T, words ...string) Inputs {
	return func(model string) ([]tensor.Value, error) {
		g, err := record.Inputs(record.File(model), "", words, 0)
		if err != nil {
			return nil, err
		}
		return g.Values, nil
	}
}

// A .pte has other names for nodes, and steps of its own. What it computes agrees all the same.
func TestOtherNames(t *testing.T) {
	const model = "../cases/lstm_bidirectional/model.pt2"
	p, closer, err := compile.Read(model)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	pkg, err := compile.Package(p, compile.Options{Lang: "pte", Name: "model"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	from := Side{Path: model, Way: way.Reference{}}
	to := Side{Path: filepath.Join(dir, "model.pte"), Way: way.Reference{}}
	for _, sides := range [][2]Side{{from, to}, {to, from}} {
		r, err := Compare(t.Context(), sides[0], sides[1], "",
			given(t, "../cases/lstm_bidirectional/input_0.bin"))
		if err != nil {
			t.Fatal(err)
		}
		if r.First >= 0 || len(r.Rows) < 70 || len(r.OnlyA) > 4 {
			t.Errorf("%d nodes, of A alone %q, first %d", len(r.Rows), r.OnlyA, r.First)
		}
	}
}

// What PyTorch recorded is compared by name. A tensor that differs is first and worst; one of
// another shape is out of tolerance; one that no node gives is told of.
func TestRecorded(t *testing.T) {
	inputs := given(t, "../cases/lenet/input_0.bin")
	model := Side{Path: lenet, Way: way.Reference{}}
	list, _ := model.values(t.Context(), "", "functional", inputs)
	dir := t.TempDir()
	write := func(node string, x *tensor.Tensor) {
		t.Helper()
		data, err := tensor.FormatNPY(x)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, node+".npy"), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range list {
		write(x.node, x.tensor)
	}
	compare := func() *Report {
		t.Helper()
		r, err := Compare(t.Context(), Side{Path: dir}, model, "", inputs)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := compare(); len(r.Rows) != len(list) || r.First != -1 || r.Differs(0, false) {
		t.Errorf("%+v", r)
	}
	for _, x := range list {
		switch x.node {
		case "relu_1":
			other := *x.tensor
			other.Data = append([]byte(nil), x.tensor.Data...)
			other.Data[3] ^= 0x40 // half of the exponent
			write("relu_1", &other)
		case "flatten":
			other := *x.tensor
			other.Shape = []int64{other.Len()}
			write("flatten", &other)
		}
	}
	write("unknown", list[0].tensor)
	r := compare()
	if r.Rows[r.First].Node.Raw() != "relu_1" || !r.Differs(0, false) || !r.Differs(20, true) ||
		len(r.OnlyA) != 1 {
		t.Errorf("%+v", r)
	}
	var b strings.Builder
	if err := r.Text(&b, 0, false); err != nil || !strings.Contains(b.String(),
		"first out of tolerance: relu_1") ||
		!strings.Contains(b.String(), "layers.py:42") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// With a least SQNR the text says what the exit code does.
func TestLeast(t *testing.T) {
	r := &Report{Rows: []Row{{SQNR: 60}, {Node: foreign.Of("n"), SQNR: 30}, {SQNR: 20}}, First: -1,
		Worst: 2}
	for least, want := range map[float64]string{10: "all agree\n",
		40: "first below 40 dB: n, 30.0 dB\n"} {
		var b strings.Builder
		if err := r.Text(&b, least, true); err != nil || !strings.Contains(b.String(), want) ||
			r.Differs(least, true) != (least > 20) {
			t.Errorf("%v, want %q\n%s", err, want, b.String())
		}
	}
}

// Squares that no float64 holds are no noise of their own.
func TestNoise(t *testing.T) {
	for _, c := range []struct{ want, got, sqnr, largest float64 }{
		{1e200, 2e200, 0, 1e200},
		{1e-200, 2e-200, 0, 1e-200},
		{5e-324, 0, 0, 5e-324},
		{1e300, 0x1p900, 0, 1e300},
		{1, 1.1, 20, 0.1},
		{1, 1, exact, 0},
		{math.NaN(), math.NaN(), exact, 0},
		{0, 1, -exact, 1},
		{1, math.NaN(), -exact, math.MaxFloat64},
		{1e-300, 1e300, -exact + 0.01, 1e300},
	} {
		sqnr, largest := noise([]float64{c.want, 0}, []float64{c.got, 0})
		if sqnr != c.sqnr || math.Abs(largest-c.largest) > 1e-9*c.largest {
			t.Errorf("%v: %v, %v", c, sqnr, largest)
		}
	}
}

// Programs of which nothing can be compared are an error.
func TestRefuses(t *testing.T) {
	model := Side{Path: lenet, Way: way.Reference{}}
	for _, c := range []struct {
		other Side
		input string
		want  string
	}{
		{model, "3", "input x"},
		{Side{Path: t.TempDir()}, "../cases/lenet/input_0.bin", "has no NODE.npy"},
		{Side{Path: "../cases/none/model.pt2", Way: way.Reference{}}, "1", "no such file"},
	} {
		if _, err := Compare(t.Context(), c.other, model, "", given(t, c.input)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := Compare(t.Context(), model, model, "none",
		given(t, "../cases/lenet/input_0.bin")); err == nil ||
		!strings.Contains(err.Error(), "no method none") {
		t.Error(err)
	}
}

// Values that do not agree are pairs by name, operator and type, before what is left is by order.
func TestMatch(t *testing.T) {
	at := func(name string, x byte) value {
		return value{node: name, op: "tanh", tensor: &tensor.Tensor{DType: ir.Uint8, Shape: []int64{2},
			Data: []byte{x, x + 1}}}
	}
	pairs := match([]value{at("tanh", 1), at("tanh_1", 3), at("tanh_2", 5)},
		[]value{at("tanh_1", 13), at("tanh_3", 15), at("tanh_2", 17)}, false,
		func(x, y value) bool { return x.tensor.Data[0] == y.tensor.Data[0] })
	if len(pairs) != 2 || pairs[1] != 0 || pairs[2] != 2 {
		t.Errorf("%v", pairs)
	}
}
