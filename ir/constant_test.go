package ir

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/sym"
)

// counted is a storage of n int32 elements 0, 1, 2, …
func counted(n int) Bytes {
	var b Bytes
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	return b
}

func strided(data Blob, offset int64, sizes, strides []int64) *Constant {
	return &Constant{Name: "c", Data: data, Type: Type{Kind: TensorKind, DType: Int32,
		Sizes: Ints(sizes), Strides: Ints(strides), Offset: sym.Int(offset)}}
}

func TestTensor(t *testing.T) {
	for _, c := range []struct {
		name           string
		offset         int64
		sizes, strides []int64
		want           []uint32
	}{
		{"dense", 0, []int64{2, 3}, []int64{3, 1}, []uint32{0, 1, 2, 3, 4, 5}},
		{"view", 4, []int64{2, 2}, []int64{2, 1}, []uint32{4, 5, 6, 7}},
		{"transposed", 0, []int64{3, 2}, []int64{1, 3}, []uint32{0, 3, 1, 4, 2, 5}},
		{"slice", 1, []int64{2, 2}, []int64{5, 1}, []uint32{1, 2, 6, 7}},
		{"step", 0, []int64{3}, []int64{4}, []uint32{0, 4, 8}},
		{"expanded", 2, []int64{2, 3}, []int64{0, 1}, []uint32{2, 3, 4, 2, 3, 4}},
		{"expanded scalar", 7, []int64{2, 2}, []int64{0, 0}, []uint32{7, 7, 7, 7}},
		{"size 1 with any stride", 0, []int64{1, 3}, []int64{math.MaxInt64, 1}, []uint32{0, 1, 2}},
		{"scalar", 11, nil, nil, []uint32{11}},
		{"channels last", 0, []int64{1, 2, 2, 3}, []int64{12, 1, 6, 2}, []uint32{0, 2, 4, 6, 8, 10,
			1, 3, 5, 7, 9, 11}},
		{"empty", 100, []int64{2, 0}, []int64{1, 1}, nil},
	} {
		got, err := Tensor(strided(counted(12), c.offset, c.sizes, c.strides))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var want Bytes
		for _, x := range c.want {
			want = binary.LittleEndian.AppendUint32(want, x)
		}
		if string(got) != string(want) {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
}

func TestTensorBounds(t *testing.T) {
	const huge = math.MaxInt64
	for _, c := range []struct {
		name           string
		offset         int64
		sizes, strides []int64
		want           string
	}{
		{"too long", 0, []int64{13}, []int64{1}, "48 bytes"},
		{"beyond by offset", 12, nil, nil, "48 bytes"},
		{"beyond by stride", 0, []int64{2}, []int64{12}, "48 bytes"},
		{"huge offset", huge, []int64{2}, []int64{1}, "64 bits"},
		{"huge stride", 0, []int64{3}, []int64{huge}, "64 bits"},
		{"huge sum", 0, []int64{2, 2}, []int64{huge, huge}, "64 bits"},
		{"huge size", 0, []int64{huge, huge}, []int64{0, 0}, "64 bits"},
		{"bomb", 0, []int64{1 << 20, 1 << 20}, []int64{0, 0}, "expands"},
		{"negative size", 0, []int64{-1}, []int64{1}, "size -1"},
		{"negative stride", 4, []int64{2}, []int64{-1}, "stride -1"},
		{"negative offset", -1, nil, nil, "offset"},
	} {
		k := strided(counted(12), c.offset, c.sizes, c.strides)
		if _, err := Tensor(k); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v does not mention %q", c.name, err, c.want)
		}
		if CheckConstant(k) == nil {
			t.Errorf("%s: CheckConstant accepts it", c.name)
		}
	}
	n := sym.NewSymbol("n", 0, 9)
	k := strided(counted(12), 0, []int64{1}, []int64{1})
	k.Type.Sizes[0] = n.Expr()
	if _, err := Tensor(k); err == nil || !strings.Contains(err.Error(), "not constant") {
		t.Errorf("symbolic size: %v", err)
	}
	if _, err := Tensor(&Constant{Type: Type{Kind: IntKind}, Data: Bytes{}}); err == nil {
		t.Error("an int is a tensor")
	}
	// A storage that is shorter than it says.
	if _, err := Tensor(strided(liar{}, 0, []int64{2}, []int64{1})); err == nil {
		t.Error("a short read gives a tensor")
	}
}

type liar struct{ Bytes }

func (liar) Size() int64 { return 8 }
