package page

import (
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/half"
)

// bins is how many bins histograms have.
const bins = 40

// weights are the constants of graphs, each once.
type weights struct {
	list []Weight
	at   map[*ir.Constant]int
	// lowered says that what is new was made by lowering.
	lowered bool
}

// newWeights returns a list that has no weight yet.
func newWeights() *weights { return &weights{list: []Weight{}, at: map[*ir.Constant]int{}} }

// of returns the index of a constant.
func (w *weights) of(c *ir.Constant) int {
	if i, ok := w.at[c]; ok {
		return i
	}
	i := len(w.list)
	w.at[c] = i
	data := must.Get(ir.Tensor(c))
	x := Weight{Name: foreign.Of(c.Name), Type: foreign.Of(c.Type.Dense().String()),
		Bytes: int64(len(data)), Bins: []int64{}, Lowered: w.lowered}
	x.count(c.Type.DType, data)
	w.list = append(w.list, x)
	return i
}

// count fills in what elements say.
func (w *Weight) count(d ir.DType, data []byte) {
	least, most, n := math.Inf(1), math.Inf(-1), 0.0
	elements(d, data, func(x float64) {
		w.Count++
		if math.IsNaN(x) || math.IsInf(x, 0) {
			w.Odd++
			return
		}
		if x == 0 {
			w.Zeros++
		}
		least, most = min(least, x), max(most, x)
		n++
	})
	if n == 0 {
		return
	}
	w.Least, w.Most, w.Mean = least, most, least
	if least == most {
		return
	}
	// Float64s whose squares or differences are none are counted in units.
	unit := 1.0
	if largest := max(most, -least); largest > 1e150 {
		unit = largest
	}
	width := most/unit - least/unit
	w.Bins = make([]int64, bins)
	sum, squares, n := 0.0, 0.0, 0.0
	elements(d, data, func(x float64) {
		if !(x >= least && x <= most) {
			return
		}
		part := (x/unit - least/unit) / width
		w.Bins[min(bins-1, int(part*bins))]++
		n++
		step := x/unit - sum
		sum += step / n // the mean, by Welford
		squares += step * (x/unit - sum)
	})
	w.Mean, w.Sigma = finite(sum*unit), finite(math.Sqrt(squares/n)*unit)
}

// finite is x as JSON can have it: the nearest number that is finite, 0 of none.
func finite(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(-math.MaxFloat64, min(math.MaxFloat64, x))
}

// elements calls f with each element of data; complex numbers are two.
func elements(d ir.DType, data []byte, f func(float64)) {
	little := binary.LittleEndian
	size := d.Size()
	if d.IsComplex() {
		size /= 2
	}
	if d == ir.Float32 {
		for ; len(data) >= 4; data = data[4:] {
			f(float64(math.Float32frombits(little.Uint32(data))))
		}
		return
	}
	for ; size > 0 && len(data) >= size; data = data[size:] {
		switch floats := d.IsFloat() || d.IsComplex(); {
		case floats && size == 8:
			f(math.Float64frombits(little.Uint64(data)))
		case floats && size == 4:
			f(float64(math.Float32frombits(little.Uint32(data))))
		case d.IsFloat() && size == 2:
			f(float64(half.ToFloat32(d, little.Uint16(data))))
		case d.IsFloat() && size == 1:
			f(float64(half.ToFloat32(d, uint16(data[0]))))
		case size == 8:
			f(float64(int64(little.Uint64(data))))
		case size == 4 && d.IsUnsigned():
			f(float64(little.Uint32(data)))
		case size == 4:
			f(float64(int32(little.Uint32(data))))
		case size == 2 && d.IsUnsigned():
			f(float64(little.Uint16(data)))
		case size == 2:
			f(float64(int16(little.Uint16(data))))
		case d.IsUnsigned() || d == ir.Bool:
			f(float64(data[0]))
		default:
			f(float64(int8(data[0])))
		}
	}
}
