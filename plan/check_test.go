package plan

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// checked is a program with a bit of everything and a good plan for it.
func checked() (*Problem, *Plan) {
	p := &Problem{
		Buffers: []Buffer{
			0: {Name: "in", Size: 16, Align: 4, Writes: []int{0}, Reads: []int{1}, Memory: 2},
			1: {Name: "x", Size: 16, Align: 8, Writes: []int{1}, Reads: []int{4}},
			2: {Name: "c", Size: 8, Align: 8, Writes: []int{1, 5}, Reads: []int{3, 6}},
			3: {Name: "t", Size: 8, Align: 8, Writes: []int{3}, Reads: []int{4, 5}, Region: 1},
			4: {Name: "low", Size: 8, Align: 8, Alias: &Alias{1, 0}, Reads: []int{4}},
			5: {Name: "high", Size: 8, Align: 8, Alias: &Alias{4, 8}, Reads: []int{2}},
			6: {Name: "u", Size: 4, Align: 4, Writes: []int{7}, Reads: []int{8}},
			7: {Name: "v", Size: 4, Align: 4, Writes: []int{8}, Reads: []int{9}, Memory: 1},
		},
		Shares:  []Share{{3, 3, 2}, {5, 2, 3}},
		Regions: root(9, Region{Loop, 0, 3, 5}),
	}
	return p, &Plan{
		Offsets:  []int64{0, 8, 0, 0, 8, 16, 16, 0},
		Memories: []Memory{{24, 8}, {4, 4}, {16, 4}},
	}
}

// Every fault put into a good plan is found, and named.
func TestCheckFindsFaults(t *testing.T) {
	p, pl := checked()
	if err := Check(p, pl); err != nil {
		t.Fatal(err)
	}
	move := func(id BufferID, to int64) func(*Problem, *Plan) {
		return func(p *Problem, pl *Plan) {
			shift := to - pl.Offsets[id]
			for i := range pl.Offsets {
				if r, _ := p.Root(BufferID(i)); r == id {
					pl.Offsets[i] += shift
				}
			}
		}
	}
	tests := []struct {
		name  string
		spoil func(*Problem, *Plan)
		want  string
	}{
		{"too few offsets", func(_ *Problem, pl *Plan) { pl.Offsets = pl.Offsets[1:] },
			"one offset for each"},
		{"negative offset", move(6, -4), "not inside the 24 bytes"},
		{"beyond the end", move(6, 24), "not inside the 24 bytes"},
		{"overflow", move(6, math.MaxInt64), "not inside the 24 bytes"},
		{"memory too small", func(_ *Problem, pl *Plan) { pl.Memories[0].Size = 23 },
			"not inside the 23 bytes"},
		{"memory negative", func(_ *Problem, pl *Plan) { pl.Memories[0].Size = -1 }, "bad size"},
		{"memory unaligned", func(_ *Problem, pl *Plan) { pl.Memories[0].Align = 4 },
			"not aligned to 8"},
		{"memory missing", func(_ *Problem, pl *Plan) { pl.Memories = pl.Memories[:1] },
			"memory 1 of 1"},
		{"misaligned", move(2, 4), "not aligned to 8"},
		{"view alone moved", func(_ *Problem, pl *Plan) { pl.Offsets[5] = 8 },
			"8 bytes into its root"},
		{"root alone moved", func(_ *Problem, pl *Plan) { pl.Offsets[1] = 0 },
			"0 bytes into its root"},
		{"not placed", func(_ *Problem, pl *Plan) { pl.Offsets[6] = -1 }, "not inside"},
		{"over a captured buffer", move(3, 8), "overlap"},
		{"two results of one step", move(2, 8),
			"step 1 touches buffer 1 (x) and buffer 2 (c), which overlap"},
		{"share taken away", func(p *Problem, _ *Plan) { p.Shares = p.Shares[:1] },
			"step 5 touches buffer 2 (c) and buffer 3 (t)"},
		{"source read once more", func(p *Problem, _ *Plan) {
			p.Buffers[2].Reads = append(p.Buffers[2].Reads, 4)
		}, "overlap"},
		{"carried value not replaced", func(p *Problem, _ *Plan) {
			p.Buffers[2].Writes = []int{1}
			p.Shares = p.Shares[:1]
		}, "which step 3 may have overwritten through buffer 3 (t)"},
		{"local no longer local and updated", func(p *Problem, _ *Plan) {
			p.Buffers[3].Region = 0
			p.Buffers[3].Reads = []int{3, 4, 5}
		}, "step 3 reads buffer 3 (t), which step 5 may have overwritten through buffer 2 (c)"},
		{"lives longer", func(p *Problem, _ *Plan) { p.Buffers[5].Reads = []int{8} },
			"step 8 reads buffer 5 (high), which step 7 may have overwritten through buffer 6 (u)"},
		{"longer", func(p *Problem, pl *Plan) { p.Buffers[3].Size = 16 }, "overlap"},
		{"view longer than its root", func(p *Problem, pl *Plan) { p.Buffers[5].Size = 9 },
			"not inside the 16 bytes of its root"},
		{"never written", func(p *Problem, _ *Plan) { p.Buffers[7].Writes = nil },
			"nothing was written"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, pl := checked()
			tt.spoil(p, pl)
			if err := Check(p, pl); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		})
	}
	if err := Check(p, nil); err == nil {
		t.Error("a nil plan passes")
	}
}

