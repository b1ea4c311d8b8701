package main

import (
	"strings"
	"testing"
)

// Both languages recognise what PyTorch recognises.
func TestDemo(t *testing.T) {
	rows, err := run(t.Context(), "../cases/digits")
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.right != 356 || r.of != 360 || r.agree != 360 {
			t.Errorf("%+v", r)
		}
	}
	var b strings.Builder
	print(&b, rows)
	if !strings.Contains(b.String(), "356 of 360 (98.89 %)") {
		t.Error(b.String())
	}
}
