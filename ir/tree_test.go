package ir

import (
	"fmt"
	"testing"
)

func TestTreeLeaves(t *testing.T) {
	tree := &Tree{Type: "builtins.tuple", Children: []*Tree{
		{},
		{Type: "builtins.dict", Keys: []string{"a b", "c"}, Children: []*Tree{{},
			{Type: "builtins.list", Children: []*Tree{{}, {}}}}},
		{Type: "m.Data", Keys: []string{"x"}, Children: []*Tree{{}}},
	}}
	got := ""
	for _, p := range tree.Leaves() {
		got += fmt.Sprintf("%s %s %v\n", p, p.Name("out"), p.Keyed())
	}
	want := `[0] out0 false
[1]["a b"] out1_a b true
[1]["c"][0] out1_c_0 true
[1]["c"][1] out1_c_1 true
[2].x out2_x true
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if (*Tree)(nil).Leaves() != nil {
		t.Error("no tree has leaves")
	}
}
