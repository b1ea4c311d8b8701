package native

import (
	"cmp"
	"math"
	"slices"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/tuned"
)

// A choice is how a part of a run of calls is made: one call whole, or a chain in
// patches.
type choice struct {
	from, end int
	chain     []link
	height    int64    // of patches; 0: whole
	backwards bool     // the last patch is made first
	patches   *patches // nil: whole, or still to be made
	call      *Call    // whole, by another instance than the link's; nil: the link's
	over      *over
	image     int64   // bytes that it reads
	result    int64   // and makes
	around    int64   // bytes of everything else in memory meanwhile
	time      float64 // that it takes more than whole calls
}

// Chains that are tried: of so many calls at most, and in patches of so many rows.
const (
	longestChain = 12
	highestPatch = 8 // if rows are pixels, tiles
)

// sparer chooses the patches of a method for the sake of its arena.
type sparer struct {
	b     *builder
	uses  map[*Buffer]*inUse
	begun []int64 // by statement: bytes of buffers whose use has begun with it
	ended []int64 // and has ended before it
	runs  []run
	least int64 // bytes held by what is in no run
	await *awaiting
	time  float64 // of all calls that are in one, whole
}

// run is a run of calls of which each reads what the one before makes, the
// statements from first on.
type run struct {
	first         int
	links         []link
	choices       []choice
	image         int64 // bytes of its image
	before, after int64 // bytes held around its image before it, and its result after it
}

// toldApart is by how much a product of arena and time has to be less for more arena:
// estimates of time are not so exact that two percent tell choices apart.
const toldApart = 0.98

// spare makes calls of the method's body in patches where that makes its arena
// smaller: with the least memory in which everything can be made as the limit, and
// with somewhat more, the quickest choice within it is planned, and that with the
// least product of arena and time is taken. If await is not nil, the chain that reads the
// input is in patches in any case.
func (b *builder) spare(made map[*tuned.Instance]*facts, users map[*Buffer]int,
	await *awaiting) {
	s := &sparer{b: b, uses: inUseOf(b.m.Body), await: await}
	s.sums()
	s.findRuns(made, users)
	if await != nil {
		s.reaches()
	}
	if len(s.runs) == 0 {
		return
	}
	floor := seq.Of(len(b.m.Body), func(i int) int64 { return s.held(i, i) })
	s.least = slices.Max(append(s.outside(floor), 0))
	inPatches := false
	for i := range s.runs {
		r := &s.runs[i]
		r.choices = s.choices(r)
		r.lower(floor)
		inPatches = inPatches || slices.ContainsFunc(r.choices, func(c choice) bool {
			return c.height > 0
		})
	}
	if !inPatches {
		if await != nil {
			stops(b.m.Body[await.at], errParts)
		}
		return
	}
	for i := range s.runs {
		s.around(&s.runs[i], floor)
	}
	size := b.arena(b.m.Body, nil)
	low, limit := int64(0), size // not possible, possible
	best, worth, least := b.m.Body, float64(size)*s.time, size
	if await != nil {
		limit += await.image.MaxLen * int64(await.image.DType.Size())
		best, worth = nil, math.Inf(1)
	}
	for i := range floor {
		limit = max(limit, s.held(i, i)) // in place of an operand is not known here
	}
	for limit-low > max(64, limit/256) {
		if mid := (low + limit) / 2; s.possible(mid) {
			limit = mid
		} else {
			low = mid
		}
	}
	var over overlay
	var last [][]*choice
	for _, slack := range []float64{1, 1.03, 1.08, 1.11, 1.15, 1.3, 1.5} {
		parts := s.parts(int64(float64(limit) * slack))
		if slices.EqualFunc(parts, last, slices.Equal) {
			continue
		}
		last = parts
		body, laid := s.body(parts)
		if body == nil {
			continue
		}
		n := b.arena(body, laid)
		time := s.time
		for _, run := range parts {
			for _, c := range run {
				time += c.time
			}
		}
		if w := float64(n) * time; w < worth && n <= least || w < worth*toldApart {
			best, over, worth, least = body, laid, w, n
		}
	}
	if best == nil {
		stops(b.m.Body[await.at], errParts)
	}
	b.m.Body = best
	for _, stmt := range best {
		eachAccess(stmt, func(a access) { *a.buf = over.of(*a.buf) })
	}
}