// A share speaks for two buffers. What the step does to their roots through
// other views it does not cover.
func TestCheckShareCoversNoOtherView(t *testing.T) {
	for _, tt := range []struct {
		name         string
		other        BufferID // root of the other view
		read, write  bool
		wantOverlaps bool
	}{
		{"no other view used", 0, false, false, false},
		{"source root read", 0, true, false, true},
		{"source root written", 0, false, true, true},
		{"result root read", 1, true, false, true},
		{"result root written", 1, false, true, true},
	} {
		other := Buffer{Name: "other", Size: 4, Alias: &Alias{tt.other, 4}}
		if tt.read {
			other.Reads = []int{1}
		}
		if tt.write {
			other.Writes = []int{1}
		}
		p := &Problem{Buffers: []Buffer{
			{Name: "src", Size: 8, Writes: []int{0}},
			{Name: "dst", Size: 8, Reads: []int{2}},
			{Name: "src half", Size: 4, Alias: &Alias{0, 0}, Reads: []int{1}},
			{Name: "dst half", Size: 4, Alias: &Alias{1, 0}, Writes: []int{1}},
			other,
		}, Shares: []Share{{1, 3, 2}}}
		err := Check(p, &Plan{Offsets: []int64{0, 0, 0, 0, 4}, Memories: []Memory{{8, 1}}})
		if (err != nil) != tt.wantOverlaps {
			t.Errorf("%s: error %v", tt.name, err)
		}
		pl, err := Greedy{}.Plan(p)
		if err != nil || (pl.Size() == 16) != tt.wantOverlaps {
			t.Errorf("%s: planned %v, %v", tt.name, pl, err)
		}
	}
}

