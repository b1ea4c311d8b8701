package flat

import (
	"encoding/binary"
	"fmt"

	"github.com/etgen/etgen/ir/must"
)

// Table is a table of a buffer that Check let pass. Fields are asked for by the names of
// the schema; one that is absent is what the schema says, else 0, empty, or false.
type Table struct {
	buf   []byte
	pos   uint32
	table *table
}

// Root returns the root table of a buffer that Check let pass.
func (s *Schema) Root(buf []byte) Table {
	return Table{buf, binary.LittleEndian.Uint32(buf), s.root}
}

// Pos tells tables of a buffer apart.
func (t Table) Pos() uint32 { return t.pos }

// place returns a field of the table and where it is, 0 if it is absent. Of a union it is
// the table.
func (t Table) place(name string) (*field, uint32) {
	for id := range t.table.fields {
		if f := &t.table.fields[id]; f.name == name && f.kind != unionType {
			return f, t.slot(id)
		}
	}
	panic(fmt.Sprintf("table %s has no field %s", t.table.name, name))
}

func (t Table) slot(id int) uint32 {
	vtable := t.pos - t.u32(t.pos)
	if at := 4 + 2*uint32(id); at < uint32(t.u16(vtable)) {
		if off := t.u16(vtable + at); off != 0 {
			return t.pos + uint32(off)
		}
	}
	return 0
}

func (t Table) u16(pos uint32) uint16 { return binary.LittleEndian.Uint16(t.buf[pos:]) }
func (t Table) u32(pos uint32) uint32 { return binary.LittleEndian.Uint32(t.buf[pos:]) }

// Has reports whether a field is there.
func (t Table) Has(name string) bool {
	_, at := t.place(name)
	return at != 0
}

// Number returns a scalar. Those that are signed in the schema are to be converted.
func (t Table) Number(name string) uint64 {
	f, at := t.place(name)
	if at == 0 {
		return f.usual
	}
	switch f.size {
	case 1:
		return uint64(t.buf[at])
	case 2:
		return uint64(t.u16(at))
	case 4:
		return uint64(t.u32(at))
	}
	return binary.LittleEndian.Uint64(t.buf[at:])
}

// Extent returns where the elements of a vector or string are in the buffer, in bytes.
func (t Table) Extent(name string) (first, end int) {
	f, at := t.place(name)
	if at == 0 {
		return 0, 0
	}
	size := uint32(1)
	if f.kind != text {
		size = f.size
	}
	vector := at + t.u32(at)
	return int(vector) + 4, int(vector + 4 + size*t.u32(vector))
}

// Bytes returns the elements of a vector or string as they are in the buffer.
func (t Table) Bytes(name string) []byte {
	first, end := t.Extent(name)
	return t.buf[first:end]
}

// Scalar is the type of a vector's elements.
type Scalar interface {
	bool | uint8 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// List returns the elements of a vector, whose type is T in the schema; nil for none.
func List[T Scalar](t Table, name string) []T {
	data := t.Bytes(name)
	if len(data) == 0 {
		return nil
	}
	var zero T
	n := len(data) / binary.Size(zero)
	list := make([]T, n)
	if _, err := binary.Decode(data, binary.LittleEndian, list); err != nil {
		panic(err) // the lengths are the same
	}
	return list
}

// Sub returns a table that the table refers to.
func (t Table) Sub(name string) (Table, bool) {
	f, at := t.place(name)
	if at == 0 {
		return Table{}, false
	}
	return Table{t.buf, at + t.u32(at), f.table}, true
}

// Union returns the table of a union and the name of its type; the type may be there, and
// the table absent.
func (t Table) Union(name string) (sub Table, kind string, ok bool) {
	for id := range t.table.fields {
		f := &t.table.fields[id]
		if f.name != name || f.kind != unionValue {
			continue
		}
		if at := t.slot(id - 1); at != 0 && t.buf[at] > 0 && int(t.buf[at]) <= len(f.union) {
			sub = Table{t.buf, 0, f.union[t.buf[at]-1]}
			kind = sub.table.name
		}
		if at := t.slot(id); at != 0 && kind != "" {
			sub.pos, ok = at+t.u32(at), true
		}
	}
	return sub, kind, ok
}

// Tables returns how many tables a vector has, and what returns one of them.
func (t Table) Tables(name string) (n int, get func(i int) Table) {
	f, at := t.place(name)
	if at == 0 {
		return 0, nil
	}
	vector := at + t.u32(at)
	return int(t.u32(vector)), func(i int) Table {
		at := vector + 4 + 4*uint32(i)
		return Table{t.buf, at + t.u32(at), f.table}
	}
}

// Each returns the tables of a vector, decoded; nil for none. Decode may fail as package must has
// it.
func Each[T any](t Table, name string, decode func(Table) T) []T {
	n, get := t.Tables(name)
	var list []T
	if n > 0 {
		list = make([]T, n)
	}
	for i := range list {
		must.Do(func() { list[i] = decode(get(i)) }, "%s[%d]", name, i)
	}
	return list
}
