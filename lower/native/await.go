package native

import (
	"errors"
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
)

// Rows as they come: a camera or a microphone hands over some rows of the input at a
// time, so that the input need not exist. That is the first chain in patches, whose loop
// the caller drives: of the input, too, there is a window, and each patch waits until its
// rows are in it. What follows the chain is done when the last row has come. A row has the
// channels of a pixel beside each other.

// Rows describes the input of a method that comes by rows.
type Rows struct {
	Port   int     // of Inputs
	Height int64   // rows there are
	Len    int64   // elements of a row
	Kept   int64   // rows that the window has room for
	Sizes  []int64 // of a row: columns, channels
	// Position counts the rows that have come, in the state.
	Position *Buffer
}

// rowsInput returns the input that comes by rows.
func (b *builder) rowsInput() *ir.Value {
	var input *ir.Value
	for i, v := range b.source.Graph.Inputs {
		if b.source.Inputs[i].Kind != ir.UserInput {
			continue
		}
		if input != nil {
			must.Fail("%s: the input cannot come by rows: there are two, %s and %s",
				b.prog.Source, input.Name, v.Name)
		}
		input = v
	}
	if input == nil || input.Type.Kind != ir.TensorKind {
		must.Fail("%s: the input cannot come by rows: there is none", b.prog.Source)
	}
	sizes, static := input.Type.StaticSizes()
	if !static || len(sizes) != 4 || sizes[0] != 1 || sizes[1]*sizes[2]*sizes[3] == 0 {
		must.Fail("%s: the input cannot come by rows: %s is %s, and not one image, [1, channels, rows, "+
			"columns], of fixed size", b.prog.Source, input.Name, input.Type)
	}
	if b.mutable[input] {
		must.Fail("%s: the input cannot come by rows: the model writes %s", b.prog.Source, input.Name)
	}
	return input
}

// awaiting is the input that comes by rows, while its chain is looked for.
type awaiting struct {
	image    *Buffer
	port     int
	position *Buffer
	at       int // the statement that reads it
}

// awaited finds what reads the input that comes by rows, which has to be one call, and
// nothing but calls before it.
func (b *builder) awaited() *awaiting {
	w := &awaiting{image: b.bufs[b.rowsInput()], at: -1}
	for i, p := range b.m.Inputs {
		if p.Buf == w.image {
			w.port = i
		}
	}
	for i, s := range b.m.Body {
		reads := 0
		eachAccess(s, func(a access) {
			if Root(*a.buf) == w.image {
				reads++
			}
		})
		switch {
		case reads > 0 && w.at >= 0:
			stops(s, fmt.Errorf("it reads the input beside %s", nodeOf(b.m.Body[w.at])))
		case reads > 1:
			stops(s, errors.New("it reads the input twice"))
		case reads > 0:
			w.at = i
		}
		if _, call := s.(*Call); !call && w.at < 0 {
			stops(s, errors.New("it comes before what reads the input"))
		}
	}
	if w.at < 0 {
		must.Fail("%s: the input cannot come by rows: nothing reads it", b.prog.Source)
	}
	w.position = dense("rows", ir.Int32, sym.Int(1))
	w.position.Storage = State
	w.position.Const = b.consts.add("rows", ir.Int32, make([]byte, 4))
	return w
}

// row is the bytes of a row of the input.
func (w *awaiting) row() int64 {
	height, _ := w.image.Sizes[2].Const()
	return w.image.MaxLen / height * int64(w.image.DType.Size())
}

// awaits reports whether the parts of a run that begin with its link from wait for rows.
func (s *sparer) awaits(r *run, from int) bool {
	return s.await != nil && r.first == s.await.at && from == 0
}

// reaches checks that a run begins with what reads the input.
func (s *sparer) reaches() {
	for i := range s.runs {
		if r := &s.runs[i]; s.awaits(r, 0) && r.links[0].call.Args[1] == s.await.image {
			return
		}
	}
	stops(s.b.m.Body[s.await.at], errors.New("it is not computed from rows of it"))
}

// errParts says that what reads the input cannot make parts of its result.
var errParts = errors.New("its rows cannot be computed in parts")

// stops ends the compilation: because of s the input cannot come by rows.
func stops(s Stmt, why error) {
	err := fmt.Errorf("the input cannot come by rows: %w", why)
	if from := s.origins(); len(from) > 0 {
		err = from[0].wrap(err)
	}
	must.Check(err)
}

// nodeOf returns the name of the node that s comes from first.
func nodeOf(s Stmt) string {
	if from := s.origins(); len(from) > 0 {
		return from[0].Node.String()
	}
	return "another node"
}

// begins is the row of the input that its window begins with in patch i.
func (p *patches) begins(i int64) int64 {
	if i == 0 {
		return 0
	}
	return min(max(0, p.first(0, i)), p.until(i-1))
}

// until is how many rows of the input have come for patch i.
func (p *patches) until(i int64) int64 {
	if i == p.number-1 {
		return p.calls[0].window.In
	}
	return max(0, p.first(0, i)) + p.rows(0, i).In
}

// kept is how many rows of the input its window has room for; !ok if it does not move by
// the same number of rows in all patches but the first and the last.
func (p *patches) kept() (most int64, ok bool) {
	step := p.calls[0].share * p.calls[0].window.Stride
	for i := range p.number {
		most = max(most, p.until(i)-p.begins(i))
		if 1 < i && i < p.number-1 &&
			(p.begins(i)-p.begins(i-1) != step || p.until(i)-p.until(i-1) != step) {
			return 0, false
		}
	}
	return most, true
}

// awaitRows lets the patches wait for the rows of their image, the input.
func (p *patches) awaitRows(w *awaiting) {
	rows, _ := p.kept()
	window := *rowsOf(w.image, w.image, p.calls[0].window.In, rows, sym.Expr{})
	window.Name, window.Root, window.Storage = w.image.Name+"_rows", nil, Arena
	p.input, p.position = &window, w.position
}

// await returns the statement that waits for the rows of patch i, and of as many that
// follow it.
func (p *patches) await(i, times int64, v *sym.Symbol, body []Stmt) Stmt {
	return &Await{Window: p.input, Position: p.position, From: p.begins(i), Until: p.until(i),
		Step: p.calls[0].share * p.calls[0].window.Stride, Var: v, Extent: times, Body: body,
		Origins: p.calls[0].call.From}
}

// awaitRest makes what follows the last Await a part of it, and what is before the first
// of that.
func awaitRest(body []Stmt) []Stmt {
	first, last := -1, -1
	for i, s := range body {
		if _, ok := s.(*Await); ok {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	begin, end := *body[first].(*Await), body[last].(*Await)
	begin.Body = append(append([]Stmt(nil), body[:first]...), begin.Body...)
	rest := *end
	rest.Body = append(append([]Stmt(nil), end.Body...), body[last+1:]...)
	return append(append([]Stmt{&begin}, body[first+1:last]...), &rest)
}

// rowsOfMethod notes what the method's Awaits say of its input.
func (b *builder) rowsOfMethod(w *awaiting) {
	await := b.m.Body[0].(*Await)
	sizes := w.image.Sizes
	num := func(e sym.Expr) int64 { n, _ := e.Const(); return n }
	r := &Rows{Port: w.port, Height: num(sizes[2]), Sizes: []int64{num(sizes[3]), num(sizes[1])},
		Kept: num(await.Window.Sizes[2]), Position: w.position}
	r.Len = r.Sizes[0] * r.Sizes[1]
	b.m.Rows = r
	b.prog.State = append(b.prog.State, w.position)
}
