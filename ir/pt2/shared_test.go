package pt2

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
)

// sharedDir holds the recorded cases of real PyTorch, beside the repository.
const sharedDir = "../../../shared/"

func sharedFiles(t testing.TB) []string {
	var files []string
	err := filepath.WalkDir(sharedDir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "repro" {
			return filepath.SkipDir // files that are wrong
		}
		if err == nil && strings.HasSuffix(path, ".pt2") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Skipf("the recorded cases are not beside the repository: %v", err)
	}
	return files
}

// TestReadsEveryArchive reads all archives, verifies the programs, reads all
// weights and compares inputs and outputs with what was recorded.
func TestReadsEveryArchive(t *testing.T) {
	files := sharedFiles(t)
	if len(files) < 1000 {
		t.Fatalf("only %d archives", len(files))
	}
	work := make(chan string)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for f := range work {
				if err := checkArchive(f); err != nil {
					t.Errorf("%s: %v", f, err)
				}
			}
		})
	}
	for _, f := range tier.Some(files, 400, -1) {
		work <- f
	}
	close(work)
	wg.Wait()
}

// TestReadsUnpackedArchives compares small archives with their unpacked files.
func TestReadsUnpackedArchives(t *testing.T) {
	n := 0
	for _, f := range sharedFiles(t) {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(filepath.Base(filepath.Dir(filepath.Dir(f))), "models") ||
			info.Size() > 64<<10 {
			continue
		}
		n++
		p, err := ReadFS(unpack(t, f), ".")
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		if diff := gocmp.Diff(textOf(t, f), textWithoutSource(p)); diff != "" {
			t.Errorf("%s:\n%s", f, diff)
		}
	}
	if n < 50 {
		t.Errorf("only %d archives", n)
	}
}

func checkArchive(file string) error {
	p, c, err := Read(file)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := ir.Verify(p); err != nil {
		return err
	}
	m := p.Methods[0]
	for i, v := range m.Graph.Inputs {
		if v.Const == nil {
			continue
		}
		data, err := ir.Tensor(v.Const)
		if err != nil {
			return err
		}
		sizes, _ := v.Type.StaticSizes()
		want := v.Type.DType.Size()
		for _, n := range sizes {
			want *= int(n)
		}
		if len(data) != want {
			return fmt.Errorf("%s has %d bytes, want %d", m.Inputs[i].Target, len(data), want)
		}
	}
	err = compareMeta(m, filepath.Join(filepath.Dir(file), "meta.json"))
	rel, _ := filepath.Rel(sharedDir, filepath.Dir(file))
	if want, ok := differing[filepath.ToSlash(rel)]; ok {
		if err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("expected a difference in %q, got %v", want, err)
		}
		return nil
	}
	return err
}

// differing are the cases whose recording does not agree with the archive
// itself, with a part of what they differ in.
var differing = map[string]string{
	// The exporter was given a contiguous copy of the input.
	"ops/nn.functional.embedding_bag/17": "recorded strides [10 2]",
	// The kernel for CPU picks other strides than its meta function.
	"ops/nn.functional.scaled_dot_product_attention/0": "recorded strides [24 8 1]",
	// PyTorch's meta function gives the result of unique along a dimension the
	// shape of the input with the new size in place of one dimension too many.
	"ops/unique_consecutive/54": "f32[5, u0, 5, 5], recorded",
}

// recorded is an input or output in meta.json.
type recorded struct {
	Path, Kind, DType string
	Shape, Strides    []int64
	Value             any
}

func compareMeta(m *ir.Method, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var meta struct {
		Inputs, Outputs []recorded
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return err
	}
	var ins, outs []ir.Type
	for i, spec := range m.Inputs {
		if spec.Kind == ir.UserInput || spec.Kind == ir.ConstantInput {
			ins = append(ins, m.Graph.Inputs[i].Type)
		}
	}
	for i, spec := range m.Outputs {
		if spec.Kind != ir.UserOutput {
			continue
		}
		if ref, ok := m.Graph.Outputs[i].(ir.Ref); ok {
			outs = append(outs, ref.Value.Type)
		} else {
			outs = append(outs, literalType(m.Graph.Outputs[i]))
		}
	}
	if err := compareTypes("input", ins, meta.Inputs); err != nil {
		return err
	}
	return compareTypes("output", outs, meta.Outputs)
}

func compareTypes(what string, got []ir.Type, want []recorded) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d %ss, recorded %d", len(got), what, len(want))
	}
	for i, t := range got {
		if err := compareType(t, want[i]); err != nil {
			return fmt.Errorf("%s %d: %w", what, i, err)
		}
	}
	return nil
}

func compareType(t ir.Type, want recorded) error {
	kinds := map[string]ir.Kind{"tensor": ir.TensorKind, "int": ir.IntKind, "float": ir.FloatKind,
		"bool": ir.BoolKind, "str": ir.StringKind, "none": ir.NoneKind}
	kind, ok := kinds[strings.ToLower(strings.TrimSuffix(want.Kind, "Type"))]
	if !ok || t.Kind != kind {
		return fmt.Errorf("kind %d, recorded %q", t.Kind, want.Kind)
	}
	if kind != ir.TensorKind {
		return nil
	}
	if t.DType.String() != want.DType || t.Rank() != len(want.Shape) {
		return fmt.Errorf("%v, recorded %+v", t, want)
	}
	dynamic := false
	for d, e := range t.Sizes {
		n, ok := e.Const()
		dynamic = dynamic || !ok
		if ok && n != want.Shape[d] {
			return fmt.Errorf("%v, recorded shape %v", t, want.Shape)
		}
	}
	if dynamic || !fillsStorage(t) {
		return nil // a recorded output is a copy, dense even if the result is not
	}
	for d, e := range t.Strides {
		// Strides of dimensions of size 1 do not matter.
		if n, _ := e.Const(); want.Strides != nil && n != want.Strides[d] && want.Shape[d] > 1 {
			return fmt.Errorf("%v, recorded strides %v", t, want.Strides)
		}
	}
	return nil
}

// fillsStorage reports whether the elements of t lie without gaps and overlaps
// in some order of dimensions.
func fillsStorage(t ir.Type) bool {
	type dim struct{ size, stride int64 }
	var dims []dim
	for i, e := range t.Sizes {
		size, _ := e.Const()
		stride, _ := t.Strides[i].Const()
		if size > 1 {
			dims = append(dims, dim{size, stride})
		}
	}
	slices.SortFunc(dims, func(a, b dim) int { return cmp.Compare(a.stride, b.stride) })
	want := int64(1)
	for _, d := range dims {
		if d.stride != want {
			return false
		}
		want *= d.size
	}
	return true
}
