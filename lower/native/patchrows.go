package native

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/plan"
)

// patches is a chain of calls taken apart in patches.
type patches struct {
	calls  []patchedCall
	number int64
	// Of one call: the last rows are made first.
	backwards bool
	b         *builder
	// If the image comes by rows: its window, and where they are counted.
	input, position *Buffer
	*division
}

// patchedCall is how one call of a chain is made in patches.
type patchedCall struct {
	*link
	*portion
	parts []*tuned.Instance // by patch
}

// portion is what the patches of a chain are of one of its calls. It is the same in
// all chains of equal windows.
type portion struct {
	// Rows of the result that there are after each patch.
	ends []int64
	// Of the result's window, which the next call reads: in patch i the rows from
	// base + i·share on are made, but that the first patch begins with row 0. They
	// stand in the window behind halo rows, and these behind lead rows, which the
	// first patch alone needs.
	share, base, halo, lead int64
}

// lastPatches are how many patches, at the end, may be irregular.
const lastPatches = 2

// newPatches divides chain in patches of so many rows of its last result, or returns
// nil if some patch of some call would be irregular, or empty, but for the last ones.
func newPatches(chain []link, height int64) *patches {
	last := chain[len(chain)-1].window
	p := &patches{calls: make([]patchedCall, len(chain)), number: (last.Out + height - 1) / height}
	if p.number < 2 {
		return nil
	}
	share, after := height, height // rows that a patch makes, and that there are after the first
	for j := len(chain) - 1; j >= 0; j-- {
		w := chain[j].window
		c := &p.calls[j]
		c.link, c.portion = &chain[j], &portion{share: share, base: after - share}
		for i := range p.number {
			end := min(w.Out, after+i*share)
			if end <= 0 || end == w.Out && i < p.number-1-lastPatches || i > 0 && end <= c.ends[i-1] &&
				end < w.Out {
				return nil
			}
			c.ends = append(c.ends, end)
		}
		if j < len(chain)-1 {
			next := chain[j+1].window
			c.halo = max(0, next.Reach-next.Stride)
			c.lead = max(0, c.base-c.halo)
		}
		// Only the first patch may see the padding above.
		if c.ends[0]*w.Stride < w.Pad {
			return nil
		}
		share, after = share*w.Stride, (after-1)*w.Stride-w.Pad+w.Reach
	}
	for i := range p.number {
		if i > 0 && i < p.number-lastPatches && !p.same(i) {
			return nil
		}
		for j := range p.calls {
			if r := p.rows(j, i); r.Out > 0 && r.In < 1 {
				return nil
			}
		}
	}
	return p
}

// first is the first row of its image that call j sees in patch i, which may lie
// in the padding.
func (p *patches) first(j int, i int64) int64 {
	c := &p.calls[j]
	return p.done(j, i)*c.window.Stride - c.window.Pad
}

// done is how many rows call j has made before patch i.
func (p *patches) done(j int, i int64) int64 {
	if i == 0 {
		return 0
	}
	return p.calls[j].ends[i-1]
}

// origin is the row of image j that its window begins with in patch i.
func (p *patches) origin(j int, i int64) int64 {
	c := &p.calls[j]
	return c.base + i*c.share - c.halo - c.lead
}

// left is how many rows of image j's halo patch i finds: less than all if the image
// ended in the patch before.
func (p *patches) left(j int, i int64) int64 {
	c := &p.calls[j]
	return min(c.halo, c.ends[i-1]-p.origin(j, i-1)-c.lead-c.share)
}

// rows is what call j does in patch i.
func (p *patches) rows(j int, i int64) tuned.Rows {
	w := p.calls[j].window
	given := w.In
	if j > 0 {
		given = p.calls[j-1].ends[i]
	}
	from, to := p.first(j, i), p.calls[j].ends[i]
	seen := (to-1)*w.Stride - w.Pad + w.Reach
	return tuned.Rows{In: min(given, seen) - max(0, from), Out: to - p.done(j, i),
		Pad: max(0, -from), Pixels: w.Pixels}
}

// height is how many rows the window of image j has.
func (p *patches) height(j int) int64 {
	most := int64(0)
	for i, end := range p.calls[j].ends {
		most = max(most, end-p.origin(j, int64(i)))
	}
	return most
}

// small reports whether patches are so low that a halo has more rows than a patch
// brings, and is moved in parts lest it be moved over itself, or that some call has
// nothing left to do in the last patch.
func (p *patches) small() bool {
	return slices.ContainsFunc(p.calls, func(c patchedCall) bool {
		return c.halo > c.share || c.ends[p.number-2] == c.window.Out
	})
}

// same reports whether the calls of patch i do what those of the second do.
func (p *patches) same(i int64) bool {
	for j := range p.calls {
		if p.rows(j, i) != p.rows(j, 1) {
			return false
		}
	}
	return true
}

// Microcontrollers have no cache to speak of, and little memory. There patches are
// taken for the arena: of images in the middle of a chain only windows exist, and
// what the chain makes may lie over what it has read already (patchover.go). A patch
// of rows is one run of memory only where channels lie innermost, which kernels for
// microcontrollers do not ask for. So a program is built both ways, with row-major
// images and whole calls, and channels-last with patches, and the second is taken if
// it needs less memory by more than what a few calls more are worth.

// A program is made in patches if its arena shrinks by so many percent and bytes: less
// than that is within what a change of the model takes, and each loop of patches
// costs some hundred bytes of code.
const (
	leastPercent = 10
	leastBytes   = 1 << 10
)

