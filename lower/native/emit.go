package native

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
)

// graph emits the statements of g into the current block.
func (b *builder) graph(g *ir.Graph) {
	for _, n := range g.Nodes {
		must.Check(eval.Stopped(b.opt.Done))
		b.at(n, func() { b.node(b.facts[n]) })
	}
}

func (b *builder) node(f *facts) {
	switch {
	case f.call == nil:
		b.control(f.node)
	case f.ends != nil:
		b.tuned(f.ends)
	case f.absorbed || f.epilogue != nil:
	case f.instance != nil:
		b.tuned(f)
	case f.tensors != nil:
		b.compute(f)
	case f.call.Op.Loops != nil:
		b.loops(f)
	case f.call.Op.Effect:
		b.effect(f)
	default:
		b.scalar(f)
	}
}

// compute handles a node with a tensor expression: values that were decided to
// be inlined become forms, the others kernels, those of one domain together.
func (b *builder) compute(f *facts) {
	groups := map[string]*fusion{}
	var order []*fusion
	for i, t := range f.tensors {
		v := f.node.Output(i)
		if v == nil || (!b.want[v] && !b.read[v]) {
			continue
		}
		if b.want[v] && f.view {
			if ok := b.alias(f, t, v); ok {
				continue
			}
		}
		fm := &form{f.node, f.call, t}
		if !b.want[v] {
			b.forms[v] = fm
			continue
		}
		key := sizesKey(schedule.InOrder(b.orders[v], v.Type.Sizes))
		g := groups[key]
		if g == nil {
			g = &fusion{}
			groups[key], order = g, append(order, g)
		}
		b.fuse(v, fm, g)
	}
	for _, g := range order {
		b.kernel(g)
	}
}

// alias makes v a view of its operand's buffer if it is a dense run of it.
func (b *builder) alias(f *facts, t expr.Tensor, v *ir.Value) bool {
	start, ok := b.runStart(t, f.call.Operands(), v)
	if !ok {
		return false
	}
	src := f.call.Operands()[loadOf(t).Buf]
	if b.forms[src] != nil {
		return false
	}
	b.bufs[v] = viewOf(b.buffer(src), v.Name, v.Type.Sizes, start)
	return true
}

// viewOf returns the run of of's elements that begins at element start.
func viewOf(of *Buffer, name string, sizes []sym.Expr, start sym.Expr) *Buffer {
	root := of
	if of.Root != nil {
		root, start = of.Root, sym.Add(of.At, start)
	}
	v := dense(name, of.DType, sizes...)
	v.Storage, v.Root, v.At = root.Storage, root, start
	return v
}

// bound returns the largest value of a size, -1 if it is unbounded.
func bound(e sym.Expr) int64 {
	_, hi := e.Bounds()
	if hi > 1<<40 {
		return -1
	}
	return max(hi, 0)
}

// kernel schedules and calls the kernel of a fusion.
func (b *builder) kernel(g *fusion) {
	infos := seq.Map(g.args, func(v *ir.Value) schedule.OperandInfo {
		return schedule.OperandInfo{DType: v.Type.DType, Sizes: v.Type.Sizes,
			Order: b.orders[v]}
	})
	fn := must.Get(schedule.Build(kernelName(g.from), g.tensors, infos, b.scheduleOptions(g)))
	if c := b.call(fn, g.vals, g.args, g.scalars, g.from); c != nil {
		b.fusions[c] = g
	}
}

// scheduleOptions are those of the kernel of a fusion.
func (b *builder) scheduleOptions(g *fusion) schedule.Options {
	opts := schedule.Options{Interchange: rows(b.opt.Target), Lanes: lanes(b.opt.Target)}
	for _, s := range g.scalars {
		opts.Scalars = append(opts.Scalars, ops.ScalarDType(s.Type.Kind))
	}
	return opts
}

// rows returns from how many results side by side on reductions run row by row on t.
func rows(t tuned.Target) int {
	if !t.Speed {
		return 0
	}
	return t.Language.RowResults
}

