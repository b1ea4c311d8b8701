// Package form has the text that tells calls of an operator apart as far as code
// for them differs: what the arguments are, sizes and literals included, but no
// elements of tensors. Who makes kernels ahead for the calls of a program writes
// it, and who loads the program does, and finds the kernel by it.
package form

import (
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
)

// Writer puts the text together, an argument after the other:
//
//	f32[1,4], const f32[8,4], none, [2, int], 1.5, f32[<=8,8]@1,0
//
// Constants are tensors that never change, <= is before the sizes of tensors
// that may be smaller, @ before an order of dimensions in memory that is not
// row-major; int, float and bool stand for numbers that instructions compute.
type Writer struct {
	b    strings.Builder
	more bool
}

// String returns what was written.
func (w *Writer) String() string { return w.b.String() }

func (w *Writer) item(text string) {
	if w.more {
		w.b.WriteString(", ")
	}
	w.more = true
	w.b.WriteString(text)
}

// Open begins a list.
func (w *Writer) Open() {
	w.item("[")
	w.more = false
}

// Close ends it.
func (w *Writer) Close() {
	w.b.WriteByte(']')
	w.more = true
}

// List writes a list, its elements by item.
func List[T any](w *Writer, list []T, item func(T)) {
	w.Open()
	for _, x := range list {
		item(x)
	}
	w.Close()
}

// Tensor writes a tensor; of a dynamic one the sizes are bounds. A nil order is
// row-major.
func (w *Writer) Tensor(d ir.DType, sizes []int64, order []uint8, constant, dynamic bool) {
	text := d.Short() + "["
	if constant {
		text = "const " + text
	}
	if dynamic {
		text += "<="
	}
	for i, n := range sizes {
		if i > 0 {
			text += ","
		}
		text += strconv.FormatInt(n, 10)
	}
	text += "]"
	for i, at := range order {
		if int(at) != i {
			text += "@"
			for i, at := range order {
				if i > 0 {
					text += ","
				}
				text += strconv.Itoa(int(at))
			}
			break
		}
	}
	w.item(text)
}

// None writes an argument that is not given.
func (w *Writer) None() { w.item("none") }

// Int writes a literal.
func (w *Writer) Int(n int64) { w.item(strconv.FormatInt(n, 10)) }

// Float writes a literal.
func (w *Writer) Float(x float64) {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(text, ".eIN") {
		text += ".0"
	}
	w.item(text)
}

// Bool writes a literal.
func (w *Writer) Bool(x bool) { w.item(strconv.FormatBool(x)) }

// Text writes a literal.
func (w *Writer) Text(s string) { w.item(strconv.Quote(s)) }

// Number writes a number that an instruction computes: "int", "float" or
// "bool".
func (w *Writer) Number(kind string) { w.item(kind) }