// arena returns the bytes that statements of the method need.
func (b *builder) arena(body []Stmt, over overlay) int64 {
	l := newLayout(&Method{Name: b.m.Name, Body: body}, over)
	return must.Get(b.opt.Planner.Plan(l.p)).Size()
}

// findRuns finds the runs in the body.
func (s *sparer) findRuns(made map[*tuned.Instance]*facts, users map[*Buffer]int) {
	for i, stmt := range s.b.m.Body {
		l, ok := s.b.link(stmt, made)
		if !ok {
			continue
		}
		if n := len(s.runs); n > 0 {
			r := &s.runs[n-1]
			if r.first+len(r.links) == i && follows(r.links[len(r.links)-1].call, l.call, users) {
				r.links = append(r.links, l)
				s.time += l.instructions
				continue
			}
		}
		s.time += l.instructions
		s.runs = append(s.runs, run{first: i, links: []link{l}})
	}
}

// outside returns of what is held by each statement that of those in no run.
func (s *sparer) outside(held []int64) (out []int64) {
	done := 0
	for _, r := range s.runs {
		out = append(out, held[done:r.first]...)
		done = r.first + len(r.links)
	}
	return append(out, held[done:]...)
}

// around finds what is held around the image and the result of a run before it
// and after it, given what each statement holds.
func (s *sparer) around(r *run, held []int64) {
	if u := s.uses[r.links[0].call.Args[1]]; u != nil {
		for i := u.first; i < r.first; i++ {
			r.before = max(r.before, held[i]-u.bytes)
		}
	}
	if u := s.uses[r.links[len(r.links)-1].call.Args[0]]; u != nil {
		for i := r.first + len(r.links); i <= u.last; i++ {
			r.after = max(r.after, held[i]-u.bytes)
		}
	}
}

// lower brings what each statement of the run holds down to the least of all
// choices.
func (r *run) lower(held []int64) {
	for i := range r.choices {
		c := &r.choices[i]
		w := (&way{above: c.image}).next(c)
		for k := c.from; k < c.end; k++ {
			held[r.first+k] = min(held[r.first+k], w.buffer()+w.around)
		}
	}
}

// sums adds up what held asks for.
func (s *sparer) sums() {
	s.begun, s.ended = make([]int64, len(s.b.m.Body)), make([]int64, len(s.b.m.Body)+1)
	for _, u := range s.uses {
		s.begun[u.first] += u.bytes
		s.ended[u.last+1] += u.bytes
	}
	for i := 1; i < len(s.begun); i++ {
		s.begun[i] += s.begun[i-1]
		s.ended[i] += s.ended[i-1]
	}
}

// held returns the bytes of all buffers that are in use in the statements from
// first to last.
func (s *sparer) held(first, last int) int64 { return s.begun[last] - s.ended[first] }

// choices returns the ways to make the parts of a run.
func (s *sparer) choices(r *run) (list []choice) {
	if u := s.uses[r.links[0].call.Args[1]]; u != nil {
		r.image = u.bytes
	}
	for end := 1; end <= len(r.links); end++ {
		if !s.awaits(r, end-1) {
			list = append(list, s.whole(r, end)...)
		}
		for from := max(0, end-longestChain); from < end; from++ {
			chain := r.links[from:end]
			if overwrites(chain) {
				continue
			}
			for height := int64(1); height <= highestPatch; height++ {
				list = append(list, s.inPatches(r, from, end, chain, height)...)
				if l := chain[0]; len(chain) == 1 && l.pixels != nil && !s.awaits(r, from) {
					list = append(list, s.inPatches(r, from, end, []link{*l.pixels},
						height*int64(l.call.Kernel.Tuned.Tile.Rows))...)
				}
			}
		}
	}
	return list
}

