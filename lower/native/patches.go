package native

import (
	"cmp"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/tuned"
)

// Patches: convolutions that follow each other are made a patch of rows at a time,
// where the images between them are larger than the cache. Such an image never
// exists as a whole, only the rows of it that a patch needs: its window.
//
// Image j is what call j makes; a patch of the last one's rows follows from the
// rows of the image before it that they see, and so on to the first. In steady
// state every call makes as many new rows in each patch, its share, and the window
// of an image begins with the rows that the patch before has left, its halo: what
// the next call sees twice, because windows overlap. So:
//
//	the first patch, whose rows may see padding above
//	for the patches in the middle: {
//	    the halo of every image moves to the front of its window
//	    every call makes its share behind it, of the window before
//	}
//	the last patches, which may be less and may see padding below
//
// No row is computed twice. Kernels are given rows as they are given images, and
// results are the same to the bit: tuned.Patches says where not. All of that is
// for images with innermost channels, a batch of one and sizes that are known: a
// patch of rows is then one run of memory.

// link is a call that may be made in patches.
type link struct {
	call   *Call
	facts  *facts
	window tuned.Window
	alike  int // equal for calls that are divided alike, in parts of equal cost
	kind   *kind
	loop   *looped // of a kernel of loops; nil: of a micro-kernel
	planes bool    // the channels of its image are planes
	pixels *link   // the same with each pixel as a row; nil: it cannot be made so

	moving       map[int]bool // as moving says
	movable      bool
	instructions float64 // of the whole call
}

// patches makes the calls of all blocks in patches where that pays.
func (b *builder) patches() {
	if len(b.opt.Kernels) == 0 || b.opt.Patches < 0 {
		return
	}
	made := map[*tuned.Instance]*facts{}
	for _, f := range b.facts {
		if f.instance != nil {
			made[f.instance] = f
		}
	}
	uses := map[*Buffer]int{}
	for _, s := range b.m.Body {
		eachAccess(s, func(a access) { uses[Root(*a.buf)]++ })
	}
	if b.opt.Rows {
		w := b.awaited()
		b.spare(made, uses, w)
		b.rowsOfMethod(w)
	} else if b.opt.sparing && b.opt.Patches == 0 {
		b.spare(made, uses, nil)
	} else {
		b.patchBlock(&b.m.Body, made, uses)
	}
}

func (b *builder) patchBlock(block *[]Stmt, made map[*tuned.Instance]*facts, uses map[*Buffer]int) {
	var out []Stmt
	var run []link
	finish := func() {
		if len(run) > 0 {
			out = append(out, b.patched(run)...)
		}
		run = nil
	}
	for _, s := range *block {
		for _, nested := range Blocks(s) {
			b.patchBlock(nested, made, uses)
		}
		l, ok := b.link(s, made)
		if !ok {
			finish()
			out = append(out, s)
			continue
		}
		if n := len(run); n > 0 && !follows(run[n-1].call, l.call, uses) {
			finish()
		}
		run = append(run, l)
	}
	finish()
	*block = out
}

// link reads a statement as one that makes images with innermost channels row by row.
func (b *builder) link(s Stmt, made map[*tuned.Instance]*facts) (l link, ok bool) {
	c, ok := s.(*Call)
	if !ok {
		return l, false
	}
	if c.Kernel.Tuned == nil {
		if !b.opt.sparing {
			return l, false
		}
		return b.loopLink(c)
	}
	f := made[c.Kernel.Tuned]
	if f == nil || b.orders[f.node.Output(0)] == nil || b.orders[b.stored(f)] == nil {
		return l, false
	}
	w, ok := tuned.WindowOf(f.call, b.opt.Target, false)
	if !ok {
		return l, false
	}
	in := c.Kernel.Tuned
	l = link{call: c, facts: f, window: w, planes: b.orders[f.call.Value("input")] == nil,
		instructions: in.Instructions()}
	l.moving, l.movable = moving(in)
	if w, ok := tuned.WindowOf(f.call, b.opt.Target, true); ok {
		pixels := l
		pixels.window, l.pixels = w, &pixels
		b.divisions.know(b, &pixels)
	}
	b.divisions.know(b, &l)
	return l, true
}

// stored is the value that the call of a tuned kernel makes.
func (b *builder) stored(f *facts) *ir.Value {
	if f.epilogue != nil {
		return f.epilogue.out
	}
	return f.node.Output(0)
}

// follows reports whether next alone reads what call makes, as its image.
func follows(call, next *Call, uses map[*Buffer]int) bool {
	image := call.Args[0]
	return next.Args[1] == image && image.Root == nil && image.Storage == Arena && uses[image] == 2
}

