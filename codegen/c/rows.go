package c

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/lower/native"
)

// rowsParam is how many rows the caller of a method hands over whose input comes by rows.
const rowsParam = "n"

// rowsPort returns the input of m that comes by rows, nil if none does.
func (m *method) rowsPort() *port {
	if m.Rows == nil {
		return nil
	}
	return &m.ports[m.Rows.Port]
}

// byRows reports whether a method's input comes by rows.
func (g *gen) byRows() bool {
	return slices.ContainsFunc(g.methods, func(m *method) bool { return m.Rows != nil })
}

// rowsMacros are those of an input that comes by rows.
func (g *gen) rowsMacros(m *method, base string, elem int) {
	r := m.Rows
	add := func(name string, n int64) string {
		name = g.names.TakeAround(base + name)
		m.macros = append(m.macros, portMacro{name, fmt.Sprintf("%du", n)})
		return name
	}
	m.rows = add("_ROWS", r.Height)
	add("_ROW_BYTES", r.Len*int64(elem))
	add("_ROWS_KEPT", r.Kept)
	add("_ROWS_KEPT_BYTES", r.Kept*r.Len*int64(elem))
}

// rowsText describes an input that comes by rows.
func (m *method) rowsText(p port) string {
	r := m.Rows
	text := fmt.Sprintf("%d rows of %s [%d]", r.Height, p.Buf.DType, r.Sizes[0])
	if r.Sizes[1] > 1 {
		text = fmt.Sprintf("%d rows of %s [%d][%d]", r.Height, p.Buf.DType, r.Sizes[0], r.Sizes[1])
	}
	return text + ", some at a time"
}

// rowsNotes says how a method is called whose input comes by rows.
func (g *gen) rowsNotes(m *method) string {
	r, name := m.Rows, m.rowsPort().name
	row := "A row has its columns beside each other."
	if r.Sizes[1] > 1 {
		row = fmt.Sprintf("A row has its %d columns one after the other, of each the %d channels "+
			"beside each other.", r.Sizes[0], r.Sizes[1])
	}
	return fmt.Sprintf("%s has the next %s rows of the input, from the top on. %s "+
		"Returns %s_MORE as long as rows are missing: call again with those that follow, the "+
		"same outputs, state and arena, whose bytes must have survived. When the last row has "+
		"come, it returns %[4]s_OK, the outputs are written, and the next row is the first of a "+
		"new input. %[4]s_ERR_SHAPE: more rows than are missing; nothing is taken of them. After "+
		"%[4]s_ERR_ASSERT or %[4]s_ERR_INDEX the input begins anew. At most %[5]d rows are kept, "+
		"in the arena.", name, rowsParam, row, g.upper, r.Kept)
}

// rowsBegin prints the function that begins an input anew.
func (g *gen) rowsBegin(w *writer) {
	for _, m := range g.methods {
		if m.Rows == nil {
			continue
		}
		w.blank()
		w.raw(fmt.Sprintf("void %s_rows_begin(%s_state *state)", g.prefix, g.prefix))
		w.raw("{")
		w.indent++
		w.open("if (state != NULL) {")
		w.line("state->%s[0] = 0;", g.fields[m.Rows.Position])
		w.close()
		w.close()
	}
}

