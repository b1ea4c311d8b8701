package pt2

import (
	"archive/zip"
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
)

// edgeGraph has two nodes of one handle, and one in a region.
const edgeGraph = `{"graph_module": {"graph": {"inputs": [], "outputs": [], "nodes": [
	{"name": "mm", "target": "executorch.exir.dialects.edge.ops.aten.mm.default", "inputs": [],
	 "outputs": [], "metadata": {"debug_handle": "3", "stack_trace":
	  "  File \"net.py\", line 7, in forward\n    return a @ b"}},
	{"name": "add", "target": "executorch.exir.dialects.edge.ops.aten.add.Tensor", "inputs": [],
	 "outputs": [], "metadata": {"debug_handle": "3"}},
	{"name": "unset", "target": "aten.sin.default", "inputs": [], "outputs": [],
	 "metadata": {"debug_handle": "0"}},
	{"name": "cond", "target": "torch.ops.higher_order.cond", "outputs": [], "metadata": {}, "inputs": [
	 {"name": "", "arg": {"as_graph": {"name": "t", "graph": {"inputs": [], "outputs": [], "nodes": [
	  {"name": "cos", "target": "torch.ops.aten.cos.default", "inputs": [], "outputs": [],
	   "metadata": {"debug_handle": "4"}}]}}}}]}
	]}, "signature": {}}}`

// recordOf is an archive of members and their texts, in turn.
func recordOf(members ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: members[i]})
		w.Write([]byte(members[i+1]))
	}
	z.Close()
	return b.Bytes()
}

// A single method's graph is called forward; a delegate's events have handles of their own.
func TestRecord(t *testing.T) {
	data := recordOf(recordMember, "", edgeMember+"/forward", edgeGraph,
		edgeMember+"/forward_constants", "?", handlesMember, `{"encode": {"0": 3, "5": [4, 3, 9]}}`,
		delegatesMember, `{"encode": {"5": {"name": "B", "delegate_map": {"sin #1": [4]}}}}`,
		outsMember, `{"encode": {"5": 2}}`)
	rec, err := parseRecord(bytes.NewReader(data), int64(len(data)), "x.etrecord")
	if err != nil {
		t.Fatal(err)
	}
	if outs := rec["encode"].Outs; len(outs) != 1 || outs[5] != 2 {
		t.Errorf("results of delegates: %v", outs)
	}
	mm := ir.Origin{Node: "mm", Op: "aten.mm.default", Loc: ir.Location{File: "net.py", Line: 7}}
	add := ir.Origin{Node: "add", Op: "aten.add.Tensor"}
	cos := ir.Origin{Node: "cos", Op: "aten.cos.default"}
	for _, tt := range []struct {
		instruction int
		event       string
		want        []ir.Origin
	}{{0, "", []ir.Origin{mm, add}}, {5, "", []ir.Origin{cos, mm, add}},
		{5, "sin #1", []ir.Origin{cos}}, {5, "sin #2", nil}, {0, "sin #1", nil}, {7, "", nil}} {
		got := rec["encode"].Origins(tt.instruction, tt.event)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%d %q (-want +got):\n%s", tt.instruction, tt.event, diff)
		}
	}
}

