package sym

import "testing"

func TestRowMajor(t *testing.T) {
	i, j, k := NewVar("i", Int(2)).Expr(), NewVar("j", Int(1)).Expr(), NewVar("k", Int(5)).Expr()
	if got := RowMajor([]Expr{Int(2), Int(1), Int(5)}, []Expr{i, j, k}).String(); got != "5*i + k" {
		t.Errorf("got %s", got)
	}
	if got := RowMajor(nil, nil); !got.IsZero() {
		t.Errorf("a tensor without dimensions: got %s", got)
	}
}
