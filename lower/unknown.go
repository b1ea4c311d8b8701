package lower

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/kernels/ops"
)

// unknownOperator says that the table does not have n's operator, and what to
// do about it.
func unknownOperator(t *ops.Table, n *ir.Node) error {
	for _, a := range n.Args {
		if op, ok := a.Value.(ir.OpArg); ok {
			return fmt.Errorf(
				"it wraps the custom operator %s, which writes to its arguments; register a version that returns new tensors", foreign.Message(string(op)))
		}
	}
	if strings.HasPrefix(n.Op, "torch._functorch.") {
		return fmt.Errorf(
			"part of a vmap that export left as it is; export the model after run_decompositions()")
	}
	if !strings.HasPrefix(n.Op, "aten.") {
		return fmt.Errorf(
			"the operator is not supported; register a decomposition into ATen operators, then export the model after run_decompositions()")
	}
	if near := nearest(t, n.Op); near != "" {
		return fmt.Errorf("the operator is not supported; the nearest that is: %s", near)
	}
	return fmt.Errorf(
		"the operator is not supported; write the model with others, or add an entry for it to kernels/ops")
}

// nearest returns the operator in the table whose name is most like op's: the
// same operator in another overload, else one a few letters away; "" if there
// is none.
func nearest(t *ops.Table, op string) string {
	base := ir.OpBase(op)
	best, score := "", 3
	for _, name := range t.Names() {
		other := ir.OpBase(name)
		d := distance(strings.Trim(base, "_"), strings.Trim(other, "_"))
		if d < score && d*3 <= len(base) {
			best, score = name, d
		}
	}
	return best
}

// distance returns how many letters have to be inserted, deleted or replaced
// to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
