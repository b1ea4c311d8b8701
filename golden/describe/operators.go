package main

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

const operatorsTop = `# Operators

These are the operators of etgen's table by the names that graphs have, with their overloads. All of
them compile to C and to Go, and run in ` + "`rt`" + ` with the kernels of ` + "`rt/portable`" + `. The in-place
form of an operator, such as ` + "`aten.add_`" + `, and the form with an ` + "`out`" + ` argument in a .pte are
read as the operator itself. [custom-operators.md](custom-operators.md) tells of others.

- *meaning*: a **kernel** of its own, which may be fused with others; **composed** of other operators;
  a **view** of its operand; a **number**, such as a size; **complex**, which becomes real and
  imaginary parts; or an **assertion**.
- *.pte*: what becomes of it in an ExecuTorch program. **kernel**: one of the operators that
  ExecuTorch's runtime has kernels for. **copy**: the view becomes a copy. **composed**: it is said in
  other operators, and is refused where one of these has no kernel there. An **assertion** is kept
  where it can be said. **-**: it is refused, where no pass says the call otherwise.

A program that calls something else is refused, with all such nodes and their Python lines.
`

// operators is docs/operators.md.
func operators() (string, error) {
	table := ops.Standard()
	type row struct{ space, base, meaning, pte string }
	rows := map[string][]row{} // by namespace
	overloads := map[row][]string{}
	var spaces []string
	for _, name := range table.Names() {
		op, ok := table.Lookup(name)
		space, rest, _ := strings.Cut(name, ".")
		base, overload, _ := strings.Cut(rest, ".")
		if !ok || space == "etgen" {
			continue // of etgen's own lowering
		}
		r := row{space, base, meaning(op), inProgram(name, op)}
		if rows[space] == nil {
			spaces = append(spaces, space)
		}
		if overloads[r] == nil {
			rows[space] = append(rows[space], r)
		}
		overloads[r] = append(overloads[r], overload)
	}
	var b strings.Builder
	b.WriteString(operatorsTop)
	for _, space := range spaces {
		fmt.Fprintf(&b, "\n## %s\n\n| operator | overloads | meaning | .pte |\n|---|---|---|---|\n",
			space)
		for _, r := range rows[space] {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.base,
				strings.Join(overloads[r], ", "), r.meaning, r.pte)
		}
	}
	return b.String(), nil
}

func meaning(op *ops.Op) string {
	switch {
	case op.Effect:
		return "assertion"
	case op.Compute != nil || op.Loops != nil:
		return "kernel"
	case op.View != nil:
		return "view"
	case op.Decompose != nil:
		return "composed"
	case op.Value != nil || op.ScalarOp != nil:
		return "number"
	}
	return "complex"
}

// inProgram is what becomes of the operator in an ExecuTorch program.
func inProgram(name string, op *ops.Op) string {
	switch {
	case op.Effect:
		return "assertion"
	case lower.HasPortableKernel(name):
		return "kernel"
	case op.View != nil:
		return "copy"
	case op.Decompose != nil, meaning(op) == "complex":
		return "composed"
	case op.Value != nil || op.ScalarOp != nil:
		return "number"
	}
	return "-"
}
