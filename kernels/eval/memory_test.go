package eval

import (
	"bytes"
	"testing"
)

// On a machine that holds numbers the other way round, their bytes change places.
func TestByteOrder(t *testing.T) {
	defer func(order bool) { littleEndian = order }(littleEndian)
	for _, order := range []bool{true, false} {
		littleEndian = order
		buf, want := make([]byte, 8), []byte{4, 3, 2, 1, 8, 7, 6, 5}
		if !order {
			want = []byte{1, 2, 3, 4, 5, 6, 7, 8}
		}
		encode(buf, []uint32{0x01020304, 0x05060708})
		if !bytes.Equal(buf, want) {
			t.Errorf("encoded as %v, want %v", buf, want)
		}
		var got [2]uint32
		if decode(got[:], buf); got != [2]uint32{0x01020304, 0x05060708} {
			t.Errorf("decoded as %x", got)
		}
		var bools [3]bool
		if decode(bools[:], []byte{0, 1, 2}); bools != [3]bool{false, true, true} {
			t.Errorf("decoded as %v", bools)
		}
	}
}
