package flat

import (
	"strings"
	"sync"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Encoder writes the tables of a schema.
type Encoder struct {
	*flatbuffers.Builder
	Tables map[string]*Layout
}

// NewEncoder returns an encoder of an empty buffer.
func NewEncoder(tables map[string]*Layout) *Encoder {
	return &Encoder{Builder: flatbuffers.NewBuilder(1024), Tables: tables}
}

// Table writes a table of these fields, in the order of its layout. What an absent field is as well
// is not written.
func (e *Encoder) Table(name string, values ...uint64) flatbuffers.UOffsetT {
	l := e.Tables[name]
	e.StartObject(l.Slots())
	for i, v := range values {
		f := &l.Fields[i]
		if unused := 64 - 8*f.Width; v<<unused == f.Usual<<unused {
			continue
		}
		if f.Ref {
			e.PrependUOffsetT(flatbuffers.UOffsetT(v))
		} else {
			e.number(int(f.Width), v)
		}
		e.Slot(f.Index)
	}
	return e.EndObject()
}

// number writes a number of a size.
func (e *Encoder) number(size int, v uint64) {
	switch size {
	case 8:
		e.PrependUint64(v)
	case 4:
		e.PrependUint32(uint32(v))
	case 2:
		e.PrependUint16(uint16(v))
	default:
		e.PrependByte(byte(v))
	}
}

// Vector writes a vector of n elements of a size; bits returns one.
func (e *Encoder) Vector(size, n int, bits func(int) uint64) flatbuffers.UOffsetT {
	e.StartVector(size, n, size)
	for i := n - 1; i >= 0; i-- {
		e.number(size, bits(i))
	}
	return e.EndVector(n)
}

// Layouts finds the tables of a schema that text names, each before its fields, once: they are
// written in this order. That all are there is to be tested.
func Layouts(schema func() *Schema, text string) func() map[string]*Layout {
	return sync.OnceValue(func() map[string]*Layout {
		all := map[string]*Layout{}
		var l *Layout
		for word := range strings.FieldsSeq(text) {
			var err error
			if word[0] <= 'Z' {
				l, err = schema().Layout(word)
				all[word] = l
			} else {
				err = l.Add(word)
			}
			if err != nil {
				panic(err)
			}
		}
		return all
	})
}
