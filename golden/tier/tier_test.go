package tier

import (
	"flag"
	"slices"
	"testing"
)

// set has the rest of a test run in a tier.
func set(t *testing.T, now Tier) {
	t.Helper()
	before := flag.Lookup("test.short").Value.String()
	t.Cleanup(func() { flag.Set("test.short", before) })
	value := ""
	if now == All {
		value = "all"
	}
	t.Setenv(Variable, value)
	short := "false"
	if now == Short {
		short = "true"
	}
	if err := flag.Set("test.short", short); err != nil {
		t.Fatal(err)
	}
}

func TestTiers(t *testing.T) {
	list := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for now, want := range map[Tier][]int{Short: {}, Normal: {0, 3, 6}, All: list} {
		set(t, now)
		if Now() != now || Of(Short, Normal, All) != now {
			t.Errorf("it is %v and %v, want %v", Now(), Of(Short, Normal, All), now)
		}
		if got := Some(list, 0, 3); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", now, got, want)
		}
		if got := Some(list, -1, 20); !slices.Equal(got, list) {
			t.Errorf("%v: %v, want all", now, got)
		}
		skipped := false
		t.Run("needs", func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			Needs(t, Normal)
		})
		if skipped != (now < Normal) {
			t.Errorf("%v: skipped is %v", now, skipped)
		}
	}
}

// A word that is no tier is not taken for the normal one.
func TestUnknown(t *testing.T) {
	set(t, Normal)
	t.Setenv(Variable, "most")
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Now()
}
