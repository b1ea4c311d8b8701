package native

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"sort"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/plan"
)

// arenaAlign is the alignment of every buffer in the arena, in bytes, and
// largeAlign that of buffers of largeSize bytes or more where vectors are wide: a
// vector that reaches into a second line of the cache is two accesses.
const (
	arenaAlign = 16
	largeAlign = 64
	largeSize  = 4096
)

// place plans the arena of m and checks the plan.
func place(m *Method, opt Options) {
	l := newLayout(m, nil)
	l.alignLarge(opt)
	m.Problem, m.Bank, m.Steps = l.p, l.ids, l.steps
	if opt.Banks != nil {
		l.p.Banks = opt.Banks
		for buf, n := range traffic(m.Body) {
			if id, ok := l.ids[buf]; ok {
				l.p.Buffers[id].Traffic = n
			}
		}
	}
	pl, err := plan.Spread(l.p, opt.Planner)
	must.In(err, "planning memory")
	must.In(plan.Check(l.p, pl), "the memory plan is wrong, which is a defect of etgen")
	m.Plan = pl
	for buf, id := range l.ids {
		buf.Offset = pl.Offsets[id]
		root, _ := l.p.Root(id)
		buf.Bank = l.p.Buffers[root].Memory
	}
	if opt.Poison {
		poison(m, l)
	}
}

// alignLarge aligns large buffers to lines of the cache, where vectors are wide. Places that
// are kept are where another planner wanted them.
func (l *layout) alignLarge(opt Options) {
	if _, kept := opt.Planner.(plan.AsIs); kept || !tuned.Wide(opt.Target) {
		return
	}
	for i := range l.p.Buffers {
		if b := &l.p.Buffers[i]; b.Alias == nil && b.Size >= largeSize {
			b.Align = largeAlign
		}
	}
}

// layout turns statements into steps.
type layout struct {
	p    *plan.Problem
	over overlay
	ids  map[*Buffer]plan.BufferID
	step int
	// steps has the step a statement is, for a While that of its test
	steps map[Stmt]int
	tasks []plan.Task // the statements of the method, with their first steps
	// regions in which each buffer is used, to find the one it belongs to
	used map[plan.BufferID][]int
}

// newLayout states what the arena of m must hold, with other buffers over some.
func newLayout(m *Method, over overlay) *layout {
	l := &layout{p: &plan.Problem{Name: m.Name.Raw()}, over: over, ids: map[*Buffer]plan.BufferID{},
		steps: map[Stmt]int{}, used: map[plan.BufferID][]int{}}
	l.p.Regions = []plan.Region{{Kind: plan.Body, Parent: -1}}
	l.block(m.Body, 0)
	l.p.Regions[0].Last = l.step - 1
	l.homes()
	return l
}

func (l *layout) block(stmts []Stmt, region int) {
	for _, s := range stmts {
		if _, ok := s.(*Poison); ok {
			continue // put in when the plan was made
		}
		l.steps[s] = l.step
		if region == 0 {
			l.tasks = append(l.tasks, plan.Task{First: l.step})
		}
		switch s := s.(type) {
		case *Cond:
			l.read(s.Pred, region)
			l.step++
			c := l.open(plan.Cond, region)
			for _, arm := range [][]Stmt{s.Then, s.Else} {
				r := l.open(plan.Body, c)
				l.block(arm, r)
				l.close(r)
			}
			l.close(c)
		case *While:
			w := l.open(plan.Loop, region)
			t := l.open(plan.Test, w)
			l.block(s.Head, t)
			l.steps[s] = l.step
			l.read(s.Pred, t)
			l.step++
			l.close(t)
			r := l.open(plan.Body, w)
			l.block(s.Body, r)
			l.close(r)
			l.close(w)
		case *For:
			l.begin(s.Body, s.Var, region)
			f := l.open(plan.Loop, region)
			r := l.open(plan.Body, f)
			l.block(s.Body, r)
			l.close(r)
			l.close(f)
		case *Await:
			l.await(s, region)
		default:
			l.leaf(s, region)
		}
	}
}

// await makes a step of the rows that come, and a loop of what is done with them if that is
// done several times.
func (l *layout) await(s *Await, region int) {
	if s.Var == nil {
		l.leaf(s, region)
		l.block(s.Body, region)
		return
	}
	l.begin(s.Body, s.Var, region)
	f := l.open(plan.Loop, region)
	r := l.open(plan.Body, f)
	l.leaf(s, r)
	l.block(s.Body, r)
	l.close(r)
	l.close(f)
}

func (l *layout) open(kind plan.RegionKind, parent int) int {
	l.p.Regions = append(l.p.Regions, plan.Region{Kind: kind, Parent: parent, First: l.step})
	return len(l.p.Regions) - 1
}

func (l *layout) close(r int) { l.p.Regions[r].Last = l.step - 1 }

