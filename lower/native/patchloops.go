package native

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
)

// Kernels of loops are made in patches, too: poolings, what is computed element by element,
// convolutions for which there is no micro-kernel. Their expression says which rows of the
// image a row of the result sees, and a patch has the same expression, of rows further
// down. Whether a row is in the image or in its padding is asked of rows of the whole.

// looped is the call of a kernel of loops that may be made in patches.
type looped struct {
	fusion *fusion
	row    *sym.Symbol  // of the result
	image  int          // of the fusion's operands, the image
	planes bool         // the image's channels are planes
	moving map[int]bool // operands that are read at the row of the result
	args   []*Buffer    // of the fusion's operands; nil for those that are not read
}

// An operation of a loop is so many instructions, and a call of it.
const (
	loopInstructions = 4
	loopCall         = 60
)

// loopLink reads a call of loops as a link.
func (b *builder) loopLink(c *Call) (l link, ok bool) {
	g := b.fusions[c]
	if g == nil || len(g.vals) != 1 || len(c.Args) < 2 || c.Kernel.Loop.Bufs[0].Role != loop.Out {
		return l, false
	}
	if len(c.Args[0].Sizes) != 4 {
		return l, false
	}
	t := g.tensors[0]
	at, ok := b.rowOutermost(g.vals[0])
	if !ok {
		return l, false
	}
	in := &looped{fusion: g, row: t.Vars[at], image: -1, moving: map[int]bool{},
		args: make([]*Buffer, len(g.args))}
	loads := expr.Loads(t.Body)
	next := 1
	for k := range g.args { // in the order of the call
		if !slices.Contains(loads, k) {
			continue
		}
		if next == len(c.Args) || c.Kernel.Role(next) != loop.In {
			return l, false
		}
		if in.args[k] = c.Args[next]; len(g.args[k].Type.Sizes) != len(c.Args[next].Sizes) {
			return l, false // it lies in another tensor
		}
		if next == 1 {
			in.image = k
		}
		next++
	}
	if next != len(c.Args) || in.image < 0 {
		return l, false
	}
	l = link{call: c, loop: in, movable: true, moving: map[int]bool{},
		instructions: loopCall + loopInstructions*schedule.Work(c.Kernel.Loop)}
	if l.window, ok = b.loopWindow(in); !ok {
		return l, false
	}
	l.planes = in.planes
	for i, k := range in.loaded() {
		l.moving[i+1] = in.moving[k]
	}
	b.divisions.know(b, &l)
	return l, true
}

// loaded returns the numbers of the operands that are read, in the order of the call.
func (in *looped) loaded() (list []int) {
	for k, a := range in.args {
		if a != nil {
			list = append(list, k)
		}
	}
	return list
}

// rowOutermost returns where the rows of an image are among its dimensions in memory, if
// nothing but rows lies around a row.
func (b *builder) rowOutermost(v *ir.Value) (at int, ok bool) {
	if v.Type.Rank() != 4 {
		return 0, false
	}
	for at, s := range schedule.InOrder(b.orders[v], v.Type.Sizes) {
		dim := at
		if order := b.orders[v]; order != nil {
			dim = order[at]
		}
		if dim == 2 {
			return at, true
		}
		if !s.Is(1) {
			return 0, false
		}
	}
	return 0, false
}

// loopWindow says how the results see rows of the image, and finds the operands that move
// with them.
func (b *builder) loopWindow(in *looped) (w tuned.Window, ok bool) {
	v, image := in.fusion.vals[0], in.fusion.args[in.image]
	if _, ok := b.rowOutermost(image); !ok {
		if in.planes = image.Type.Rank() == 4 && b.orders[image] == nil &&
			image.Type.Sizes[0].Is(1); !in.planes {
			return w, false
		}
	}
	var static [2]bool
	w.In, static[0] = image.Type.Sizes[2].Const()
	w.Out, static[1] = v.Type.Sizes[2].Const()
	if !static[0] || !static[1] || w.In < 1 || w.Out < 1 {
		return w, false
	}
	fixed := map[int]bool{}
	first, last := int64(0), int64(0)
	seen := false
	ok = true
	expr.Walk(in.fusion.tensors[0].Body, func(e *expr.Expr) {
		if e.Op != expr.OpLoad || !ok {
			return
		}
		if e.Buf != in.image {
			moves := len(e.Coords) == 4 && e.Coords[2].Equal(in.row.Expr())
			_, outermost := b.rowOutermost(in.fusion.args[e.Buf])
			switch {
			case moves && outermost && in.fusion.args[e.Buf].Type.Sizes[2].Equal(sym.Int(w.Out)):
				in.moving[e.Buf] = true
			case slices.ContainsFunc(e.Coords, func(x sym.Expr) bool { return uses(x, in.row) }):
				ok = false
			default:
				fixed[e.Buf] = true
			}
			return
		}
		at := func(n int64) sym.Expr {
			return e.Coords[2].Subst(func(s *sym.Symbol) (sym.Expr, bool) {
				return sym.Int(n), s == in.row
			})
		}
		rest := at(0)
		stride, known := sym.Sub(at(1), rest).Const()
		lo, hi := rest.Bounds()
		if !known || stride < 1 || stride > w.In || seen && stride != w.Stride ||
			!e.Coords[2].Equal(sym.Add(sym.Mul(sym.Int(stride), in.row.Expr()), rest)) ||
			lo < -w.In || hi > 2*w.In {
			ok = false
			return
		}
		for d, x := range e.Coords {
			ok = ok && (d == 2 || !uses(x, in.row))
		}
		if !seen {
			first, last = lo, hi
		}
		first, last, seen, w.Stride = min(first, lo), max(last, hi), true, stride
	})
	for k := range in.moving {
		ok = ok && !fixed[k]
	}
	w.Pad, w.Reach = -first, last-first+1
	return w, ok && seen && w.Pad >= 0
}

