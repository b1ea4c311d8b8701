package native

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/tuned"
)

// divisions remembers how chains are divided in bands: programs have many chains
// of equal windows, and each call is in many chains.
type divisions struct {
	windows map[tuned.Window]int
	chains  map[chainKey]*bands // nil: they cannot be divided so
	kinds   map[string]*kind
}

// chainKey is a chain of windows by their numbers, from 1 on, and the height of bands.
type chainKey struct {
	windows [longestChain]int
	height  int64
}

// kind is what calls have in common whose kernels, windows, arguments and types are
// equal: they differ in what weights are.
type kind struct {
	made         map[tuned.Rows]*tuned.Instance
	instructions map[tuned.Rows]float64 // of the instance for some rows; noPart: there is none
}

// noPart says that a call cannot make some rows alone.
const noPart = -1

func newDivisions() *divisions {
	return &divisions{windows: map[tuned.Window]int{}, chains: map[chainKey]*bands{},
		kinds: map[string]*kind{}}
}

// number numbers windows that are equal.
func (d *divisions) number(w tuned.Window) int {
	n := d.windows[w]
	if n == 0 {
		n = len(d.windows) + 1
		d.windows[w] = n
	}
	return n
}

// bands is newBands for chains of at most longestChain calls.
func (d *divisions) bands(chain []link, height int64) *bands {
	key := chainKey{height: height}
	for j := range chain {
		key.windows[j] = chain[j].alike
	}
	p, known := d.chains[key]
	if !known {
		p = newBands(chain, height)
		d.chains[key] = p
	}
	if p == nil {
		return nil
	}
	own := &bands{calls: make([]banding, len(chain)), number: p.number}
	for j := range chain {
		own.calls[j] = banding{link: &chain[j], portion: p.calls[j].portion}
	}
	return own
}

// parts is tuned.Bands for the call of a link.
func (d *divisions) parts(b *builder, l *link, rows []tuned.Rows) []*tuned.Instance {
	return tuned.Bands(l.call.Kernel.Tuned, l.window, b.request(l.facts), rows, d.kind(b, l).made)
}

// part returns the instructions of the instance that makes some rows of a call; !ok
// if there is none.
func (d *divisions) part(b *builder, l *link, rows tuned.Rows) (instructions float64, ok bool) {
	k := d.kind(b, l)
	instructions, known := k.instructions[rows]
	if !known {
		instructions = noPart
		if list := d.parts(b, l, []tuned.Rows{rows}); list != nil {
			instructions = list[0].Instructions()
		}
		k.instructions[rows] = instructions
	}
	return instructions, instructions != noPart
}

// kind returns the kind of a link's call.
func (d *divisions) kind(b *builder, l *link) *kind {
	if l.kind != nil {
		return l.kind
	}
	in, call := l.call.Kernel.Tuned, l.facts.call
	var key strings.Builder
	fmt.Fprint(&key, in.Kernel.Name, call.Op.Name(), l.window, in.Tile)
	for _, p := range in.Params {
		key.WriteByte(' ')
		key.WriteString(p.Value.Key())
	}
	for _, a := range call.Args {
		if _, ok := a.(ir.Ref); !ok {
			fmt.Fprint(&key, " ", a)
		}
	}
	for _, v := range call.Operands() {
		key.WriteByte(' ')
		key.WriteString(v.Type.String())
		fmt.Fprint(&key, b.orders[v])
	}
	if d.kinds[key.String()] == nil {
		d.kinds[key.String()] = &kind{map[tuned.Rows]*tuned.Instance{}, map[tuned.Rows]float64{}}
	}
	l.kind = d.kinds[key.String()]
	return l.kind
}
