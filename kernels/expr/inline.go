package expr

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/sym"
)

// Inline replaces every Load of operand k in consumer by what producer computes
// at those coordinates. Operand numbers stay as they are on both sides: give
// producer's operands their final numbers first (Renumber). Loads at the same
// coordinates become the same node. It fails if producer does not fit the
// Loads.
func Inline(consumer *Expr, k int, producer Tensor) (*Expr, error) {
	var err error
	memo := map[string]*Expr{}
	out := Rewrite(consumer, func(e *Expr) *Expr {
		if e.Op != OpLoad || e.Buf != k || err != nil {
			return e
		}
		if len(e.Coords) != len(producer.Vars) || e.DType != producer.DType || producer.Body.DType != producer.DType {
			err = fmt.Errorf("operand %d is loaded as %s of rank %d, but the producer gives %s of rank %d",
				k, e.DType, len(e.Coords), producer.Body.DType, len(producer.Vars))
			return e
		}
		key := coordsKey(e.Coords)
		if p, ok := memo[key]; ok {
			return p
		}
		m := make(Subst, len(e.Coords))
		for i, v := range producer.Vars {
			m[v] = e.Coords[i]
		}
		p := SubstFresh(producer.Body, m)
		memo[key] = p
		return p
	})
	return out, err
}

// coordsKey is a string equal for equal coordinates; symbols count by identity.
func coordsKey(coords []sym.Expr) string {
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