// lanes returns how many accumulators reductions along memory have on t.
func lanes(t tuned.Target) int {
	if !tuned.ChannelsLast(t) {
		return 0
	}
	return t.Language.Accumulators
}

// call emits a call of a loop kernel whose buffers are vals' (fresh), args'
// and scratch. A result that holds an operand at entry is made a copy of it
// before; an operand that the kernel does not load from is none of the call.
// It returns nil if there is no call of the kernel itself.
func (b *builder) call(fn *loop.Func, vals, args, scalars []*ir.Value, from []Origin) *Call {
	c := &Call{From: from}
	loads, drop := fn.Loads(), make([]bool, len(fn.Bufs))
	for i, buf := range fn.Bufs {
		switch {
		case i < len(vals):
			out := b.fresh(vals[i])
			if buf.Role == loop.InOut {
				b.initialise(out, args[buf.Init-len(vals)], from)
			}
			c.Args = append(c.Args, out)
		case i >= len(vals)+len(args):
			c.Args = append(c.Args, dense(buf.Name, buf.DType, buf.Len))
		case loads[i]:
			c.Args = append(c.Args, b.buffer(args[i-len(vals)]))
		default:
			drop[i] = true
		}
	}
	if len(fn.Body) == 0 {
		return nil // a result that is a copy of its operand
	}
	c.Kernel = &Kernel{Name: fn.Name, Loop: fn.Without(drop), Doc: docOf(from)}
	if b.moveRun(c) {
		return nil
	}
	for _, s := range scalars {
		c.Scalars = append(c.Scalars, b.scalarValue(s))
	}
	b.emit(c)
	return c
}

// loops handles a node with an imperative body.
func (b *builder) loops(f *facts) {
	c := f.call
	if order := b.orders[f.node.Output(0)]; order != nil {
		c = c.Op.Permuted(c, order)
	}
	fn := must.Get(c.Op.Loops(c))
	vals := make([]*ir.Value, len(c.Outs)) // also those that the file does not name
	for i, t := range f.call.Outs {
		if vals[i] = f.node.Output(i); vals[i] == nil {
			vals[i] = &ir.Value{Name: "unused", Type: t.Dense()}
		}
	}
	b.call(fn, vals, f.call.Operands(), f.call.Scalars(),
		[]Origin{originOf(f.node)})
}

// fresh gives v a new buffer in the arena.
func (b *builder) fresh(v *ir.Value) *Buffer {
	buf := newBuffer(v)
	b.bufs[v] = buf
	return buf
}

func newBuffer(v *ir.Value) *Buffer { return dense(v.Name, v.Type.DType, v.Type.Sizes...) }

// dense returns a buffer of the arena.
func dense(name string, d ir.DType, sizes ...sym.Expr) *Buffer {
	n := sym.Mul(sizes...)
	return &Buffer{Name: name, DType: d, Sizes: sizes, Len: n, MaxLen: bound(n)}
}

// buffer returns the buffer that holds v.
func (b *builder) buffer(v *ir.Value) *Buffer {
	if buf := b.bufs[v]; buf != nil {
		return buf
	}
	if v.Const != nil {
		data := must.Get(ir.Tensor(v.Const))
		buf := b.weight(constName(v), v.Type.DType, v.Type.Sizes, data)
		b.bufs[v] = buf
		return buf
	}
	// decide gave it none though something reads it
	panic("native: value " + v.Name + " has no buffer")
}

// emit appends a statement, unless it is a call that writes no element.
func (b *builder) emit(s Stmt) {
	if c, ok := s.(*Call); ok && writesNothing(c) {
		return
	}
	*b.block = append(*b.block, s)
}

// writesNothing reports whether everything that c writes is empty.
func writesNothing(c *Call) bool {
	for i, a := range c.Args {
		if _, written := c.Kernel.Uses(i); written && !c.Kernel.IsScratch(i) && !a.Len.IsZero() {
			return false
		}
	}
	return true
}

