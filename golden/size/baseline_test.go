package size

import (
	"strings"
	"testing"
)

// A figure may grow by as many percent as are allowed, and no more.
func TestPrintGrowth(t *testing.T) {
	list := []Growth{{"flash", 1000, 1030}, {"ram", 0, 0}, {"stack", 0, 8}, {"text", 100, 90}}
	for _, tt := range []struct {
		most float64
		over int
	}{{0, 2}, {2.9, 2}, {3, 1}, {100, 0}} {
		var b strings.Builder
		if got := PrintGrowth(&b, list, tt.most); got != tt.over {
			t.Errorf("%d figures have grown by more than %g %%, want %d:\n%s", got, tt.most, tt.over, &b)
		}
		if got := strings.Count(b.String(), "too much"); got != tt.over {
			t.Errorf("%d figures are marked:\n%s", got, &b)
		}
	}
}
