package expr

import (
	"fmt"
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
	seen := map[int]bool{}
	top := -1
	Walk(e, func(e *Expr) {
		if e.Op == OpLoad {
			seen[e.Buf] = true
			top = max(top, e.Buf)
		}
	})
	var out []int
	for k := 0; k <= top; k++ {
		if seen[k] {
			out = append(out, k)
		}
	}
	return out
}
