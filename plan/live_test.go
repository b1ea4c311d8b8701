package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func root(last int, inner ...Region) []Region {
	return append([]Region{{Kind: Body, Parent: -1, First: 0, Last: last}}, inner...)
}

// One buffer, its region tree, and when it must be alive: the rules of the
// package comment one by one.
func TestLifetimes(t *testing.T) {
	loop := root(9, Region{Loop, 0, 2, 7})
	while := root(9, Region{Loop, 0, 2, 7}, Region{Test, 1, 2, 4}, Region{Body, 1, 5, 7})
	cond := root(9, Region{Cond, 0, 2, 7}, Region{Body, 1, 2, 4}, Region{Body, 1, 5, 7})
	condInLoop := root(9, Region{Loop, 0, 1, 8}, Region{Cond, 1, 2, 7}, Region{Body, 2, 2, 4},
		Region{Body, 2, 5, 7})
	emptyArm := root(5, Region{Cond, 0, 2, 3}, Region{Body, 1, 2, 3}, Region{Body, 1, 4, 3})
	tests := []struct {
		name    string
		regions []Region
		buffer  Buffer
		want    string
	}{
		{"straight line", nil, Buffer{Writes: []int{1}, Reads: []int{3, 2}}, "1..3"},
		{"never read", nil, Buffer{Writes: []int{1}}, "1"},
		{"never used", nil, Buffer{}, "-"},
		{"replaced: dead in between", nil, Buffer{Writes: []int{0, 4}, Reads: []int{2, 6}},
			"0..2,4..6"},
		{"updated: alive in between", nil, Buffer{Writes: []int{0, 4}, Reads: []int{2, 4, 6}},
			"0..6"},
		{"update as first write", nil, Buffer{Writes: []int{1, 3}, Reads: []int{1, 3, 4}}, "1..4"},

		{"captured by a loop", loop, Buffer{Writes: []int{0}, Reads: []int{4}}, "0..7"},
		{"written in a loop, read after it", loop, Buffer{Writes: []int{4}, Reads: []int{9}},
			"4..9"},
		{"perhaps replaced in a loop: an iteration once begun does so", loop,
			Buffer{Writes: []int{0, 4}, Reads: []int{9}}, "0..1,4..9"},
		{"updated in a loop", loop, Buffer{Writes: []int{0, 4}, Reads: []int{4, 9}}, "0..9"},
		{"local to a loop", loop, Buffer{Writes: []int{4}, Reads: []int{6}, Region: 1}, "4..6"},
		{"local without saying so: the write forgets", loop, Buffer{Writes: []int{4},
			Reads: []int{6}}, "4..6"},
		{"local, written in parts", loop, Buffer{Writes: []int{3, 4}, Reads: []int{3, 4, 6},
			Region: 1}, "3..6"},
		{"the same kept from iteration to iteration", loop, Buffer{Writes: []int{3, 4},
			Reads: []int{3, 4, 6}}, "2..7"},
		{"carried, replaced at the end", loop, Buffer{Writes: []int{1, 7}, Reads: []int{3, 9}},
			"1..3,7..9"},

		{"carried through a test", while, Buffer{Writes: []int{1, 7}, Reads: []int{5, 8}},
			"1..5,7..8"},
		{"not read in the loop, but the test may leave it", while, Buffer{Writes: []int{1, 7},
			Reads: []int{8}}, "1..4,7..8"},
		{"from test to body", while, Buffer{Writes: []int{3}, Reads: []int{6}, Region: 1}, "3..6"},

		{"last read in the first arm", cond, Buffer{Writes: []int{0}, Reads: []int{3}}, "0..3"},
		{"last read in the second arm: dead in the first", cond, Buffer{Writes: []int{0},
			Reads: []int{6}}, "0..1,5..6"},
		{"read in both", cond, Buffer{Writes: []int{0}, Reads: []int{2, 6}}, "0..2,5..6"},
		{"read after", cond, Buffer{Writes: []int{0}, Reads: []int{3, 8}}, "0..8"},
		{"result of both arms", cond, Buffer{Writes: []int{4, 6}, Reads: []int{9}}, "4,6..9"},
		{"replaced in one arm", cond, Buffer{Writes: []int{0, 4}, Reads: []int{9}}, "0..1,4..9"},
		{"local to an arm", cond, Buffer{Writes: []int{5}, Reads: []int{7}, Region: 3}, "5..7"},
		{"captured by a loop, read in one arm", condInLoop, Buffer{Writes: []int{0},
			Reads: []int{6}}, "0..8"},
		{"an iteration's own, read in one arm", condInLoop, Buffer{Writes: []int{1},
			Reads: []int{6}, Region: 1}, "1,5..6"},
		{"past an empty arm", emptyArm, Buffer{Writes: []int{0, 3}, Reads: []int{5}}, "0..1,3..5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.buffer.Name, tt.buffer.Size = "b", 4
			live, err := lifetimes(&Problem{Buffers: []Buffer{tt.buffer}, Regions: tt.regions})
			if err != nil {
				t.Fatal(err)
			}
			if got := spanText(live[0]); got != tt.want {
				t.Errorf("alive at %s, want %s", got, tt.want)
			}
		})
	}
}

