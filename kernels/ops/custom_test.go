package ops

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// Schemas of custom operators that no kernel can be written for are refused.
func TestCustomSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		"my::f(Tensor x) -> Tensor":                                "",
		"my::f.over(Tensor? x, Tensor[] y, float k=1.0) -> Tensor": "",
		"my::f(Tensor(a!) x, Tensor(b!) y) -> ()":                  "",
		"my::f(Tensor x) -> ()":                                    "neither returns nor writes",
		"my::f(Tensor x) -> int":                                   "only tensors can be results",
		"my::f(Tensor x) -> Tensor[]":                              "only tensors can be results",
		"my::f(Tensor(a!) x) -> Tensor(a!)":                        "a result is one of its arguments",
		"my::f(Tensor(a!)[] x) -> ()":                              "writes to a list",
		"my::f(Tensor x, Generator? g) -> Tensor":                  "which a kernel cannot take",
		"aten::my_own(Tensor x) -> Tensor":                         "its namespace is PyTorch's own",
		"aten::relu(Tensor self) -> Tensor":                        "is an operator that etgen has",
	} {
		s, err := aten.Parse(schema)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Standard().With(s)
		if want == "" && err != nil || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", schema, err, want)
		}
	}
}

// What a program calls is declared as it is known, or as its first call tells.
func TestDeclare(t *testing.T) {
	const text = `program "m.pt2"

method forward {
  input %%x: f32[2, 3]
  %s
  return (%%x)
}
`
	for call, want := range map[string]string{
		"%y: f32[2, 3] = my.f.default(x=%x, k=2.0, w=[1, 2])": "my::f(Tensor x, float k, int[] w) -> Tensor",
		"() = call: my.f.default(x=%x)":                       "neither returns nor writes",
		"%y: f32[2, 3], %z: f32[2, 3] = c: higher_order.auto_functionalized_v2(op(my.f.default), k=1, " +
			"_x_base_index=0, _all_bases=[%x])": "my::f(int k, Tensor(a1!) x) -> Tensor",
		"%y: f32[2, 3], %z: f32[2, 3] = c: higher_order.auto_functionalized(op(my.f.default), x=%x)": "does not say to which arguments it writes",
		"%y: f32[2, 3] = my.known.default(x=%x, k=1)":                                                "my::known(Tensor x, int k, bool b=False) -> Tensor",
	} {
		p, err := ir.Parse("m.txt", strings.Replace(strings.ReplaceAll(text, "%%", "%"), "%s", call, 1))
		if err != nil {
			t.Fatal(err)
		}
		known, err := aten.Parse("my::known(Tensor x, int k, bool b=False) -> Tensor")
		if err != nil {
			t.Fatal(err)
		}
		err = Declare(p, known)
		got := strings.Join(p.Custom, "; ")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s\nis declared as %q, want %q", call, got, want)
		}
		if err == nil {
			if _, err := Of(p); err != nil {
				t.Error(err)
			}
		}
	}
}
