package schedule

import (
	"fmt"
	"maps"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// rename gives loop variables, indices and locals the names they keep: loops by
// depth (i, j, k, …), the others unique in the function. From here on a
// data-dependent index is defined by its LetIndex alone. It also lists the
// integer parameters the body needs, in order of appearance.
func rename(f *loop.Func) {
	f.Syms = f.Free()
	relabel(f)
}

// relabel names loop variables, indices and locals anew.
func relabel(f *loop.Func) {
	r := renamer{taken: map[string]bool{}}
	for _, s := range f.Syms {
		r.taken[s.Name] = true
	}
	for _, b := range f.Bufs {
		r.taken[b.Name] = true
	}
	for _, v := range f.Scalars {
		r.taken[v.Name] = true
	}
	f.Body = r.block(f.Body, expr.Subst{}, 0)
}

type renamer struct{ taken map[string]bool }

// loopName returns the name of the variable of a loop with depth loops around
// it; loops beside each other have the same.
func (r *renamer) loopName(depth int) string {
	name := fmt.Sprintf("i%d", depth)
	if depth < 4 {
		name = "ijkl"[depth : depth+1]
	}
	for r.taken[name] {
		name += "_"
	}
	return name
}

func (r *renamer) unique(base string) string {
	name := base
	for i := 1; r.taken[name]; i++ {
		name = fmt.Sprintf("%s%d", base, i)
	}
	r.taken[name] = true
	return name
}

func (r *renamer) block(body []loop.Stmt, env expr.Subst, depth int) []loop.Stmt {
	env = maps.Clone(env) // a LetIndex lasts to the end of the block
	index := func(x sym.Expr) sym.Expr { return subst(x, env) }
	value := func(e *expr.Expr) *expr.Expr { return expr.SubstIndex(e, env) }
	out := make([]loop.Stmt, len(body))
	for i, st := range body {
		switch st := st.(type) {
		case *loop.For:
			v := sym.NewVar(r.loopName(depth), index(st.Extent))
			inner := maps.Clone(env)
			inner[st.Var] = v.Expr()
			c := *st
			c.Var, c.Extent, c.Body = v, index(st.Extent), r.block(st.Body, inner, depth+1)
			out[i] = &c
		case *loop.LetIndex:
			v := value(st.Value)
			s := &sym.Symbol{Name: r.unique("at"), Lo: index(st.Sym.Lo), Hi: index(st.Sym.Hi)}
			env[st.Sym] = s.Expr()
			out[i] = &loop.LetIndex{Sym: s, Value: v}
		case *loop.If:
			out[i] = &loop.If{Cond: value(st.Cond), Then: r.block(st.Then, env, depth),
				Else: r.block(st.Else, env, depth)}
		case *loop.Let:
			st.Var.Name = r.unique(st.Var.Name)
			out[i] = loop.Map(st, value, index)
		default:
			out[i] = loop.Map(st, value, index)
		}
	}
	return out
}