func TestViewsExtendTheirRoot(t *testing.T) {
	p := &Problem{Buffers: []Buffer{
		{Name: "root", Size: 16, Writes: []int{1}},
		{Name: "half", Size: 8, Alias: &Alias{0, 8}, Reads: []int{3}},
		{Name: "quarter", Size: 4, Alias: &Alias{1, 4}, Writes: []int{2}, Reads: []int{6}},
		{Name: "all", Size: 16, Alias: &Alias{0, 0}, Writes: []int{8}, Reads: []int{9}},
	}}
	live, err := lifetimes(p)
	if err != nil {
		t.Fatal(err)
	}
	if got := spanText(live[0]); got != "1..6,8..9" {
		t.Errorf("root alive at %s, want 1..6,8..9", got)
	}
	pl, err := Greedy{}.Plan(p)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int64{0, 8, 12, 0}; !slices.Equal(pl.Offsets, want) {
		t.Errorf("offsets %v, want %v", pl.Offsets, want)
	}
}

func TestReadBeforeWrite(t *testing.T) {
	cond := root(9, Region{Cond, 0, 2, 7}, Region{Body, 1, 2, 4}, Region{Body, 1, 5, 7})
	loop := root(9, Region{Loop, 0, 2, 7})
	for i, p := range []*Problem{
		{Buffers: []Buffer{{Name: "b", Size: 4, Reads: []int{0}, Writes: []int{1}}}},
		{Buffers: []Buffer{{Name: "b", Size: 4, Reads: []int{6}, Writes: []int{3}}}, Regions: cond},
		{Buffers: []Buffer{{Name: "b", Size: 4, Reads: []int{3}, Writes: []int{6}, Region: 1}},
			Regions: loop},
		{Buffers: []Buffer{{Name: "b", Size: 4, Reads: []int{3}}}},
	} {
		for _, pn := range planners {
			if _, err := pn.Plan(p); err == nil ||
				!strings.Contains(err.Error(), "before anything is written") {
				t.Errorf("problem %d: %s: error %v", i, pn.name, err)
			}
		}
		pl := &Plan{Offsets: []int64{0}, Memories: []Memory{{Size: 4, Align: 1}}}
		if err := Check(p, pl); err == nil ||
			!strings.Contains(err.Error(), "nothing was written") {
			t.Errorf("problem %d: Check: error %v", i, err)
		}
	}
}

func TestDead(t *testing.T) {
	p := &Problem{
		Buffers: []Buffer{
			{Name: "a", Size: 4, Writes: []int{0}, Reads: []int{3}}, // in the first arm
			{Name: "b", Size: 4, Writes: []int{0}, Reads: []int{1}}, // before the cond
			{Name: "c", Size: 4, Writes: []int{0}, Reads: []int{8}},
			{Name: "x", Size: 4, Writes: []int{0}, Reads: []int{9}},
			{Name: "d", Size: 4, Writes: []int{0}, Reads: []int{4, 7}}, // at the end of both arms
		},
		Regions: root(9, Region{Cond, 0, 2, 7}, Region{Body, 1, 2, 4}, Region{Body, 1, 5, 7}),
	}
	dead, err := Dead(p)
	if err != nil {
		t.Fatal(err)
	}
	want := "[[] [] [1] [] [0] [0 1] [] [] [4] [2]]"
	if got := fmt.Sprint(dead); got != want {
		t.Errorf("dead %s, want %s", got, want)
	}
}
