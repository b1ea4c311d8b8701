package pt2

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
)

// Pieces of pickles.
func str(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func storageID(typ, key, n string) string {
	return "(" + str("storage") + "c" + typ + "\n" + str(key) + str("cpu") + n + "tQ"
}

func tensor(storage, offset, sizes, strides string) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + offset + sizes + strides + "\x89}tR"
}

func TestUnpickle(t *testing.T) {
	pickle := "\x80\x02}(" + str("a") + tensor(storageID("torch\nHalfStorage", "7", "K\x06"),
		"K\x00", "K\x02K\x03\x86", "K\x03K\x01\x86") +
		str("b") + "ctorch._utils\n_rebuild_parameter_with_state\n(" +
		tensor(storageID("torch\nFloatStorage", "8", "K\x01"), "K\x00", "))"[:1], ")") +
		"\x88}}tR" +
		str("n") + "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\xff" + "u."
	root, err := unpickle([]byte(pickle))
	if err != nil {
		t.Fatal(err)
	}
	d := root.(*pickleDict)
	a, b := d.values[0].(*savedTensor), d.values[1].(*savedTensor)
	if a.typ.String() != "f16[2, 3]" || a.storage.key != "7" || a.storage.size != 12 {
		t.Errorf("a is %v of %+v", a.typ, a.storage)
	}
	if b.typ.String() != "f32[]" || b.storage.size != 4 {
		t.Errorf("b is %v of %+v", b.typ, b.storage)
	}
	if d.values[2] != int64(-1) {
		t.Errorf("n is %v", d.values[2])
	}
}

// TestUntypedStorage reads the form of the newer dtypes.
func TestUntypedStorage(t *testing.T) {
	root, err := unpickle([]byte("ctorch._utils\n_rebuild_tensor_v3\n(" +
		storageID("torch.storage\nUntypedStorage", "0", "K\x08") +
		"K\x00K\x04\x85K\x01\x85\x89}ctorch\nuint16\n}tR."))
	if err != nil {
		t.Fatal(err)
	}
	if x := root.(*savedTensor); x.typ.DType != ir.Uint16 || x.storage.size != 8 {
		t.Errorf("got %v of %+v", x.typ, x.storage)
	}
}

func TestHostilePickle(t *testing.T) {
	good := storageID("torch\nFloatStorage", "0", "K\x01")
	for name, c := range map[string]struct{ pickle, want string }{
		"system":         {"cos\nsystem\n(" + str("rm -rf /") + "tR.", "os system"},
		"eval":           {"c__builtin__\neval\n" + str("1") + "\x85R.", "__builtin__ eval"},
		"torch function": {"ctorch\nload\n.", "torch load"},
		"stack global":   {str("os") + str("system") + "\x93.", "opcode 0x93"},
		"inst":           {"(ios\nsystem\n.", "opcode 0x69"},
		"object":         {"(cos\nsystem\no.", "os system"},
		"newobj":         {"ccollections\nOrderedDict\n)\x81.", "opcode 0x81"},
		"extension":      {"\x82\x01.", "opcode 0x82"},
		"protocol":       {"\x80\x63.", "protocol"},
		"deep":           {strings.Repeat("(", 1<<20) + strings.Repeat("t", 1<<20), "ends early"},
		"deep lists": {strings.Repeat("]", 1<<20) + strings.Repeat("a", 1<<20-2) + "Nb",
			"ends early"},
		"memo bomb": {"]q\x00" +
			strings.Repeat("(h\x00h\x00h\x00h\x00h\x00h\x00h\x00h\x00tq\x00", 1<<10), "ends early"},
		"empty memo":   {"h\x05.", "memo 5 is empty"},
		"no mark":      {"t.", "no mark"},
		"below mark":   {"N(\x85.", "underflow"},
		"underflow":    {"R.", "underflow"},
		"empty":        {"", "ends early"},
		"long string":  {"X\xff\xff\xff\xff", "4294967295 bytes"},
		"cut string":   {"X\x10\x00\x00\x00abc", "ends early"},
		"long number":  {"\x8a\xff", "64 bits"},
		"odd items":    {"}(NNNu.", "no container"},
		"no container": {"N(NNu.", "no container"},
		"no function":  {"N)R.", "no function"},
		"no id":        {"NQ.", "bad storage"},
		"storage key":  {storageID("torch\nFloatStorage", "../x", "K\x01") + ".", "bad storage"},
		"storage size": {storageID("torch\nDoubleStorage", "0",
			"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f") + ".", "elements"},
		"negative size": {storageID("torch\nFloatStorage", "0", "J\xff\xff\xff\xff") + ".",
			"bad storage"},
		"ranks":    {tensor(good, "K\x00", "K\x01\x85", ")") + ".", "1 sizes and 0 strides"},
		"sizes":    {tensor(good, "K\x00", str("x")+"\x85", "K\x01\x85") + ".", "bad tensor"},
		"negative": {tensor(good, "J\xff\xff\xff\xff", ")", ")") + ".", "offset -1"},
		"high rank": {tensor(good, "K\x00", "("+strings.Repeat("K\x01", 65)+"t",
			"("+strings.Repeat("K\x01", 65)+"t") + ".", "bad tensor"},
		"subclass": {
			"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\nN)}tR.",
			"bad call"},
		"recursion": {
			strings.Repeat("ctorch._tensor\n_rebuild_from_type_v2\nq\x00(h\x00ctorch\nTensor\n",
				1) + "(h\x00ctorch\nTensor\n)}t}tR.",
			"bad call"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := unpickle([]byte(c.pickle))
			if err == nil {
				t.Fatalf("it gives %v", v)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not mention %q", err, c.want)
			}
		})
	}
}

// TestHostileStateDict puts a hostile pickle and a short storage into a model.
func TestHostileStateDict(t *testing.T) {
	const file = "serialized_state_dict.pt"
	for _, c := range []struct{ member, data, want string }{
		{"archive/data.pkl", "\x80\x02cposix\nsystem\n" + str("id") + "\x85R.", `"posix system"`},
		{"archive/data/0", "abc", "only 3 in the file"},
		{"archive/data/0", "", "only 0 in the file"},
		{"archive/byteorder", "big", `byte order is "big"`},
	} {
		files := unpack(t, "testdata/linear-2.6.pt2")
		inner := unpackBytes(t, files[file].Data)
		inner[c.member].Data = []byte(c.data)
		files[file].Data = []byte(pack(t, inner, 0))
		_, err := ReadFS(files, ".")
		wantError(t, err, file, c.want)
		delete(inner, c.member)
		files[file].Data = []byte(pack(t, inner, 0))
		if _, err = ReadFS(files, "."); c.member != "archive/byteorder" {
			wantError(t, err, file)
		} else if err != nil {
			t.Error(err)
		}
	}
}