// patched returns the statements that a run of calls becomes, of which each reads
// what the one before makes: the best way to take it apart.
func (b *builder) patched(links []link) (out []Stmt) {
	r := run{links: links}
	for end := 1; end <= len(links); end++ {
		r.choices = append(r.choices, choice{from: end - 1, end: end})
		for from := end - 2; from >= max(0, end-longestChain); from-- {
			if p, gain := b.plan(links[from:end]); p != nil {
				r.choices = append(r.choices, choice{from: from, end: end, patches: p, time: -gain})
			}
		}
	}
	for _, c := range r.within(math.MaxInt64) {
		if c.patches != nil {
			out = append(out, c.patches.emit()...)
		} else {
			out = append(out, links[c.from].call)
		}
	}
	return out
}

// mostRows is how many rows an image may have that is made in patches: every height is tried.
const mostRows = 1 << 12

// plan returns the best patches for all calls of a chain, and what they gain, or
// nil if there are none that gain something.
func (b *builder) plan(chain []link) (best *patches, gain float64) {
	last := chain[len(chain)-1].window.Out
	if overwrites(chain) || last > mostRows {
		return nil, 0
	}
	if forced := b.opt.Patches; forced > 0 {
		for height := int64(forced); height < last; height++ {
			if p := b.divisions.patches(chain, height); p != nil && (b.opt.sparing || !p.small()) &&
				p.instances(b) {
				return p, float64(len(chain))
			}
		}
		return nil, 0
	}
	if !tuned.ChannelsLast(b.opt.Target) ||
		b.opt.Target.Gain(tuned.PatchCost{Images: between(chain)}) <= 0 {
		return nil, 0
	}
	var choices []choice
	for height := int64(1); height < last; height++ {
		if p := b.divisions.patches(chain, height); p != nil && !p.small() {
			if g := b.opt.Target.Gain(p.cost()); g > 0 {
				choices = append(choices, choice{patches: p, time: -g})
			}
		}
	}
	seq.Sort(choices, func(x, y choice) int { return cmp.Compare(x.time, y.time) })
	for _, c := range choices {
		if c.patches.instances(b) {
			return c.patches, -c.time
		}
	}
	return nil, 0
}

// between returns the bytes of the images between the calls of a chain.
func between(chain []link) (images []int64) {
	for _, l := range chain[:len(chain)-1] {
		image := l.call.Args[0]
		images = append(images, image.MaxLen*int64(image.DType.Size()))
	}
	return images
}

// overwrites reports whether the results of a chain stand where one of its calls
// reads, such as new state in the place of the old: whole calls have read all of
// it by then.
func overwrites(chain []link) bool {
	out := chain[len(chain)-1].call.Args[0]
	for _, l := range chain {
		for i, a := range l.call.Args {
			if read, _ := l.call.Kernel.Uses(i); read && overlap(a, out) {
				return true
			}
		}
	}
	return false
}

// cost says what tuned.Target.Gain asks.
func (p *patches) cost() tuned.PatchCost {
	c := tuned.PatchCost{Calls: len(p.calls), Patches: p.number}
	for j := range p.calls {
		call := &p.calls[j]
		if k := call.call.Kernel; k.Tuned != nil && k.Tuned.Divided {
			c.Shared++
		}
		image := call.call.Args[0]
		row := image.MaxLen / call.window.Out * int64(image.DType.Size())
		if j == len(p.calls)-1 {
			c.Held += call.share * row
			continue
		}
		c.Images = append(c.Images, image.MaxLen*int64(image.DType.Size()))
		c.Held += p.height(j) * row
		c.Copied += call.halo * row
	}
	return c
}

// instances asks for the kernels of all patches and reports whether there are
// some.
func (p *patches) instances(b *builder) bool {
	for j := range p.calls {
		c := &p.calls[j]
		if !c.movable {
			return false
		}
		if c.loop != nil {
			continue
		}
		var list []tuned.Rows
		for i := range p.number {
			if rows := p.rows(j, i); rows.Out > 0 {
				list = append(list, rows)
			}
		}
		if c.parts = b.divisions.parts(b, c.link, list); c.parts == nil {
			return false
		}
	}
	return true
}

// moving tells the arguments that the epilogue reads at the result's position. It is !ok
// unless what the epilogue reads is known to be laid out as the result is, or to be the
// same for all of its rows.
func moving(in *tuned.Instance) (at map[int]bool, ok bool) {
	at, ok = map[int]bool{}, true
	ep := in.Epilogue
	if ep == nil {
		return at, ok
	}
	for k := range ep.Extra {
		there, elsewhere := ep.Reads(k)
		ok = ok && !(there && elsewhere)
		if there {
			at[in.First(tuned.Extra)+k] = true
		}
	}
	expr.Walk(ep.Body, func(e *expr.Expr) {
		ok = ok && !(e.Op == expr.OpLoad && !e.Coords[0].Equal(ep.O.Expr()) && e.Coords[0].Uses(ep.O))
	})
	return at, ok
}

