package pt2

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
)

// TestArguments puts arguments of every kind in the place of a node's.
func TestArguments(t *testing.T) {
	const place = `{"as_tensor": {"name": "p_bias"}}, "kind"`
	inf := `[-Infinity, Infinity, NaN, 1.5]`
	for arg, want := range map[string]string{
		`{"as_none": true}`:                                                              "ir.None{}",
		`{"as_tensor": {"name": "p_bias"}}`:                                              "ref p_bias",
		`{"as_tensors": [{"name": "p_bias"}, {"name": "input"}]}`:                        "[ref p_bias ref input]",
		`{"as_tensors": []}`:                                                             "[]",
		`{"as_optional_tensor": {"as_none": true}}`:                                      "ir.None{}",
		`{"as_optional_tensor": {"as_tensor": {"name": "input"}}}`:                       "ref input",
		`{"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "input"}}]}`: "[ir.None{} ref input]",
		`{"as_nested_tensors": [[{"name": "input"}], []]}`:                               "[[ref input] []]",
		`{"as_int": 9223372036854775807}`:                                                "ir.Int 9223372036854775807",
		`{"as_ints": [-1, 2]}`:                                                           "[ir.Int -1 ir.Int 2]",
		`{"as_int_lists": [[1], [2, 3]]}`:                                                "[[ir.Int 1] [ir.Int 2 ir.Int 3]]",
		`{"as_float": 0.1}`:                                                              "ir.Float 0.1",
		`{"as_float": -Infinity}`:                                                        "ir.Float -Inf",
		`{"as_float": "-Infinity"}`:                                                      "ir.Float -Inf",
		`{"as_float": 3}`:                                                                "ir.Float 3",
		`{"as_floats": ` + inf +
			`}`: "[ir.Float -Inf ir.Float +Inf ir.Float NaN ir.Float 1.5]",
		`{"as_float_lists": [` + inf +
			`]}`: "[[ir.Float -Inf ir.Float +Inf ir.Float NaN ir.Float 1.5]]",
		`{"as_bool": false}`:                                     "ir.BoolArg false",
		`{"as_bools": [true]}`:                                   "[ir.BoolArg true]",
		`{"as_string": "NaN, -Infinity\n"}`:                      "ir.Str NaN, -Infinity\n",
		`{"as_strings": ["a", "b"]}`:                             "[ir.Str a ir.Str b]",
		`{"as_complex": {"real": NaN, "imag": -2}}`:              "ir.Complex (NaN-2i)",
		`{"as_sym_int": {"as_int": 4}}`:                          "ir.Int 4",
		`{"as_sym_ints": [{"as_int": 4}, {"as_name": "input"}]}`: "[ir.Int 4 ref input]",
		`{"as_sym_float": {"as_float": 4}}`:                      "ir.Float 4",
		`{"as_sym_bool": {"as_bool": true}}`:                     "ir.BoolArg true",
		`{"as_scalar_type": 13}`:                                 "ir.DTypeArg bfloat16",
		`{"as_scalar_type": 35}`:                                 "ir.DTypeArg uint64",
		`{"as_memory_format": 2}`: fmt.Sprintf("ir.MemoryFormat %d",
			ir.ChannelsLast),
		`{"as_layout": 7}`: "ir.LayoutArg 7",
		`{"as_device": {"type": "cpu", "index": null}}`: "ir.Device cpu",
		`{"as_device": {"type": "cuda", "index": 1}}`:   "ir.Device cuda:1",
		`{"as_operator": "torch.ops.aten.add.Tensor"}`:  "ir.OpArg aten.add.Tensor",
		`{"as_scalar_type": 14}`:                        "error: unknown dtype number 14",
		`{"as_memory_format": 9}`:                       "error: unknown memory format number 9",
		`{"as_layout": 8}`:                              "error: unknown layout number 8",
	} {
		p, err := ReadFS(edited(t, "testdata/linear.pt2", "model.json", place, arg+`, "kind"`), ".")
		if want, ok := strings.CutPrefix(want, "error: "); ok {
			wantError(t, err, `node "linear" (aten.linear.default)`, want)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", arg, err)
			continue
		}
		if got := argText(p.Methods[0].Graph.Nodes[0].Arg("bias")); got != want {
			t.Errorf("%s: %s, want %s", arg, got, want)
		}
	}
}

