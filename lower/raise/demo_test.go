package raise

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// Payloads of demonstrations that say what they do are opened; others are errors that say why
// they are not.
func TestDemoPayloads(t *testing.T) {
	const sin = "1version:0#op:demo::aten.sin.default, numel:1, dtype:torch.float32" +
		"<debug_handle>1#"
	spec := func(value ...byte) []ir.CompileSpec {
		return []ir.CompileSpec{{Key: "max_value", Value: value}}
	}
	for _, c := range []struct {
		id, text string
		specs    []ir.CompileSpec
		args     int
		want     string
	}{
		{compilerDemo, sin, nil, 2, ""},
		{compilerDemo, sin, spec(4), 2, ""},
		{compilerDemo, sin, spec(4, 0, 0, 0), 2, ""},
		{compilerDemo, sin, spec(5), 2, "its compile spec max_value is 5, more than 4"},
		{compilerDemo, sin, nil, 3, "takes 2"},
		{compilerDemo, sin[:len(sin)-1], nil, 2, "its payload is no list of operators"},
		{compilerDemo, "2" + sin[1:], nil, 2, "its payload is no list of operators"},
		{compilerDemo, "x", nil, 2, "its payload is no list of operators"},
		{compilerDemo, strings.Replace(sin, "numel:1", "numel:-1", 1), nil, 2,
			"its payload has no operator"},
		{compilerDemo, strings.Replace(sin, "aten.sin", "aten.cos", 1), nil, 2,
			"does not say what its operators, aten.cos.default, work on; that is nowhere in the file"},
		{mappingDemo, "1#conv,0,", nil, 2, "has names for a profiler"},
		{mappingDemo, "2#conv,0,", nil, 2, "its payload is no list of names"},
		{executor, "nothing", nil, 2, "pte: a file of 7 bytes"},
	} {
		p, err := openDelegate(&pte.Delegate{ID: c.id, Processed: ir.Bytes(c.text), Specs: c.specs},
			nil)
		if err == nil {
			_, err = p.Outputs(c.args)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.id, c.text, err, c.want)
		}
	}
}
