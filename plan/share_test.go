package plan

import "testing"

// sizeOf plans with Best and checks.
func sizeOf(t *testing.T, p *Problem) int64 {
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

func TestShares(t *testing.T) {
	loop := root(5, Region{Loop, 0, 1, 4})
	cond := root(5, Region{Cond, 0, 1, 4}, Region{Body, 1, 1, 2}, Region{Body, 1, 3, 4})
	tests := []struct {
		name string
		p    Problem
		want int64
	}{
		{"in place", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0}, Reads: []int{1}},
			{Size: 8, Writes: []int{1}, Reads: []int{2}},
		}, Shares: []Share{{1, 1, 0}}}, 8},
		{"smaller result", Problem{Buffers: []Buffer{
			{Size: 16, Writes: []int{0}, Reads: []int{1}},
			{Size: 8, Writes: []int{1}, Reads: []int{2}},
		}, Shares: []Share{{1, 1, 0}}}, 16},
		{"no share, no overlap", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0}, Reads: []int{1}},
			{Size: 8, Writes: []int{1}, Reads: []int{2}},
		}}, 16},
		{"source is read later", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0}, Reads: []int{1, 2}},
			{Size: 8, Writes: []int{1}, Reads: []int{2}},
		}, Shares: []Share{{1, 1, 0}}}, 16},
		{"source is read later, result is not", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0}, Reads: []int{1, 2}},
			{Size: 8, Writes: []int{1}},
		}, Shares: []Share{{1, 1, 0}}}, 16},
		{"result has a history", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0}, Reads: []int{1}},
			{Size: 8, Writes: []int{0, 1}, Reads: []int{1, 2}},
		}, Shares: []Share{{1, 1, 0}}}, 16},
		{"source is written too", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0, 1}, Reads: []int{1}},
			{Size: 8, Writes: []int{1}, Reads: []int{2}},
		}, Shares: []Share{{1, 1, 0}}}, 16},
		{"source is read through another view too", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0}, Reads: []int{1}},
			{Size: 8, Writes: []int{1}, Reads: []int{2}},
			{Size: 8, Alias: &Alias{0, 0}, Reads: []int{1}},
		}, Shares: []Share{{1, 1, 0}}}, 16},
		{"over a view of a dying root", Problem{Buffers: []Buffer{
			{Size: 16, Writes: []int{0}},
			{Size: 8, Alias: &Alias{0, 8}, Reads: []int{1}},
			{Size: 8, Writes: []int{1}, Reads: []int{2}},
		}, Shares: []Share{{1, 2, 1}}}, 16},
		{"into the end of a larger result: it would start before 0 but for padding",
			Problem{Buffers: []Buffer{
				{Size: 8, Writes: []int{0}, Reads: []int{1}},
				{Size: 16, Reads: []int{3}},
				{Size: 8, Alias: &Alias{1, 8}, Writes: []int{1}},
				{Size: 8, Alias: &Alias{1, 0}, Writes: []int{2}},
			}, Shares: []Share{{1, 2, 0}}}, 16},
		{"chain", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0}, Reads: []int{1}},
			{Size: 8, Writes: []int{1}, Reads: []int{2}},
			{Size: 8, Writes: []int{2}, Reads: []int{3}},
			{Size: 8, Writes: []int{3}},
		}, Shares: []Share{{1, 1, 0}, {2, 2, 1}, {3, 3, 2}}}, 8},
		{"carried value and its successor", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0, 4}, Reads: []int{2, 5}},
			{Size: 8, Writes: []int{2}, Reads: []int{4}, Region: 1},
		}, Shares: []Share{{2, 1, 0}, {4, 0, 1}}, Regions: loop}, 8},
		{"carried value read once more", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0, 4}, Reads: []int{2, 3, 5}},
			{Size: 8, Writes: []int{2}, Reads: []int{4}, Region: 1},
		}, Shares: []Share{{2, 1, 0}, {4, 0, 1}}, Regions: loop}, 16},
		{"captured value is never overwritten", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0}, Reads: []int{2}},
			{Size: 8, Writes: []int{2}, Reads: []int{4}, Region: 1},
		}, Shares: []Share{{2, 1, 0}}, Regions: loop}, 16},
		{"both arms over what they captured", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0}, Reads: []int{2, 4}},
			{Size: 8, Writes: []int{2, 4}, Reads: []int{5}},
		}, Shares: []Share{{2, 1, 0}, {4, 1, 0}}, Regions: cond}, 8},
		{"one arm may not", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0}, Reads: []int{2, 4}},
			{Size: 8, Writes: []int{2, 4}, Reads: []int{5}},
		}, Shares: []Share{{2, 1, 0}}, Regions: cond}, 16},
		{"arms share memory", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{1}, Reads: []int{2}, Region: 2},
			{Size: 8, Writes: []int{3}, Reads: []int{4}, Region: 3},
		}, Regions: cond}, 8},
		{"other memory", Problem{Buffers: []Buffer{
			{Size: 8, Writes: []int{0}, Reads: []int{1}, Memory: 1},
			{Size: 8, Writes: []int{1}, Reads: []int{2}},
		}, Shares: []Share{{1, 1, 0}}}, 16},
		{"empty", Problem{Buffers: []Buffer{
			{Size: 0, Writes: []int{0}, Reads: []int{1}},
			{Size: 0, Writes: []int{1}, Reads: []int{2}},
		}, Shares: []Share{{1, 1, 0}}}, 0},
		{"nothing at all", Problem{}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := sizeOf(t, &tt.p); got != tt.want {
				t.Errorf("%d bytes, want %d", got, tt.want)
			}
		})
	}
}

// a, b and c form a chain, b is the smallest and so placed last, and x keeps
// the lowest place from c: c must nevertheless come to lie where a does.
func TestChainThroughUnplaced(t *testing.T) {
	p := &Problem{Buffers: []Buffer{
		{Name: "x", Size: 64, Writes: []int{0}, Reads: []int{1}},
		{Name: "a", Size: 32, Writes: []int{1}, Reads: []int{2}},
		{Name: "b", Size: 16, Writes: []int{2}, Reads: []int{3}},
		{Name: "c", Size: 32, Writes: []int{3}, Reads: []int{4}},
	}, Shares: []Share{{2, 2, 1}, {3, 3, 2}}}
	pl, err := Greedy{}.Plan(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(p, pl); err != nil {
		t.Fatal(err)
	}
	if pl.Offsets[1] != 64 || pl.Offsets[2] != 64 || pl.Offsets[3] != 64 {
		t.Errorf("offsets %v, want a, b and c at 64", pl.Offsets)
	}
}

// In place is not taken where it makes the whole larger: dst would start in the
// last quarter of src and stick out, while there is room below.
func TestInPlaceOnlyIfFree(t *testing.T) {
	p := &Problem{Buffers: []Buffer{
		{Name: "x", Size: 80, Writes: []int{0}, Reads: []int{1}},
		{Name: "src", Size: 64, Writes: []int{1}},
		{Name: "end", Size: 16, Alias: &Alias{1, 48}, Reads: []int{2}},
		{Name: "dst", Size: 40, Writes: []int{2}, Reads: []int{3}},
	}, Shares: []Share{{2, 3, 2}}}
	for _, pn := range []Planner{Greedy{}, Best{}} {
		pl, err := pn.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(p, pl); err != nil {
			t.Fatal(err)
		}
		if pl.Size() != 144 || pl.Offsets[3] != 0 {
			t.Errorf("%T: %d bytes, offsets %v; want 144, dst at 0", pn, pl.Size(), pl.Offsets)
		}
	}
}