// inPatches returns the ways to make a part of a run, the chain, in patches of a height: a single
// call from the last patch to the first, too.
func (s *sparer) inPatches(r *run, from, end int, chain []link, height int64) (list []choice) {
	p := s.b.divisions.patches(chain, height)
	if p == nil {
		return nil
	}
	c, alone := s.choice(r, from, end), len(chain) == 1 && !s.awaits(r, from)
	if s.awaits(r, from) {
		kept, ok := p.kept()
		if !ok {
			return nil
		}
		c.around += kept * s.await.row()
	}
	for j, l := range chain[:len(chain)-1] {
		c.around += p.height(j) * s.uses[l.call.Args[0]].bytes / l.window.Out
	}
	var ok bool
	if c.time, ok = s.more(p); !ok {
		return nil
	}
	c.chain, c.height = chain, height
	for _, p.backwards = range []bool{false, true} {
		c.backwards, c.over = p.backwards, s.over(p, r.first+from, r.first+end-1)
		if alone && c.over != nil || !alone && !p.backwards {
			list = append(list, c)
		}
	}
	return list
}

// choice returns what any way to make a part of a run holds.
func (s *sparer) choice(r *run, from, end int) choice {
	chain := r.links[from:end]
	c := choice{from: from, end: end, chain: chain}
	c.around = s.held(r.first+from, r.first+end-1)
	for _, l := range chain[:len(chain)-1] {
		c.around -= s.uses[l.call.Args[0]].bytes
	}
	if u := s.uses[chain[0].call.Args[1]]; u != nil {
		c.image = u.bytes
	}
	if u := s.uses[chain[len(chain)-1].call.Args[0]]; u != nil {
		c.result = u.bytes
	}
	c.around -= c.image + c.result
	return c
}

// over returns how the results of patches that stand for some statements lie over
// their image, or nil if they do not.
func (s *sparer) over(p *patches, first, last int) *over {
	o := p.over()
	if o == nil || s.uses[o.image].last > last || s.uses[o.result].first < last ||
		s.uses[o.image].first >= first {
		return nil
	}
	return o
}

// more estimates how much longer patches take than whole calls; !ok if some call
// cannot be made so.
func (s *sparer) more(p *patches) (sum float64, ok bool) {
	if !p.costed {
		p.costed = true
		p.time, p.ok = s.cost(p)
	}
	return p.time, p.ok
}

func (s *sparer) cost(p *patches) (sum float64, ok bool) {
	for j := range p.calls {
		c := &p.calls[j]
		if !c.movable {
			return 0, false
		}
		sum -= c.instructions
		for i := range p.number {
			rows := p.rows(j, i)
			if rows.Out == 0 {
				continue
			}
			n, ok := s.b.divisions.part(s.b, c.link, rows)
			if !ok {
				return 0, false
			}
			sum += n
		}
		if j < len(p.calls)-1 {
			image := c.call.Args[0]
			sum += tuned.Moved * float64((p.number-1)*c.halo*(image.MaxLen/c.window.Out))
		}
	}
	return sum, true
}

// body returns the method's statements in patches: the parts of every run.
func (s *sparer) body(parts [][]*choice) ([]Stmt, overlay) {
	var out []Stmt
	var laid []*over
	done := 0
	for i := range s.runs {
		r := &s.runs[i]
		out = append(out, s.b.m.Body[done:r.first]...)
		for _, c := range parts[i] {
			var p *patches
			if c.height > 0 {
				p = s.b.divisions.patches(c.chain, c.height)
				p.backwards = c.backwards
			}
			divided := p != nil && p.instances(s.b)
			switch {
			case !divided && s.awaits(r, c.from):
				return nil, nil
			case divided:
				if s.awaits(r, c.from) {
					p.awaitRows(s.await)
				}
				out = append(out, p.emit()...)
			default:
				for _, l := range c.chain {
					out = append(out, cmp.Or(c.call, l.call))
				}
			}
			if c.over != nil && divided == (c.height > 0) {
				laid = append(laid, c.over)
			}
		}
		done = r.first + len(r.links)
	}
	out = append(out, s.b.m.Body[done:]...)
	if s.await != nil {
		out = awaitRest(out)
	}
	return out, layOver(laid)
}

