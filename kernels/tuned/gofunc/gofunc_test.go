package gofunc_test

import (
	"testing"

	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gofunc"
)

// Every hand-made kernel that has a Go form can be called.
func TestLookup(t *testing.T) {
	found := 0
	for _, k := range tuned.Standard() {
		if k.Go == "" {
			continue
		}
		found++
		if f, ok := gofunc.Lookup(k.Go, nil); !ok || f == nil {
			t.Errorf("%s has no function %s", k.Name, k.Go)
		}
	}
	if found == 0 {
		t.Error("no kernel has a Go form")
	}
	if _, ok := gofunc.Lookup("none.F32", nil); ok {
		t.Error("a function that is not there")
	}
}