// A delegate returns what other nodes read of its nodes, in their order, if that is as much as it
// is said to return.
func TestRecordResults(t *testing.T) {
	node := func(name, handle, in string, out ...string) string {
		var outs []string
		for _, name := range out {
			outs = append(outs, `{"as_tensor": {"name": "`+name+`"}}`)
		}
		return `{"name": "` + name + `", "target": "torch.ops.aten.` + name + `", "inputs": [{"name": "x",
			"arg": {"as_tensors": [{"name": "` + in + `"}]}}], "outputs": [` + strings.Join(outs, ", ") +
			`], "metadata": {"debug_handle": "` + handle + `"}}`
	}
	tensor := `{"dtype": 7, "layout": 7, "sizes": [{"as_int": 2}, {"as_expr": {"expr_str": "s0"}}],
		"strides": [], "storage_offset": {"as_int": 0}}`
	var tensors []string
	for _, name := range []string{"a", "b", "values", "places", "c", "d"} {
		tensors = append(tensors, `"`+name+`": `+tensor)
	}
	graph := `{"graph_module": {"graph": {"inputs": [], "outputs": [{"as_tensor": {"name": "places"}},
		{"as_tensor": {"name": "c"}}, {"as_tensor": {"name": "d"}}], "nodes": [` + strings.Join([]string{
		node("first", "1", "x", "a"), node("second", "2", "a", "b"),
		node("most", "3", "b", "values", "places"), node("third", "4", "values", "c"),
		node("other", "5", "a", "d")}, ", ") + `], "tensor_values": {` + strings.Join(tensors, ", ") +
		`}}, "signature": {}}}`
	data := recordOf(recordMember, "", edgeMember+"/forward", graph, handlesMember,
		`{"forward": {"0": [4, 1, 3, 2], "1": [1, 2], "2": 5}}`, outsMember,
		`{"forward": {"0": 3, "1": 3, "2": 1}}`)
	rec, err := parseRecord(bytes.NewReader(data), int64(len(data)), "x.etrecord")
	if err != nil {
		t.Fatal(err)
	}
	result := func(name string, index int) Result {
		return Result{ir.Origin{Node: name, Op: "aten." + name}, index, ir.Float32, []int64{2, -1}}
	}
	want := map[int][]Result{0: {result("first", 0), result("most", 1), result("third", 0)}}
	if diff := cmp.Diff(want, rec["forward"].Results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// A record is of another build than a run if most instructions are called otherwise. Those that run
// a delegate call no kernel.
func TestUnlike(t *testing.T) {
	m := &RecordMethod{Handles: map[int]Handles{0: {1}, 1: {2}, 2: {1, 2}},
		Outs:      map[int]int{1: 1},
		Delegates: map[int]Delegate{2: {}},
		Nodes:     map[int][]ir.Origin{1: {{Op: "aten.view.default"}}, 2: {{Op: "aten.sin.default"}}}}
	for _, tt := range []struct {
		kernels map[int]string
		unlike  bool
	}{
		{map[int]string{}, false},
		{map[int]string{0: "view_copy.out", 1: "delegate", 2: "delegate"}, false},
		{map[int]string{0: "view_copy.out"}, false},
		{map[int]string{0: "add.out"}, true},
		{map[int]string{0: "delegate"}, true},
		{map[int]string{1: "sin.out"}, true},
		{map[int]string{2: "sin.out"}, true},
		{map[int]string{7: "sin.out"}, true},
	} {
		if why := m.Unlike(tt.kernels); (why != nil) != tt.unlike {
			t.Errorf("%v: %v", tt.kernels, why)
		}
	}
}

func TestRecordErrors(t *testing.T) {
	for _, tt := range []struct{ data, want string }{
		{"PK", "not a readable zip"},
		{string(recordOf("data.pkl", "")), "it is no ETRecord: it has no member ETRECORD_V0"},
		{string(recordOf(recordMember, "", handlesMember, `{"f": {"x": 1}}`)),
			"(debug_handle_map): it is damaged"},
		{string(recordOf(recordMember, "", handlesMember, `{"f": {}}`, edgeMember+"/f", `{`)),
			"(edge_dialect_exported_program/f): the JSON ends early"},
		{string(recordOf(recordMember, "", recordMember, "")), `two members called "ETRECORD_V0"`},
	} {
		_, err := parseRecord(strings.NewReader(tt.data), int64(len(tt.data)), "x.etrecord")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// TestRecordSamples reads what ExecuTorch's exporter wrote.
func TestRecordSamples(t *testing.T) {
	files, err := filepath.Glob("../../../shared/devtools-samples/etrecord_*/*.etrecord")
	if err != nil || len(files) == 0 {
		t.Skip("no samples")
	}
	for _, file := range files {
		rec, err := ReadRecord(file)
		if err != nil {
			t.Fatal(err)
		}
		nodes := rec["forward"].Origins(0, "")
		if len(nodes) == 0 || nodes[0].Node != "aten_convolution_default" || nodes[0].Loc.Line != 92 {
			t.Errorf("%s: instruction 0 is %v", file, nodes)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(edgeGraph, `{"forward": {"0": 3, "5": [4, 3, 9]}}`,
		`{"forward": {"5": {"name": "B", "delegate_map": {"1": 4}}}}`, `{"forward": {"5": 1}}`)
	file := writtenRecord(f)
	a := openZip(bytes.NewReader(file), int64(len(file)))
	text := func(member string) string { return string(must.Get(a.read(member, maxJSON))) }
	f.Add(text(edgeMember+"/forward"), text(handlesMember), text(delegatesMember), text(outsMember))
	f.Fuzz(func(t *testing.T, graph, handles, delegates, outs string) {
		data := recordOf(recordMember, "", edgeMember+"/forward", graph, handlesMember, handles,
			delegatesMember, delegates, outsMember, outs)
		rec, err := parseRecord(bytes.NewReader(data), int64(len(data)), "x.etrecord")
		if err != nil {
			wantError(t, err)
		}
		for _, m := range rec {
			for k := range m.Handles {
				m.Origins(k, "")
			}
		}
	})
}
