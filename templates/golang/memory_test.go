package golang

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"testing"
	"unsafe"
)

func TestView(t *testing.T) {
	a := newArena(33)
	if len(a) != 33 {
		t.Fatalf("got %d bytes", len(a))
	}
	v := view[float32](a, 16, 4)
	v[3] = 1.5
	if got := math.Float32frombits(binary.NativeEndian.Uint32(a[28:])); got != 1.5 || len(v) != 4 ||
		cap(v) != 4 {
		t.Errorf("got %v, length %d, capacity %d", got, len(v), cap(v))
	}
	if v := view[int64](a, 33, 0); len(v) != 0 {
		t.Errorf("got %v", v)
	}
	poison(a, 16, 2, 4)
	if a[23] != 0xff || a[24] != 0 {
		t.Error("poisoned the wrong bytes")
	}
}

func TestElements(t *testing.T) {
	want := []int32{1, -2, 1 << 20}
	for shift := range 4 {
		data := make([]byte, 16+shift)
		base := 0
		for uintptr(unsafe.Pointer(&data[base]))%4 != uintptr(shift) {
			base++
		}
		for i, x := range want {
			binary.LittleEndian.PutUint32(data[base+4*i:], uint32(x))
		}
		s := unsafe.String(&data[0], len(data))
		got := elements[int32](s, base, 3)
		if !slices.Equal(got, want) {
			t.Errorf("at %d: got %v", shift, got)
		}
		if shared := unsafe.Pointer(&got[0]) == unsafe.Pointer(&data[base]); shared !=
			(shift == 0 && littleEndian()) {
			t.Errorf("at %d: shared is %v", shift, shared)
		}
	}
	if got := elements[float64]("", 0, 0); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// Long tensors begin with a line of the cache on amd64, wherever the linker puts them.
func TestElementsInLines(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("only there")
	}
	data := make([]byte, 1<<13)
	for i := range data {
		data[i] = byte(i % 251)
	}
	s := unsafe.String(&data[0], len(data))
	shared := 0
	for off := 0; off < 128; off += 4 {
		got := elements[int32](s, off, 1<<10)
		if p := uintptr(unsafe.Pointer(&got[0])); p%64 != 0 {
			t.Fatalf("at %d: address %#x", off, p)
		}
		if unsafe.Pointer(&got[0]) == unsafe.Pointer(&data[off]) {
			shared++
		}
		for i, x := range got {
			if want := binary.LittleEndian.Uint32(data[off+4*i:]); uint32(x) != want {
				t.Fatalf("at %d: element %d is %d, want %d", off, i, x, want)
			}
		}
	}
	if shared != 2 {
		t.Errorf("%d of 32 are shared", shared)
	}
}
