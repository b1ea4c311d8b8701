package rows

// prefetch has tiles that take steps steps of their inner loops in all fetch next, the
// weights that are read after theirs: the first tile over a panel of weights waits
// for them, while the others find them near and have time to bring the next ones.
func (t *tile) prefetch(next []float32, steps int) {
	t.fetch, t.fetched, t.fetchStep = next, 0, 0
	if len(next) > 0 && steps > 0 {
		t.fetchStep = 4 * len(next) / steps
	}
}

// limitPrefetch keeps what a product of so many taps fetches inside of fetch: where less is
// left, as there are more steps than prefetch was told, fetchStep becomes 0, and nothing is
// fetched from then on.
func (t *tile) limitPrefetch(taps int) {
	if t.fetched+taps*t.fetchStep > 4*len(t.fetch) {
		t.fetchStep = 0
	}
}

// behind returns the panel of weights of taps taps behind the one that begins at
// column j of n; nothing if it does not begin before column end.
func behind(w []float32, taps, n, j, end int) []float32 {
	j += panel
	if j >= end {
		return nil
	}
	_, width := panelOf(n, j)
	return w[j*taps:][:width*taps]
}
