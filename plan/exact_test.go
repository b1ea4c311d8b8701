package plan

import (
	"cmp"
	"encoding/csv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/etgen/etgen/golden/tier"
)

// readSet reads a problem in the form of MiniMalloc's: id, lower, upper, size.
func readSet(t testing.TB, path string) *Problem {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	p := &Problem{}
	for _, row := range rows[1:] {
		var n [4]int
		for i := range n {
			if n[i], err = strconv.Atoi(row[i]); err != nil {
				t.Fatal(err)
			}
		}
		p.Buffers = append(p.Buffers, Buffer{Name: row[0], Size: int64(n[3]),
			Writes: []int{n[1]}, Reads: []int{n[2] - 1}})
	}
	return p
}

// MiniMalloc's hard sets are placed in the bytes that they are known to fit into.
func TestHardSets(t *testing.T) {
	files, err := filepath.Glob("../../shared/minimalloc/*.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no ../shared/minimalloc")
	}
	files = files[:min(len(files), tier.Of(1, 3, len(files)))]
	for _, file := range files {
		p := readSet(t, file)
		if size := bestSize(t, p); size > 1<<20 {
			t.Errorf("%s: %d bytes, 1048576 are enough", filepath.Base(file), size)
		}
	}
}

// bestSize returns what Best needs, after a check of its plan.
func bestSize(t testing.TB, p *Problem) int64 {
	t.Helper()
	pl, err := Best{}.Plan(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(p, pl); err != nil {
		t.Fatal(err)
	}
	return pl.Size()
}

// Rectangles cut into buffers are put together again without a gap.
func TestCutRectangles(t *testing.T) {
	for _, n := range []int{20, 50, 100} {
		for seed := range uint64(tier.Of(2, 6, 40)) {
			for _, pinwheels := range []bool{false, true} {
				p := cutProblem(seed, n, 200, 1<<20, 1024, pinwheels)
				if size := bestSize(t, p); size != 1<<20 {
					t.Errorf("%d buffers, seed %d, pinwheels %v: %d bytes, %.3f times the optimum",
						n, seed, pinwheels, size, float64(size)/(1<<20))
				}
			}
		}
	}
}

// Where the bound cannot be met, the search finds the optimum and proves that
// there is nothing below it. The optimum is found here by placing in all orders.
func TestProofs(t *testing.T) {
	above := 0
	n := tier.Of(100, 1500, 20_000)
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 15))
		p := &Problem{}
		for range 4 + rng.IntN(4) {
			first := rng.IntN(7)
			p.Buffers = append(p.Buffers, Buffer{Size: 1 + rng.Int64N(9), Align: 1 << rng.IntN(3),
				Writes: []int{first}, Reads: []int{min(first+rng.IntN(4), 6)}})
		}
		a, err := analyse(p)
		if err != nil {
			t.Fatal(err)
		}
		a.connect(unlimited)
		opt := smallestOfOrders(a)
		pk := a.pack(allNodes(a.nodes), nil)
		if pk.lower < opt {
			above++
		}
		for size := pk.lower; size <= opt+1; size++ {
			want := fits
			if size < opt {
				want = never
			}
			x := newFitting(pk, size, &work{left: 10_000_000})
			got := x.run(1)
			if got != want {
				t.Fatalf("seed %d: in %d bytes of %d: %v, want %v", seed, size, opt, got, want)
			}
		}
	}
	if above < n/15 {
		t.Errorf("only %d problems whose optimum is above the bound", above)
	}
}

// smallestOfOrders places the nodes at their lowest places in all orders.
func smallestOfOrders(a *analysis) int64 {
	order := allNodes(a.nodes)
	best := int64(1) << 40
	offsets := make([]int64, len(order))
	lowest := func(k int) int64 {
		n := &a.nodes[order[k]]
		before := slices.Clone(order[:k])
		slices.SortFunc(before, func(i, j int) int { return cmp.Compare(offsets[i], offsets[j]) })
		at := int64(0)
		for _, i := range before {
			meet := slices.ContainsFunc(n.edges, func(e edge) bool { return e.to == i })
			if end := offsets[i] + a.nodes[i].size; meet && offsets[i] < at+n.size && at < end {
				at = alignUp(end, n.align)
			}
		}
		return at
	}
	var visit func(k int, size int64)
	visit = func(k int, size int64) {
		if size >= best {
			return
		}
		if k == len(order) {
			best = size
			return
		}
		for i := k; i < len(order); i++ {
			order[k], order[i] = order[i], order[k]
			offsets[order[k]] = lowest(k)
			visit(k+1, max(size, offsets[order[k]]+a.nodes[order[k]].size))
			order[k], order[i] = order[i], order[k]
		}
	}
	visit(0, 0)
	return best
}

func BenchmarkHardSets(b *testing.B) {
	files, _ := filepath.Glob("../../shared/minimalloc/*.csv")
	for _, file := range files {
		p := readSet(b, file)
		b.Run(filepath.Base(file), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(bestSize(b, p))/(1<<20), "of-known")
			}
		})
	}
}
