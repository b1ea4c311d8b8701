package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/golden/tier"
)

// network is straight-line code as a neural network gives it: each step mostly
// reads what the one before wrote, and now and then something older.
func network(steps int, seed uint64) *Problem {
	rng := rand.New(rand.NewPCG(seed, 9))
	p := &Problem{}
	for i := range steps {
		p.Buffers = append(p.Buffers, Buffer{Name: fmt.Sprint("t", i),
			Size: int64(1+rng.IntN(4096)) * 16, Align: 16, Writes: []int{i}})
		for range 1 + rng.IntN(2) {
			if i == 0 {
				break
			}
			j := i - 1
			if rng.IntN(3) == 0 {
				j = max(0, i-1-rng.IntN(20))
			}
			p.Buffers[j].Reads = append(p.Buffers[j].Reads, i)
			if p.Buffers[j].Size >= p.Buffers[i].Size {
				p.Shares = append(p.Shares, Share{i, BufferID(i), BufferID(j)})
			}
		}
	}
	return p
}

// Best stays close to the lower bound also where Greedy does not.
func TestLargeProblems(t *testing.T) {
	for _, steps := range []int{20, 100, 500, 2000}[:tier.Of(3, 4, 4)] {
		for seed := range uint64(4) {
			p := network(steps, seed)
			peaks, err := LowerBound(p)
			if err != nil {
				t.Fatal(err)
			}
			pl, err := Best{}.Plan(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := Check(p, pl); err != nil {
				t.Fatal(err)
			}
			if ratio := float64(pl.Size()) / float64(peaks[0].Bytes); ratio > 1.05 {
				t.Errorf("%d steps, seed %d: %d bytes, %.3f times the lower bound", steps, seed,
					pl.Size(), ratio)
			}
		}
	}
}

// A sweep stays close to it too.
func TestSweep(t *testing.T) {
	for seed := range uint64(4) {
		p := network(2000, seed)
		peaks, err := LowerBound(p)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := sweeping{}.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(p, pl); err != nil {
			t.Fatal(err)
		}
		ratio := float64(pl.Size()) / float64(peaks[0].Bytes)
		t.Logf("%d bytes, %.3f times the lower bound", pl.Size(), ratio)
		if ratio > 1.4 {
			t.Errorf("%d bytes, %.3f times the lower bound", pl.Size(), ratio)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, steps := range []int{50, 500, 5000} {
		p := network(steps, 1)
		for _, pn := range []struct {
			name string
			Planner
		}{{"Greedy", Greedy{}}, {"Best", Best{}}} {
			b.Run(fmt.Sprintf("%s/%d", pn.name, steps), func(b *testing.B) {
				for b.Loop() {
					if _, err := pn.Plan(p); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		pl, err := Greedy{}.Plan(p)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("Check/%d", steps), func(b *testing.B) {
			for b.Loop() {
				if err := Check(p, pl); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
