package record

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
)

// A suite has the calls of its method that are not refused; of calls that share state the first.
func TestSuite(t *testing.T) {
	const dir = "../delegated/two_methods"
	c, err := testcase.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]testcase.Call{}
	for _, call := range c.Calls {
		calls[c.Methods[call.Method]] = call
	}
	encode, forward := calls["encode"], calls["forward"]
	refused := testcase.Call{Method: forward.Method, Refused: "a guard"}
	for _, k := range []struct {
		stateful bool
		calls    []testcase.Call
		want     int // 0: an error
	}{
		{false, []testcase.Call{encode, forward, refused, forward}, 2},
		{true, []testcase.Call{forward, encode, forward}, 1},
		{true, []testcase.Call{encode, forward}, 0},
		{false, []testcase.Call{encode, refused}, 0},
	} {
		kase := &testcase.Case{Methods: c.Methods, Stateful: k.stateful, Calls: k.calls}
		s, err := Suite(t.Context(), way.RT{}, dir+"/model.pte", "forward", kase)
		switch {
		case k.want == 0 && (err == nil || !strings.Contains(err.Error(), "call of method forward")):
			t.Errorf("%+v: %v", k, err)
		case k.want > 0 && (err != nil || s.Method != "forward" || len(s.Cases) != k.want):
			t.Errorf("%v, want %d: %+v", err, k.want, s)
		}
	}
}
