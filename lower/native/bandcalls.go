package native

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/tuned"
)

// movable reports whether what the epilogue reads is known to be laid out as the
// result is, or to be the same for all of its rows.
func movable(in *tuned.Instance) bool {
	ok := true
	if ep := in.Epilogue; ep != nil {
		at := map[int]bool{} // whether an operand is read at the result's position
		expr.Walk(ep.Body, func(e *expr.Expr) {
			if e.Op != expr.OpLoad {
				return
			}
			moves := e.Coords[0].Equal(ep.O.Expr())
			before, seen := at[e.Buf]
			ok = ok && (moves || !e.Coords[0].Uses(ep.O)) && (!seen || before == moves)
			at[e.Buf] = moves
		})
	}
	return ok
}

// moving are the arguments that the epilogue reads at the result's position.
func moving(in *tuned.Instance) map[int]bool {
	at := map[int]bool{}
	if ep := in.Epilogue; ep != nil {
		expr.Walk(ep.Body, func(e *expr.Expr) {
			if e.Op == expr.OpLoad && e.Coords[0].Equal(ep.O.Expr()) {
				at[in.First(tuned.Extra)+e.Buf] = true
			}
		})
	}
	return at
}

// emit returns the statements.
func (p *bands) emit() []Stmt {
	var windows []*Buffer
	for j := range p.calls[:len(p.calls)-1] {
		c := &p.calls[j]
		image := c.call.Args[0]
		w := *rowsOf(image, image, c.window.Out, p.height(j), sym.Expr{})
		w.Name, w.Root, w.At = image.Name+"_rows", nil, sym.Expr{}
		windows = append(windows, &w)
	}
	out := p.band(windows, 0, sym.Expr{})
	equal := p.number - 2 // bands that do the same, from the second on
	if p.same(p.number - 1) {
		equal++
	}
	switch {
	case equal == 1:
		out = append(out, p.band(windows, 1, sym.Expr{})...)
	case equal > 1:
		n := sym.Int(equal)
		v := sym.NewVar("band", n)
		out = append(out, &For{Var: v, Extent: n, Body: p.band(windows, 1, v.Expr()),
			From: p.from()})
	}
	if 1+equal < p.number {
		out = append(out, p.band(windows, p.number-1, sym.Expr{})...)
	}
	return out
}

// from are the origins of all calls.
func (p *bands) from() (all []Origin) {
	for i := range p.calls {
		for _, o := range p.calls[i].call.From {
			all = appendOrigin(all, o)
		}
	}
	return all
}

// band returns the statements of band i, and of those that follow it, more
// bands later.
func (p *bands) band(windows []*Buffer, i int64, more sym.Expr) []Stmt {
	var out []Stmt
	for j := range p.calls {
		c := &p.calls[j]
		rows := p.rows(j, i)
		args := slices.Clone(c.call.Args)
		// The image: the method's, or a window.
		from := max(0, p.first(j, i))
		if j == 0 {
			step := sym.Mul(sym.Int(c.share*c.window.Stride), more)
			args[1] = seen(args[1], c, rows.In, from, step)
		} else {
			args[1] = rowsOf(windows[j-1], args[1], c.window.In, rows.In,
				sym.Int(from-p.origin(j-1, i)))
		}
		// What is made, and what is as large as that.
		done := sym.Add(sym.Int(p.done(j, i)), sym.Mul(sym.Int(c.share), more))
		result := args[0]
		in := c.call.Kernel.Tuned
		if j < len(p.calls)-1 {
			if i > 0 {
				out = append(out, p.moves(j, i, windows[j])...)
			}
			args[0] = rowsOf(windows[j], result, c.window.Out, rows.Out,
				sym.Int(p.done(j, i)-p.origin(j, i)))
		} else {
			args[0] = rowsOf(result, result, c.window.Out, rows.Out, done)
		}
		if rows.Out == 0 {
			continue // all is made
		}
		for k := range c.moving {
			args[k] = rowsOf(c.call.Args[k], result, c.window.Out, rows.Out, done)
		}
		part := c.parts[i]
		if !part.Scratch.IsZero() {
			s := *args[len(args)-1]
			elem := sym.Int(int64(s.DType.Size()))
			s.Len = sym.CeilDiv(part.Scratch, elem)
			s.Sizes, s.MaxLen = []sym.Expr{s.Len}, bound(s.Len)
			args[len(args)-1] = &s
		}
		k := *c.call.Kernel
		k.Tuned, k.whole = part, in
		out = append(out, &Call{Kernel: &k, Args: args, From: c.call.From})
	}
	return out
}

// moves returns the copies that bring the halo of image j to the front of its
// window w before band i, in order: each of no more rows than a band brings, so that
// none is read where it is written.
func (p *bands) moves(j int, i int64, w *Buffer) (list []Stmt) {
	c := &p.calls[j]
	result := c.call.Args[0]
	there := p.left(j, i)
	for at := int64(0); at < there; at += c.share {
		rows := min(c.share, there-at)
		n := sym.Mul(sym.Int(rows), rowLen(result, c.window.Out))
		list = append(list, &Call{Kernel: copyKernel(w.DType, n), From: c.call.From,
			Args: []*Buffer{
				rowsOf(w, result, c.window.Out, rows, sym.Int(c.lead+at)),
				rowsOf(w, result, c.window.Out, rows, sym.Int(c.lead+at+c.share))}})
	}
	return list
}

// seen returns n rows of the image that c reads as it is given, from row from on,
// and what follows them in memory if its channels are planes.
func seen(image *Buffer, c *banding, n, from int64, step sym.Expr) *Buffer {
	first := sym.Add(sym.Int(from), step)
	if !c.planes {
		return rowsOf(image, image, c.window.In, n, first)
	}
	columns := sym.FloorDiv(rowLen(image, c.window.In), image.Sizes[1])
	at := sym.Mul(columns, first)
	rest := sym.Sub(image.Len, at)
	return viewOf(image, image.Name+"_from", []sym.Expr{rest}, at)
}

// rowsOf returns n rows of of, from one on, which are as those of image, of which
// there are height.
func rowsOf(of, image *Buffer, height, n int64, from sym.Expr) *Buffer {
	sizes := slices.Clone(image.Sizes)
	sizes[2] = sym.Int(n)
	return viewOf(of, image.Name+"_band", sizes, sym.Mul(rowLen(image, height), from))
}

// rowLen returns the elements of a row of an image, of which there are height.
func rowLen(image *Buffer, height int64) sym.Expr {
	return sym.FloorDiv(image.Len, sym.Int(height))
}
