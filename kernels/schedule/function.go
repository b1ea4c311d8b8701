package schedule

import (
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// Function lays out the body of a scalar function: statements that compute what
// is used more than once, then the expression it returns.
func Function(fn *expr.Func) (body []loop.Stmt, result *expr.Expr) {
	root := expr.NewSharer().Share(fn.Body)
	f := &loop.Func{Name: fn.Name}
	s := newScheduler(f, Options{})
	top := s.newBlock(nil, nil, false, []*expr.Expr{root})
	result = s.value(root, top)
	r := renamer{f: f, taken: map[string]bool{}}
	for _, p := range fn.Params {
		r.taken[p.Name] = true
	}
	return r.block(top.stmts, nil, 0), result
}
