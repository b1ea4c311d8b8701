package flat

import (
	"encoding/binary"
	"strings"
	"testing"
)

const sample = `
// A comment: of no meaning.
namespace x;
file_identifier "TEST";
table Leaf { a: int; b: [long]; c: string; }
table Other {}
union Any { Leaf, Other }
table Root {
  leaves: [Leaf]; // a list
  any: Any;
  flag: bool;
  data: [ubyte] (force_align: 16);
}
root_type Root;
`

func parse(t testing.TB) *Schema {
	t.Helper()
	s, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParse(t *testing.T) {
	s := parse(t)
	if s.Identifier != "TEST" || s.root.name != "Root" {
		t.Errorf("%q, root %s", s.Identifier, s.root.name)
	}
	var got []string
	for _, f := range s.root.fields {
		got = append(got, f.name)
	}
	if want := "leaves any any flag data"; strings.Join(got, " ") != want {
		t.Errorf("fields %v, want %s", got, want)
	}
}

// Members of a union that are one table have their own names.
func TestUnionAlias(t *testing.T) {
	s, err := Parse(strings.Replace(sample, "{ Leaf, Other }", "{ Twin: Leaf, Leaf }", 1))
	if err != nil {
		t.Fatal(err)
	}
	b := buffer()
	for selector, want := range map[byte]string{1: "Twin", 2: "Leaf"} {
		b[36] = selector
		if err := s.Check(b); err != nil {
			t.Fatal(err)
		}
		sub, kind, ok := s.Root(b).Union("any")
		if !ok || kind != want || sub.Number("a") != 7 {
			t.Errorf("type %d: %s, %v, a %d", selector, kind, ok, sub.Number("a"))
		}
		l, err := s.Layout("Root")
		if err != nil || l.Selector(want) != uint64(selector) {
			t.Errorf("%s is selected by %d, %v", want, l.Selector(want), err)
		}
	}
	if _, err := s.Layout("Twin"); err != nil {
		t.Error(err)
	}
}

func TestParseErrors(t *testing.T) {
	const tail = ` file_identifier "TEST"; root_type A;`
	for text, want := range map[string]string{
		"table A { x: y; }" +
			tail: "schema: table A: x has a type that is not declared before it",
		"table A { x: A; }" +
			tail: "schema: table A: x has a type that is not declared before it",
		"table A { x: [string]; }" +
			tail: "schema: table A: x has a type that is not declared before it",
		"table A { x }" + tail:            `schema: table A: cannot read "x"`,
		"union U { A } table A {}" + tail: `schema: union U has no table "A" before it`,
		"struct A {}" +
			tail: `schema: cannot read "struct A {} file_identifier \"TEST\"; root_type A;"`,
		`table A {} file_identifier "TEST";`:      "schema: no root_type or no file_identifier of four bytes",
		`table A {} root_type A;`:                 "schema: no root_type or no file_identifier of four bytes",
		`file_identifier "TEST"; root_type None;`: "schema: no root_type or no file_identifier of four bytes",
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// buffer is a root with a leaf, and the leaf once more as its union:
//
//	0 root, identifier   8 vtable of the root   24 root   44 vector of one table
//	52 vtable of the leaf   64 leaf   80 vector of one long   96 string "ab"
func buffer() []byte {
	b := make([]byte, 104)
	le := binary.LittleEndian
	u16 := func(at int, values ...uint16) {
		for i, v := range values {
			le.PutUint16(b[at+2*i:], v)
		}
	}
	u32 := func(at int, values ...uint32) {
		for i, v := range values {
			le.PutUint32(b[at+4*i:], v)
		}
	}
	u32(0, 24)
	copy(b[4:], "TEST")
	u16(8, 12, 16, 4, 12, 8)        // leaves at 4, the union's type at 12, its value at 8
	u32(24, 24-8, 44-28, 64-32, 1)  // root: vtable, leaves, value, type
	u32(44, 1, 64-48)               // the vector
	u16(52, 10, 16, 12, 4, 8)       // a at 12, b at 4, c at 8
	u32(64, 64-52, 84-68, 96-72, 7) // leaf
	u32(84, 1)                      // the list of longs, at 88
	u32(96, 2)                      // the string
	copy(b[100:], "ab\x00")
	return b
}

func TestCheck(t *testing.T) {
	if err := parse(t).Check(buffer()); err != nil {
		t.Error(err)
	}
}

func TestCheckErrors(t *testing.T) {
	s := parse(t)
	for name, c := range map[string]struct {
		at    int
		value byte
		want  string
	}{
		"identifier":     {4, 'X', `identifier "XEST", want "TEST"`},
		"root in header": {0, 4, "the root table is at 4, inside the header"},
		"root beyond":    {0, 200, "table Root of 4 bytes at 200 leaves the buffer of 104 bytes"},
		"root unaligned": {0, 25, "table Root at 25 is not aligned to 4 bytes"},
		"vtable before":  {24, 25, "vtable at -1"},
		"vtable beyond": {27, 0xff,
			"vtable of 4 bytes at 16777224 leaves the buffer of 104 bytes"},
		"vtable short": {8, 2, "vtable of 2 bytes"},
		"vtable odd":   {8, 5, "vtable of 5 bytes"},
		"vtable long":  {8, 120, "vtable of 120 bytes at 8 leaves the buffer of 104 bytes"},
		"field beyond": {12, 200,
			"leaves: field of 4 bytes at 224 leaves the buffer of 104 bytes"},
		"field unaligned": {12, 5, "leaves: field at 29 is not aligned to 4 bytes"},
		"vector beyond": {28, 200,
			"leaves: vector of 4 bytes at 228 leaves the buffer of 104 bytes"},
		"vector unaligned": {28, 17, "leaves: vector at 45 is not aligned to 4 bytes"},
		"vector long": {44, 200,
			"leaves: vector of 800 bytes at 48 leaves the buffer of 104 bytes"},
		"element": {48, 200,
			"leaves[0]: table Leaf of 4 bytes at 248 leaves the buffer of 104 bytes"},
		"inner vector": {84, 3,
			"leaves[0].b: vector of 24 bytes at 88 leaves the buffer of 104 bytes"},
		"string long": {96, 9,
			"leaves[0].c: vector of 9 bytes at 100 leaves the buffer of 104 bytes"},
		"string open": {96, 4,
			"leaves[0].c: string of 1 bytes at 104 leaves the buffer of 104 bytes"},
		"string end":    {102, 'c', "leaves[0].c: string without a zero byte after it"},
		"union type":    {36, 3, "any: a value of the unknown type 3"},
		"union no type": {36, 0, "any: a value of the unknown type 0"},
	} {
		b := buffer()
		b[c.at] = c.value
		err := s.Check(b)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	b := buffer()
	b[68], b[80] = 80-68, 1
	if err := s.Check(b); err == nil ||
		err.Error() != "leaves[0].b: vector at 84 is not aligned to 8 bytes" {
		t.Errorf("misaligned longs: %v", err)
	}
	for n := range len(buffer()) {
		if err := s.Check(buffer()[:n]); err == nil && n < 103 {
			t.Errorf("the first %d bytes are accepted", n)
		}
	}
}

// A table counts as often as it is referred to, one of a shared type once.
func TestCheckExpansion(t *testing.T) {
	s := parse(t)
	const n = 1000
	b := append(buffer(), make([]byte, 4*n+4)...)
	binary.LittleEndian.PutUint32(b[28:], 104-28)
	binary.LittleEndian.PutUint32(b[104:], n)
	for i := range n {
		at := 108 + 4*i
		binary.LittleEndian.PutUint32(b[at:], uint32(64-at)) // before it: not what offsets do
	}
	if err := s.Check(b); err == nil {
		t.Error("an offset backwards is accepted")
	}
	// The vector before the leaf: n references to one leaf of many longs.
	b = make([]byte, 44+4+4*n)
	copy(b, buffer()[:44])
	binary.LittleEndian.PutUint32(b[44:], n)
	leaf := len(b) + 12
	b = append(b, buffer()[52:80]...)
	for i := range n {
		at := 48 + 4*i
		binary.LittleEndian.PutUint32(b[at:], uint32(leaf-at))
	}
	binary.LittleEndian.PutUint32(b[32:], uint32(leaf-32))
	longs := 400
	start := (len(b) + 4 + 7) &^ 7
	b = append(b, make([]byte, start-len(b)+8*longs+8)...)
	binary.LittleEndian.PutUint32(b[start-4:], uint32(longs))
	binary.LittleEndian.PutUint32(b[leaf+4:], uint32(start-4-leaf-4))
	binary.LittleEndian.PutUint32(b[leaf+8:], uint32(start+8*longs-leaf-8))
	err := s.Check(b)
	if err == nil || !strings.Contains(err.Error(), "is more than 96 times") {
		t.Errorf("%v", err)
	}
	if err := s.Check(b, "Leaf"); err != nil {
		t.Errorf("shared: %v", err)
	}
}