// leaf makes one step of a statement without blocks.
func (l *layout) leaf(s Stmt, region int) {
	list := accesses(s)
	for _, a := range list {
		if a.read {
			l.read(*a.buf, region)
		}
		if a.write {
			l.write(*a.buf, region)
		}
	}
	if c, ok := s.(*Call); ok {
		l.shares(c)
	}
	l.step++
}

// shares tells the planner which results of c may lie over which operands.
func (l *layout) shares(c *Call) {
	for i, out := range c.Args {
		out = l.over.of(out)
		if _, w := c.Kernel.Uses(i); !w || c.Kernel.IsScratch(i) || out.Storage != Arena ||
			out.MaxLen == 0 {
			continue
		}
		for j, in := range c.Args {
			in = l.over.of(in)
			if r, w := c.Kernel.Uses(j); !r || w || in.Storage != Arena || in.MaxLen == 0 {
				continue
			}
			if c.mayOverwrite(i, j) {
				l.p.Shares = append(l.p.Shares, plan.Share{Step: l.step, Dst: l.id(out),
					Src: l.id(in)})
			}
		}
	}
}

// begin makes the step before a loop the first write of what the loop fills
// part by part: from then on the memory is taken, though nothing is in it yet.
func (l *layout) begin(body []Stmt, v *sym.Symbol, region int) {
	for _, s := range body {
		eachAccess(s, func(a access) {
			b := l.over.of(*a.buf)
			if !a.write || b.Storage != Arena || b.Root == nil || !b.At.Uses(v) {
				return
			}
			if id := l.id(b.Root); len(l.p.Buffers[id].Writes) == 0 {
				l.write(b.Root, region)
			}
		})
	}
	l.step++
}

// read notes a read of b. What is empty needs no place, and nothing may have
// written to it.
func (l *layout) read(b *Buffer, region int) {
	b = l.over.of(b)
	if b.Storage == Arena && b.MaxLen != 0 {
		id := l.id(b)
		l.p.Buffers[id].Reads = append(l.p.Buffers[id].Reads, l.step)
		l.use(b, region)
	}
}

func (l *layout) write(b *Buffer, region int) {
	b = l.over.of(b)
	if b.Storage == Arena && b.MaxLen != 0 {
		id := l.id(b)
		if b != Root(b) && l.id(Root(b)) == id { // a part, at a position that varies
			l.p.Buffers[id].Reads = append(l.p.Buffers[id].Reads, l.step)
		}
		l.p.Buffers[id].Writes = append(l.p.Buffers[id].Writes, l.step)
		l.use(b, region)
	}
}

func (l *layout) use(b *Buffer, region int) {
	id := l.id(Root(b))
	l.used[id] = append(l.used[id], region)
}

// id returns the planner's number of b. A view whose position is not constant
// stands for its whole root.
func (l *layout) id(b *Buffer) plan.BufferID {
	if b.Root != nil {
		if _, ok := b.At.Const(); !ok {
			return l.id(b.Root)
		}
	}
	if id, ok := l.ids[b]; ok {
		return id
	}
	elem := int64(b.DType.Size())
	pb := plan.Buffer{Name: b.Name, Size: b.MaxLen * elem, Align: arenaAlign}
	if b.Root != nil {
		at, _ := b.At.Const()
		pb.Alias = &plan.Alias{Of: l.id(b.Root), Offset: at * elem}
		pb.Align = elem
	}
	id := plan.BufferID(len(l.p.Buffers))
	l.p.Buffers = append(l.p.Buffers, pb)
	l.ids[b] = id
	return id
}

// homes gives every buffer the innermost region that holds all its uses.
func (l *layout) homes() {
	for id, regions := range l.used {
		home := regions[0]
		for _, r := range regions[1:] {
			for !l.inside(r, home) {
				home = l.p.Regions[home].Parent
			}
		}
		// The item of a Cond or Loop is a body; the buffer belongs to the one
		// around if it is used in several.
		for k := l.p.Regions[home].Kind; k == plan.Cond; k = l.p.Regions[home].Kind {
			home = l.p.Regions[home].Parent
		}
		l.p.Buffers[id].Region = home
	}
}

func (l *layout) inside(r, home int) bool {
	for ; r >= 0; r = l.p.Regions[r].Parent {
		if r == home {
			return true
		}
	}
	return false
}

// collectBuffers lists the buffers of m in order of first use, with names that
// are unique in the method.
func collectBuffers(m *Method) {
	c := &collector{m: m, seen: map[*Buffer]bool{}, names: newTaken("arena", "state", "sizes")}
	for _, ports := range [][]Port{m.Inputs, m.Outputs} {
		for i := range ports {
			name := c.names.unique(ports[i].Name.Identifier())
			ports[i].Name = foreign.Of(name)
			if b := ports[i].Buf; b != nil {
				c.seen[b] = true
				b.Name = name
				m.Buffers = append(m.Buffers, b)
			}
		}
	}
	for _, s := range m.Body {
		eachAccess(s, func(a access) { c.add(*a.buf, s) })
	}
}

