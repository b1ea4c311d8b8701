package main

import (
	"slices"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/measure"
)

// runsOf are runs whose times are between least and twice as much, by variant.
func runsOf(macs int64, least ...time.Duration) []measured {
	var runs []measured
	for _, d := range least {
		runs = append(runs, measured{times: measure.NewSample([]time.Duration{2 * d, d, 2 * d}),
			macs: macs})
	}
	return runs
}

// Speeds are of the best times and goals are held against them, whatever the
// median is.
func TestSpeedCells(t *testing.T) {
	runs := runsOf(1000, 40*time.Nanosecond, 50*time.Nanosecond, 400*time.Nanosecond)
	want := []string{"1", "0.04", "0.08", "25", "50.00", "50.0", "0.05", "0.10", "25", "40.00",
		"! 40.0", "0.40", "0.80", "25", "5.00", "5.0"}
	for i := range runs {
		d := runs[i].times.Least()
		runs[i].times = measure.NewSample([]time.Duration{d, 7 * d / 4, 2 * d, 9 * d / 4, 3 * d})
	}
	if got := speedCells(runs, 100, [2]float64{50, 45}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	runs[cNative].macs, runs[interpreted].times = 0, nil
	want = append([]string{none, "0.04", "0.08", "25", none, none}, append(want[6:11:11], "failed",
		none, none, none, none)...)
	if got := speedCells(runs, 100, [2]float64{50, 45}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRatioCells(t *testing.T) {
	us := time.Microsecond
	known := mark{"models/a", 3 * us, 150, "other 1.0"}
	for _, c := range []struct {
		least []time.Duration // as variants
		ok    bool
		want  []string
	}{
		{[]time.Duration{2 * us, 4 * us, 1, 6 * us, 8 * us, 12 * us}, true,
			[]string{"3.0", "other 1.0", "150", "0.67", "1.33", "2.00", "3.00", "4.00", "3.00"}},
		{[]time.Duration{6 * us, 4 * us, 1, 6 * us, 8 * us, 0}, true, []string{"3.0", "other 1.0",
			"150", "! 2.00", "1.33", "0.67", "1.00", "1.33", none}},
		{[]time.Duration{us / 10, 4 * us, 1, 6 * us, 8 * us, 12 * us}, true,
			[]string{"3.0", "other 1.0", "150", none, "1.33", none, none, none, "3.00"}},
		{[]time.Duration{2 * us, 4 * us, 1, 6 * us, 8 * us, 12 * us}, false, []string{none, none,
			none, none, none, "2.00", "3.00", "4.00", "3.00"}},
	} {
		m := known
		if !c.ok {
			m = mark{}
		}
		if got := ratioCells(runsOf(1, c.least...), m, c.ok); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %q, want %q", c.least, got, c.want)
		}
	}
}

// A ratio is marked for what it is only where the clock tells both times.
func TestGoals(t *testing.T) {
	ns := time.Nanosecond
	for _, c := range []struct {
		a, b        time.Duration
		most, least string // for goals of 2
	}{
		{600 * ns, 200 * ns, "! 3.00", "3.00"},
		{400 * ns, 200 * ns, "2.00", "2.00"},
		{300 * ns, 200 * ns, "1.50", "! 1.50"},
		{600 * ns, 199 * ns, none, none},
		{100 * ns, 300 * ns, none, none},
		{0, 300 * ns, none, none},
	} {
		if got := atMost(2, c.a, c.b); got != c.most {
			t.Errorf("at most 2, %v:%v: got %q, want %q", c.a, c.b, got, c.most)
		}
		if got := atLeast(2, c.a, c.b); got != c.least {
			t.Errorf("at least 2, %v:%v: got %q, want %q", c.a, c.b, got, c.least)
		}
	}
}