// scarce reports whether memory is worth patches.
func (opt Options) scarce() bool {
	_, kept := opt.Planner.(plan.AsIs) // places are given
	return opt.Target.Scarce() && len(opt.Kernels) > 0 &&
		opt.Patches >= 0 && !kept
}

// worthSparing reports whether spare takes so much less memory than whole that
// patches are worth it.
func worthSparing(whole, spare *Program) bool {
	was, is := arenaOf(whole), arenaOf(spare)
	return was-is >= leastBytes && 100*(was-is) >= leastPercent*was
}

// arenaOf is the largest arena of a program's methods.
func arenaOf(p *Program) (most int64) {
	for _, m := range p.Methods {
		most = max(most, m.Plan.Size())
	}
	return most
}

// inUse is where a buffer is in use, in statements of the method's body.
type inUse struct {
	first, last int
	bytes       int64
}

// inUseOf returns where the arena's buffers are in use.
func inUseOf(body []Stmt) map[*Buffer]*inUse {
	uses := map[*Buffer]*inUse{}
	for i, s := range body {
		eachAccess(s, func(a access) {
			b := Root(*a.buf)
			if b.Storage != Arena || b.MaxLen < 0 {
				return
			}
			if uses[b] == nil {
				uses[b] = &inUse{first: i, bytes: b.MaxLen * int64(b.DType.Size())}
			}
			uses[b].last = i
		})
	}
	return uses
}

// divisions remembers how chains are divided in patches: programs have many chains
// of equal calls, and each call is in many chains.
type divisions struct {
	b      *builder
	alike  map[likeness]int
	chains map[chainKey]*division
	kinds  map[string]*kind
}

// likeness is what makes calls alike.
type likeness struct {
	kind         *kind
	instructions float64
	movable      bool
}

// chainKey is a chain of links, by the numbers of what is alike, from 1 on, and the
// height of patches.
type chainKey struct {
	alike  [longestChain]int
	height int64
}

// division is how a chain is divided, and what that costs.
type division struct {
	*patches      // nil: it cannot be divided so
	costed   bool // what follows is known
	time     float64
	ok       bool
}

// kind is what calls have in common whose kernels, windows, arguments and types are
// equal: they differ in what weights are.
type kind struct {
	made         map[tuned.Rows]*tuned.Instance
	instructions map[tuned.Rows]float64 // of the instance for some rows; noPart: there is none
	spare        *tuned.Instance        // the one that needs the least memory, if it is another
}

// noPart says that a call cannot make some rows alone.
const noPart = -1

func newDivisions() *divisions {
	return &divisions{alike: map[likeness]int{}, chains: map[chainKey]*division{},
		kinds: map[string]*kind{}}
}

// patches is newPatches for chains of at most longestChain calls.
func (d *divisions) patches(chain []link, height int64) *patches {
	key := chainKey{height: height}
	for j := range chain {
		key.alike[j] = chain[j].alike
	}
	of := d.chains[key]
	if of == nil {
		of = &division{patches: newPatches(chain, height)}
		d.chains[key] = of
	}
	if of.patches == nil {
		return nil
	}
	own := &patches{calls: make([]patchedCall, len(chain)), number: of.number, b: d.b, division: of}
	for j := range chain {
		own.calls[j] = patchedCall{link: &chain[j], portion: of.calls[j].portion}
	}
	return own
}

// parts is tuned.Patches for the call of a link.
func (d *divisions) parts(b *builder, l *link, rows []tuned.Rows) []*tuned.Instance {
	request := b.request(l.facts)
	request.Later = nil
	return tuned.Patches(l.call.Kernel.Tuned, l.window, request, rows, l.kind.made)
}

// part returns the instructions of the instance that makes some rows of a call; !ok
// if there is none.
func (d *divisions) part(b *builder, l *link, rows tuned.Rows) (instructions float64, ok bool) {
	if l.loop != nil {
		return l.instructionsOf(rows), true
	}
	instructions, known := l.kind.instructions[rows]
	if !known {
		instructions = noPart
		if list := d.parts(b, l, []tuned.Rows{rows}); list != nil {
			instructions = list[0].Instructions()
		}
		l.kind.instructions[rows] = instructions
	}
	return instructions, instructions != noPart
}

// know finds the kind of a link's call, and what it is alike.
func (d *divisions) know(b *builder, l *link) {
	if l.loop != nil {
		d.same(l, l.loop.key(l))
		return
	}
	in, call := l.call.Kernel.Tuned, l.facts.call
	var text strings.Builder
	fmt.Fprint(&text, in.Name(), call.Op.Name(), l.window, in.Tile)
	for _, p := range in.Params {
		text.WriteByte(' ')
		text.WriteString(p.Value.Key())
	}
	for _, a := range call.Args {
		if _, ok := a.(ir.Ref); !ok {
			fmt.Fprint(&text, " ", a)
		}
	}
	for _, v := range call.Operands() {
		text.WriteByte(' ')
		text.WriteString(v.Type.String())
		fmt.Fprint(&text, b.orders[v])
	}
	d.same(l, text.String())
}

// same finds what a link is alike whose kind has a key.
func (d *divisions) same(l *link, key string) {
	if d.kinds[key] == nil {
		d.kinds[key] = &kind{map[tuned.Rows]*tuned.Instance{}, map[tuned.Rows]float64{}, nil}
	}
	l.kind = d.kinds[key]
	like := likeness{l.kind, l.instructions, l.movable}
	if d.alike[like] == 0 {
		d.alike[like] = len(d.alike) + 1
	}
	l.alike = d.alike[like]
}
