package aten

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestOutVariantSchemas derives the schema of every out variant whose
// functional operator PyTorch has and compares its arguments with PyTorch's
// own; alias sets have other letters there.
func TestOutVariantSchemas(t *testing.T) {
	data, err := os.ReadFile("../../../shared/reference/aten_schemas_2.14.txt")
	if err != nil {
		t.Skip("../shared/reference is not here: ", err)
	}
	theirs := map[string]*Schema{}
	for line := range strings.Lines(string(data)) {
		if s, err := Parse(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line),
			"*"))); err == nil {
			theirs[s.Name] = s
		}
	}
	n := 0
	for line := range strings.Lines(outVariantsText) {
		v, _ := OutOf(strings.Fields(line)[0])
		f, want := theirs[v.Functional], theirs[v.Name]
		if f == nil || want == nil {
			continue
		}
		n++
		if got := v.Schema(f); !slices.EqualFunc(got.Args, want.Args, sameParam) {
			t.Errorf("derived\n\t%s\nPyTorch's\n\t%s", got, want)
		}
	}
	if n < 900 {
		t.Errorf("only %d variants compared", n)
	}
}

func sameParam(a, b Param) bool {
	return a.Name == b.Name && a.Type.Name == b.Type.Name && a.Type.Optional == b.Type.Optional &&
		a.Type.Base().Name == b.Type.Base().Name && a.Type.Mutates() == b.Type.Mutates()
}

func TestOutVariant(t *testing.T) {
	for functional, want := range map[string]string{
		"aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, " +
			"Device? device=None, bool? pin_memory=None) -> Tensor": "aten::full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor",
		"aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]": "aten::unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> Tensor[]",
		"quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor input, " +
			"ScalarType dtype) -> (Tensor, Tensor)": "quantized_decomposed::choose_qparams_per_token_asymmetric.out(Tensor input, ScalarType dtype, *, Tensor(a!) scale_out, Tensor(b!) zero_point_out) -> (Tensor, Tensor)",
	} {
		f, err := Parse(functional)
		if err != nil {
			t.Fatal(err)
		}
		v, ok := OutOf(f.Name)
		if !ok {
			t.Errorf("%s has no out variant", f.Name)
			continue
		}
		if got := v.Schema(f).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if back, ok := OutNamed(v.Name); !ok || back != v {
			t.Errorf("OutNamed(%s) = %v, %v", v.Name, back, ok)
		}
	}
}
