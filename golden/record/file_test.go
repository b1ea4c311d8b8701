package record

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// twoMethods writes a program with a case's model as two methods, and returns its
// path.
func twoMethods(t *testing.T, dir string) string {
	t.Helper()
	p, closer, err := compile.Read(filepath.Join(dir, "model.pt2"))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	out, err := compile.PTE(p, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again := *out.Program.Plans[0]
	again.Name = "again"
	out.Program.Plans = append(out.Program.Plans, &again)
	path := filepath.Join(t.TempDir(), "two.pte")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := pte.Write(f, out.Program); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each method of a program runs, in the runtime and compiled.
func TestMethods(t *testing.T) {
	const dir = "../cases/int32_arith"
	c, err := testcase.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := twoMethods(t, dir)
	words := []string{filepath.Join(dir, "input_0.bin"), filepath.Join(dir, "input_1.bin")}
	for _, method := range []string{"", "forward", "again"} {
		for _, w := range []way.Way{way.RT{}, way.Reference{}} {
			given, err := FileInputs(path, method, words, 0)
			if err != nil {
				t.Fatal(err)
			}
			r, err := RunMethod(t.Context(), w, path, method, given.Values)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := r.Outputs[0].Tensor.Data, c.Calls[0].Outputs[0].Tensor.Data; string(
				got) != string(want) {
				t.Errorf("%s, method %q: %v, want %v", w.Name(), method, got, want)
			}
		}
	}
	_, err = FileInputs(path, "other", words, 0)
	if err == nil || !strings.Contains(err.Error(), `"forward" "again"`) {
		t.Errorf("a method that is not there: %v", err)
	}
	if _, err := RunMethod(t.Context(), way.RT{}, path, "other", nil); err == nil {
		t.Error("a method that is not there runs")
	}
}

// A .npy file says sizes that a program leaves open, not the first ones alone.
func TestSizesOfNPY(t *testing.T) {
	const model = "../delegated/sizes/model.pte"
	var words []string
	for i, shape := range [][]int64{{2, 3, 9}, {2, 3}} {
		n := int64(4)
		for _, size := range shape {
			n *= size
		}
		data, err := tensor.FormatNPY(&tensor.Tensor{DType: ir.Float32, Shape: shape,
			Data: make([]byte, n)})
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, filepath.Join(t.TempDir(), strconv.Itoa(i)+".npy"))
		if err := os.WriteFile(words[i], data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	given, err := FileInputs(model, "", words, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := RunMethod(t.Context(), way.RT{}, model, "", given.Values)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Outputs[0].Tensor.Shape; !slices.Equal(got, []int64{2, 2, 9}) {
		t.Errorf("the first result has sizes %d", got)
	}
}
