package pt2

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/ir"
)

const recordedNet = `program "net.pt2"

method forward {
  symbol s0 in [2, 9]
  parameter %w: f32[2] "a.w" = [1.0, 2.0]
  buffer %b: u16[2] "a.b" persistent = [3, 4]
  input %x: f32[s0, 2]
  input %p: b8[]

  const %k: f32[1] = [0.5]
  %mul: f32[s0, 2] = aten.mul.Tensor(self=%x, other=%w)  # net.py:7 in a
  %n: int(s0) = aten.sym_size.int(self=%mul, dim=0)
  %y: f32[s0, 2] = c: higher_order.cond(%p)
    region () {
      %add: f32[s0, 2] = aten.add.Tensor(self=%mul, other=%k)
      return (%add)
    }
    region () {
      %full: f32[s0, 2] = aten.full.default(size=[%n, 2], fill_value=inf)
      return (%full)
    }
  %i: f32[s0, 2] = aten.index.Tensor(self=%y, indices=[none, none])
  %z: f32[s0, 2] = l: higher_order.while_loop([%i])
    region (%before: f32[s0, 2]) {
      %any: b8[] = aten.any.default(self=%before)
      return (%any)
    }
    region (%old: f32[s0, 2]) {
      %sub: f32[s0, 2] = aten.sub.Tensor(self=%old, other=%k)
      return (%sub)
    }
  %sum: f32[2], %rows: f32[s0, 2] = s: higher_order.scan(init=[%w], xs=[%z], reverse=true)
    region (%had: f32[2], %row: f32[2]) {
      %more: f32[2] = aten.add.Tensor(self=%had, other=%row)
      return (%more, %row)
    }
  return (%rows)
}
`

// writtenRecord is the record of recordedNet.
func writtenRecord(t testing.TB) []byte {
	t.Helper()
	p, err := ir.Parse("net.pt2", recordedNet)
	if err != nil {
		t.Fatal(err)
	}
	rec := Record{"forward": {Handles: map[int]Handles{0: {1}, 4: {2, 1}},
		Delegates: map[int]Delegate{4: {Backend: "B", Events: map[string]Handles{"7": {2}}}},
		Outs:      map[int]int{4: 1},
		Nodes:     map[int][]ir.Origin{1: {{Node: "mul"}}, 2: {{Node: "add"}}}}}
	var file bytes.Buffer
	if err := WriteRecord(&file, p, rec); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// What is written is read: nodes by instruction, operands of regions, numbers without a word in
// JSON, and tensors of the dtypes that torch.save has two forms for.
func TestWriteRecord(t *testing.T) {
	file := writtenRecord(t)
	got, err := parseRecord(bytes.NewReader(file), int64(len(file)), "net.etrecord")
	if err != nil {
		t.Fatal(err)
	}
	if got["forward"].Outs[4] != 1 {
		t.Errorf("instruction 4 gives %d results", got["forward"].Outs[4])
	}
	mul := ir.Origin{Node: "mul", Op: "aten.mul.Tensor",
		Loc: ir.Location{File: "net.py", Line: 7, Module: "a"}}
	add := ir.Origin{Node: "add", Op: "aten.add.Tensor"}
	if diff := cmp.Diff([]ir.Origin{add, mul}, got["forward"].Origins(4, "")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]ir.Origin{add}, got["forward"].Origins(4, "7")); diff != "" {
		t.Error(diff)
	}

	a := openZip(bytes.NewReader(file), int64(len(file)))
	text, err := a.read(edgeMember+"/forward", maxJSON)
	if err != nil || !bytes.Contains(text, []byte(`{"as_float":Infinity}`)) {
		t.Errorf("%v, no Infinity in %s", err, text)
	}
	text = bytes.ReplaceAll(text, []byte("Infinity"), []byte("0"))
	var graph struct {
		Module struct {
			Graph struct {
				Nodes []struct {
					Name, Target string
					Inputs       []struct{ Arg json.RawMessage }
					Outputs      []json.RawMessage
				}
			}
		} `json:"graph_module"`
	}
	if err := json.Unmarshal(text, &graph); err != nil {
		t.Fatal(err)
	}
	args := func(node string) (text string) {
		for _, n := range graph.Module.Graph.Nodes {
			for _, in := range n.Inputs {
				if n.Name == node {
					text += string(in.Arg)
				}
			}
			if n.Name == node {
				text += fmt.Sprintf(" -> %s", n.Outputs)
			}
		}
		return text
	}
	for node, want := range map[string][]string{
		"c": {`{"as_tensor":{"name":"p"}}{"as_graph":`,
			`{"as_tensors":[{"name":"mul"},{"name":"k"}]}{"as_sym_int":{"as_name":"n"}}`,
			`"as_sym_ints":[{"as_name":"n"},{"as_int":2}]`},
		"l": {`"is_single_tensor_return":true`, `"is_single_tensor_return":false`,
			` -> [{"as_tensors":[{"name":"z"}]}]`},
		"s":    {`{"as_tensors":[{"name":"w"}]}{"as_tensors":[{"name":"z_1"}]}{"as_ints":[]} -> [{"as_tensor":{"name":"sum"}} {"as_tensor":{"name":"rows_1"}}]`},
		"z_1":  {`{"as_tensor":{"name":"z"}}{"as_ints":[0]} -> [{"as_tensor":{"name":"z_1"}}]`},
		"rows": {`{"as_tensor":{"name":"rows_1"}}{"as_ints":[0]} -> [{"as_tensor":{"name":"rows"}}]`},
		"i":    {`{"as_tensor":{"name":"y"}}{"as_optional_tensors":[{"as_none":[]},{"as_none":[]}]} -> [{"as_tensor":{"name":"i"}}]`},
	} {
		for _, w := range want {
			if !strings.Contains(args(node), w) {
				t.Errorf("%s has %s, not %s", node, args(node), w)
			}
		}
	}
	for member, want := range map[string]map[string]string{
		"state_dict": {"a.w": "f32 00 00 80 3f 00 00 00 40", "a.b": "u16 03 00 04 00"},
		"constants":  {"k": "f32 00 00 00 3f"}} {
		save := openTorchSave(a.blob(edgeMember + "/forward_" + member))
		found := map[string]string{}
		for name, x := range save.tensors() {
			data, err := ir.Tensor(&ir.Constant{Type: x.typ, Data: save.storage(x.storage)})
			if err != nil {
				t.Fatal(err)
			}
			found[name] = x.typ.DType.Short() + strings.TrimSuffix(hexOf(data), " ")
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s: %s", member, diff)
		}
	}
}

func hexOf(data []byte) (text string) {
	for _, b := range data {
		text += " " + string("0123456789abcdef"[b>>4]) + string("0123456789abcdef"[b&15])
	}
	return text
}
