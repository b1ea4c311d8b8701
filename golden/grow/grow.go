package grow

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Total is the name of the sum of all stages.
const Total = "total"

// Growth is how the cost of a stage grows with the program.
type Growth struct {
	Stage         string
	Small, Large  Cost
	Bytes, Allocs float64 // exponents: 1 is linear
	Time          float64
}

// Measured is what a shape took one way at some sizes.
type Measured struct {
	Shape, Way string
	Sizes      []int
	Costs      [][]Cost // by size: each stage once, then Total
}

// Run measures a shape one way at sizes, which ascend.
func Run(s Shape, way string, sizes ...int) (*Measured, error) {
	m := &Measured{Shape: s.Name, Way: way, Sizes: sizes}
	for _, n := range sizes {
		costs, err := Measure(s, n, way)
		if err != nil {
			return nil, fmt.Errorf("%s, %s, %d nodes: %w", s.Name, way, n, err)
		}
		m.Costs = append(m.Costs, summed(costs))
	}
	return m, nil
}

// summed adds up stages of one name, and all of them. What plan takes is within
// another stage.
func summed(costs []Cost) []Cost {
	var out []Cost
	total := Cost{Stage: Total}
	for _, c := range costs {
		if c.Stage != planStage {
			total.add(c)
		}
		if i := slices.IndexFunc(out, func(x Cost) bool { return x.Stage == c.Stage }); i >= 0 {
			out[i].add(c)
			continue
		}
		out = append(out, c)
	}
	return append(out, total)
}

func (c *Cost) add(x Cost) {
	c.Time += x.Time
	c.Bytes += x.Bytes
	c.Allocs += x.Allocs
	c.Size += x.Size
}

// Total returns the cost of all stages at the k-th size.
func (m *Measured) Total(k int) Cost { return m.Costs[k][len(m.Costs[k])-1] }

// Growth returns how each stage grows from the first size to the last.
func (m *Measured) Growth() []Growth {
	var all []Growth
	ratio := math.Log(float64(m.Sizes[len(m.Sizes)-1]) / float64(m.Sizes[0]))
	exponent := func(small, large float64) float64 {
		if small <= 0 || large <= 0 {
			return 0
		}
		return math.Log(large/small) / ratio
	}
	for i, large := range m.Costs[len(m.Costs)-1] {
		if i >= len(m.Costs[0]) {
			break
		}
		small := m.Costs[0][i]
		all = append(all, Growth{Stage: large.Stage, Small: small, Large: large,
			Bytes:  exponent(float64(small.Bytes), float64(large.Bytes)),
			Allocs: exponent(float64(small.Allocs), float64(large.Allocs)),
			Time:   exponent(small.Time.Seconds(), large.Time.Seconds())})
	}
	return all
}

// shortest is the time from which on an exponent of times tells something.
const shortest = 20 * time.Millisecond

// TimeKnown reports whether the times of a growth are long enough to tell.
func (g Growth) TimeKnown() bool { return g.Small.Time >= shortest }
