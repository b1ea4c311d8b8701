package native

import (
	"fmt"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/tuned"
)

// hotShare is the part of a program's work above which --optimize=speed gives
// a kernel constants of its own instead of parameters.
const hotShare = 0.05

// share makes calls that differ only in integers call the same kernel, and
// names the kernels. Integers equal in all calls of a kernel become constants
// in its text, the others parameters; parameters that always have equal values
// are one.
func share(p *Program, target tuned.Target) {
	var calls []*Call
	for _, m := range p.Methods {
		eachCall(m.Body, func(c *Call) { calls = append(calls, c) })
	}
	total := 0.0
	for _, c := range calls {
		total += work(c.Kernel)
	}
	var order []string
	groups := map[string][]*instance{}
	for _, c := range calls {
		in := newInstance(c)
		if target.Speed && work(c.Kernel) > hotShare*total {
			for _, v := range in.skel.values {
				in.key += "," + v.Key()
			}
		}
		if groups[in.key] == nil {
			order = append(order, in.key)
		}
		groups[in.key] = append(groups[in.key], in)
	}
	names := map[string]bool{}
	for _, key := range order {
		k := merge(groups[key])
		k.Name = unique(names, k.Name)
		if k.Loop != nil {
			k.Loop.Name = k.Name
		}
		p.Kernels = append(p.Kernels, k)
	}
}

func eachCall(stmts []Stmt, f func(*Call)) {
	for _, s := range stmts {
		if c, ok := s.(*Call); ok {
			f(c)
		}
		for _, nested := range blocks(s) {
			eachCall(*nested, f)
		}
	}
}

// instance is one call with its kernel taken apart.
type instance struct {
	call *Call
	key  string
	skel *skeleton
}

func newInstance(c *Call) *instance {
	in := &instance{call: c}
	if c.Kernel.Loop != nil {
		in.skel = abstract(c.Kernel.Loop)
		in.key = "loop " + in.skel.key
		return in
	}
	t := c.Kernel.Tuned
	in.skel = &skeleton{}
	in.key = "tuned " + t.Kernel.Name
	for _, p := range t.Params {
		in.key += " " + p.Name
		lo, hi := p.Value.Bounds()
		in.skel.holes = append(in.skel.holes, sym.NewSymbol(p.Name, lo, hi))
		in.skel.values = append(in.skel.values, p.Value)
	}
	if t.Epilogue != nil {
		in.key += " epilogue " + t.Epilogue.Key()
	}
	return in
}

// merge makes one kernel of calls with equal skeletons.
func merge(group []*instance) *Kernel {
	first := group[0].skel
	k := *group[0].call.Kernel
	k.Params = nil
	params := map[string]*sym.Symbol{} // by the values it takes in all calls
	repl := map[*sym.Symbol]sym.Expr{}
	for h, hole := range first.holes {
		same, key := true, ""
		lo, hi := hole.Expr().Bounds()
		for _, in := range group {
			v := in.skel.values[h]
			same = same && v.Equal(first.values[h])
			key += v.Key() + ","
			l, u := v.Bounds()
			lo, hi = min(lo, l), max(hi, u)
		}
		if _, isConst := first.values[h].Const(); same && isConst {
			repl[hole] = first.values[h]
			continue
		}
		p := params[key]
		if p == nil {
			p = sym.NewSymbol(paramName(first, h, len(k.Params)), lo, hi)
			params[key] = p
			k.Params = append(k.Params, p)
			for _, in := range group {
				in.call.Ints = append(in.call.Ints, in.skel.values[h])
			}
		}
		repl[hole] = p.Expr()
	}
	if k.Loop != nil {
		k.Loop = instantiate(first, repl, mergeConsts(group, &k))
		k.Loop.Syms = k.Params
	} else {
		t := *k.Tuned
		t.Params = append([]tuned.Param(nil), t.Params...)
		for i := range t.Params {
			t.Params[i].Value = repl[first.holes[i]]
		}
		k.Tuned = &t
	}
	for _, in := range group {
		in.call.Kernel = &k
	}
	return &k
}

// paramName keeps the names that mean something: dynamic sizes and a tuned
// kernel's own.
func paramName(s *skeleton, hole, n int) string {
	if syms := s.values[hole].Symbols(); len(syms) == 1 && s.values[hole].Equal(syms[0].Expr()) {
		return identifier(syms[0].Name)
	}
	if s.fn == nil {
		return s.holes[hole].Name
	}
	return fmt.Sprintf("n%d", n)
}

// mergeConsts decides for every floating constant whether it stays one.
// It returns what replaces scalar hole i.
func mergeConsts(group []*instance, k *Kernel) []*expr.Expr {
	first := group[0].skel
	had := 0
	if k.Loop != nil {
		had = len(k.Loop.Scalars)
	}
	out := make([]*expr.Expr, len(first.consts))
	var added []*expr.Var
	for i, c := range first.consts {
		same := true
		for _, in := range group {
			x := in.skel.consts[i]
			same = same && x.Float == c.Float
		}
		if same {
			out[i] = c
			continue
		}
		v := &expr.Var{Name: fmt.Sprintf("c%d", len(added)), DType: c.DType}
		out[i] = &expr.Expr{Op: expr.OpScalar, DType: c.DType, Buf: had + len(added)}
		added = append(added, v)
		for _, in := range group {
			in.call.Scalars = append(in.call.Scalars, in.skel.consts[i])
		}
	}
	first.fn.Scalars = append(first.fn.Scalars[:had:had], added...)
	return out
}

// instantiate fills the holes of a skeleton.
func instantiate(s *skeleton, repl map[*sym.Symbol]sym.Expr, consts []*expr.Expr) *loop.Func {
	had := len(s.fn.Scalars)
	for _, c := range consts {
		if c.Op == expr.OpScalar {
			had--
		}
	}
	return loop.Rewrite(s.fn,
		func(h *sym.Symbol) (sym.Expr, bool) { e, ok := repl[h]; return e, ok },
		func(e *expr.Expr) *expr.Expr {
			if e.Op == expr.OpScalar && e.Buf >= had {
				return consts[e.Buf-had]
			}
			return e
		})
}

// work estimates the operations of a kernel, for finding the hot ones.
func work(k *Kernel) float64 {
	size := func(e sym.Expr) float64 {
		_, hi := e.Bounds()
		return float64(max(hi, 1))
	}
	if k.Tuned != nil {
		return 2 * size(k.Tuned.MACs)
	}
	return loop.Work(k.Loop, size)
}
