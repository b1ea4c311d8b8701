package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// generator makes random programs that are valid: whatever is read has been
// written on some path to it within its region.
type generator struct {
	rng   *rand.Rand
	p     *Problem
	step  int
	limit int // stop opening regions at this step
	unit  int64
	plain bool // roots only: no views, externals, second memory, alignment
}

func newGenerator(seed uint64) *generator {
	return &generator{rng: rand.New(rand.NewPCG(seed, 1)), p: &Problem{}, limit: 8, unit: 4}
}

func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

// program makes a whole problem.
func (g *generator) program() *Problem {
	g.p.Regions = []Region{{Kind: Body, Parent: -1}}
	g.body(0, 0, nil)
	g.p.Regions[0].Last = g.step - 1
	for i := range g.p.Buffers {
		for _, s := range []*[]int{&g.p.Buffers[i].Reads, &g.p.Buffers[i].Writes} {
			g.rng.Shuffle(len(*s), func(x, y int) { (*s)[x], (*s)[y] = (*s)[y], (*s)[x] })
		}
	}
	return g.p
}

func (g *generator) open(kind RegionKind, parent int) int {
	g.p.Regions = append(g.p.Regions, Region{Kind: kind, Parent: parent, First: g.step})
	return len(g.p.Regions) - 1
}

func (g *generator) close(r int) { g.p.Regions[r].Last = g.step - 1 }

// visible keeps the buffers that still exist in region r.
func (g *generator) visible(scope []BufferID, r int) []BufferID {
	return slices.DeleteFunc(slices.Clone(scope), func(id BufferID) bool {
		root, _ := g.p.Root(id)
		for at := r; at >= 0; at = g.p.Regions[at].Parent {
			if at == g.p.Buffers[root].Region {
				return false
			}
		}
		return true
	})
}

// body makes the items of region r and returns what is readable after them.
func (g *generator) body(r, depth int, scope []BufferID) []BufferID {
	for n := 1 + g.rng.IntN(5); n > 0; n-- {
		switch k := g.rng.IntN(10); {
		case depth < 3 && g.step < g.limit && k == 0:
			scope = g.loop(r, depth, scope)
		case depth < 3 && g.step < g.limit && k == 1:
			scope = g.cond(r, depth, scope)
		case depth < 3 && g.step < g.limit && k == 2:
			scope = g.carried(r, depth, scope)
		default:
			scope = g.call(r, scope)
		}
	}
	return scope
}

func (g *generator) loop(r, depth int, scope []BufferID) []BufferID {
	l := g.open(Loop, r)
	if g.chance(50) {
		t := g.open(Test, l)
		scope = g.visible(g.body(t, depth+1, scope), l)
		g.close(t)
	}
	inner := l
	if g.chance(50) {
		inner = g.open(Body, l)
	}
	scope = g.body(inner, depth+1, scope)
	if inner != l {
		g.close(inner)
	}
	g.close(l)
	return g.visible(scope, r)
}

// carried is a loop with a carried value: c = init; loop { t = f(c); …; c = t }.
func (g *generator) carried(r, depth int, scope []BufferID) []BufferID {
	c := g.root(r)
	g.write(c)
	g.step++
	scope = append(slices.Clone(scope), c)
	l := g.open(Loop, r)
	t := g.root(l)
	g.p.Buffers[t].Size = g.p.Buffers[c].Size
	g.p.Buffers[t].Memory = g.p.Buffers[c].Memory
	g.over(t, c)
	inner := g.body(l, depth+1, append(g.visible(scope, l), t))
	g.over(c, t)
	g.close(l)
	return g.visible(append(slices.Clone(inner), c), r)
}

// over is a step that may write dst over src.
func (g *generator) over(dst, src BufferID) {
	g.read(src)
	g.write(dst)
	g.p.Shares = append(g.p.Shares, Share{g.step, dst, src})
	g.step++
}

