package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// layoutOf names p's buffers and returns where a plan has its roots.
func layoutOf(p *Problem, pl *Plan) Layout {
	l := Layout{Size: pl.Memories[0].Size, Places: map[string]Place{}}
	for i := range p.Buffers {
		p.Buffers[i].Name = fmt.Sprintf("b%d", i)
		if b := p.Buffers[i]; b.Alias == nil && b.Memory == 0 {
			l.Places[b.Name] = Place{pl.Offsets[i], b.Size}
		}
	}
	return l
}

// A plan that suits the problem is kept to the byte; whatever else is asked
// for, what comes out is sound and no smaller than the memory it came from.
func TestAsIs(t *testing.T) {
	for seed := range uint64(300) {
		p := randomProblem(seed)
		p.Name = "forward"
		for i := range p.Buffers {
			p.Buffers[i].Memory = 0
		}
		old, err := Greedy{}.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		l := layoutOf(p, old)
		got, err := AsIs{map[string]Layout{"forward": l}}.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(p, got); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i, b := range p.Buffers {
			if b.Size > 0 && got.Offsets[i] != old.Offsets[i] {
				t.Fatalf("seed %d: %s is at %d, want %d", seed, b.Name, got.Offsets[i],
					old.Offsets[i])
			}
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		for i := range p.Buffers { // in order, so that the same seed gives the same layout
			name := p.Buffers[i].Name
			if x, ok := l.Places[name]; ok {
				l.Places[name] = Place{x.Offset + rng.Int64N(64) - 16, x.Size}
			}
		}
		l.Size += 1000
		if got, err = (AsIs{map[string]Layout{"forward": l}}).Plan(p); err != nil {
			t.Fatal(err)
		}
		if err := Check(p, got); err != nil || got.Memories[0].Size < l.Size {
			t.Fatalf("seed %d: %v, %d bytes", seed, err, got.Memories[0].Size)
		}
		// Of a problem it does not know it makes what Greedy makes.
		p.Name = "other"
		if got, err = (AsIs{map[string]Layout{"forward": l}}).Plan(p); err != nil ||
			!slices.Equal(got.Offsets, old.Offsets) {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
