package native

import (
	"cmp"
	"slices"

	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/plan"
)

// Until a method writes an output, the caller's memory for it holds nothing. On a microcontroller,
// buffers of bytes lie there that are read for the last time before, if the arena becomes smaller:
// C lets bytes lie in memory of any type, and the caller promises that it overlaps no input.

// mostOver is how many buffers are tried at most, the largest ones.
const mostOver = 16

// lifetime is where in a method's body, by the statements that it consists of, a buffer is used.
type lifetime struct {
	first, last int
	bytes       bool // it is seen as nothing else, and is no scratch memory
	views       []*Buffer
}

// overOutputs puts buffers of m over outputs.
func overOutputs(m *Method, opt Options) {
	switch opt.Planner.(type) {
	case plan.AsIs, plan.Disjoint:
		return // which keep to places, or give each buffer its own
	}
	machine := opt.Target.Machine
	if machine == nil || !machine.Microcontroller || !opt.Target.Language.RereadsBytes || opt.Rows ||
		opt.Banks != nil || opt.Target.Threads > 1 {
		return
	}
	lives := lifetimes(m.Body)
	var list []*Buffer
	for b, l := range lives {
		if b.Storage == Arena && l.bytes && b.MaxLen > 0 {
			list = append(list, b)
		}
	}
	seq.Sort(list, func(a, b *Buffer) int {
		return cmp.Or(cmp.Compare(b.MaxLen, a.MaxLen), cmp.Compare(lives[a].first, lives[b].first),
			cmp.Compare(a.Name, b.Name))
	})
	given := newLayout(m, nil)
	taken := map[*Buffer][]*Buffer{} // what lies over an output
	for _, b := range list[:min(len(list), mostOver)] {
		for _, port := range m.Outputs {
			out := port.Buf
			if out == nil || out.Root != nil || out.Storage != Output || lives[out] == nil ||
				lives[b].last >= lives[out].first {
				continue
			}
			at, room := freeOver(b, taken[out], lives), out.MaxLen*int64(out.DType.Size())
			if n, static := out.Len.Const(); !static || n != out.MaxLen || at+b.MaxLen > room {
				continue
			}
			was := *b
			move := func(root *Buffer, by int64, storage Storage) {
				b.Root, b.At, b.Storage = nil, was.At, storage
				if root != nil {
					b.Root, b.At = root, sym.Int(by)
				}
				for _, v := range lives[b].views {
					v.Storage = storage
				}
			}
			move(out, at, Output)
			for _, v := range lives[b].views {
				v.Root, v.At = out, sym.Add(v.At, sym.Int(at))
			}
			if other := newLayout(m, nil); smaller(opt.Planner, other.p, given.p) {
				given = other
				taken[out] = append(taken[out], b)
				break
			}
			move(nil, 0, Arena)
			for _, v := range lives[b].views {
				v.Root, v.At = b, sym.Sub(v.At, sym.Int(at))
			}
		}
	}
}

// lifetimes returns those of all buffers that are no views.
func lifetimes(body []Stmt) map[*Buffer]*lifetime {
	lives := map[*Buffer]*lifetime{}
	for i, s := range body {
		eachAccess(s, func(a access) {
			b := *a.buf
			root := Root(b)
			l := lives[root]
			if l == nil {
				l = &lifetime{first: i, bytes: root.DType.Size() == 1}
				lives[root] = l
			}
			l.last, l.bytes = i, l.bytes && b.DType.Size() == 1
			if b != root && !slices.Contains(l.views, b) {
				l.views = append(l.views, b)
			}
		})
	}
	withoutScratch(body, lives)
	return lives
}

// withoutScratch notes which buffers are scratch memory, whose alignment kernels rely on.
func withoutScratch(body []Stmt, lives map[*Buffer]*lifetime) {
	for _, s := range body {
		if c, ok := s.(*Call); ok {
			for i, b := range c.Args {
				if l := lives[Root(b)]; l != nil && c.Kernel.IsScratch(i) {
					l.bytes = false
				}
			}
		}
		for _, block := range Blocks(s) {
			withoutScratch(*block, lives)
		}
	}
}

// freeOver returns where b fits in beside those of others that live as long.
func freeOver(b *Buffer, others []*Buffer, lives map[*Buffer]*lifetime) (at int64) {
	for again := true; again; {
		again = false
		for _, o := range others {
			begin, _ := o.At.Const()
			if lives[o].first <= lives[b].last && lives[b].first <= lives[o].last && at < begin+o.MaxLen &&
				begin < at+b.MaxLen {
				at, again = begin+o.MaxLen, true
			}
		}
	}
	return at
}
