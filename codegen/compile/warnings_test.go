package compile

import (
	"errors"
	"testing"

	"github.com/etgen/etgen/ir"
)

// A warning is shown and does no harm; with Strict it is an error.
func TestWarnings(t *testing.T) {
	odd := errors.New("a.pt2: odd")
	p := func() *ir.Program {
		return &ir.Program{Methods: []*ir.Method{{Name: "forward", Graph: &ir.Graph{}}},
			Warnings: []error{odd}}
	}
	var shown []error
	opt := Options{Lang: "c", Warn: func(err error) { shown = append(shown, err) }}
	if err := Lower(p(), opt); err != nil || len(shown) != 1 || shown[0] != odd {
		t.Errorf("shown %v, error %v", shown, err)
	}
	opt.Strict = true
	if err := Lower(p(), opt); !errors.Is(err, odd) || len(shown) != 1 {
		t.Errorf("strict: shown %v, error %v", shown, err)
	}
}