// emit returns the statements.
func (p *patches) emit() []Stmt {
	var windows []*Buffer
	for j := range p.calls[:len(p.calls)-1] {
		c := &p.calls[j]
		image := c.call.Args[0]
		w := *rowsOf(image, image, c.window.Out, p.height(j), sym.Expr{})
		w.Name, w.Root, w.At = image.Name+"_rows", nil, sym.Expr{}
		windows = append(windows, &w)
	}
	var parts [][]Stmt
	steps := func(i, times int64) {
		var v *sym.Symbol
		var more sym.Expr
		if times > 1 {
			v = sym.NewVar("patch", sym.Int(times))
			more = v.Expr()
			if p.backwards {
				more = sym.Sub(sym.Int(times-1), more)
			}
		}
		body := p.patch(windows, i, more)
		switch {
		case p.input != nil:
			body = []Stmt{p.await(i, times, v, body)}
		case v != nil:
			body = []Stmt{&For{Var: v, Extent: sym.Int(times), Body: body, From: p.from()}}
		}
		parts = append(parts, body)
	}
	steps(0, 1)
	same := p.number // patches before it may do what the second does
	if p.input != nil {
		same = max(2, p.number-1)
	}
	equal := int64(1) // patches that do the same, from the second on
	for 1+equal < same && p.same(1+equal) {
		equal++
	}
	steps(1, equal)
	for i := 1 + equal; i < p.number; i++ {
		steps(i, 1)
	}
	if p.backwards {
		slices.Reverse(parts)
	}
	return slices.Concat(parts...)
}

// from are the origins of all calls.
func (p *patches) from() (all []Origin) {
	for i := range p.calls {
		for _, o := range p.calls[i].call.From {
			add(&all, o)
		}
	}
	return all
}

// patch returns the statements of patch i, and of those that follow it, more
// patches later.
func (p *patches) patch(windows []*Buffer, i int64, more sym.Expr) []Stmt {
	var out []Stmt
	for j := range p.calls {
		c := &p.calls[j]
		rows := p.rows(j, i)
		args := slices.Clone(c.call.Args)
		// The image: the method's, or a window.
		from := max(0, p.first(j, i))
		switch {
		case j == 0 && p.input != nil:
			args[1] = rowsOf(p.input, args[1], c.window.In, rows.In, sym.Int(from-p.begins(i)))
		case j == 0:
			step := sym.Mul(sym.Int(c.share*c.window.Stride), more)
			args[1] = seen(args[1], c, rows.In, from, step)
		default:
			args[1] = rowsOf(windows[j-1], args[1], c.window.In, rows.In,
				sym.Int(from-p.origin(j-1, i)))
		}
		// The result, and operands of its size: the rows that this call makes.
		done := sym.Add(sym.Int(p.done(j, i)), sym.Mul(sym.Int(c.share), more))
		result := args[0]
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
		for k, moves := range c.moving {
			switch {
			case moves && c.loop != nil: // a row of it may be shorter
				args[k] = rowsOf(args[k], args[k], c.window.Out, rows.Out, done)
			case moves:
				args[k] = rowsOf(args[k], result, c.window.Out, rows.Out, done)
			}
		}
		if c.loop != nil {
			seen := sym.Add(sym.Int(from), sym.Mul(sym.Int(c.share*c.window.Stride), more))
			out = append(out, c.loop.patch(p.b, c.call, rows, done, seen, args))
			continue
		}
		part, in := c.parts[i], c.call.Kernel.Tuned
		switch {
		case in.Scratch.IsZero():
		case part.Scratch.IsZero(): // rows without padding may need no copy
			args = args[:len(args)-1]
		default:
			s := args[len(args)-1]
			n := sym.CeilDiv(part.Scratch, sym.Int(int64(s.DType.Size())))
			args[len(args)-1] = dense(s.Name, s.DType, n)
		}
		k := *c.call.Kernel
		k.Tuned, k.whole = part, in
		out = append(out, &Call{Kernel: &k, Args: args, From: c.call.From})
	}
	return out
}

// moves returns the copies that bring the halo of image j to the front of its
// window w before patch i, in order: each of no more rows than a patch brings, so that
// none is read where it is written.
func (p *patches) moves(j int, i int64, w *Buffer) (list []Stmt) {
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
func seen(image *Buffer, c *patchedCall, n, from int64, step sym.Expr) *Buffer {
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
	sizes, row := slices.Clone(image.Sizes), rowLen(image, height)
	sizes[2], sizes[3] = sym.Int(n), sym.FloorDiv(row, sizes[1])
	return viewOf(of, image.Name+"_patch", sizes, sym.Mul(row, from))
}

// rowLen returns the elements of a row of an image, of which there are height.
func rowLen(image *Buffer, height int64) sym.Expr {
	return sym.FloorDiv(image.Len, sym.Int(height))
}
