package flat

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Schema is a parsed .fbs file.
type Schema struct {
	Identifier string // the four bytes at offset 4 of a buffer
	// Prefix is how many bytes stand before the buffer that it is aligned with: 4 if these are its
	// size.
	Prefix uint64
	root   *table
	tables map[string]*table
}

type table struct {
	name   string
	fields []field // by id; a union takes two, of which the first is named after the union
}

type field struct {
	name  string
	kind  kind
	size  uint32   // bytes of the scalar or of a vector's element
	table *table   // of tables and vectors of tables
	union []*table // by type less one
	usual uint64   // of a scalar: what it is if it is absent
}

type kind int

const (
	scalar kind = iota
	text
	scalars
	subtable
	tables
	unionType  // the byte that selects the type of the field after it
	unionValue // the table
)

var scalarSize = map[string]uint32{
	"bool": 1, "byte": 1, "ubyte": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "float": 4,
	"long": 8, "ulong": 8, "double": 8,
}

var (
	comments    = regexp.MustCompile(`//.*`)
	declaration = regexp.MustCompile(
		`^\s*(?:(table|union)\s+(\w+)\s*\{([^}]*)\}|(namespace|file_identifier|file_extension|root_type)\s+"?(\w+)"?\s*;)`)
	member = regexp.MustCompile(
		`^(\w+)\s*:\s*(\[?)(\w+)\]?(?:\s*=\s*(-?\d+))?(?:\s*\(force_align:\s*\d+\))?$`)
)

// Parse reads the text of a .fbs file.
func Parse(fbs string) (*Schema, error) {
	s := &Schema{tables: map[string]*table{}}
	rest := comments.ReplaceAllString(fbs, "")
	named := s.tables
	unions := map[string][]*table{}
	for strings.TrimSpace(rest) != "" {
		m := declaration.FindStringSubmatch(rest)
		if m == nil {
			line, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
			return nil, fmt.Errorf("schema: cannot read %q", line)
		}
		rest = rest[len(m[0]):]
		switch {
		case m[1] == "union":
			for name := range strings.SplitSeq(m[3], ",") {
				name, of, alias := strings.Cut(strings.TrimSpace(name), ":")
				if !alias {
					of = name
				}
				of = strings.TrimSpace(of)
				t, ok := named[of]
				if !ok {
					return nil, fmt.Errorf("schema: union %s has no table %q before it", m[2], of)
				}
				if alias { // a table of its own, so that its name tells the member
					t = &table{name: name, fields: t.fields}
					named[name] = t
				}
				unions[m[2]] = append(unions[m[2]], t)
			}
		case m[1] == "table":
			t := &table{name: m[2]}
			for text := range strings.SplitSeq(m[3], ";") {
				if text = strings.TrimSpace(text); text == "" {
					continue
				}
				fields, err := parseField(text, named, unions)
				if err != nil {
					return nil, fmt.Errorf("schema: table %s: %w", t.name, err)
				}
				t.fields = append(t.fields, fields...)
			}
			named[t.name] = t
		case m[4] == "file_identifier":
			s.Identifier = m[5]
		case m[4] == "root_type":
			s.root = named[m[5]]
		}
	}
	if s.root == nil || len(s.Identifier) != 4 {
		return nil, fmt.Errorf("schema: no root_type or no file_identifier of four bytes")
	}
	return s, nil
}

// Once returns what parses an embedded schema when it is first asked for. That the schema parses is
// to be tested.
func Once(text *string) func() *Schema {
	return sync.OnceValue(func() *Schema {
		s, err := Parse(*text)
		if err != nil {
			panic(err)
		}
		return s
	})
}

// Layout is how fields of a table are written.
type Layout struct {
	Fields []Slot
	table  *table
}

// Slot is where a field of a table goes.
type Slot struct {
	Index int
	Width uint32 // in bytes
	Ref   bool   // it refers to what is written elsewhere
	Usual uint64 // what it is if it is not written
}

// Layout returns how a table is written, no fields yet.
func (s *Schema) Layout(name string) (*Layout, error) {
	if t := s.tables[name]; t != nil {
		return &Layout{table: t}, nil
	}
	return nil, fmt.Errorf("schema: there is no table %s", name)
}

// Slots returns how many fields the table has.
func (l *Layout) Slots() int { return len(l.table.fields) }

// Selector returns the number that selects a type of the table's union, 0 if it has none of
// that name.
func (l *Layout) Selector(name string) uint64 {
	for _, f := range l.table.fields {
		for i, t := range f.union {
			if t.name == name {
				return uint64(i) + 1
			}
		}
	}
	return 0
}

// Add adds a field; the byte that selects the type of a union "val" is called "val_type".
func (l *Layout) Add(name string) error {
	for i := range l.table.fields {
		f := &l.table.fields[i]
		if f.name == name && f.kind != unionType || f.kind == unionType && f.name+"_type" == name {
			l.Fields = append(l.Fields, Slot{Index: i, Width: f.width(),
				Ref: f.kind != scalar && f.kind != unionType, Usual: f.usual})
			return nil
		}
	}
	return fmt.Errorf("schema: table %s has no field %s", l.table.name, name)
}

// parseField reads a member of a table, "sizes: [int]". A union is two fields.
func parseField(decl string, named map[string]*table, unions map[string][]*table) ([]field, error) {
	m := member.FindStringSubmatch(decl)
	if m == nil {
		return nil, fmt.Errorf("cannot read %q", decl)
	}
	name, vector, typ := m[1], m[2] != "", m[3]
	size, isScalar := scalarSize[typ]
	union, isUnion := unions[typ]
	t, isTable := named[typ]
	switch {
	case isScalar && vector:
		return []field{{name: name, kind: scalars, size: size}}, nil
	case isScalar:
		usual, _ := strconv.ParseInt(m[4], 10, 64) // "" is 0
		return []field{{name: name, kind: scalar, size: size, usual: uint64(usual)}}, nil
	case typ == "string" && !vector:
		return []field{{name: name, kind: text, size: 4}}, nil
	case isUnion && !vector:
		return []field{{name: name, kind: unionType, size: 1}, {name: name, kind: unionValue,
			size: 4, union: union}}, nil
	case isTable && vector:
		return []field{{name: name, kind: tables, size: 4, table: t}}, nil
	case isTable:
		return []field{{name: name, kind: subtable, size: 4, table: t}}, nil
	}
	return nil, fmt.Errorf("%s has a type that is not declared before it", name)
}