// Arms and loops: faults that show on one path only.
func TestCheckFollowsAllPaths(t *testing.T) {
	arms := root(6, Region{Cond, 0, 1, 4}, Region{Body, 1, 1, 2}, Region{Body, 1, 3, 4})
	inLoop := root(6, Region{Loop, 0, 1, 4}, Region{Cond, 1, 1, 4}, Region{Body, 2, 1, 2},
		Region{Body, 2, 3, 4})
	one := func(use Buffer, local Buffer) []Buffer {
		use.Name, use.Size, local.Name, local.Size = "a", 4, "t", 4
		return []Buffer{use, local}
	}
	tests := []struct {
		name string
		p    Problem
		ok   bool
	}{
		{"last read in one arm, other arm overwrites", Problem{
			Buffers: one(Buffer{Writes: []int{0}, Reads: []int{4}}, Buffer{Writes: []int{1},
				Reads: []int{2}}), Regions: arms}, true},
		{"the same in a loop", Problem{
			Buffers: one(Buffer{Writes: []int{0}, Reads: []int{4}}, Buffer{Writes: []int{1},
				Reads: []int{2}}), Regions: inLoop}, false},
		{"read after the arms", Problem{
			Buffers: one(Buffer{Writes: []int{0}, Reads: []int{5}}, Buffer{Writes: []int{1},
				Reads: []int{2}}), Regions: arms}, false},
		{"replaced in the arm that overwrote it", Problem{
			Buffers: one(Buffer{Writes: []int{0, 2}, Reads: []int{5}}, Buffer{Writes: []int{1}}),
			Regions: arms}, true},
		{"replaced in the other arm only", Problem{
			Buffers: one(Buffer{Writes: []int{0, 4}, Reads: []int{5}}, Buffer{Writes: []int{1}}),
			Regions: arms}, false},
	}
	for _, tt := range tests {
		err := Check(&tt.p, &Plan{Offsets: []int64{0, 0}, Memories: []Memory{{4, 1}}})
		if (err == nil) != tt.ok {
			t.Errorf("%s: error %v", tt.name, err)
		}
		if pl, err := (Greedy{}).Plan(&tt.p); err != nil || (pl.Size() == 4) != tt.ok {
			t.Errorf("%s: planned %v, %v", tt.name, pl, err)
		}
	}
}

