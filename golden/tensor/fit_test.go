package tensor

import (
	"math"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

func TestFit(t *testing.T) {
	rows, cols := sym.NewSymbol("rows", 1, 16), sym.NewSymbol("cols", 2, math.MaxInt64)
	f32 := func(sizes ...sym.Expr) ir.Type {
		return ir.Type{Kind: ir.TensorKind, DType: ir.Float32, Sizes: sizes}
	}
	double := sym.Add(rows.Expr(), rows.Expr())
	inputs := []*ir.Value{
		{Name: "x", Type: f32(rows.Expr(), sym.Int(4))},
		{Name: "y", Type: f32(double)},
		{Name: "n", Type: ir.Type{Kind: ir.IntKind, Expr: cols.Expr(), HasExpr: true}},
		{Name: "s", Type: ir.Type{Kind: ir.StringKind}},
	}
	zeros := func(d ir.DType, shape ...int64) Value {
		x, err := New(d, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return Value{Tensor: x}
	}
	for _, c := range []struct {
		x, y, n Value
		want    string // "" fits
	}{
		{zeros(ir.Float32, 3, 4), zeros(ir.Float32, 6), Value{Scalar: ir.Int(7)}, ""},
		{zeros(ir.Float32, 16, 4), zeros(ir.Float32, 32), Value{Scalar: ir.Int(2)}, ""},
		{zeros(ir.Float64, 3, 4), zeros(ir.Float32, 6), Value{Scalar: ir.Int(7)},
			"input x: it is float64 [3 4]"},
		{zeros(ir.Float32, 3), zeros(ir.Float32, 6), Value{Scalar: ir.Int(7)},
			"input x: it is float32 [3]"},
		{zeros(ir.Float32, 3, 5), zeros(ir.Float32, 6), Value{Scalar: ir.Int(7)},
			"a size is 5, not 4"},
		{zeros(ir.Float32, 17, 4), zeros(ir.Float32, 34), Value{Scalar: ir.Int(7)},
			"rows is 1 to 16, not 17"},
		{zeros(ir.Float32, 0, 4), zeros(ir.Float32, 0), Value{Scalar: ir.Int(7)},
			"rows is 1 to 16, not 0"},
		{zeros(ir.Float32, 3, 4), zeros(ir.Float32, 7), Value{Scalar: ir.Int(7)}, "input y"},
		{zeros(ir.Float32, 3, 4), zeros(ir.Float32, 6), Value{Scalar: ir.Int(1)},
			"cols is at least 2, not 1"},
		{zeros(ir.Float32, 3, 4), zeros(ir.Float32, 6), Value{Scalar: ir.Float(1)},
			"input n: it is float 1"},
		{Value{Scalar: ir.Int(1)}, zeros(ir.Float32, 6), Value{Scalar: ir.Int(7)},
			"input x: it is int 1"},
		{Value{Tensor: &Tensor{DType: ir.Float32, Shape: []int64{3, 4}}}, zeros(ir.Float32, 6),
			Value{Scalar: ir.Int(7)}, "has 0"},
	} {
		err := Fit(inputs, []Value{c.x, c.y, c.n, {Scalar: ir.Str("s")}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %v, %v: %v, want %q", c.x, c.y, c.n, err, c.want)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "4096": 4096, "64KiB": 64 << 10, "64K": 64 << 10, "1.5GiB": 3 << 29,
		"2TiB": 2 << 40, "7B": 7, "3MB": 3 << 20,
		"": 0, "0": 0, "-1": 0, "GiB": 0, "1X": 0, "1 GiB": 0, "nan": 0, "inf": 0, "1e30": 0,
		"9999999TiB": 0, "1KK": 0,
	} {
		if got, err := ParseBytes(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %d, %v, want %d", text, got, err, want)
		}
	}
	for n, want := range map[int64]string{12: "12 bytes", 1 << 10: "1 KiB", 3 << 19: "1.5 MiB",
		4 << 30: "4 GiB", 5 << 40: "5 TiB"} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
}

// Of a stream no more is read than a byte over what its header says.
func TestReadNPYReadsNoMore(t *testing.T) {
	x, err := New(ir.Float32, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	data, err := FormatNPY(x)
	if err != nil {
		t.Fatal(err)
	}
	stream := &endless{first: data}
	if _, err := ReadNPY(stream, func(*Tensor, int64) error { return nil }); err == nil ||
		!strings.Contains(err.Error(), "has more") {
		t.Errorf("%v, want that it has more", err)
	}
	if stream.read > len(data)+1 {
		t.Errorf("%d bytes are read of %d", stream.read, len(data))
	}
}

// endless goes on with zeros.
type endless struct {
	first []byte
	read  int
}

func (e *endless) Read(p []byte) (int, error) {
	clear(p)
	if e.read < len(e.first) {
		copy(p, e.first[e.read:])
	}
	e.read += len(p)
	return len(p), nil
}
