package measure

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/etgen/etgen/golden/size"
)

// ReadBaseline reads what etgen bench --json wrote. The error names the file.
func ReadBaseline(path string) (*Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := &Report{}
	if err := json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, w := range b.Ways {
		if w == nil || w.Best <= 0 {
			return nil, fmt.Errorf("%s: it has a way without a time", path)
		}
	}
	if len(b.Ways) == 0 {
		return nil, fmt.Errorf("%s: it is not what etgen bench --json writes", path)
	}
	return b, nil
}

// Growth returns the best times of r's ways, in nanoseconds, and their memory, beside those of a
// baseline, which has to have been measured in the same ways. Times are those that the core of the
// baseline would take: they are scaled by the peaks of the two, if both are known.
func (r *Report) Growth(baseline *Report) ([]size.Growth, error) {
	scale := 1.0
	if r.Peak > 0 && baseline.Peak > 0 {
		scale = r.Peak / baseline.Peak
	}
	var list []size.Growth
	for _, now := range r.Ways {
		was := baseline.way(now.Name)
		switch {
		case was == nil:
			return nil, fmt.Errorf("the baseline is not of --via=%s", now.Name)
		case was.How != now.How:
			return nil, fmt.Errorf("the baseline is of %s, this is of %s", was.How, now.How)
		}
		list = append(list,
			size.Growth{Name: now.Name + " ns", Was: int64(1000 * was.Best),
				Now: int64(1000 * scale * now.Best)},
			size.Growth{Name: now.Name + " arena", Was: was.Arena, Now: now.Arena},
			size.Growth{Name: now.Name + " weights", Was: was.Weights, Now: now.Weights})
	}
	return list, nil
}

// way is the way of a name, nil if there is none.
func (r *Report) way(name string) *Way {
	for _, w := range r.Ways {
		if w.Name == name {
			return w
		}
	}
	return nil
}
