package plan

import (
	"encoding/json"
	"testing"
)

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
memory 0: 24 bytes, aligned to 8; lower bound 24 (step 1), ratio 1.000
memory 1: 4 bytes, aligned to 4; lower bound 4 (step 8), ratio 1.000
memory 2: 16 bytes, aligned to 4; lower bound 16 (step 0), ratio 1.000
`
	if got := reportText(r); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	const wantJSON = `{"size":44,"lower_bound":44,"memories":[{"size":24,"align":8,"lower_bound":24,"peak_step":1,"ratio":1},{"size":4,"align":4,"lower_bound":4,"peak_step":8,"ratio":1},{"size":16,"align":4,"lower_bound":16,"peak_step":0,"ratio":1}],"buffers":[` +
		`{"id":0,"name":"in","memory":2,"size":16,"offset":0,"live":[{"first":0,"last":1}],"root":0},` +
		`{"id":1,"name":"x","memory":0,"size":16,"offset":0,"live":[{"first":1,"last":5}],"root":1},` +
		`{"id":2,"name":"c","memory":0,"size":8,"offset":16,"live":[{"first":1,"last":3},{"first":5,"last":6}],"root":2,"over":["t"]},` +
		`{"id":3,"name":"t","memory":0,"size":8,"offset":16,"live":[{"first":3,"last":5}],"root":3,"over":["c"]},` +
		`{"id":4,"name":"low","memory":0,"size":8,"offset":0,"root":1},` +
		`{"id":5,"name":"high","memory":0,"size":8,"offset":8,"root":1,"shift":8},` +
		`{"id":6,"name":"u","memory":0,"size":4,"offset":0,"live":[{"first":7,"last":8}],"root":6},` +
		`{"id":7,"name":"v","memory":1,"size":4,"offset":0,"live":[{"first":8,"last":9}],"root":7}]}`
	if string(text) != wantJSON {
		t.Errorf("got\n%s\nwant\n%s", text, wantJSON)
	}
	if _, err := NewReport(p, &Plan{}); err == nil {
		t.Error("a report of a plan for another problem")
	}
}