// What a part of a run holds is more than its own: a buffer in which its result
// lies over its image has the size of both as long as one of them is in use, and
// may grow with every part that lays its result over it. So a way to make the
// beginning of a run has, besides its time, where in its buffer the last result lies,
// and the most that is held around that while it is in use.

// way is a way to make the beginning of a run.
type way struct {
	time         float64
	below, above int64 // bytes of the buffer before the last result, and from where it begins on
	around       int64
	last         *choice
	before       *way
}

// buffer is the bytes of the buffer.
func (w *way) buffer() int64 { return w.below + w.above }

// mostWays are how many ways to make the same beginning are followed.
const mostWays = 16

// better reports whether w is as good as v in everything.
func (w *way) better(v *way) bool {
	return w.time <= v.time && w.below <= v.below && w.above <= v.above && w.around <= v.around
}

// next returns the way on by a choice.
func (w *way) next(c *choice) way {
	if c.over == nil {
		return way{w.time + c.time, 0, c.result, c.around + w.buffer(), c, w}
	}
	behind := c.over.behind * int64(c.over.image.DType.Size())
	return way{w.time + c.time, max(w.below-behind, 0), max(w.above+behind, c.result),
		max(w.around, c.around), c, w}
}

// within returns the parts of the quickest way to make a run that holds no more than
// limit bytes, or nil.
func (r *run) within(limit int64) (parts []*choice) {
	ways := make([][]*way, len(r.links)+1)
	ways[0] = []*way{{above: r.image, around: r.before}}
	at := 0 // choices are in the order of their ends
	for end := 1; end < len(ways); end++ {
		for ; at < len(r.choices) && r.choices[at].end == end; at++ {
			c := &r.choices[at]
			for _, w := range ways[c.from] {
				n := w.next(c)
				held := n.buffer() + n.around
				if end == len(r.links) {
					held = max(held, n.buffer()+r.after)
				}
				if held <= limit {
					ways[end] = withWay(ways[end], n)
				}
			}
		}
		seq.Sort(ways[end], func(a, b *way) int { return cmp.Compare(a.time, b.time) })
		if len(ways[end]) > mostWays { // the quickest, and those that hold the least
			rest := ways[end][mostWays/2:]
			seq.Sort(rest, func(a, b *way) int {
				return int(a.buffer() + a.around - b.buffer() - b.around)
			})
			ways[end] = ways[end][:mostWays]
		}
	}
	if last := ways[len(r.links)]; len(last) > 0 {
		for w := last[0]; w.last != nil; w = w.before {
			parts = append(parts, w.last)
		}
	}
	slices.Reverse(parts)
	return parts
}

// withWay returns a list of ways, each of which may be the best for something, with
// one more if it may be so too.
func withWay(list []*way, w way) []*way {
	if slices.ContainsFunc(list, func(v *way) bool { return v.better(&w) }) {
		return list
	}
	kept := w // most are not, and cost no memory
	return append(slices.DeleteFunc(list, func(v *way) bool { return w.better(v) }), &kept)
}

// possible reports whether everything can be made in limit bytes.
func (s *sparer) possible(limit int64) bool { return s.parts(limit) != nil }

// parts returns the parts of every run that take the least time within limit
// bytes, or nil if that is not possible.
func (s *sparer) parts(limit int64) [][]*choice {
	if s.least > limit {
		return nil
	}
	parts := make([][]*choice, len(s.runs))
	for i := range s.runs {
		if parts[i] = s.runs[i].within(limit); parts[i] == nil {
			return nil
		}
	}
	return parts
}