// awaits prints the statements of a method whose input comes by rows: a loop that takes as
// many rows as the next of them waits for.
func (b *body) awaits(stmts []native.Stmt) {
	r, p := b.m.Rows, b.m.rowsPort()
	var list []*native.Await
	for _, s := range stmts {
		list = append(list, s.(*native.Await))
		b.declare(b.decls[s])
	}
	position := stateParam + "->" + b.g.fields[r.Position] + "[0]"
	take := func(word string) string { return b.scope.Take(word) }
	row, phase, first, until, next, some, i := take("row"), take("phase"), take("first"),
		take("until"), take("next"), take("some"), take("i")
	b.w.line("int32_t %s = %s;", row, position)
	b.guard(code{s: fmt.Sprintf("(%s < 0) || (%[1]s >= %d) || (%s > (uint32_t)(%[2]d - %[1]s))", row,
		r.Height, rowsParam), p: precOrElse, t: tBool}, "ERR_SHAPE")
	window := b.pointer(list[0].Window).s
	b.w.open("for (;;) {")
	b.w.comment(fmt.Sprintf("%s holds the rows from %s on; when all before %s are there, the "+
		"phase is computed, and those before %s are not needed any more.", window, first, until,
		next))
	b.w.line("int32_t %s = 0, %s = %d, %s = %d, %s = %d;", phase, first, list[0].From, until,
		list[0].Until, next, list[1].From)
	v := ""
	for _, a := range list {
		if a.Var != nil && usesVar(a) {
			v = take(a.Var.Name)
			b.syms[a.Var] = v
			b.w.line("%s %s = 0;", b.g.idx, v)
		}
	}
	for k := len(list) - 1; k > 0; k-- {
		a := list[k]
		word := "} else if"
		if k == len(list)-1 {
			word = "if"
		}
		b.w.line("%s (%s >= %d) {", word, row, list[k-1].Until+(list[k-1].Extent-1)*list[k-1].Step)
		b.w.indent++
		b.w.line("%s = %d;", phase, k)
		if a.Var == nil {
			after := a.Until
			if k+1 < len(list) {
				after = list[k+1].From
			}
			b.w.line("%s = %d;", first, a.From)
			b.w.line("%s = %d;", until, a.Until)
			b.w.line("%s = %d;", next, after)
		} else {
			begun := list[k-1].Until + (list[k-1].Extent-1)*list[k-1].Step
			step := fmt.Sprintf("((%s - %d) / %d)", row, begun, a.Step)
			if v != "" {
				b.w.line("%s = %s;", v, step)
				step = v
			}
			b.w.line("%s = %d + %d * %s;", first, a.From, a.Step, step)
			b.w.line("%s = %d + %d * %s;", until, a.Until, a.Step, step)
			b.w.line("%s = %s + %d;", next, first, a.Step)
		}
		b.w.indent--
	}
	b.w.line("}")
	b.w.line("const int32_t %s = (%s < (uint32_t)(%s - %s)) ? (int32_t)%[2]s : %[3]s - %[4]s;",
		some, rowsParam, until, row)
	b.w.open("for (int32_t %s = 0; %[1]s < %s * %d; %[1]s++) {", i, some, r.Len)
	b.w.line("%s[(%s - %s) * %d + %s] = %s[%[5]s];", window, row, first, r.Len, i, p.name)
	b.w.close()
	b.w.line("%s += %s * %d;", p.name, some, r.Len)
	b.w.line("%s -= (uint32_t)%s;", rowsParam, some)
	b.w.line("%s += %s;", row, some)
	b.w.line("%s = %s;", position, row)
	b.w.open("if (%s < %s) {", row, until)
	b.w.line("return %s_MORE;", b.g.upper)
	b.w.close()
	for k, a := range list {
		word := "} else if"
		if k == 0 {
			word = "if"
		}
		if k < len(list)-1 {
			b.w.line("%s (%s == %d) {", word, phase, k)
		} else {
			b.w.line("} else {")
		}
		given := len(b.given)
		if a.Var != nil && v != "" {
			b.give(b.g.idx.String()+" ", v)
		}
		b.inside(func() {
			if k == len(list)-1 {
				b.w.line("%s = 0;", position)
				b.fresh = false
			}
			b.statements(a.Body)
			if k == len(list)-1 {
				b.results()
				b.w.blank()
				b.w.line("return %s_OK;", b.g.upper)
			}
		})
		b.given = b.given[:given]
	}
	b.w.line("}")
	b.w.open("for (int32_t %s = 0; %[1]s < (%s - %s) * %d; %[1]s++) {", i, until, next, r.Len)
	b.w.line("%s[%s] = %s[(%s - %s) * %d + %s];", window, i, window, next, first, r.Len, i)
	b.w.close()
	b.w.close()
}

// usesVar reports whether something in a depends on which of its patches it is.
func usesVar(a *native.Await) bool {
	return codegen.Any(a.Body, func(s native.Stmt) bool {
		for _, b := range native.Operands(s) {
			if b.At.Uses(a.Var) {
				return true
			}
		}
		if c, ok := s.(*native.Call); ok {
			for _, e := range c.Ints {
				if e.Uses(a.Var) {
					return true
				}
			}
		}
		return false
	})
}
