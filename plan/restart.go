package plan

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// failure is what a failed section is remembered with; the memory fades with each
// restart, and the numbers are large enough for that.
const failure = 1 << 16

// run searches again and again, each time with the items in another rank, and gives up
// each time after a few decisions for each item: a search that begins well seldom
// has to go far back. From each the next one learns which sections fail. Runs with
// different seeds shake the ranks differently.
func (x *fitting) run(seed uint64) outcome {
	n := len(x.items)
	if n == 0 {
		return fits
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	for s := range x.end { // also finds whether the sections can hold what is in them
		if !x.stack(s) {
			return never
		}
	}
	sum := slices.Clone(x.end)
	for turn := 0; ; turn++ {
		x.order(turn, sum, rng)
		x.nodes = (2 + 2*(turn%3)) * n << min(turn/64, 20) // in the end no run gives up
		slices.Sort(all)
		if got := x.solve(all, 0, x.sections-1); got != unknown {
			return got
		}
		x.undo(0)
		if x.work.spent() {
			return unknown
		}
		for s := range x.failed {
			x.failed[s] -= x.failed[s] / 8
		}
	}
}

// order ranks the items for a turn: by the fullest section that an item is alive
// in, or the one that failed most; by how many sections it is alive in, its bytes,
// or the product; in half of the turns the other way round. After the first turns
// the second key is shaken.
func (x *fitting) order(turn int, sum []int64, rng *rand.Rand) {
	const one = 1 << 10
	learned := turn >= 8
	worst := max(1, slices.Max(x.failed))
	keys := make([][2]int64, len(x.items))
	for i := range x.items {
		it := &x.items[i]
		var steps int64
		k := &keys[i]
		for _, r := range it.runs {
			steps += int64(r.last - r.first + 1)
			for s := r.first; s <= r.last; s++ {
				section := scale(sum[s], x.ceiling, one)
				if learned {
					section += scale(x.failed[s], worst, 2*one)
				}
				k[0] = max(k[0], section)
			}
		}
		bytes := scale(it.height, x.ceiling, 1<<20)
		switch turn % 4 {
		case 0:
			k[1] = steps * bytes
		case 1:
			k[1] = steps
		case 2:
			k[1] = bytes
		case 3:
			k[1] = it.steps
		}
		if learned {
			k[1] *= one + rng.Int64N(one/4)
		}
		if turn/4%2 == 1 {
			k[0], k[1] = k[1], k[0]
		}
	}
	sorted := make([]int, len(x.items))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortStableFunc(sorted, func(i, j int) int {
		return cmp.Or(cmp.Compare(keys[j][0], keys[i][0]), cmp.Compare(keys[j][1], keys[i][1]))
	})
	for r, i := range sorted {
		x.rank[i] = r
	}
}

// scale returns part/whole as a multiple of 1/one.
func scale(part, whole, one int64) int64 {
	return int64(float64(part) / float64(whole) * float64(one))
}