// uses reports whether x depends on s, or on an index that is computed.
func uses(x sym.Expr, s *sym.Symbol) bool {
	return x.Uses(s) || slices.ContainsFunc(x.Symbols(), func(y *sym.Symbol) bool {
		return expr.DefOf(y) != nil
	})
}

// patch returns the call that makes rows of the result from row done on, of args: the
// result, the image from row from on, and operands, those that move from row done on.
func (in *looped) patch(b *builder, call *Call, rows tuned.Rows, done, from sym.Expr,
	args []*Buffer) *Call {
	t := in.fusion.tensors[0]
	row := sym.NewVar(in.row.Name, sym.Int(rows.Out))
	vars := slices.Clone(t.Vars)
	vars[slices.Index(vars, in.row)] = row
	body := expr.Rewrite(t.Body, func(e *expr.Expr) *expr.Expr {
		if e.Op != expr.OpLoad || e.Buf != in.image && !in.moving[e.Buf] {
			return e
		}
		n := *e
		n.Coords = slices.Clone(e.Coords)
		if e.Buf == in.image {
			n.Coords[2] = sym.Sub(n.Coords[2], from)
		} else {
			n.Coords[2] = sym.Sub(n.Coords[2], done)
		}
		return &n
	})
	body = expr.RewriteFresh(body, expr.Subst{in.row: sym.Add(row.Expr(), done)},
		func(e *expr.Expr) *expr.Expr { return e })
	infos := make([]schedule.OperandInfo, len(in.fusion.args))
	for k, v := range in.fusion.args {
		sizes := slices.Clone(v.Type.Sizes)
		switch {
		case k == in.image && !in.planes:
			sizes[2] = sym.Int(rows.In)
		case in.moving[k]:
			sizes[2] = sym.Int(rows.Out)
		}
		infos[k] = schedule.OperandInfo{DType: v.Type.DType, Sizes: sizes, Order: b.orders[v]}
	}
	fn := must.Get(schedule.Build(kernelName(in.fusion.from),
		[]expr.Tensor{{DType: t.DType, Vars: vars, Body: expr.Simplify(body)}}, infos,
		b.scheduleOptions(in.fusion)))
	out := &Call{Args: []*Buffer{args[0]}, Scalars: call.Scalars, From: call.From}
	loads, drop := fn.Loads(), make([]bool, len(fn.Bufs))
	at := 0
	for i, buf := range fn.Bufs[1:] {
		switch {
		case i >= len(in.args):
			out.Args = append(out.Args, dense(buf.Name, buf.DType, buf.Len))
			continue
		case in.args[i] != nil:
			at++
		}
		if drop[i+1] = !loads[i+1]; loads[i+1] {
			out.Args = append(out.Args, args[at])
		}
	}
	out.Kernel = &Kernel{Name: fn.Name, Loop: fn.Without(drop), Doc: call.Kernel.Doc}
	return out
}

// key tells links of loops apart.
func (in *looped) key(l *link) string {
	return fmt.Sprint("loops ", l.window, l.instructions, in.fusion.args[in.image].Type,
		in.fusion.vals[0].Type)
}

// instructionsOf estimates those of some rows.
func (l *link) instructionsOf(rows tuned.Rows) float64 {
	return loopCall + (l.instructions-loopCall)*float64(rows.Out)/float64(l.window.Out)
}
