package form

import (
	"math"
	"testing"

	"github.com/etgen/etgen/ir"
)

func TestWriter(t *testing.T) {
	var w Writer
	w.Tensor(ir.Float32, []int64{1, 4}, []uint8{0, 1}, false, false)
	w.Tensor(ir.Float32, []int64{8, 4}, nil, true, false)
	w.None()
	w.Open()
	w.Int(2)
	w.Number("int")
	w.Close()
	w.Open()
	w.Close()
	w.Float(1)
	w.Float(math.Inf(-1))
	w.Float(1e-5)
	w.Bool(true)
	w.Text(`a "b"`)
	w.Tensor(ir.Int8, nil, nil, false, false)
	w.Tensor(ir.Float32, []int64{8, 8}, []uint8{1, 0}, false, true)
	want := `f32[1,4], const f32[8,4], none, [2, int], [], 1.0, -Inf, 1e-05, true, "a \"b\"", i8[], f32[<=8,8]@1,0`
	if got := w.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
