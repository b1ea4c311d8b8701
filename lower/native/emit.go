package native

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
)

// graph emits the statements of g into the current block.
func (b *builder) graph(g *ir.Graph) error {
	for _, n := range g.Nodes {
		if err := eval.Stopped(b.opt.Done); err != nil {
			return err
		}
		if err := b.node(b.facts[n]); err != nil {
			return b.errorAt(n, err)
		}
	}
	return nil
}

func (b *builder) node(f *facts) error {
	switch {
	case f.call == nil:
		return b.control(f.node)
	case f.ends != nil:
		return b.tuned(f.ends)
	case f.absorbed || f.epilogue != nil:
		return nil
	case f.instance != nil:
		return b.tuned(f)
	case f.tensors != nil:
		return b.compute(f)
	case f.call.Op.Loops != nil:
		return b.loops(f)
	case f.call.Op.Effect:
		return b.effect(f)
	}
	return b.scalar(f)
}

// compute handles a node with a tensor expression: values that were decided to
// be inlined become forms, the others kernels, those of one domain together.
func (b *builder) compute(f *facts) error {
	type group struct {
		key   string
		vals  []*ir.Value
		forms []*fused
	}
	var groups []*group
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
		fu, err := b.fuse(fm)
		if err != nil {
			return err
		}
		key := sizesKey(inOrder(b.orders[v], v.Type.Sizes))
		var g *group
		for _, x := range groups {
			if x.key == key {
				g = x
			}
		}
		if g == nil {
			g = &group{key: key}
			groups = append(groups, g)
		}
		g.vals, g.forms = append(g.vals, v), append(g.forms, fu)
	}
	for _, g := range groups {
		if err := b.kernel(g.vals, g.forms); err != nil {
			return err
		}
	}
	return nil
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
	v := &Buffer{Name: name, DType: of.DType, Sizes: sizes, Len: sym.Mul(sizes...),
		Storage: root.Storage, Root: root, At: start}
	v.MaxLen = bound(v.Len)
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

// kernel schedules and calls one kernel that computes vals.
func (b *builder) kernel(vals []*ir.Value, forms []*fused) error {
	var outs []expr.Tensor
	var args []*ir.Value
	var scalars []*ir.Value
	var from []Origin
	for i, f := range forms {
		t := b.laidOut(vals[i], f.tensor, f.args)
		t.Body = renumber(t.Body,
			func(k int) int { return add(&args, f.args[k]) },
			func(k int) int { return add(&scalars, f.scalars[k]) })
		outs = append(outs, t)
		for _, o := range f.from {
			from = appendOrigin(from, o)
		}
	}
	infos := make([]schedule.OperandInfo, len(args))
	for i, v := range args {
		infos[i] = schedule.OperandInfo{DType: v.Type.DType, Sizes: inOrder(b.orders[v],
			v.Type.Sizes)}
	}
	opts := schedule.Options{Interchange: rows(b.opt.Target), Lanes: lanes(b.opt.Target)}
	for _, s := range scalars {
		opts.Scalars = append(opts.Scalars, scalarDType(s))
	}
	fn, err := schedule.Build(kernelName(from), outs, infos, opts)
	if err != nil {
		return err
	}
	return b.call(fn, vals, args, scalars, from)
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
func (b *builder) call(fn *loop.Func, vals, args, scalars []*ir.Value, from []Origin) error {
	c := &Call{From: from}
	loads, drop := fn.Loads(), make([]bool, len(fn.Bufs))
	for i, buf := range fn.Bufs {
		switch {
		case i < len(vals):
			out := b.fresh(vals[i])
			if buf.Role == loop.InOut {
				if err := b.initialise(out, args[buf.Init-len(vals)], from); err != nil {
					return err
				}
			}
			c.Args = append(c.Args, out)
		case i >= len(vals)+len(args):
			c.Args = append(c.Args, &Buffer{Name: buf.Name, DType: buf.DType,
				Sizes: []sym.Expr{buf.Len}, Len: buf.Len, MaxLen: bound(buf.Len)})
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
		x, err := b.scalarValue(s)
		if err != nil {
			return err
		}
		c.Scalars = append(c.Scalars, x)
	}
	b.emit(c)
	return nil
}

// loops handles a node with an imperative body.
func (b *builder) loops(f *facts) error {
	c := f.call
	if order := b.orders[f.node.Output(0)]; order != nil {
		c = c.Op.Permuted(c, order)
	}
	fn, err := c.Op.Loops(c)
	if err != nil {
		return err
	}
	for _, v := range f.node.Outputs {
		if v == nil {
			return fmt.Errorf("a result without a value")
		}
	}
	return b.call(fn, f.node.Outputs, f.call.Operands(), f.call.Scalars(),
		[]Origin{originOf(f.node)})
}

// fresh gives v a new buffer in the arena.
func (b *builder) fresh(v *ir.Value) *Buffer {
	buf := newBuffer(v)
	b.bufs[v] = buf
	return buf
}

func newBuffer(v *ir.Value) *Buffer {
	return &Buffer{Name: v.Name, DType: v.Type.DType, Sizes: v.Type.Sizes, Len: v.Type.Numel(),
		MaxLen: bound(v.Type.Numel())}
}

// buffer returns the buffer that holds v.
func (b *builder) buffer(v *ir.Value) *Buffer {
	if buf := b.bufs[v]; buf != nil {
		return buf
	}
	if v.Const != nil {
		if data, ok := constBytes(v); ok {
			buf := b.weight(constName(v), v.Type.DType, v.Type.Sizes, data)
			b.bufs[v] = buf
			return buf
		}
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
		written := i == 0
		if c.Kernel.Loop != nil {
			role := c.Kernel.Loop.Bufs[i].Role
			written = role == loop.Out || role == loop.InOut
		}
		if written && !a.Len.IsZero() {
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
