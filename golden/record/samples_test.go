package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
)

// sampleMethod takes an image of a batch of one and a number.
func sampleMethod(t *testing.T) *ir.Method {
	t.Helper()
	p, err := ir.Parse("m.pt2", `program "m.pt2"

method forward {
  symbol s0 in [2, 8]
  input %x: f32[1, 2]
  input %n: i64[s0]

  return (%x)
}
`)
	if err != nil {
		t.Fatal(err)
	}
	return p.Methods[0]
}

func writeNPY(t *testing.T, path string, d ir.DType, shape ...int64) string {
	t.Helper()
	x, err := tensor.New(d, shape...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Data {
		x.Data[i] = byte(i)
	}
	data, err := tensor.FormatNPY(x)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file holds one sample or a list of them; a part of it may be taken.
func TestSamples(t *testing.T) {
	m, dir := sampleMethod(t), t.TempDir()
	x := writeNPY(t, filepath.Join(dir, "x.npy"), ir.Float32, 6, 2)
	list := writeNPY(t, filepath.Join(dir, "list.npy"), ir.Float32, 3, 1, 2)
	n := writeNPY(t, filepath.Join(dir, "n.npy"), ir.Int64, 6)
	rows := writeNPY(t, filepath.Join(dir, "rows.npy"), ir.Int64, 3, 4)
	wrong := writeNPY(t, filepath.Join(dir, "wrong.npy"), ir.Int32, 6, 2)
	wide := writeNPY(t, filepath.Join(dir, "wide.npy"), ir.Float32, 6, 3)
	for _, tt := range []struct {
		words []string
		count int
		first byte // of the first sample's first input
		err   string
	}{
		{words: []string{x + "[:3]", n}, count: 3},
		{words: []string{x + "[2:5]", n}, count: 3, first: 16},
		{words: []string{list, rows}, count: 3},
		{words: []string{x, n}, err: "holds 3 samples, those before 6"},
		{words: []string{x}, err: "1 files of samples for 2 inputs: forward takes x, n"},
		{words: []string{wrong, n}, err: "the model takes f32[1, 2]: give one, or a list of them"},
		{words: []string{wide, n}, err: "the model takes f32[1, 2]"},
		{words: []string{x + "[4:9]", n}, err: "holds 6 samples, none from 4 to 9"},
		{words: []string{x + "[4:4]", n}, err: "none from 4 to 4"},
		{words: []string{filepath.Join(dir, "no.npy"), n}, err: "no such file"},
		{words: []string{dir}, err: "the model takes 2 inputs: name a file of samples for each"},
	} {
		s, err := Samples(m, tt.words, 0)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v: error %v, want %s", tt.words, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", tt.words, err)
			continue
		}
		if s.Count != tt.count {
			t.Errorf("%v: %d samples, want %d", tt.words, s.Count, tt.count)
		}
		vs, err := s.Get(0)
		if err != nil || len(vs) != 2 || vs[0].Tensor.Data[0] != tt.first ||
			len(vs[0].Tensor.Data) != 8 || vs[0].Tensor.Sizes[0] != 1 {
			t.Errorf("%v: sample 0 is %v, %v", tt.words, vs, err)
		}
	}
}

// A folder is a golden case, or one of .npy files.
func TestSampleFolders(t *testing.T) {
	dir := t.TempDir()
	writeNPY(t, filepath.Join(dir, "b.npy"), ir.Float32, 2, 2)
	writeNPY(t, filepath.Join(dir, "a.npy"), ir.Float32, 1, 2)
	m := sampleMethod(t)
	m.Graph.Inputs, m.Inputs = m.Graph.Inputs[:1], m.Inputs[:1]
	s, err := Samples(m, []string{dir}, 0)
	if err != nil || s.Count != 3 {
		t.Fatalf("%d samples: %v", s.Count, err)
	}
	if vs, err := s.Get(2); err != nil || vs[0].Tensor.Data[0] != 8 {
		t.Errorf("sample 2 is %v, %v", vs, err)
	}
	if _, err := Samples(m, []string{dir}, 8); err == nil {
		t.Error("samples of 24 bytes pass a limit of 8")
	}
}

func TestLabels(t *testing.T) {
	dir := t.TempDir()
	file := writeNPY(t, filepath.Join(dir, "y.npy"), ir.Int8, 5)
	labels, err := Labels(file + "[1:4]")
	if err != nil || len(labels) != 3 || labels[0] != 1 || labels[2] != 3 {
		t.Errorf("%v, %v", labels, err)
	}
	for word, want := range map[string]string{
		file + "[5:]": "holds 5 samples",
		writeNPY(t, filepath.Join(dir, "f.npy"), ir.Float32, 5): "labels are a list of whole numbers",
	} {
		if _, err := Labels(word); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", word, err, want)
		}
	}
}
