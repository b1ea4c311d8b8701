package lower

import (
	"math"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
)

// iterations is about how often the innermost statements of a call's loops run,
// 0 if that is not known. Loops with a condition count once.
func iterations(c *ops.Call) int64 {
	sum := int64(0)
	switch {
	case c.Op.Compute != nil:
		tensors, err := c.Op.Compute(c)
		if err != nil {
			return 0
		}
		for _, x := range tensors {
			sum = plus(sum, times(values(x.Vars), terms(x.Body, map[*expr.Expr]bool{})))
		}
	case c.Op.Loops != nil:
		if f, err := c.Op.Loops(c); err == nil {
			sum = rounds(f.Body)
		}
	}
	return sum
}

// terms is the number of values that the reductions in e combine, at least 1.
func terms(e *expr.Expr, seen map[*expr.Expr]bool) int64 {
	if e == nil || seen[e] {
		return 1
	}
	seen[e] = true
	sum := int64(0)
	for _, a := range e.Args {
		if n := terms(a, seen); n > 1 {
			sum = plus(sum, n)
		}
	}
	sum = max(sum, 1)
	if e.Op == expr.OpReduce {
		sum = times(sum, values(e.Vars))
	}
	return sum
}

func rounds(body []loop.Stmt) int64 {
	sum := int64(1)
	for _, s := range body {
		switch s := s.(type) {
		case *loop.For:
			_, most := s.Extent.Bounds()
			if most == math.MaxInt64 {
				most = 1 // nothing is known
			}
			sum = plus(sum, times(max(most, 0), rounds(s.Body)))
		case *loop.While:
			sum = plus(sum, rounds(s.Body))
		case *loop.If:
			sum = plus(sum, max(rounds(s.Then), rounds(s.Else)))
		}
	}
	return sum
}

// values is how many values variables take together, at their bounds.
func values(vars []*sym.Symbol) int64 {
	n := int64(1)
	for _, v := range vars {
		if _, hi := v.Hi.Bounds(); hi != math.MaxInt64 {
			n = times(n, max(hi+1, 0))
		}
	}
	return n
}

// plus and times of numbers that are not negative end at the largest.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	if b != 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
