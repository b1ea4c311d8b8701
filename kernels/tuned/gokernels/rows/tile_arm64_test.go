//go:build !purego

package rows

import (
	"os"
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
		unsafe.Offsetof(k.y), unsafe.Offsetof(k.x), unsafe.Offsetof(k.w), unsafe.Offsetof(k.bias),
		unsafe.Offsetof(k.add),
		unsafe.Offsetof(k.rows), unsafe.Offsetof(k.next), unsafe.Offsetof(k.step),
		unsafe.Offsetof(k.outer), unsafe.Offsetof(k.xOuter), unsafe.Offsetof(k.wOuter),
		unsafe.Offsetof(k.middle), unsafe.Offsetof(k.xMiddle), unsafe.Offsetof(k.wMiddle),
		unsafe.Offsetof(k.depth), unsafe.Offsetof(k.width), unsafe.Offsetof(k.low),
		unsafe.Offsetof(k.high), unsafe.Offsetof(k.columns),
		unsafe.Offsetof(k.fetch), unsafe.Offsetof(k.fetched), unsafe.Offsetof(k.fetchStep),
	} {
		if o != want {
			t.Errorf("field %d is at %d, want %d", i, o, want)
		}
		switch {
		case i < 5 || i == 19:
			want += 24
		case i < 16 || i > 17:
			want += 8
		default:
			want += 4
		}
	}
}

func liftForms() []carryForm[lift] {
	return []carryForm[lift]{bySide("liftNEON", 4, liftSixNEON, liftFourNEON)}
}

func landForms() []carryForm[land] {
	return []carryForm[land]{bySide("landNEON", 4, landSixNEON, landFourNEON)}
}

// The assembly knows where the fields of a lift and a land are.
func TestCarryOffsets(t *testing.T) {
	var u lift
	var d land
	for i, pair := range [][2]uintptr{
		{unsafe.Offsetof(u.v), 0}, {unsafe.Offsetof(u.x), 24}, {unsafe.Offsetof(u.at), 48},
		{unsafe.Offsetof(u.xh), 56}, {unsafe.Offsetof(u.xw), 64},
		{unsafe.Offsetof(u.step), 72}, {unsafe.Offsetof(u.channels), 80},
		{unsafe.Offsetof(u.partly), 88}, {unsafe.Offsetof(u.inside), 96},
		{unsafe.Offsetof(d.m), 0}, {unsafe.Offsetof(d.y), 24}, {unsafe.Offsetof(d.add), 48},
		{unsafe.Offsetof(d.bias), 72}, {unsafe.Offsetof(d.from), 96},
		{unsafe.Offsetof(d.yh), 104}, {unsafe.Offsetof(d.yw), 112}, {unsafe.Offsetof(d.rows), 120},
		{unsafe.Offsetof(d.cols), 128},
		{unsafe.Offsetof(d.channels), 136}, {unsafe.Offsetof(d.low), 144},
		{unsafe.Offsetof(d.high), 148},
	} {
		if pair[0] != pair[1] {
			t.Errorf("field %d is at %d, want %d", i, pair[0], pair[1])
		}
	}
}

func fewForms() []fewForm {
	return []fewForm{{"fewNEON", 4, 12, 4, func(t *few) { fewNEON(t) }}}
}

func transposeForms() []transposeForm { return nil }

// The assembly knows where the fields of a tile of few channels and a turn are.
func TestFewOffsets(t *testing.T) {
	var f few
	var u transpose
	for i, pair := range [][2]uintptr{
		{unsafe.Offsetof(f.y), 0}, {unsafe.Offsetof(f.x), 24}, {unsafe.Offsetof(f.w), 48},
		{unsafe.Offsetof(f.bias), 72}, {unsafe.Offsetof(f.add), 96},
		{unsafe.Offsetof(f.step), 120}, {unsafe.Offsetof(f.columns), 128},
		{unsafe.Offsetof(f.channels), 136},
		{unsafe.Offsetof(f.planes), 144}, {unsafe.Offsetof(f.plane), 152}, {unsafe.Offsetof(f.rows),
			160}, {unsafe.Offsetof(f.row), 168},
		{unsafe.Offsetof(f.taps), 176}, {unsafe.Offsetof(f.phases), 184}, {unsafe.Offsetof(f.phase),
			192}, {unsafe.Offsetof(f.low), 200}, {unsafe.Offsetof(f.high), 204},
		{unsafe.Offsetof(u.sums), 0}, {unsafe.Offsetof(u.y), 24}, {unsafe.Offsetof(u.add), 48},
		{unsafe.Offsetof(u.columns), 72}, {unsafe.Offsetof(u.channels), 80},
		{unsafe.Offsetof(u.low), 88}, {unsafe.Offsetof(u.high), 92},
	} {
		if pair[0] != pair[1] {
			t.Errorf("field %d is at %d, want %d", i, pair[0], pair[1])
		}
	}
}

func sweepForms() []sweepForm { return nil }

// levels are the machines that this one may be taken for: with SMMLA, with SDOT, with neither.
func levels(t *testing.T) (out []func()) {
	d, s := dot, square
	t.Cleanup(func() { dot, square = d, s })
	if s {
		out = append(out, func() { dot, square = true, true })
	}
	if d {
		out = append(out, func() { dot, square = true, false })
	}
	return append(out, func() { dot, square = false, false })
}

// Products of bytes are found where whoever runs the test knows that they are there.
func TestHaveBytes(t *testing.T) {
	if want := os.Getenv("ETGEN_SMMLA"); want != "" && (!dot || !square) {
		t.Errorf("SDOT is found: %t, SMMLA: %t", dot, square)
	}
}
