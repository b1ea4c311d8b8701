//go:build !purego

package rows

import (
	"testing"
	"unsafe"
)

// The product and the window that are tested are these.
func productForms() []form { return nil }

func windowForms() []form { return nil }

func largestForms() []form { return nil }

// The assembly knows where the fields of a tile are.
func TestOffsets(t *testing.T) {
	var k tile
	want := uintptr(0)
	for i, o := range []uintptr{
		unsafe.Offsetof(k.y), unsafe.Offsetof(k.x), unsafe.Offsetof(k.w), unsafe.Offsetof(k.bias), unsafe.Offsetof(k.add),
		unsafe.Offsetof(k.rows), unsafe.Offsetof(k.next), unsafe.Offsetof(k.step),
		unsafe.Offsetof(k.outer), unsafe.Offsetof(k.xOuter), unsafe.Offsetof(k.wOuter),
		unsafe.Offsetof(k.middle), unsafe.Offsetof(k.xMiddle), unsafe.Offsetof(k.wMiddle),
		unsafe.Offsetof(k.depth), unsafe.Offsetof(k.width), unsafe.Offsetof(k.low), unsafe.Offsetof(k.high), unsafe.Offsetof(k.columns),
	} {
		if o != want {
			t.Errorf("field %d is at %d, want %d", i, o, want)
		}
		switch {
		case i < 5:
			want += 24
		case i < 16 || i > 17:
			want += 8
		default:
			want += 4
		}
	}
}