func argText(a ir.Arg) string {
	switch a := a.(type) {
	case ir.Ref:
		return "ref " + a.Value.Name
	case ir.None:
		return "ir.None{}"
	case ir.DTypeArg:
		return "ir.DTypeArg " + ir.DType(a).String()
	case ir.List:
		var parts []string
		for _, x := range a {
			parts = append(parts, argText(x))
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprintf("%T %v", a, a)
}

// TestInputsAndOutputs gives a model a constant input, a None and a sym_int,
// and literals as outputs.
func TestInputsAndOutputs(t *testing.T) {
	files := edited(t, "testdata/linear.pt2", "model.json",
		`{"as_tensor": {"name": "input"}}], "outputs": [`,
		`{"as_tensor": {"name": "input"}}, {"as_none": true}, {"as_float": NaN}, {"as_sym_int": {"as_name": "n"}}], "outputs": [{"as_none": true}, {"as_sym_int": {"as_name": "n"}}, `)
	graph := rootOf(files) + "/models/model.json"
	text := string(files[graph].Data)
	for _, r := range [][2]string{
		{`{"user_input": {"arg": {"as_tensor": {"name": "input"}}}}`,
			`{"user_input": {"arg": {"as_tensor": {"name": "input"}}}},
			{"constant_input": {"name": "mask", "value": {"as_none": true}}}, {"constant_input": {"name": "scale", "value": {"as_float": NaN}}},
			{"user_input": {"arg": {"as_sym_int": {"as_name": "n"}}}}`},
		{`"output_specs": [`,
			`"output_specs": [{"user_output": {"arg": {"as_none": true}}}, {"user_output": {"arg": {"as_sym_int": {"as_name": "n"}}}}, `},
		{`"sym_int_values": {}`,
			`"sym_int_values": {"n": {"as_expr": {"expr_str": "Symbol('s1', positive=True, integer=True)"}}}`},
		{`\"children_spec\": []}]}, {`,
			`\"children_spec\": []}, {\"type\": null}, {\"type\": null}, {\"type\": null}]}, {`},
		{`"[1, {\"type\": null, \"context\": null, \"children_spec\": []}]"`,
			`"[1, {\"type\": \"builtins.dict\", \"context\": \"[\\\"a\\\", \\\"b\\\", 3]\", \"children_spec\": [{}, {}, {}]}]"`},
	} {
		if !strings.Contains(text, r[0]) {
			t.Fatalf("no %s", r[0])
		}
		text = strings.Replace(text, r[0], r[1], 1)
	}
	files[graph].Data = []byte(text)
	p, err := ReadFS(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(p); err != nil {
		t.Error(err)
	}
	m := p.Methods[0]
	var got []string
	for i, v := range m.Graph.Inputs[2:] {
		got = append(got, fmt.Sprint(v.Name, " ", v.Type.Kind, " ", m.Inputs[i+2].Kind, " ",
			m.Inputs[i+2].Fixed))
	}
	want := []string{
		fmt.Sprint("input ", ir.TensorKind, " ", ir.UserInput, " <nil>"),
		fmt.Sprint("mask ", ir.NoneKind, " ", ir.ConstantInput, " {}"),
		fmt.Sprint("scale ", ir.FloatKind, " ", ir.ConstantInput, " NaN"),
		fmt.Sprint("n ", ir.IntKind, " ", ir.UserInput, " <nil>"),
	}
	if !slices.Equal(got, want) {
		t.Errorf("inputs %q, want %q", got, want)
	}
	if s := m.Symbols; len(s) != 1 || s[0].Name != "s1" || !s[0].Lo.Is(1) ||
		m.Graph.Inputs[5].Type.Expr.String() != "s1" {
		t.Errorf("symbols %v", s)
	}
	if _, ok := m.Graph.Outputs[0].(ir.None); !ok {
		t.Errorf("output 0 is %v", m.Graph.Outputs[0])
	}
	if m.Out.Type != "builtins.dict" || !slices.Equal(m.Out.Keys, []string{"a", "b", "3"}) {
		t.Errorf("outputs %+v", m.Out)
	}
}

func TestTreeKeys(t *testing.T) {
	c := &converter{wire: &wireProgram{namedtuples: map[string][]string{"m.NT": {"x", "y"}}}}
	for text, want := range map[string]string{
		`[1, {"type": "collections.namedtuple", "context": "m.NT", "children_spec": [{"type": null}, {}]}]`:                                                    "[x y]",
		`[1, {"type": "collections.namedtuple", "context": "m.Other", "children_spec": [{}, {}]}]`:                                                             "[]",
		`[1, {"type": "collections.OrderedDict", "context": "[\"out\", \"aux\"]", "children_spec": [{}, {}]}]`:                                                 "[out aux]",
		`[1, {"type": "collections.defaultdict", "context": "{\"default_factory_name\": \"list\", \"dict_context\": [\"p\", 2]}", "children_spec": [{}, {}]}]`: "[p 2]",
		`[1, {"type": "m.Data", "context": "[[\"x\", \"y\"], [\"none\"]]", "children_spec": [{}, {}]}]`:                                                        "[x y]",
		`[1, {"type": "m.Output", "context": "[\"x\", \"y\"]", "children_spec": [{}, {}]}]`:                                                                    "[x y]",
		`[1, {"type": "builtins.dict", "context": "[1", "children_spec": [{}, {}]}]`:                                                                           "[]",
		`[1, {"type": "builtins.list", "context": "null", "children_spec": [{}, {}]}]`:                                                                         "[]",
	} {
		tree, err := c.tree("in_spec", text, 2)
		if err != nil || fmt.Sprint(tree.Keys) != want || len(tree.Children) != 2 {
			t.Errorf("%s: %+v, %v", text, tree, err)
		}
	}
	for _, text := range []string{`[1, {}]`, `[1]`, `[]`, `{}`, `[1, null]`,
		`[1, {"children_spec": 3}]`, `[1, {}] x`} {
		if tree, err := c.tree("in_spec", text, 2); err == nil {
			t.Errorf("%s: %+v", text, tree)
		}
	}
}

// TestRegionNames checks that names a sub-graph shares with the graph around
// it become unique and stay bound to the right values.
func TestRegionNames(t *testing.T) {
	p, c, err := Read("testdata/scan-2.6.pt2")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	g := p.Methods[0].Graph
	scan := g.Nodes[len(g.Nodes)-1]
	body := scan.Regions[0]
	if in := body.Nodes[0].Arg("self").(ir.Ref).Value; in != body.Inputs[0] {
		t.Errorf("the body's mul reads %s", in.Name)
	}
	if body.Nodes[0].Name == "mul" || body.Nodes[0].Outputs[0].Name == "mul" {
		t.Error("the body's mul has the name of the outer one")
	}
	if len(scan.Args) != 5 || scan.Arg("dim") != ir.Int(0) ||
		scan.Arg("reverse") != ir.BoolArg(false) {
		t.Errorf("scan %v", scan.Args)
	}
}
