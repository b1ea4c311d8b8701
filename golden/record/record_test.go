package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
)

const cases = "../cases/"

func TestInputs(t *testing.T) {
	x := cases + "dynamic_batch/input_0.bin"
	data, err := os.ReadFile(x)
	if err != nil {
		t.Fatal(err)
	}
	given, err := Inputs(File(cases+"dynamic_batch/model.pt2"), "", []string{x}, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := given.Values[0].Tensor
	if given.NPY || got.Len()*4 != int64(len(data)) || got.Shape[0] < 1 {
		t.Errorf("%v, npy %t", got, given.NPY)
	}
	file, err := tensor.FormatNPY(got)
	if err != nil {
		t.Fatal(err)
	}
	npy := filepath.Join(t.TempDir(), "x.npy")
	if err := os.WriteFile(npy, file, 0o666); err != nil {
		t.Fatal(err)
	}
	again, err := Inputs(File(cases+"dynamic_batch/model.pt2"), "", []string{npy}, 0)
	if err != nil || !again.NPY || !cmp.Equal(got, again.Values[0].Tensor) {
		t.Errorf("%v, %v", again, err)
	}
}

// Numbers that are part of the program are not asked for.
func TestInputsLeaveOutConstants(t *testing.T) {
	given, err := Inputs(File(cases+"scalar_inputs/model.pt2"), "",
		[]string{cases + "scalar_inputs/input_0.bin"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []ir.Arg{nil, ir.Int(3), ir.Float(0.5), ir.BoolArg(true), ir.Str("clip")}
	for i, v := range given.Values {
		if v.Scalar != want[i] {
			t.Errorf("input %d is %v, want %v", i, v, want[i])
		}
	}
}

func TestInputErrors(t *testing.T) {
	model := cases + "add/model.pt2"
	file := cases + "add/input_0.bin"
	for _, c := range []struct {
		words []string
		want  string
	}{
		{nil, "is not given"},
		{[]string{file}, "is not given"},
		{[]string{file, cases + "add/input_1.bin", file}, "too much"},
		{[]string{file, "absent.bin"}, "no such file"},
		{[]string{file, cases + "add/meta.json"}, "the model takes"},
	} {
		_, err := Inputs(File(model), "", c.words, 0)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.words, err, c.want)
		}
	}
}

// The same seed draws the same.
func TestRandom(t *testing.T) {
	for _, name := range []string{"dynamic_two", "embedding", "scalar_inputs", "where_mask"} {
		a, err := Random(File(cases+name+"/model.pt2"), "", 3, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := Random(File(cases+name+"/model.pt2"), "", 3, 0)
		if err != nil || !cmp.Equal(a, b) {
			t.Errorf("%s: the same seed draws another: %v", name, err)
		}
		for _, v := range a.Values {
			if v.Tensor != nil && v.Tensor.Check() != nil {
				t.Errorf("%s: %v", name, v.Tensor.Check())
			}
		}
	}
}

// Of an unpacked model, which is a folder, no case is made, and no folder either.
func TestCaseOfFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "case")
	err := Case(t.Context(), dir, t.TempDir(), nil, nil, "c")
	if err == nil || !strings.Contains(err.Error(),
		"only a .pt2, .pte or .bpte file can become part of a case") {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the case is there")
	}
}

// An output whose dtype NumPy has not is a raw file, whatever the inputs are.
func TestOutputsWithoutNPY(t *testing.T) {
	values := []tensor.Value{
		{Tensor: &tensor.Tensor{DType: ir.Float32, Shape: []int64{1}, Data: make([]byte, 4)}},
		{Tensor: &tensor.Tensor{DType: ir.BFloat16, Shape: []int64{1}, Data: []byte{1, 2}}},
	}
	pkg, _, err := Outputs("x", &way.CallResult{Outputs: values}, true)
	if err != nil {
		t.Fatal(err)
	}
	if pkg.File("output_0.npy") == nil || string(pkg.File("output_1.bin")) != "\x01\x02" {
		t.Errorf("files %v", pkg.Files)
	}
}
