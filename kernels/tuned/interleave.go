package tuned

import (
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
)

// interleaving is how columns of weights are interleaved: so many columns, of each so many
// elements.
type interleaving struct{ columns, elements int }

// interleave packs the weights of interleaved columns, and where their sums begin. Those of two
// columns have 4 bits if that is enough and int32 holds 16 times the sums. It reports false if they
// are not constant, or if the sums may not be those of the definition.
func (cv *int8Conv) interleave(r *Request, t interleaving) (w, start Packed, begun []int,
	int4, ok bool) {
	if !cv.wide {
		if w, start, begun, ok = cv.interleaved(r, t, true); ok {
			return w, start, begun, true, true
		}
	}
	w, start, begun, ok = cv.interleaved(r, t, false)
	return w, start, begun, false, ok
}

// interleaved packs weights of 4 bits, or of 8.
func (cv *int8Conv) interleaved(r *Request, t interleaving, int4 bool) (w, start Packed,
	begun []int, ok bool) {
	if -cv.offset != int64(int8(-cv.offset)) {
		return w, start, nil, false
	}
	given, ok := r.Const(cv.w)
	if !ok {
		return w, start, nil, false
	}
	k, least, most, times := cv.depth(), int64(math.MinInt8), int64(math.MaxInt8), int64(1)
	deep := int(roundUp(int64(k), t.elements))
	if int4 {
		least, most, times = -8, 7, 16
		if t.columns > 2 { // two blocks lie in one
			deep = int(roundUp(int64(k), 2*t.elements))
		}
	}
	across := int(roundUp(int64(cv.cout), 4))
	bytes := make([]byte, cv.groups*across*deep)
	bias, begun := cv.begin(r)
	begins := make([]int64, cv.groups*across)
	for i, b := range bias {
		c := i/cv.cout*across + i%cv.cout
		sum, far := int64(0), int64(0)
		for j := range k {
			v := int64(int8(given[cv.place(i, j)])) + cv.wOffset
			if v < least || v > most {
				return w, start, nil, false
			}
			sum += v
			far += max(v, -v)
			at := j % t.elements
			if cv.wide {
				at = [4]int{0, 2, 1, 3}[at]
			}
			bytes[t.place(c, j-j%t.elements+at, deep)] = byte(v)
		}
		if begins[c] = times * (b + sum*cv.offset); !cv.holds(times*b, times*far) {
			return w, start, nil, false
		}
	}
	if cv.groups == 1 {
		bytes = bytes[:int(roundUp(int64(cv.cout), t.columns))*deep]
	}
	if int4 {
		bytes = t.inHalves(bytes)
	}
	w = Packed{Name: "w", DType: ir.Int8, Data: bytes, From: []int{cv.w}}
	return w, starts(begins), begun, true
}

// place is where element k of a column lies, all having so many.
func (t interleaving) place(column, k, deep int) int {
	return column/t.columns*t.columns*deep + k/t.elements*t.elements*t.columns +
		column%t.columns*t.elements + k%t.elements
}

// inHalves packs integers of 4 bits, of two columns that take turns: those of the first in lower
// halves of bytes. With four columns, each block is in lower halves, the next one in upper ones.
func (t interleaving) inHalves(data []byte) []byte {
	half := t.elements
	if t.columns > 2 {
		half *= t.columns
	}
	packed := make([]byte, 0, len(data)/2)
	for i := 0; i < len(data); i += 2 * half {
		for k := range half {
			packed = append(packed, data[i+k]&15|data[i+half+k]<<4)
		}
	}
	return packed
}

// starts packs what sums begin with.
func starts(sums []int64) Packed {
	p := Packed{Name: "start", DType: ir.Int32}
	for _, v := range sums {
		p.Data = binary.LittleEndian.AppendUint32(p.Data, uint32(int32(v)))
	}
	return p
}
