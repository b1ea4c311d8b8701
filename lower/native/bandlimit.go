package native

import (
	"math"
	"slices"
)

// What a part of a run holds is more than its own: a buffer in which its result
// lies over its image has the size of both as long as one of them is in use, and
// grows with every part that lays its result over it. So a way to make the
// beginning of a run has, besides its time, the size of the buffer that the last
// result lies in, and the most that is held around that while it is in use.

// way is a way to make the beginning of a run.
type way struct {
	time           float64
	buffer, around int64
	last           *choice
	before         *way
}

// mostWays are how many ways to make the same beginning are followed.
const mostWays = 16

// better reports whether w is as good as v in everything.
func (w *way) better(v *way) bool {
	return w.time <= v.time && w.buffer <= v.buffer && w.around <= v.around
}

// next returns the way on by a choice.
func (w *way) next(c *choice) way {
	if c.over == nil {
		return way{w.time + c.time, c.result, c.around + w.buffer, c, w}
	}
	elem := int64(c.over.image.DType.Size())
	return way{w.time + c.time, max(c.over.behind*elem+w.buffer, c.result),
		max(w.around, c.around), c, w}
}

// within returns the quickest way to make a run that holds no more than limit
// bytes, or nil.
func (r *run) within(limit int64) *way {
	ways := make([][]*way, len(r.links)+1)
	ways[0] = []*way{{buffer: r.choices[0].image, around: r.before}}
	at := 0 // choices are in the order of their ends
	for end := 1; end < len(ways); end++ {
		for ; at < len(r.choices) && r.choices[at].end == end; at++ {
			c := &r.choices[at]
			for _, w := range ways[c.from] {
				n := w.next(c)
				held := n.buffer + n.around
				if end == len(r.links) {
					held = max(held, n.buffer+r.after)
				}
				if held <= limit {
					ways[end] = withWay(ways[end], n)
				}
			}
		}
		slices.SortStableFunc(ways[end], func(a, b *way) int {
			if d := a.time - b.time; d != 0 {
				return int(math.Copysign(1, d))
			}
			return 0
		})
		if len(ways[end]) > mostWays { // the quickest, and those that hold the least
			rest := ways[end][mostWays/2:]
			slices.SortStableFunc(rest, func(a, b *way) int {
				return int(a.buffer + a.around - b.buffer - b.around)
			})
			ways[end] = ways[end][:mostWays]
		}
	}
	if last := ways[len(r.links)]; len(last) > 0 {
		return last[0]
	}
	return nil
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
		w := s.runs[i].within(limit)
		if w == nil {
			return nil
		}
		for ; w.last != nil; w = w.before {
			parts[i] = append(parts[i], w.last)
		}
		slices.Reverse(parts[i])
	}
	return parts
}