func sizesKey(sizes []sym.Expr) string {
	var s strings.Builder
	for _, e := range sizes {
		s.WriteString(e.Key())
		s.WriteByte(',')
	}
	return s.String()
}

// copy emits a copy between dense buffers of equal length.
func (b *builder) copy(dst, src *Buffer, from []Origin) {
	if dst == src {
		return
	}
	b.emit(&Call{Kernel: copyKernel(dst.DType, dst.Len), Args: []*Buffer{dst, src}, From: from})
}

// initialise gives dst the value v, which may be a constant without memory.
func (b *builder) initialise(dst *Buffer, v *ir.Value, from []Origin) {
	t, ok := b.uniform(v)
	if !ok {
		b.copy(dst, b.buffer(v), from)
		return
	}
	fn := must.Get(schedule.Build("fill", []expr.Tensor{t}, nil, schedule.Options{}))
	b.emit(&Call{Kernel: &Kernel{Name: "fill", Loop: fn, Doc: foreign.Of("fill")},
		Args: []*Buffer{dst}, From: from})
}

// copyKernel returns a kernel that copies n elements.
func copyKernel(d ir.DType, n sym.Expr) *Kernel {
	store := func(at sym.Expr) loop.Stmt {
		return &loop.Store{Buf: 0, At: at, Value: expr.At(1, d, at)}
	}
	body := []loop.Stmt{store(sym.Int(0))}
	if !n.Is(1) {
		i := sym.NewVar("i", n)
		body = []loop.Stmt{&loop.For{Var: i, Extent: n, Vectorizable: true,
			Body: []loop.Stmt{store(i.Expr())}}}
	}
	fn := &loop.Func{Name: "copy", Syms: n.Symbols(), Bufs: []loop.Buf{
		{Name: "out", DType: d, Role: loop.Out, Len: n}, {Name: "in", DType: d,
			Role: loop.In, Len: n}},

		Body: body}
	return &Kernel{Name: "copy", Loop: fn, Doc: foreign.Of("copy"), Copy: true}
}

// isCopy reports whether c is one of copyKernel's.
func isCopy(s Stmt) (*Call, bool) {
	c, ok := s.(*Call)
	return c, ok && c.Kernel.Copy
}

// moveRun emits a call that stores a run of its operand's elements, as they lie,
// to a run of its result as a copy of the one to the other, and reports whether
// c is one: then the elements may be made where they belong.
func (b *builder) moveRun(c *Call) bool {
	fn := c.Kernel.Loop
	if len(c.Args) != 2 || len(c.Scalars) > 0 || fn.Bufs[0].Role != loop.InOut {
		return false
	}
	var vars []*sym.Symbol
	var extents []sym.Expr
	body := fn.Body
	for {
		if len(body) != 1 {
			return false
		}
		l, ok := body[0].(*loop.For)
		if !ok {
			break
		}
		vars, extents, body = append(vars, l.Var), append(extents, l.Extent), l.Body
	}
	st, ok := body[0].(*loop.Store)
	if !ok || st.Buf != 0 || st.Value.Op != expr.OpLoad || st.Value.Buf != 1 ||
		st.Value.DType != fn.Bufs[0].DType {
		return false
	}
	at := sym.RowMajor(extents, expr.Coords(vars))
	to, from := unitVars(sym.Sub(st.At, at), vars), unitVars(sym.Sub(st.Value.Coords[0], at), vars)
	if slices.ContainsFunc(vars, func(v *sym.Symbol) bool { return to.Uses(v) || from.Uses(v) }) {
		return false
	}
	b.copy(viewOf(c.Args[0], c.Args[0].Name+"_part", extents, to), viewOf(c.Args[1], c.Args[1].Name,
		extents, from), c.From)
	return true
}

