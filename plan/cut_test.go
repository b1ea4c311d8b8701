package plan

import (
	"fmt"
	"math/rand/v2"
)

// rect is a piece of a rectangle: steps from left to right-1, bytes from low to high-1.
type rect struct{ left, right, low, high int }

// cutProblem cuts a rectangle of steps × size bytes into at least n buffers, which
// therefore fit into size bytes without a gap. The largest piece is cut next: in two,
// or, if pinwheels is set, every other time into five, none of whose edges goes through.
func cutProblem(seed uint64, n, steps, size, grain int, pinwheels bool) *Problem {
	rng := rand.New(rand.NewPCG(seed, 14))
	pieces := []rect{{0, steps, 0, size / grain}}
	between := func(low, high int) int { // away from both ends, where there is room
		d := (high - low) / 5
		return low + max(1, d) + rng.IntN(high-low-2*max(1, d)+1)
	}
	for stuck := 0; len(pieces) < n && stuck < 100; {
		k := 0 // of a few, the one with the largest area
		for i := range 4 {
			if j := rng.IntN(len(pieces)); i == 0 || area(pieces[j]) > area(pieces[k]) {
				k = j
			}
		}
		r := pieces[k]
		wide, high := r.right-r.left, r.high-r.low
		var parts []rect
		switch {
		case pinwheels && wide >= 6 && high >= 6 && rng.IntN(2) == 0:
			x1, y1 := r.left+1+rng.IntN(wide/2-1), r.low+1+rng.IntN(high/2-1)
			x2, y2 := x1+1+rng.IntN(r.right-x1-1), y1+1+rng.IntN(r.high-y1-1)
			parts = []rect{{r.left, x2, r.low, y1}, {x2, r.right, r.low, y2},
				{x1, r.right, y2, r.high}, {r.left, x1, y1, r.high}, {x1, x2, y1, y2}}
		case rng.IntN(2) == 0 && wide >= 4:
			x := between(r.left, r.right)
			parts = []rect{{r.left, x, r.low, r.high}, {x, r.right, r.low, r.high}}
		case high >= 4:
			y := between(r.low, r.high)
			parts = []rect{{r.left, r.right, r.low, y}, {r.left, r.right, y, r.high}}
		default:
			stuck++
			continue
		}
		pieces = append(append(pieces[:k:k], parts...), pieces[k+1:]...)
	}
	p := &Problem{}
	for i, k := range rng.Perm(len(pieces)) {
		r := pieces[k]
		p.Buffers = append(p.Buffers, Buffer{Name: fmt.Sprint("b", i),
			Size: int64((r.high - r.low) * grain), Writes: []int{r.left}, Reads: []int{r.right - 1}})
	}
	return p
}

func area(r rect) int { return (r.right - r.left) * (r.high - r.low) }
