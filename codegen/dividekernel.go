package codegen

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// piece is a kernel that does some of the loops of another one.
type piece struct {
	kernel  *native.Kernel
	args    []int // of the whole kernel: its buffers
	ints    []int // its integer parameters
	scalars []int
}

// kernels returns kernels with those that can and should be divided replaced.
func (d *divider) kernels(list []*native.Kernel) []*native.Kernel {
	names := NewScope(nil)
	for _, k := range list {
		names.Reserve(k.Name)
	}
	var out []*native.Kernel
	for _, k := range list {
		runs := independent(k, maxKernel(d.most))
		if len(runs) < 2 {
			out = append(out, k)
			continue
		}
		for _, body := range runs {
			p := pieceOf(k, body)
			p.kernel.Name = names.Take(k.Name)
			d.pieces[k] = append(d.pieces[k], p)
			out = append(out, p.kernel)
		}
	}
	return out
}

// calls returns what takes the place of a statement: of the call of a kernel that
// is divided, calls of the pieces.
func (d *divider) calls(s native.Stmt) []native.Stmt {
	c, ok := s.(*native.Call)
	if !ok || d.pieces[c.Kernel] == nil {
		return []native.Stmt{s}
	}
	var out []native.Stmt
	var last *native.Call
	for _, p := range d.pieces[c.Kernel] {
		last = &native.Call{Kernel: p.kernel, Args: pick(c.Args, p.args),
			Ints: pick(c.Ints, p.ints), Scalars: pick(c.Scalars, p.scalars), From: c.From}
		out = append(out, last)
	}
	if n, ok := d.probes[c]; ok {
		delete(d.probes, c)
		d.probes[last] = n
	}
	return out
}

func pick[T any](list []T, which []int) []T {
	var out []T
	for _, k := range which {
		out = append(out, list[k])
	}
	return out
}

// independent returns the statements of a kernel in runs that weigh no more than most, as
// far as no local is declared in one and used in another.
func independent(k *native.Kernel, most int) [][]loop.Stmt {
	if k.Loop == nil {
		return nil
	}
	body := k.Loop.Body
	weights := make([]int, len(body))
	last := map[any]int{} // the last statement that mentions a local
	for i := range body {
		heavier := func() { weights[i]++ }
		mentions(body[i:i+1], func(x any) { last[x] = i }, func(*expr.Expr) { heavier() }, heavier)
	}
	if sum(weights) <= most {
		return nil
	}
	var runs [][]loop.Stmt
	first, weight, until := 0, 0, -1
	for i, s := range body {
		if i > first && i > until && weight+weights[i] > most {
			runs = append(runs, body[first:i])
			first, weight = i, 0
		}
		weight += weights[i]
		switch s := s.(type) {
		case *loop.Let:
			until = max(until, last[s.Var])
		case *loop.LetIndex:
			until = max(until, last[s.Sym])
		}
	}
	return append(runs, body[first:])
}

// mentions calls local for every symbol and local that statements mention, value
// for every operation and step for every statement.
func mentions(body []loop.Stmt, local func(any), value func(*expr.Expr), step func()) {
	loop.Walk(body, func(s loop.Stmt) {
		step()
		if a, ok := s.(*loop.Assign); ok {
			local(a.Var)
		}
		loop.Indices(s, func(e sym.Expr) {
			for _, x := range e.Symbols() {
				local(x)
			}
		})
		loop.Exprs(s, func(e *expr.Expr) {
			expr.Walk(e, func(e *expr.Expr) {
				value(e)
				if e.Op == expr.OpLocal {
					local(e.Var)
				}
			})
		})
	})
}

// pieceOf returns the kernel that does body, which is part of k's.
func pieceOf(k *native.Kernel, body []loop.Stmt) *piece {
	f := *k.Loop
	f.Body = body
	drop := make([]bool, len(f.Bufs))
	loads := f.Loads()
	for i := range drop {
		drop[i] = !loads[i]
	}
	used := map[any]bool{}
	scalars := map[int]bool{}
	loop.Walk(body, func(s loop.Stmt) {
		if s, ok := s.(*loop.Store); ok {
			drop[s.Buf] = false
		}
	})
	mentions(body, func(x any) { used[x] = true }, func(e *expr.Expr) {
		if e.Op == expr.OpScalar {
			scalars[e.Buf] = true
		}
	}, func() {})
	p := &piece{}
	for i, b := range f.Bufs {
		if drop[i] {
			continue
		}
		p.args = append(p.args, i)
		for _, s := range b.Len.Symbols() {
			used[s] = true
		}
	}
	own := *k
	own.Params = nil
	for i, s := range k.Params {
		if used[s] {
			p.ints = append(p.ints, i)
			own.Params = append(own.Params, s)
		}
	}
	f.Syms = slices.DeleteFunc(slices.Clone(f.Syms), func(s *sym.Symbol) bool { return !used[s] })
	to := make([]int, len(f.Scalars))
	f.Scalars = nil
	for i, v := range k.Loop.Scalars {
		if to[i] = len(f.Scalars); scalars[i] {
			p.scalars = append(p.scalars, i)
			f.Scalars = append(f.Scalars, v)
		}
	}
	f.Body = loop.MapAll(body, func(e *expr.Expr) *expr.Expr {
		return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
			if e.Op != expr.OpScalar || to[e.Buf] == e.Buf {
				return e
			}
			n := *e
			n.Buf = to[e.Buf]
			return &n
		})
	}, func(x sym.Expr) sym.Expr { return x })
	own.Loop = f.Without(drop)
	p.kernel = &own
	return p
}