func TestValidate(t *testing.T) {
	buffers := func(b ...Buffer) *Problem { return &Problem{Buffers: b} }
	regions := func(r ...Region) *Problem { return &Problem{Regions: r} }
	tests := []struct {
		name string
		p    *Problem
		want string
	}{
		{"negative size", buffers(Buffer{Size: -1}), "negative size"},
		{"alignment", buffers(Buffer{Align: 12}), "not a power of two"},
		{"negative alignment", buffers(Buffer{Align: math.MinInt64}), "not a power of two"},
		{"memory", buffers(Buffer{Memory: -1}), "memory -1"},
		{"too many memories", buffers(Buffer{Memory: 1 << 40}), "memory"},
		{"sum of sizes", buffers(Buffer{Size: math.MaxInt64 / 2},
			Buffer{Size: math.MaxInt64/2 + 1}), "together exceed"},
		{"sum of paddings", buffers(Buffer{Align: 1 << 62}, Buffer{Align: 1 << 62}),
			"together exceed"},
		{"view of nothing", buffers(Buffer{Alias: &Alias{Of: 1}}), "unknown buffer"},
		{"view of itself", buffers(Buffer{Alias: &Alias{Of: 0}}), "circle"},
		{"views in a circle", buffers(Buffer{Alias: &Alias{Of: 1}}, Buffer{Alias: &Alias{Of: 0}}),
			"circle"},
		{"view before its root", buffers(Buffer{Size: 8}, Buffer{Alias: &Alias{0, -1}}),
			"not inside"},
		{"view beyond its root", buffers(Buffer{Size: 8}, Buffer{Size: 4, Alias: &Alias{0, 5}}),
			"not inside"},
		{"view far beyond", buffers(Buffer{Size: 8},
			Buffer{Size: 4, Alias: &Alias{0, math.MaxInt64}}), "not inside"},
		{"view offset overflows", buffers(Buffer{Size: 8}, Buffer{Alias: &Alias{0, math.MaxInt64}},
			Buffer{Alias: &Alias{1, 1}}), "not inside"},
		{"view offset overflows downwards", buffers(Buffer{Size: 8},
			Buffer{Alias: &Alias{0, math.MinInt64}}, Buffer{Alias: &Alias{1, -1}}), "not inside"},
		{"view unaligned", buffers(Buffer{Size: 8, Align: 8}, Buffer{Size: 2, Align: 4,
			Alias: &Alias{0, 2}}), "not aligned"},
		{"negative step", buffers(Buffer{Reads: []int{-1}}), "outside its region"},
		{"enormous step", buffers(Buffer{Reads: []int{1 << 60}}), "highest step"},
		{"region of buffer", buffers(Buffer{Region: 1}), "unknown region"},
		{"step outside", &Problem{Buffers: []Buffer{{Writes: []int{3}, Region: 1}},
			Regions: root(5, Region{Body, 0, 0, 2})}, "outside its region"},
		{"share of nothing", &Problem{Buffers: []Buffer{{}}, Shares: []Share{{0, 0, 1}}},
			"unknown buffer"},
		{"share without write", &Problem{Buffers: []Buffer{{Reads: []int{0}}, {Reads: []int{0}}},
			Shares: []Share{{0, 0, 1}}}, "does not write"},
		{"share without read", &Problem{Buffers: []Buffer{{Writes: []int{0}}, {Writes: []int{0}}},
			Shares: []Share{{0, 0, 1}}}, "does not read"},

		{"root is a loop", regions(Region{Loop, -1, 0, 1}), "region 0"},
		{"root with parent", regions(Region{Body, 0, 0, 1}), "region 0"},
		{"root starts late", regions(Region{Body, -1, 1, 1}), "region 0"},
		{"root ends early", regions(Region{Body, -1, 0, -2}), "region 0"},
		{"root too long", regions(Region{Body, -1, 0, maxSteps}), "highest step"},
		{"kind", regions(root(3, Region{9, 0, 0, 1})...), "unknown kind"},
		{"parent after child", regions(root(3, Region{Body, 1, 0, 1})...), "parent 1"},
		{"parent negative", regions(root(3, Region{Body, -1, 0, 1})...), "parent -1"},
		{"outside parent", regions(root(3, Region{Body, 0, 2, 4})...), "not inside its parent"},
		{"ends before it starts", regions(root(3, Region{Body, 0, 2, 0})...),
			"not inside its parent"},
		{"siblings overlap", regions(root(3, Region{Body, 0, 0, 1}, Region{Body, 0, 1, 2})...),
			"overlaps the sibling"},
		{"siblings in wrong order",
			regions(root(3, Region{Body, 0, 2, 3}, Region{Body, 0, 0, 1})...),
			"overlaps the sibling"},
		{"cond without arms", regions(root(3, Region{Cond, 0, 0, 1})...), "do not cover"},
		{"arms start late", regions(root(3, Region{Cond, 0, 0, 1}, Region{Body, 1, 1, 1})...),
			"between the arms"},
		{"arms end early", regions(root(3, Region{Cond, 0, 0, 1}, Region{Body, 1, 0, 0})...),
			"do not cover"},
		{"arm is a loop", regions(root(3, Region{Cond, 0, 0, 1}, Region{Loop, 1, 0, 1})...),
			"must be a body"},
		{"test without loop", regions(root(3, Region{Test, 0, 0, 1})...), "first item of a loop"},
		{"second test", regions(root(3, Region{Loop, 0, 0, 3}, Region{Test, 1, 0, 1},
			Region{Test, 1, 2, 3})...), "first item of a loop"},
		{"late test", regions(root(3, Region{Loop, 0, 0, 3}, Region{Test, 1, 1, 1})...),
			"first item of a loop"},
	}
	for _, tt := range tests {
		if err := tt.p.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one about %q", tt.name, err, tt.want)
		}
		for _, pn := range planners {
			if _, err := pn.Plan(tt.p); err == nil {
				t.Errorf("%s: %s plans it", tt.name, pn.name)
			}
		}
	}
	big := buffers(Buffer{Size: math.MaxInt64/2 - 8, Align: 8, Writes: []int{0}},
		Buffer{Size: math.MaxInt64/2 - 8, Align: 8, Writes: []int{0}})
	for _, pn := range planners {
		if pl, err := pn.Plan(big); err != nil || Check(big, pl) != nil {
			t.Errorf("%s: the largest problem: %v, %v", pn.name, err, Check(big, pl))
		}
	}
	if got := slices.Collect(func(yield func(string) bool) {
		for k := range Cond + 2 {
			yield(k.String())
		}
	}); !slices.Equal(got, []string{"body", "loop", "test", "cond", "unknown"}) {
		t.Errorf("kinds %v", got)
	}
}
