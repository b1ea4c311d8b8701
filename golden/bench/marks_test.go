package main

import (
	"testing"
	"time"
)

// Every line of the marks is read; those of a model that was measured where the
// peak is nearest are taken, and of them the best.
func TestMarks(t *testing.T) {
	all, err := readMarks(marksText)
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]bool{}
	for _, m := range all {
		models[m.model] = true
	}
	if len(models) < 7 {
		t.Errorf("marks of %d models", len(models))
	}
	if got := bestMarks(all, 250)["models/tv_mobilenet_v2"]; got != (mark{"models/tv_mobilenet_v2",
		3300 * time.Microsecond, 250, "XNNPACK in ExecuTorch"}) {
		t.Errorf("tv_mobilenet_v2 at 250 GFLOP/s: %v", got)
	}
}

func TestBestMarks(t *testing.T) {
	all, err := readMarks(`# a comment
models/a	20	-	100	slow
models/a	10	12.5	100	quick
models/a	1	1.5	400	far
models/b	3	3	400	only
`)
	if err != nil {
		t.Fatal(err)
	}
	for peak, want := range map[float64]string{10: "quick", 100: "quick", 190: "quick", 210: "far",
		400: "far", 1000: "far"} {
		best := bestMarks(all, peak)
		if got := best["models/a"]; got.by != want {
			t.Errorf("a at %g GFLOP/s: %v, want %s", peak, got, want)
		}
		if got := best["models/b"]; got != (mark{"models/b", 3 * time.Microsecond, 400, "only"}) {
			t.Errorf("b at %g GFLOP/s: %v", peak, got)
		}
		if _, ok := best["models/c"]; ok || len(best) != 2 {
			t.Errorf("%d models", len(best))
		}
	}
}

func TestReadMarksRefuses(t *testing.T) {
	for _, line := range []string{"models/a\t1\t250\tx", "models/a\tfast\t-\t250\tx",
		"models/a\t1\t0\t250\tx", "models/a\t1\t-\t-\tx", "models/a\tNaN\t-\t250\tx", ""} {
		if all, err := readMarks(line + "\n"); err == nil {
			t.Errorf("%q: %v", line, all)
		}
	}
}