// tuned emits the call of a tuned kernel.
func (b *builder) tuned(f *facts) {
	in := f.instance
	out := f.node.Output(0)
	from := []Origin{originOf(f.node)}
	if f.epilogue != nil {
		out = f.epilogue.out
		for _, n := range f.epilogue.nodes {
			from = append(from, originOf(n))
		}
	}
	if !b.want[out] && !b.read[out] {
		return // nobody reads it
	}
	name := kernelName(from)
	c := &Call{Kernel: &Kernel{Name: name, Tuned: in, Doc: docOf(from)}, From: from}
	later := slices.ContainsFunc(in.Packed, func(p tuned.Packed) bool { return p.Data == nil })
	for _, s := range in.Slots() {
		var arg *Buffer
		switch s.Kind {
		case tuned.Result:
			arg = b.fresh(out)
		case tuned.Operand:
			arg = b.buffer(f.operands[s.Index])
		case tuned.PackedConstant:
			arg = b.packed(f.call, in.Packed[s.Index], later)
		case tuned.Extra:
			arg = b.buffer(f.operands[len(in.Operands)+s.Index])
		case tuned.Scratch:
			arg = b.tunedScratch(in.Scratch)
		}
		c.Args = append(c.Args, arg)
	}
	b.emit(c)
}

// tunedScratch returns a buffer of n bytes.
func (b *builder) tunedScratch(n sym.Expr) *Buffer {
	d := ir.Uint8
	if !b.opt.Target.Language.RereadsBytes {
		d, n = ir.Float32, sym.CeilDiv(n, sym.Int(4))
	}
	return dense("scratch", d, n)
}

// packed returns the buffer of a constant made by a tuned kernel's Match; of
// one some of whose constants are known later, the zeros are made then too.
func (b *builder) packed(c *ops.Call, p tuned.Packed, later bool) *Buffer {
	if p.Data == nil || later && p.From == nil && p.Panels != nil {
		return b.packedLater(c, p)
	}
	from := seq.Map(p.From, func(k int) string { return constName(c.Operands()[k]) })
	switch {
	case len(from) == 0 && p.Panels == nil:
		from = []string{p.Name}
	case len(from) == 0:
		from = []string{"zero_" + p.Name}
	}
	n := sym.Int(int64(len(p.Data) / p.DType.Size()))
	return b.weight(strings.Join(from, "_"), p.DType, []sym.Expr{n}, p.Data)
}

// later reports whether v is an input whose elements are constant but not
// known yet.
func (b *builder) later(v *ir.Value) bool {
	mutable, input := b.mutable[v]
	return b.opt.Later != nil && v.Const == nil && input && !mutable && b.opt.Later(v)
}

// packedLater returns the buffer of an operand that the caller packs.
func (b *builder) packedLater(c *ops.Call, p tuned.Packed) *Buffer {
	n := int64(p.Panels.Len())
	packing := &Packing{Panels: *p.Panels}
	name := "zero_" + p.Name
	if p.From != nil {
		of := c.Operands()[p.From[0]].Name
		packing.Of, name = foreign.Of(of), of+"_packed"
	}
	if b.ports == nil {
		b.ports = newTaken()
		for _, port := range b.m.Inputs {
			b.ports.names[port.Name.Identifier()] = true
		}
	}
	name = b.ports.unique(identifier(name))
	port := Port{Name: foreign.Of(name), Type: ir.StaticTensor(p.DType, n), Packs: packing}
	port.Buf = dense(name, p.DType, sym.Int(n))
	port.Buf.Storage = Input
	b.m.Inputs = append(b.m.Inputs, port)
	return port.Buf
}

// dropPacked leaves out the inputs of which nothing but packed operands is
// read.
func (b *builder) dropPacked() {
	packed := map[foreign.Text]bool{}
	for _, p := range b.m.Inputs {
		if p.Packs != nil {
			packed[p.Packs.Of] = true
		}
	}
	if len(packed) == 0 {
		return
	}
	read := map[*Buffer]bool{}
	for _, s := range b.m.Body {
		eachAccess(s, func(a access) { read[Root(*a.buf)] = true })
	}
	for _, p := range b.m.Outputs {
		read[p.Buf] = true
	}
	b.m.Inputs = slices.DeleteFunc(b.m.Inputs, func(p Port) bool {
		return packed[p.Name] && p.Packs == nil && !read[p.Buf]
	})
}