type collector struct {
	m     *Method
	seen  map[*Buffer]bool
	names *taken
}

// add adds a buffer that s reads or writes.
func (c *collector) add(b *Buffer, s Stmt) {
	if c.seen[b] {
		return
	}
	c.seen[b] = true
	if b.Root != nil {
		c.add(b.Root, s)
	}
	if b.Root != nil || b.Storage != State && b.Storage != Weight {
		b.Name = c.names.unique(identifier(b.Name))
	}
	if b.Storage == Arena && b.MaxLen < 0 {
		err := fmt.Errorf("memory for %s elements is needed, which have no upper bound: %s", b.Len,
			ir.WantBound(b.Len))
		if from := c.origins(s, b); len(from) > 0 {
			err = from[0].wrap(err)
		}
		must.Check(err)
	}
	c.m.Buffers = append(c.m.Buffers, b)
}

// origins returns the nodes that s came from; of a copy to b that stands for none of
// its own, the first that uses b or what is copied.
func (c *collector) origins(s Stmt, b *Buffer) []Origin {
	roots := []*Buffer{Root(b)}
	eachAccess(s, func(a access) { roots = append(roots, Root(*a.buf)) })
	from := s.origins()
	for _, root := range roots {
		for _, x := range c.m.Body {
			if len(from) == 0 && touches(x, root) {
				from = x.origins()
			}
		}
	}
	return from
}

// constPool keeps one Const for equal data of one dtype.
type constPool struct {
	byData map[[sha256.Size]byte]*Const
	names  *taken
	list   []*Const
}

func (p *constPool) add(from string, d ir.DType, data []byte) *Const {
	h := sha256.New()
	h.Write([]byte{byte(d)})
	h.Write(data)
	key := [sha256.Size]byte(h.Sum(nil))
	if c := p.byData[key]; c != nil {
		return c
	}
	c := &Const{Name: p.names.unique(identifier(from)), From: foreign.Of(from), DType: d,
		Data: data}
	p.byData[key] = c
	p.list = append(p.list, c)
	return c
}

// weight returns a new buffer over constant data.
func (b *builder) weight(from string, d ir.DType, sizes []sym.Expr, data []byte) *Buffer {
	c := b.consts.add(from, d, data)
	buf := dense(c.Name, d, sizes...)
	buf.Storage, buf.Const = Weight, c
	return buf
}

// constBytes returns the dense row-major elements of a constant value.
func constBytes(v *ir.Value) ([]byte, bool) {
	if v.Const == nil {
		return nil, false
	}
	data, err := ir.Tensor(v.Const)
	return data, err == nil
}

// constName returns the name the model gives a constant.
func constName(v *ir.Value) string {
	if v.Const != nil && v.Const.Name != "" {
		return v.Const.Name
	}
	return v.Name
}

// sameElement returns the element that all of data is made of.
func sameElement(d ir.DType, data []byte) (*expr.Expr, bool) {
	n := d.Size()
	if len(data) < n || !(d == ir.Bool || d.IsInt() || half.Is(d) || d == ir.Float32 ||
		d == ir.Float64) || !bytes.Equal(data[n:], data[:len(data)-n]) {
		return nil, false
	}
	return expr.Const(d, eval.Get(d, data, 0)), true
}

// poison inserts, before every step, statements that overwrite what no later
// step may read. A program whose results change by that has read dead memory.
func poison(m *Method, l *layout) {
	p := &poisoner{dead: must.Get(plan.Dead(m.Problem)), steps: l.steps,
		bufs: map[plan.BufferID]*Buffer{}}
	for b, id := range m.Bank {
		if b.Root == nil {
			p.bufs[id] = b
		}
	}
	p.block(&m.Body)
}

type poisoner struct {
	dead  [][]plan.BufferID
	steps map[Stmt]int
	bufs  map[plan.BufferID]*Buffer
}

func (p *poisoner) block(block *[]Stmt) {
	var out []Stmt
	for _, s := range *block {
		for i, nested := range Blocks(s) {
			p.block(nested)
			if w, ok := s.(*While); ok && i == 0 {
				w.Head = append(w.Head, p.at(p.steps[s])...)
			}
		}
		if _, ok := s.(*While); !ok {
			out = append(out, p.at(p.steps[s])...)
		}
		out = append(out, s)
	}
	*block = out
}

func (p *poisoner) at(step int) []Stmt {
	ids := append([]plan.BufferID(nil), p.dead[step]...)
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	var out []Stmt
	for _, id := range ids {
		if b := p.bufs[id]; b != nil {
			out = append(out, &Poison{Buf: b})
		}
	}
	return out
}
