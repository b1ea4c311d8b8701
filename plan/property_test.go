package plan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/tier"
)

var planners = []struct {
	name string
	Planner
}{
	{"greedy", Greedy{}},
	{"sweep", sweeping{}},
	{"best", Best{Effort: 20_000}},
	{"disjoint", Disjoint{}},
}

// Every planner's output passes the checker, is not below the lower bound and
// runs without a live byte destroyed; Best is not above Greedy.
func TestRandomProblems(t *testing.T) {
	n := tier.Of[uint64](100, 3000, 10_000)
	inPlace := 0
	for seed := range n {
		p := randomProblem(seed)
		peaks, err := LowerBound(p)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		sizes := make(map[string]int64)
		for _, pn := range planners {
			pl, err := pn.Plan(p)
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, pn.name, err)
			}
			if err := Check(p, pl); err != nil {
				t.Fatalf("seed %d: %s:\n%v", seed, pn.name, err)
			}
			for m, peak := range peaks {
				if pl.Memories[m].Size < peak.Bytes {
					t.Errorf("seed %d: %s: memory %d has %d bytes, less than the lower bound %d",
						seed, pn.name, m, pl.Memories[m].Size, peak.Bytes)
				}
			}
			if err := simulate(p, pl, nil, rand.New(rand.NewPCG(seed, 2)), 8); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, pn.name, err)
			}
			sizes[pn.name] = pl.Size()
		}
		if sizes["best"] > sizes["greedy"] {
			t.Errorf("seed %d: best is worse than greedy: %v", seed, sizes)
		}
		pl, err := Greedy{}.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range inPlaceOf(p, pl) {
			inPlace += len(names)
		}
	}
	if inPlace < int(n) {
		t.Errorf("only %d in-place pairs in %d programs: the test has lost its object", inPlace, n)
	}
}

// A buffer's bytes are worthless where Dead says so, and only Dead makes the
// difference visible: poisoning one step early must be noticed.
func TestDeadPoison(t *testing.T) {
	noticed := 0
	for seed := range uint64(500) {
		p := randomProblem(seed)
		pl, err := Disjoint{}.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		dead, err := Dead(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := simulate(p, pl, dead, rand.New(rand.NewPCG(seed, 3)), 10); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(dead) > 1 {
			early := append(slices.Clone(dead[1:]), nil)
			if simulate(p, pl, early, rand.New(rand.NewPCG(seed, 3)), 10) != nil {
				noticed++
			}
		}
	}
	if noticed < 250 {
		t.Errorf("poison one step early was noticed in %d of 500 programs only", noticed)
	}
}

// What Check accepts never goes wrong in execution, also for plans no planner
// makes; and Check is not needlessly strict, or the planners could not be
// measured with it.
func TestCheckIsSound(t *testing.T) {
	accepted, rejected, wentWrong := 0, 0, 0
	n := tier.Of(200, 1500, 1500)
	for seed := range uint64(n) {
		p := randomProblem(seed)
		pl, err := Best{Effort: 5_000}.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 4))
		for range 6 {
			bad := moveOne(p, pl, rng)
			if bad == nil {
				break
			}
			verdict := Check(p, bad)
			crash := simulate(p, bad, nil, rng, 12)
			switch {
			case verdict == nil && crash != nil:
				t.Fatalf("seed %d: Check accepts a plan that goes wrong: %v", seed, crash)
			case verdict == nil:
				accepted++
			default:
				rejected++
				if crash != nil {
					wentWrong++
				}
			}
		}
	}
	t.Logf("%d moved plans accepted, %d rejected, %d of them seen to go wrong", accepted,
		rejected, wentWrong)
	if accepted < n/5 || rejected < n/5 || wentWrong < rejected/2 {
		t.Error("the mutations no longer test anything")
	}
}

