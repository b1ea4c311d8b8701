package codegen

import (
	"slices"

	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// A compiler's time for a function grows faster than the function, and so does
// its memory. So the text of a large program has no large function. What stands
// in a function is weighed: a statement weighs 1, and so do each operand of it and each
// operation in a kernel.
const (
	// MaxWeight is the weight above which a block is divided. Blocks below it are not
	// divided, so a function of nested blocks may weigh a few times as much.
	MaxWeight = 1000
	// sectionWeight is what the call of another function weighs.
	sectionWeight = 8
)

// maxKernel is the most that a kernel of several loops weighs, each of which
// becomes many instructions.
func maxKernel(weight int) int { return weight / 2 }

// Alike is the largest number of statements or tests of one kind in a function that has
// one for each argument or state.
func Alike(weight int) int { return max(2, weight/32) }

// Divide returns p with Sections around statements of blocks that weigh more than
// weight, and with kernels of independent loops that weigh too much in several
// kernels, and without copies of memory to itself. A program without these stays as it
// is. Events of a call of such a kernel pass to the calls that take its place.
func Divide(p *native.Program, weight int, events *Events) *native.Program {
	d := &divider{most: weight, events: events, pieces: map[*native.Kernel][]*piece{}}
	out := *p
	out.Kernels = d.kernels(p.Kernels)
	out.Methods = nil
	for _, m := range p.Methods {
		own := *m
		if m.Rows != nil { // each of its statements is a part of one loop
			own.Body = nil
			for _, s := range m.Body {
				s, _ = d.stmt(s)
				own.Body = append(own.Body, s)
			}
		} else {
			own.Body, _ = d.block(m.Body)
		}
		out.Methods = append(out.Methods, &own)
	}
	return &out
}

// Divided reports whether there are Sections in a method's statements.
func Divided(stmts []native.Stmt) bool { return Has[*native.Section](stmts) }

// Fails reports whether statements can end their method with an error.
func Fails(stmts []native.Stmt) bool {
	return Any(stmts, func(s native.Stmt) bool {
		switch s := s.(type) {
		case *native.Assert:
			return true
		case *native.Call:
			return s.Kernel.Fails()
		}
		return false
	})
}

// Has reports whether there is a statement of a kind.
func Has[S native.Stmt](stmts []native.Stmt) bool {
	return Any(stmts, func(s native.Stmt) bool { _, is := s.(S); return is })
}

type divider struct {
	most   int // that a function weighs
	events *Events
	pieces map[*native.Kernel][]*piece // of kernels that are divided
}

// block returns statements with large blocks in them divided, and their weight.
// Nothing that they declare is lost behind a Section: buffers' locals are where
// they are used, and numbers read at run time have a place of their own.
func (d *divider) block(stmts []native.Stmt) ([]native.Stmt, int) {
	var out []native.Stmt
	var weights []int
	for _, s := range stmts {
		for _, s := range d.calls(s) {
			s, w := d.stmt(s)
			out, weights = append(out, s), append(weights, w)
		}
	}
	total := sum(weights)
	for total > d.most && len(out) > 1 {
		before := total
		out, weights = d.sections(out, weights, total)
		if total = sum(weights); total >= before {
			break
		}
	}
	return out, total
}

// stmt returns s with the blocks in it divided, and its weight.
func (d *divider) stmt(s native.Stmt) (native.Stmt, int) {
	own := 1 + len(native.Operands(s))
	if call, ok := s.(*native.Call); ok {
		own += len(call.Ints) + len(call.Scalars)
	}
	block := func(b []native.Stmt) []native.Stmt {
		b, w := d.block(b)
		own += w
		return b
	}
	switch t := s.(type) {
	case *native.Cond:
		c := *t
		c.Then, c.Else = block(t.Then), block(t.Else)
		s = &c
	case *native.While:
		c := *t
		c.Head, c.Body = block(t.Head), block(t.Body)
		s = &c
	case *native.For:
		c := *t
		c.Body = block(t.Body)
		s = &c
	case *native.Await:
		c := *t
		c.Body = block(t.Body)
		s = &c
	}
	return s, own
}

// sections puts neighbours into Sections of about the same weight.
func (d *divider) sections(
	stmts []native.Stmt, weights []int, total int,
) (out []native.Stmt, ofOut []int) {
	count := (total + d.most - 1) / d.most
	first, weight, done := 0, 0, 0
	end := func(next int) {
		s, w := stmts[first], weights[first]
		if next > first+1 || w > sectionWeight {
			s, w = &native.Section{Body: slices.Clone(stmts[first:next])}, sectionWeight
		}
		out, ofOut = append(out, s), append(ofOut, w)
		first, weight = next, 0
	}
	for i, w := range weights {
		if i > first && (weight+w > d.most || (done+w/2)*count > total*(len(out)+1)) {
			end(i)
		}
		weight += w
		done += w
	}
	end(len(stmts))
	return out, ofOut
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}

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
// is divided, calls of the pieces; of a copy of memory to itself, nothing.
func (d *divider) calls(s native.Stmt) []native.Stmt {
	c, ok := s.(*native.Call)
	switch {
	case ok && c.Kernel.Copy && SameMemory(c.Args[0], c.Args[1]):
		return nil
	case !ok || d.pieces[c.Kernel] == nil:
		return []native.Stmt{s}
	}
	var out []native.Stmt
	var first, last *native.Call
	for _, p := range d.pieces[c.Kernel] {
		last = &native.Call{Kernel: p.kernel, Args: pick(c.Args, p.args),
			Ints: pick(c.Ints, p.ints), Scalars: pick(c.Scalars, p.scalars), From: c.From}
		if first == nil {
			first = last
		}
		out = append(out, last)
	}
	d.events.divide(c, first, last)
	return out
}

func pick[T any](list []T, which []int) []T {
	return seq.Map(which, func(k int) T { return list[k] })
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
