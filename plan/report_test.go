package plan

import "testing"

func TestReport(t *testing.T) {
	p, _ := checked()
	pl, err := Best{}.Plan(p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReport(p, pl)
	if err != nil {
		t.Fatal(err)
	}
	const want = `  memory  offset  size      steps  buffer
       2       0    16       0..1  in
       0       0    16       1..5  x
       0      16     8  1..3,5..6  c over t
       0      16     8       3..5  t over c
       0       0     8          -  low = x + 0
       0       8     8          -  high = x + 8
       0       0     4       7..8  u
       1       0     4       8..9  v
memory 0: 24 bytes, aligned to 8; lower bound 24 (step 1)
memory 1: 4 bytes, aligned to 4; lower bound 4 (step 8)
memory 2: 16 bytes, aligned to 4; lower bound 16 (step 0)
`
	if got := reportText(p, pl, r); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if r.Size != 44 || r.LowerBound != 44 {
		t.Errorf("%d bytes, at least %d", r.Size, r.LowerBound)
	}
	if _, err := NewReport(p, &Plan{}); err == nil {
		t.Error("a report of a plan for another problem")
	}
}
