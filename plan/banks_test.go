package plan

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
)

// Plans in banks pass the checker and run without a live byte destroyed, or there is an error
// that is a FitError; with room for everything in one bank there is none.
func TestSpread(t *testing.T) {
	spread, failed := 0, 0
	n := tier.Of(60, 3000, 10_000)
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 5))
		p := randomProblem(seed)
		for i := range p.Buffers {
			p.Buffers[i].Memory = 0
			p.Buffers[i].Traffic = rng.Int64N(1000)
		}
		for _, how := range []Planner{Best{Effort: 20_000}, Greedy{}, Disjoint{}} {
			whole, err := how.Plan(p)
			if err != nil {
				t.Fatal(err)
			}
			p.Banks = []Bank{{"a", rng.Int64N(whole.Size() + 1)}, {"b", whole.Size()},
				{"c", rng.Int64N(whole.Size() + 1)}}
			if rng.IntN(2) == 0 {
				p.Banks[1].Size /= 2
			}
			pl, err := Spread(p, how)
			if _, full := errors.AsType[*FitError](err); full && p.Banks[1].Size < whole.Size() {
				failed++
				p.Banks = nil
				continue
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if err := Check(p, pl); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if err := simulate(p, pl, nil, rand.New(rand.NewPCG(seed, 2)), 8); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if len(pl.Memories) > 1 {
				spread++
			}
			p.Banks = nil
			for i := range p.Buffers {
				p.Buffers[i].Memory = 0
			}
		}
	}
	if spread < n/3 || failed < n/15 {
		t.Errorf("%d plans in several banks, %d failures", spread, failed)
	}
}

// The fast bank has what is moved most, the error tells what is in the way, and the checker
// sees when a bank is too small for what was planned.
func TestSpreadByTraffic(t *testing.T) {
	p := &Problem{Name: "forward", Buffers: []Buffer{
		{Name: "seldom", Size: 40, Writes: []int{0}, Reads: []int{1}, Traffic: 80},
		{Name: "often", Size: 60, Writes: []int{0}, Reads: []int{1}, Traffic: 6000},
	}, Banks: []Bank{{"dtcm", 64}, {"sram", 64}}}
	pl, err := Spread(p, Best{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Buffers[1].Memory != 0 || p.Buffers[0].Memory != 1 || pl.Memories[0].Size != 60 ||
		pl.Memories[1].Size != 40 {
		t.Errorf("%+v in %+v", pl, p.Buffers)
	}
	p.Banks[0].Size = 59
	if err := Check(p, pl); err == nil || !strings.Contains(err.Error(), "memory 0 takes 60 bytes") {
		t.Errorf("error %v", err)
	}
	p.Banks[1].Size = 59
	_, err = Spread(p, Best{})
	want := "method forward does not fit: the banks have 118 bytes (dtcm 59, sram 59), " +
		"one bank would need 100; they leave no room for a buffer as a whole\nat the same time are " +
		"alive:\n          60  often\n          40  seldom"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	// What is large goes where it fits, though it is moved least.
	p.Buffers[0].Size, p.Buffers[1].Size = 100, 60
	p.Banks = []Bank{{"dtcm", 120}, {"sram", 64}}
	if pl, err = Spread(p, Best{}); err != nil || p.Buffers[0].Memory != 0 {
		t.Errorf("%+v, error %v", pl, err)
	}
}
