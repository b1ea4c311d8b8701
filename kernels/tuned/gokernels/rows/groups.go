package rows

import "math"

// Groups multiplies the rows of x, which are whole numbers, with columns whose elements have a
// scale for each group: y[i][j] is the sum over groups of scales[g][j] · (sum of x[i][l]·w[l][j] of
// the group), rounded as floats are, in the order of groups. Float32 holds the sums of groups.
// Weights and scales are packed as Linear's weights: w[ceil(n/32)][k][32],
// scales[ceil(n/32)][k/group][32].
func Groups(y, x, w, scales []float32, a *GroupsParams, f *Epilogue) {
	n, k, groups := a.n, a.k, a.k/a.group
	var zeros [panel]float32
	var sums, part [maxRows * panel]float32
	t := tile{y: part[:], bias: zeros[:], next: k, step: panel, outer: 1, middle: 1, depth: a.group,
		low: float32(math.Inf(-1)), high: float32(math.Inf(1))}
	all := tile{step: n, low: f.low, high: f.high}
	length := lengths(a.m, tileRows)
	for j := 0; j < n; j += panel {
		t.columns, t.width = panelOf(n, j)
		for i := 0; i < a.m; i += length {
			t.rows = min(length, a.m-i)
			clear(sums[:t.rows*panel])
			for g := range groups {
				t.x = x[i*k+g*a.group:]
				t.w = w[j*k+g*a.group*t.width:]
				product(&t)
				by := scales[j*groups+g*t.width:][:t.columns]
				for r := range t.rows {
					row := sums[r*panel:][:len(by)]
					for c, v := range part[r*panel:][:len(by)] {
						row[c] += float32(v * by[c])
					}
				}
			}
			all.rows, all.columns = t.rows, t.columns
			all.y, all.add = f.aim(y, i*n+j)
			all.take(&sums, 0, t.columns)
			if f.apply != nil {
				f.call(y, &all, i*n+j, j)
			}
		}
	}
}