func (g *generator) cond(r, depth int, scope []BufferID) []BufferID {
	out := g.root(r)
	c := g.open(Cond, r)
	var after []BufferID
	for n := 1 + g.rng.IntN(3); n > 0; n-- {
		arm := g.open(Body, c)
		if g.chance(85) { // else empty
			s := g.body(arm, depth+1, scope)
			g.write(out)
			if src := g.pick(s); src >= 0 && src != out {
				g.read(src)
				g.p.Shares = append(g.p.Shares, Share{g.step, out, src})
			}
			g.step++
			after = append(append(after, s...), out)
		}
		g.close(arm)
	}
	g.close(c)
	after = g.visible(append(slices.Clone(scope), after...), r)
	slices.Sort(after)
	return slices.Compact(after)
}

func (g *generator) pick(scope []BufferID) BufferID {
	if len(scope) == 0 {
		return -1
	}
	if g.chance(70) { // mostly what is new
		return scope[max(0, len(scope)-1-g.rng.IntN(4))]
	}
	return scope[g.rng.IntN(len(scope))]
}

// call makes one step with random operands.
func (g *generator) call(r int, scope []BufferID) []BufferID {
	scope = slices.Clone(scope)
	var reads, writes []BufferID
	for n := g.rng.IntN(3); n > 0; n-- {
		if id := g.pick(scope); id >= 0 {
			reads = append(reads, id)
			g.read(id)
		}
	}
	for n := 1 + g.rng.IntN(2); n > 0; n-- {
		var id BufferID
		switch old := g.pick(scope); {
		case old >= 0 && g.chance(15): // replace it
			id = old
		case old >= 0 && g.chance(10): // update it
			id = old
			g.read(id)
		default:
			region := r
			for region != 0 && g.chance(15) {
				region = g.p.Regions[region].Parent
			}
			id = g.root(region)
			if !g.plain && g.chance(25) {
				v := g.view(id)
				if g.chance(50) { // first written in parts
					scope = append(scope, id)
					id = v
				} else {
					scope = append(scope, v)
				}
			}
		}
		if !slices.Contains(writes, id) {
			writes = append(writes, id)
			g.write(id)
		}
	}
	for _, w := range writes {
		for _, rd := range reads {
			if w != rd && g.chance(60) {
				g.p.Shares = append(g.p.Shares, Share{g.step, w, rd})
			}
		}
	}
	g.step++
	return append(scope, writes...)
}

func (g *generator) read(id BufferID) {
	g.p.Buffers[id].Reads = append(g.p.Buffers[id].Reads, g.step)
}

func (g *generator) write(id BufferID) {
	g.p.Buffers[id].Writes = append(g.p.Buffers[id].Writes, g.step)
}

func (g *generator) root(region int) BufferID {
	id := BufferID(len(g.p.Buffers))
	b := Buffer{Name: fmt.Sprintf("b%d", id), Size: g.unit * (1 + g.rng.Int64N(6)), Region: region}
	if !g.plain {
		b.Align = []int64{0, 1, 4, 4, 8}[g.rng.IntN(5)]
		if g.chance(5) {
			b.Size = 0
		}
		if g.chance(8) {
			b.Memory = 2
		}
	}
	g.p.Buffers = append(g.p.Buffers, b)
	return id
}

// view makes a random view of a buffer, now and then of a view of it.
func (g *generator) view(of BufferID) BufferID {
	size := g.p.Buffers[of].Size
	off := g.rng.Int64N(size/4+1) * 4
	id := BufferID(len(g.p.Buffers))
	g.p.Buffers = append(g.p.Buffers, Buffer{Name: fmt.Sprintf("v%d", id),
		Size: g.rng.Int64N(size - off + 1), Align: 4,
		Alias: &Alias{Of: of, Offset: off}})
	if g.chance(30) {
		return g.view(id)
	}
	return id
}

// randomProblem is the usual test program.
func randomProblem(seed uint64) *Problem {
	g := newGenerator(seed)
	g.limit = 5 + int(seed%40)
	return g.program()
}
