package native

import (
	"slices"

	"github.com/etgen/etgen/kernels/tuned"
)

// divisions remembers how chains are divided in bands: programs have many chains
// of equal windows, and each call is in many chains.
type divisions struct {
	windows map[tuned.Window]int
	chains  map[chainKey]*bands // nil: they cannot be divided so
	made    map[*Call][]parted
}

// chainKey is a chain of windows by their numbers, from 1 on, and the height of bands.
type chainKey struct {
	windows [longestChain]int
	height  int64
}

// parted are the instances of a call for bands of some rows, nil if there are none.
type parted struct {
	rows  []tuned.Rows
	parts []*tuned.Instance
}

func newDivisions() *divisions {
	return &divisions{windows: map[tuned.Window]int{}, chains: map[chainKey]*bands{},
		made: map[*Call][]parted{}}
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
	for _, m := range d.made[l.call] {
		if slices.Equal(m.rows, rows) {
			return m.parts
		}
	}
	parts := tuned.Bands(l.call.Kernel.Tuned, l.window, b.request(l.facts), rows)
	d.made[l.call] = append(d.made[l.call], parted{rows, parts})
	return parts
}
