package tensor

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/ir"
)

// npy is a version-1 file with the given header.
func npy(header string, body ...byte) []byte {
	out := append([]byte(npyMagic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(header)))
	return append(append(out, header...), body...)
}

func TestNPYRoundTrip(t *testing.T) {
	for _, n := range npyNames {
		for _, shape := range [][]int64{{}, {3}, {2, 3}, {0, 4}, {1, 2, 1, 2}} {
			want, err := New(n.d, shape...)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want.Data {
				want.Data[i] = byte(i)
			}
			file, err := FormatNPY(want)
			if err != nil {
				t.Fatal(err)
			}
			if at := len(file) - len(want.Data); at%64 != 0 {
				t.Errorf("%v: elements begin at %d", want, at)
			}
			got, err := ParseNPY(file)
			if err != nil {
				t.Fatalf("%v: %v", want, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", want, diff)
			}
		}
	}
}

func TestNPYFortran(t *testing.T) {
	got, err := ParseNPY(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", 1, 4,
		2, 5, 3, 6))
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte{1, 2, 3, 4, 5, 6}; !bytes.Equal(got.Data, want) {
		t.Errorf("got %v, want %v", got.Data, want)
	}
}

func TestNPYVersion2(t *testing.T) {
	header := `{"shape": (1,), "fortran_order": False, "descr": "<i2"}`
	file := append([]byte(npyMagic), 2, 0)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(header)))
	file = append(append(file, header...), 7, 0)
	got, err := ParseNPY(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := (&Tensor{ir.Int16, []int64{1}, []byte{7, 0}}); !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestNPYErrors(t *testing.T) {
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "no .npy file"},
		{[]byte("\x93NUMPY\x01\x00"), "no .npy file"},
		{[]byte("\x93NUMPY\x09\x00\x00\x00"), "version 9"},
		{[]byte("\x93NUMPY\x01\x00\xff\xff"), "ends early"},
		{[]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), "ends early"},
		{npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 0, 0, 0, 0),
			"several fields"},
		{npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", 0, 0, 0, 0),
			"little endian"},
		{npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 0, 0, 0, 0), "has 4"},
		{npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}"),
			"too large"},
		{npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"),
			"malformed"},
		{npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}"), "neither"},
		{npy("{'descr': '<f4', 'shape': ()}"), "needs"},
		{npy("{'descr': '<f4'"), "missing"},
		{npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}"), "unknown key"},
		{npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()} z", 0, 0, 0, 0),
			"after its end"},
	} {
		_, err := ParseNPY(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.file, err, c.want)
		}
	}
}

func FuzzNPY(f *testing.F) {
	f.Add(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := ParseNPY(file)
		if err == nil && got.Check() != nil {
			t.Error(got.Check())
		}
	})
}

// A tensor with a size of 0 has no bytes, whatever its other sizes are (mutant 3046981).
func TestBytesOfNothing(t *testing.T) {
	for _, shape := range [][]int64{{1 << 40, 0}, {0, 1 << 40}, {1 << 40, 0, 1 << 40}} {
		if n, err := Bytes(ir.Float32, shape); n != 0 || err != nil {
			t.Errorf("%v: %d bytes, %v", shape, n, err)
		}
	}
	if _, err := Bytes(ir.Float32, []int64{1 << 40, 1 << 40}); err == nil {
		t.Error("2^80 elements have bytes")
	}
}
