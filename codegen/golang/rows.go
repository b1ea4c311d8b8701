package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/lower/native"
)

// rowsBegin prints BeginRows, if the method's input comes by rows.
func (g *generator) rowsBegin(m *native.Method) []jen.Code {
	if m.Rows == nil {
		return nil
	}
	return []jen.Code{jen.Comment("BeginRows begins an input anew whose rows come one by one, " +
		"before its last row has come.").Line().
		Func().Params(jen.Id("m").Op("*").Id("Model")).Id("BeginRows").Params().
		Block(jen.Id("m").Dot(g.state[m.Rows.Position]).Index(jen.Lit(0)).Op("=").Lit(0))}
}

// rowsText describes an input that comes by rows.
func (p *methodPrinter) rowsText() string {
	r := p.m.Rows
	row := fmt.Sprintf("a row has its %d columns beside each other", r.Sizes[0])
	if r.Sizes[1] > 1 {
		row = fmt.Sprintf("a row has its %d columns one after the other, of each the %d channels "+
			"beside each other", r.Sizes[0], r.Sizes[1])
	}
	return fmt.Sprintf("the next rows of the input, from the top on, any number of the %d that "+
		"are missing; %s", r.Height, row)
}

// rowsNotes says how a method is called whose input comes by rows.
func (p *methodPrinter) rowsNotes() string {
	return fmt.Sprintf(" The method is called until all rows have come. Then it returns true, "+
		"results are written, and the next row is the first of a new input. The calls of an "+
		"input are given the same tensors. With more rows than are missing it returns an error "+
		"and takes none of them; after other errors the input begins anew. At most %d rows are "+
		"kept.", p.m.Rows.Kept)
}

// awaits prints the statements of a method whose input comes by rows: a loop that takes as
// many rows as the next of them waits for.
func (p *methodPrinter) awaits(stmts []native.Stmt) (code []jen.Code) {
	r := p.m.Rows
	input := p.port(p.m.Inputs[r.Port].Buf)
	var list []*native.Await
	for _, s := range stmts {
		list = append(list, s.(*native.Await))
		for _, b := range p.declare[s] {
			if d := p.declaration(b); d != nil {
				code = append(code, d)
			}
		}
	}
	position := "m." + p.g.state[r.Position] + "[0]"
	window := p.operand(list[0].Window)
	take := func(word string) string { return p.scope.Take(word) }
	row, phase, first, until, next, some := take("row"), take("phase"), take("first"),
		take("until"), take("next"), take("some")
	code = append(code, jen.Id(row).Op(":=").Op("int("+position+")"))
	code = append(code, p.reject(fmt.Sprintf("len(%s)%%%d != 0 || len(%[1]s)/%[2]d > %d-%s", input,
		r.Len, r.Height, row),
		fmt.Sprintf("%s has %%d elements, want rows of %d elements, at most %%d rows",
			p.m.Inputs[r.Port].Name.GoFormat(), r.Len), "len("+input+")", fmt.Sprintf("%d-%s",
			r.Height, row)))
	defer p.enter()()
	body := []jen.Code{
		jen.Commentf("%s holds the rows from %s on; when all before %s are there, the phase is computed,",
			window, first, until),
		jen.Commentf("and those before %s are not needed any more.", next),
		jen.Op(fmt.Sprintf("%s, %s, %s, %s := 0, %d, %d, %d", phase, first, until, next,
			list[0].From, list[0].Until, list[1].From))}
	v := ""
	for _, a := range list {
		if a.Var != nil && p.alive(a.Var) {
			v = take(camel(a.Var.Name))
			p.syms[a.Var] = v
			body = append(body, jen.Id(v).Op(":=").Lit(0))
		}
	}
	var cases []jen.Code
	for k := len(list) - 1; k > 0; k-- {
		a := list[k]
		begun := list[k-1].Until + (list[k-1].Extent-1)*list[k-1].Step
		var sets []jen.Code
		set := func(format string, args ...any) {
			sets = append(sets, jen.Op(fmt.Sprintf(format, args...)))
		}
		set("%s = %d", phase, k)
		if a.Var == nil {
			after := a.Until
			if k+1 < len(list) {
				after = list[k+1].From
			}
			set("%s, %s, %s = %d, %d, %d", first, until, next, a.From, a.Until, after)
		} else {
			step := fmt.Sprintf("((%s - %d) / %d)", row, begun, a.Step)
			if v != "" {
				set("%s = (%s - %d) / %d", v, row, begun, a.Step)
				step = v
			}
			set("%s, %s = %d+%d*%s, %d+%d*%s", first, until, a.From, a.Step, step, a.Until, a.Step,
				step)
			set("%s = %s + %d", next, first, a.Step)
		}
		cases = append(cases, jen.Case(jen.Op(fmt.Sprintf("%s >= %d", row, begun))).Block(sets...))
	}
	body = append(body, jen.Switch().Block(cases...),
		jen.Op(fmt.Sprintf("%s := min(len(%s)/%d, %s-%s)", some, input, r.Len, until, row)),
		jen.Op(fmt.Sprintf("copy(%s[(%s-%s)*%d:], %s[:%s*%[4]d])", window, row, first, r.Len, input,
			some)),
		jen.Op(fmt.Sprintf("%s = %[1]s[%s*%d:]", input, some, r.Len)),
		jen.Op(fmt.Sprintf("%s += %s", row, some)),
		jen.Op(fmt.Sprintf("%s = int32(%s)", position, row)),
		jen.If(jen.Op(row+" < "+until)).Block(jen.Return(append(append([]jen.Code(nil), p.zero...),
			jen.Nil())...)))
	cases = nil
	for k, a := range list {
		given := len(p.given)
		if v != "" && a.Var != nil {
			p.give(a.Var, v, "int")
		}
		var steps []jen.Code
		last := k == len(list)-1
		if last {
			steps = append(steps, jen.Op(position+" = 0"))
		}
		steps = append(steps, p.block(a.Body)...)
		p.given = p.given[:given]
		if last {
			cases = append(cases, jen.Default().Block(append(steps, p.finish()...)...))
		} else {
			cases = append(cases, jen.Case(jen.Lit(k)).Block(steps...))
		}
	}
	body = append(body, jen.Switch(jen.Id(phase)).Block(cases...),
		jen.Op(fmt.Sprintf("copy(%s, %[1]s[(%s-%s)*%d:(%s-%[3]s)*%[4]d])", window, next, first, r.Len,
			until)))
	return append(code, jen.For().Block(body...))
}

// rowsInput reports whether an input comes by rows.
func (p *methodPrinter) rowsInput(port codegen.Port) bool {
	return p.m.Rows != nil && !port.Output && port.Index == p.m.Rows.Port
}
