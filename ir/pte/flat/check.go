package flat

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// A reader that makes Go values of a buffer may be made to make many of few
// bytes: tables can be shared. Check therefore counts what is reachable, a table
// as tableCost bytes as often as it is referred to, and refuses a buffer in
// which this is more than Expansion times its length. Strings count once, and so
// do tables whose values the reader shares as their bytes are shared.
const (
	Expansion = 96
	tableCost = 64
)

// Error says where a buffer contradicts its schema.
type Error struct {
	Path   string // execution_plan[0].values[3].val.sizes
	Reason string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// Check reports whether accessors generated from s may read buf, the root table
// and its identifier included: every table, vtable, vector and string that is
// reachable lies inside buf, is aligned as its type requires, and every union
// holds a table of a known type. The time it takes is bounded by Expansion times
// the length of buf. A table of a type named in shared is looked at, and counts,
// once, however often it is referred to. The error is an *Error.
func (s *Schema) Check(buf []byte, shared ...string) error {
	c := &checker{buf: buf, prefix: s.Prefix, budget: Expansion * int64(len(buf)), shared: shared,
		seen: map[place]bool{}}
	if len(buf) < 8 || int64(len(buf)) > math.MaxInt32 {
		return &Error{Reason: fmt.Sprintf("a flatbuffer of %d bytes", len(buf))}
	}
	if id := string(buf[4:8]); id != s.Identifier {
		return &Error{Reason: fmt.Sprintf("identifier %q, want %q", id, s.Identifier)}
	}
	pos := uint64(binary.LittleEndian.Uint32(buf))
	if pos < 8 {
		return &Error{Reason: fmt.Sprintf("the root table is at %d, inside the header", pos)}
	}
	if err := c.table(s.root, pos); err != nil { // not err itself: a nil *Error is not a nil error
		return err
	}
	return nil
}

type checker struct {
	buf    []byte
	prefix uint64 // see Schema.Prefix
	budget int64
	shared []string
	seen   map[place]bool // strings and shared tables that were checked
}

type place struct {
	pos   uint64
	table *table // nil for a string
}

func (c *checker) fail(format string, args ...any) *Error {
	return &Error{Reason: fmt.Sprintf(format, args...)}
}

// in prefixes the path of a problem inside a member.
func (e *Error) in(member string) *Error {
	switch {
	case e.Path == "":
		e.Path = member
	case e.Path[0] == '[':
		e.Path = member + e.Path
	default:
		e.Path = member + "." + e.Path
	}
	return e
}

// inside reports that n bytes at pos lie in the buffer, at a multiple of align.
func (c *checker) inside(what string, pos, n, align uint64) *Error {
	size := uint64(len(c.buf))
	if pos > size || n > size-pos {
		return c.fail("%s of %d bytes at %d leaves the buffer of %d bytes", what, n, pos, size)
	}
	if (pos+c.prefix)%align != 0 {
		return c.fail("%s at %d is not aligned to %d bytes", what, pos, align)
	}
	return nil
}

func (c *checker) u16(pos uint64) uint64 { return uint64(binary.LittleEndian.Uint16(c.buf[pos:])) }
func (c *checker) u32(pos uint64) uint64 { return uint64(binary.LittleEndian.Uint32(c.buf[pos:])) }

func (c *checker) charge(n uint64) *Error {
	c.budget -= int64(n)
	if c.budget < 0 {
		return c.fail("what the tables of the buffer refer to is more than %d times its %d bytes",
			Expansion, len(c.buf))
	}
	return nil
}

func (c *checker) table(t *table, pos uint64) *Error {
	if slices.Contains(c.shared, t.name) {
		if c.seen[place{pos, t}] {
			return nil
		}
		c.seen[place{pos, t}] = true
	}
	if err := c.charge(tableCost); err != nil {
		return err
	}
	if err := c.inside("table "+t.name, pos, 4, 4); err != nil {
		return err
	}
	vtable := int64(pos) - int64(int32(c.u32(pos)))
	if vtable < 0 {
		return c.fail("vtable at %d", vtable)
	}
	vt := uint64(vtable)
	if err := c.inside("vtable", vt, 4, 2); err != nil {
		return err
	}
	length := c.u16(vt)
	if length < 4 || length%2 != 0 {
		return c.fail("vtable of %d bytes", length)
	}
	if err := c.inside("vtable", vt, length, 2); err != nil {
		return err
	}
	at := func(id int) uint64 { // the position of a field, 0 if it is not there
		if slot := 4 + 2*uint64(id); slot+2 <= length {
			if off := c.u16(vt + slot); off != 0 {
				return pos + off
			}
		}
		return 0
	}
	for id := range t.fields {
		f := &t.fields[id]
		p := at(id)
		if p == 0 {
			continue
		}
		if err := c.inside("field", p, uint64(f.width()), uint64(f.width())); err != nil {
			return err.in(f.name)
		}
		var err *Error
		if f.kind == unionValue {
			var selector byte
			if q := at(id - 1); q != 0 {
				selector = c.buf[q]
			}
			err = c.union(f, selector, p)
		} else {
			err = c.field(f, p)
		}
		if err != nil {
			return err.in(f.name)
		}
	}
	return nil
}

// width is the number of bytes of the field in its table.
func (f *field) width() uint32 {
	if f.kind == scalars {
		return 4
	}
	return f.size
}

func (c *checker) union(f *field, selector byte, pos uint64) *Error {
	if selector == 0 || int(selector) > len(f.union) {
		return c.fail("a value of the unknown type %d", selector)
	}
	return c.table(f.union[selector-1], pos+c.u32(pos))
}

func (c *checker) field(f *field, pos uint64) *Error {
	switch f.kind {
	case text:
		return c.text(pos + c.u32(pos))
	case subtable:
		return c.table(f.table, pos+c.u32(pos))
	case scalars:
		_, err := c.vector(pos+c.u32(pos), uint64(f.size))
		return err
	case tables:
		vec := pos + c.u32(pos)
		n, err := c.vector(vec, 4)
		if err != nil {
			return err
		}
		for i := range n {
			p := vec + 4 + 4*i
			if err := c.table(f.table, p+c.u32(p)); err != nil {
				return err.in(fmt.Sprintf("[%d]", i))
			}
		}
	}
	return nil
}

// vector checks the extent of a vector and returns its length.
func (c *checker) vector(pos, size uint64) (uint64, *Error) {
	if err := c.inside("vector", pos, 4, 4); err != nil {
		return 0, err
	}
	n, align := c.u32(pos), size
	if n == 0 {
		align = 1
	}
	if err := c.inside("vector", pos+4, n*size, align); err != nil {
		return 0, err
	}
	return n, c.charge(4 + n*size)
}

func (c *checker) text(pos uint64) *Error {
	if c.seen[place{pos, nil}] {
		return nil
	}
	c.seen[place{pos, nil}] = true
	if _, err := c.vector(pos, 1); err != nil {
		return err
	}
	end := pos + 4 + c.u32(pos)
	if err := c.inside("string", end, 1, 1); err != nil {
		return err
	}
	if c.buf[end] != 0 {
		return c.fail("string without a zero byte after it")
	}
	return nil
}
