package codegen

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/lower/native"
)

// Events are the numbers of what code with Options.Profile tells: 2k is the begin of the k-th call
// of a kernel in the order of the text, that of the first method first, and 2k+1 is its end. Nil
// numbers nothing.
type Events struct {
	begin, end map[*native.Call]int
	// Kernels describes the calls as profiles do: the kernel, its nodes, their operators and
	// where they come from, each in quotation marks.
	Kernels []string
}

// NewEvents numbers the calls of kernels in p.
func NewEvents(p *native.Program) *Events {
	e := &Events{begin: map[*native.Call]int{}, end: map[*native.Call]int{}}
	for _, m := range p.Methods {
		Walk(m.Body, func(s native.Stmt) {
			if c, ok := s.(*native.Call); ok {
				e.begin[c], e.end[c] = 2*len(e.Kernels), 2*len(e.Kernels)+1
				e.Kernels = append(e.Kernels, describe(c))
			}
		})
	}
	return e
}

func describe(c *native.Call) string {
	var nodes, ops, lines []foreign.Text
	add := func(list *[]foreign.Text, t foreign.Text) {
		if !t.IsEmpty() && !slices.Contains(*list, t) {
			*list = append(*list, t)
		}
	}
	for _, o := range c.From {
		add(&nodes, o.Node)
		add(&ops, o.Op)
		add(&lines, placeText(o.Loc))
	}
	text := fmt.Sprintf("%q", c.Kernel.Name)
	for _, list := range [][]foreign.Text{nodes, ops, lines} {
		text += " " + literal(list)
	}
	return text
}

// maxLiteral is how long a text in a description gets, in bytes: C compilers need to take strings
// of 4095.
const maxLiteral = 900

// literal joins as many texts as have room.
func literal(list []foreign.Text) string {
	all := foreign.Join(list, ", ").GoLiteral()
	for n := len(list) - 1; len(all) > maxLiteral; n-- {
		all = foreign.Join(append(slices.Clone(list[:n]), foreign.Of("…")), ", ").GoLiteral()
	}
	return all
}

// Begin returns the number of the event before c; ok is false if there is none.
func (e *Events) Begin(c *native.Call) (n int, ok bool) {
	if e == nil {
		return 0, false
	}
	n, ok = e.begin[c]
	return n, ok
}

// End returns the number of the event after c; ok is false if there is none.
func (e *Events) End(c *native.Call) (n int, ok bool) {
	if e == nil {
		return 0, false
	}
	n, ok = e.end[c]
	return n, ok
}

// divide gives the events of c to the calls that take its place.
func (e *Events) divide(c, first, last *native.Call) {
	if n, ok := e.Begin(c); ok {
		delete(e.begin, c)
		e.begin[first] = n
	}
	if n, ok := e.End(c); ok {
		delete(e.end, c)
		e.end[last] = n
	}
}