// moveOne moves one root with its views to another aligned place in its memory.
func moveOne(p *Problem, pl *Plan, rng *rand.Rand) *Plan {
	var roots []BufferID
	for i, b := range p.Buffers {
		if b.Alias == nil && pl.Memories[b.Memory].Size > b.Size {
			roots = append(roots, BufferID(i))
		}
	}
	if len(roots) == 0 {
		return nil
	}
	root := roots[rng.IntN(len(roots))]
	b := &p.Buffers[root]
	to := rng.Int64N(pl.Memories[b.Memory].Size-b.Size+1) / 8 * 8
	moved := &Plan{Offsets: slices.Clone(pl.Offsets), Memories: pl.Memories}
	for i := range moved.Offsets {
		if r, shift := p.Root(BufferID(i)); r == root {
			moved.Offsets[i] = to + shift
		}
	}
	return moved
}

// sweeping plans as Best does where very many buffers are in conflict.
type sweeping struct{}

func (sweeping) Plan(p *Problem) (*Plan, error) {
	a, err := analyse(p)
	if err != nil {
		return nil, err
	}
	offsets := make([]int64, len(a.nodes))
	for m := range memoriesOf(a.nodes) {
		a.sweep(m, offsets)
	}
	return a.plan(offsets), nil
}

// With other memory in between, two buffers can be judged by themselves. The
// checker's verdict on every pair must be the planners' notion of a conflict:
// two definitions, one by execution and one by lifetimes, that have no code in
// common.
func TestConflictsAgreeWithCheck(t *testing.T) {
	pairs, inPlace := 0, 0
	for seed := range tier.Of[uint64](10, 120, 250) {
		p := randomProblem(seed)
		a, err := analyse(p)
		if err != nil {
			t.Fatal(err)
		}
		a.connect(unlimited)
		for i := range a.nodes {
			for j := range i {
				x, y := &a.nodes[i], &a.nodes[j]
				if x.memory != y.memory || x.size == 0 || y.size == 0 {
					continue
				}
				// 48 is the largest root, 8 the strictest alignment.
				for delta := -int64(48); delta <= 48; delta += 8 {
					if delta >= x.size || -delta >= y.size {
						continue
					}
					allowed, meet := true, false
					for _, e := range x.edges {
						if e.to == j {
							meet = true
							allowed = e.inPlace && e.delta == delta
							inPlace += map[bool]int{true: 1}[allowed]
						}
					}
					if !meet && delta != 0 {
						continue // one place is enough for those
					}
					pairs++
					if err := Check(p, apart(a, i, j, delta)); (err == nil) != allowed {
						t.Fatalf(
							"seed %d: %s, %s %d bytes after: the planners say %v, the checker %v",
							seed, p.label(x.id), p.label(y.id), delta, allowed, err)
					}
				}
			}
		}
	}
	t.Logf("%d placements of pairs, %d of them in place", pairs, inPlace)
}

// apart places node j delta bytes after node i, and all others clear of both.
func apart(a *analysis, i, j int, delta int64) *Plan {
	offsets := make([]int64, len(a.nodes))
	for k := range offsets {
		offsets[k] = int64(k+3) << 12
	}
	offsets[i], offsets[j] = 1<<12, 1<<12+delta
	return a.plan(offsets)
}

// Plans are a function of the problem, down to the last byte of the report.
func TestDeterministic(t *testing.T) {
	for seed := range uint64(50) {
		for _, pn := range planners {
			var texts [2]string
			for k := range texts {
				p := randomProblem(seed)
				pl, err := pn.Plan(p)
				if err != nil {
					t.Fatal(err)
				}
				r, err := NewReport(p, pl)
				if err != nil {
					t.Fatal(err)
				}
				texts[k] = reportText(p, pl, r)
			}
			if texts[0] != texts[1] {
				t.Fatalf("seed %d: %s gives two plans:\n%s\n%s", seed, pn.name, texts[0], texts[1])
			}
		}
	}
}
