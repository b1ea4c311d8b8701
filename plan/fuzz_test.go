package plan

import (
	"math/rand/v2"
	"testing"
)

// decode makes a problem, mostly a malformed one, of any bytes.
func decode(data []byte) *Problem {
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	steps := func() []int {
		var s []int
		for n := next() % 4; n > 0; n-- {
			s = append(s, next()%24-1)
		}
		return s
	}
	p := &Problem{}
	if n := next() % 6; n > 0 {
		p.Regions = []Region{{Kind: Body, Parent: -1, First: 0, Last: next() % 24}}
		for ; n > 1; n-- {
			p.Regions = append(p.Regions, Region{RegionKind(next() % 5), next() % len(p.Regions),
				next() % 24, next()%24 - 1})
		}
	}
	for n := next() % 8; n > 0; n-- {
		b := Buffer{Name: "b", Size: int64(next()) - 1, Align: int64(next() % 17), Reads: steps(),
			Writes: steps(), Region: next() % 6}
		switch next() % 6 {
		case 0:
			b.Alias = &Alias{BufferID(next()%9 - 1), int64(next()) - 8}
		case 2:
			b.Memory = next() % 4
		case 3:
			b.Size <<= next() % 60
		}
		p.Buffers = append(p.Buffers, b)
	}
	for n := next() % 6; n > 0; n-- {
		p.Shares = append(p.Shares, Share{next()%24 - 1, BufferID(next()%9 - 1),
			BufferID(next()%9 - 1)})
	}
	return p
}

// Whatever the problem: an error or a plan that passes, and no planner alone
// refuses it.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{2, 9, 1, 0, 2, 8, 2, 8, 8, 1, 3, 1, 1, 0, 5, 8, 8, 1, 5, 1, 4, 1, 5, 1, 4, 1, 0})
	f.Add([]byte{4, 9, 3, 0, 2, 8, 0, 1, 2, 5, 0, 1, 5, 8, 2, 9, 8, 1, 4, 1, 1, 0, 5, 9, 4, 2, 3, 7,
		0, 0, 5, 0})
	rng := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		data := make([]byte, 80)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := decode(data)
		peaks, boundErr := LowerBound(p)
		for _, pn := range planners {
			pl, err := pn.Plan(p)
			if (err == nil) != (boundErr == nil) {
				t.Fatalf("%s: %v, but the lower bound: %v", pn.name, err, boundErr)
			}
			if err != nil {
				continue
			}
			if err := Check(p, pl); err != nil {
				t.Fatalf("%s: %v", pn.name, err)
			}
			for m := range peaks {
				if pl.Memories[m].Size < peaks[m].Bytes {
					t.Fatalf("%s: memory %d has %d bytes, less than %d", pn.name, m,
						pl.Memories[m].Size, peaks[m].Bytes)
				}
			}
			if r, err := NewReport(p, pl); err != nil || reportText(p, pl, r) == "" {
				t.Fatalf("%s: no report: %v", pn.name, err)
			}
			if pl.Size() < 1<<12 {
				if err := simulate(p, pl, nil, rand.New(rand.NewPCG(1, 1)), 4); err != nil {
					t.Fatalf("%s: %v", pn.name, err)
				}
			}
		}
	})
}
