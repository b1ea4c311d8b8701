package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/sym"
)

// CoordsKey is a string equal for equal coordinates; symbols count by identity.
func CoordsKey(coords []sym.Expr) string {
	var b strings.Builder
	for _, c := range coords {
		fmt.Fprintf(&b, "%s;", c)
		for _, s := range c.Symbols() {
			fmt.Fprintf(&b, "%p,", s)
		}
	}
	return b.String()
}

// Loads returns the numbers of the operands e loads from, ascending.
func Loads(e *Expr) []int {
	var out []int
	Walk(e, func(e *Expr) {
		if e.Op == OpLoad {
			out = append(out, e.Buf)
		}
	})
	slices.Sort(out)
	return slices.Compact(out)
}
